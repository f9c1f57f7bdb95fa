// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Vpc is a virtual network.
type Vpc struct {
	VpcId           string
	OwnerId         string
	State           string
	CidrBlock       string
	CidrBlocks      []CidrAssociation     `wire:"cidrBlockAssociationSet"`
	Ipv6CidrBlocks  []Ipv6CidrAssociation `wire:"ipv6CidrBlockAssociationSet"`
	DhcpOptionsId   string
	Tags            []Tag `wire:"tagSet"`
	InstanceTenancy string
	IsDefault       bool
	DNSSupport      bool `wire:"-"`
	DNSHostnames    bool `wire:"-"`
	UsageMetrics    bool `wire:"-"`
}

// CidrAssociation is one of a network's IPv4 ranges.
type CidrAssociation struct {
	AssociationId  string
	CidrBlock      string
	CidrBlockState AssociationState
}

// Ipv6CidrAssociation is an IPv6 range of a network or subnet.
type Ipv6CidrAssociation struct {
	AssociationId      string
	Ipv6CidrBlock      string
	Ipv6CidrBlockState AssociationState
	NetworkBorderGroup string
	Ipv6Pool           string
}

// AssociationState is "associated" and the like.
type AssociationState struct {
	State         string
	StatusMessage string
}

// defaultVpcQuota is AWS's default of VPCs per region; the others likewise.
const (
	defaultVpcQuota = 5
	maxIpv4PerVpc   = 5
	minNetmask      = 16
	maxNetmask      = 28
)

func newVpcKind(s *Service, w *world.World) (*kind[Vpc], error) {
	return newKind(s, w, kind[Vpc]{
		resource: "vpc", prefix: "vpc-", notFound: "InvalidVpcID.NotFound", word: "vpc ID",
		id:   func(v *Vpc) string { return v.VpcId },
		tags: func(v *Vpc) *[]Tag { return &v.Tags },
		filters: map[string]func(*Vpc) []string{
			"vpc-id": one(func(v *Vpc) string { return v.VpcId }), "cidr": one(func(v *Vpc) string { return v.CidrBlock }),
			"owner-id": one(func(v *Vpc) string { return v.OwnerId }), "state": one(func(v *Vpc) string { return v.State }),
			"dhcp-options-id": one(func(v *Vpc) string { return v.DhcpOptionsId }), "is-default": flag(func(v *Vpc) bool { return v.IsDefault }),
			"cidr-block-association.cidr-block":           many(func(v *Vpc) []CidrAssociation { return v.CidrBlocks }, func(a CidrAssociation) string { return a.CidrBlock }),
			"cidr-block-association.association-id":       many(func(v *Vpc) []CidrAssociation { return v.CidrBlocks }, func(a CidrAssociation) string { return a.AssociationId }),
			"cidr-block-association.state":                many(func(v *Vpc) []CidrAssociation { return v.CidrBlocks }, func(a CidrAssociation) string { return a.CidrBlockState.State }),
			"ipv6-cidr-block-association.ipv6-cidr-block": many(func(v *Vpc) []Ipv6CidrAssociation { return v.Ipv6CidrBlocks }, func(a Ipv6CidrAssociation) string { return a.Ipv6CidrBlock }),
			"ipv6-cidr-block-association.association-id":  many(func(v *Vpc) []Ipv6CidrAssociation { return v.Ipv6CidrBlocks }, func(a Ipv6CidrAssociation) string { return a.AssociationId }),
			"ipv6-cidr-block-association.state":           many(func(v *Vpc) []Ipv6CidrAssociation { return v.Ipv6CidrBlocks }, func(a Ipv6CidrAssociation) string { return a.Ipv6CidrBlockState.State }),
		},
	})
}

func (s *Service) vpcOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateVpc": op(s.createVpc), "DescribeVpcs": op(s.describeVpcs), "DeleteVpc": op(s.deleteVpc),
		"ModifyVpcAttribute": op(s.modifyVpcAttribute), "DescribeVpcAttribute": op(s.describeVpcAttribute),
		"AssociateVpcCidrBlock": op(s.associateVpcCidr), "DisassociateVpcCidrBlock": op(s.disassociateVpcCidr),
	}
}

type createVpcIn struct {
	CidrBlock                       string `wire:"CidrBlock,required"`
	AmazonProvidedIpv6CidrBlock     bool
	Ipv6CidrBlockNetworkBorderGroup string
	InstanceTenancy                 string
	TagSpecifications               []TagSpecification `wire:"TagSpecification"`
}

type vpcOut struct{ Vpc Vpc }

func (s *Service) createVpc(c *wire.Call, in *createVpcIn) (*vpcOut, error) {
	cidr, refusal := ipv4Range(in.CidrBlock, "InvalidVpc.Range")
	if refusal != nil {
		return nil, refusal
	}
	tags, err := tagsFor(in.TagSpecifications, "vpc")
	if err != nil {
		return nil, err
	}
	if in.InstanceTenancy != "" && in.InstanceTenancy != "default" && in.InstanceTenancy != "dedicated" {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter instanceTenancy is invalid.", in.InstanceTenancy)
	}
	if limit := c.Quota("vpcs", defaultVpcQuota); len(s.vpcs.all(c)) >= limit {
		return nil, wire.Errorf("VpcLimitExceeded", "The maximum number of VPCs has been reached: %d of %d.", limit, limit)
	}
	v := &Vpc{
		VpcId: s.newID("vpc-"), OwnerId: s.account, State: "available", CidrBlock: cidr.String(),
		DhcpOptionsId: s.defaultDhcp(c), InstanceTenancy: "default", Tags: tags, DNSSupport: true,
		CidrBlocks: []CidrAssociation{{s.newID("vpc-cidr-assoc-"), cidr.String(), AssociationState{State: "associated"}}},
	}
	if in.InstanceTenancy != "" {
		v.InstanceTenancy = in.InstanceTenancy
	}
	if in.AmazonProvidedIpv6CidrBlock {
		v.Ipv6CidrBlocks = append(v.Ipv6CidrBlocks, s.amazonIpv6(c))
	}
	s.vpcs.put(c, v)
	s.addVpcDefaults(c, v)
	return &vpcOut{*v}, nil
}

// ipv4Range reads a range whose size EC2 takes, in canonical form.
func ipv4Range(text, code string) (netip.Prefix, *wire.Error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return p, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", text)
	}
	if p.Bits() < minNetmask || p.Bits() > maxNetmask {
		return p, wire.Errorf(code, "The CIDR '%s' is invalid.", text)
	}
	return p.Masked(), nil
}

// amazonIpv6 gives out the next /56 of the pool.
func (s *Service) amazonIpv6(c *wire.Call) Ipv6CidrAssociation {
	used := map[string]bool{}
	for _, v := range s.vpcs.all(c) {
		for _, a := range v.Ipv6CidrBlocks {
			used[a.Ipv6CidrBlock] = true
		}
	}
	for i := 1; ; i++ {
		addr := [16]byte{0x26, 0x00, 0x1f, 0x16, 0x0c, byte(i >> 8), byte(i)}
		p := netip.PrefixFrom(netip.AddrFrom16(addr), 56).String()
		if !used[p] {
			return Ipv6CidrAssociation{s.newID("vpc-cidr-assoc-"), p, AssociationState{State: "associated"}, c.Region, "Amazon"}
		}
	}
}

type describeVpcsIn struct {
	VpcIds []string `wire:"VpcId"`
	describe
}

type describeVpcsOut struct {
	NextToken string
	Vpcs      []*Vpc `wire:"vpcSet"`
}

func (s *Service) describeVpcs(c *wire.Call, in *describeVpcsIn) (*describeVpcsOut, error) {
	rows, next, err := s.vpcs.list(c, in.VpcIds, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeVpcsOut{next, rows}, nil
}

type vpcIdIn struct {
	VpcId string `wire:"VpcId,required"`
}

func (s *Service) deleteVpc(c *wire.Call, in *vpcIdIn) (*done, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	if s.vpcInUse(c, v.VpcId) {
		return nil, wire.Errorf("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", v.VpcId)
	}
	s.dropVpcDefaults(c, v.VpcId)
	s.vpcs.remove(c, v)
	return ok()
}

type boolValue struct{ Value bool }

type modifyVpcAttributeIn struct {
	VpcId              string     `wire:"VpcId,required"`
	EnableDNSHostnames *boolValue `wire:"EnableDnsHostnames"`
	EnableDNSSupport   *boolValue `wire:"EnableDnsSupport"`
	UsageMetrics       *boolValue `wire:"EnableNetworkAddressUsageMetrics"`
}

func (s *Service) modifyVpcAttribute(c *wire.Call, in *modifyVpcAttributeIn) (*done, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, p := range []*boolValue{in.EnableDNSHostnames, in.EnableDNSSupport, in.UsageMetrics} {
		if p != nil {
			given++
		}
	}
	if given != 1 {
		return nil, wire.Errorf("InvalidParameterCombination", "Exactly one attribute must be modified, %d were given", given)
	}
	switch {
	case in.EnableDNSHostnames != nil:
		v.DNSHostnames = in.EnableDNSHostnames.Value
	case in.EnableDNSSupport != nil:
		v.DNSSupport = in.EnableDNSSupport.Value
	default:
		v.UsageMetrics = in.UsageMetrics.Value
	}
	s.vpcs.put(c, v)
	return ok()
}

type describeVpcAttributeIn struct {
	VpcId     string `wire:"VpcId,required"`
	Attribute string `wire:"Attribute,required"`
}

type describeVpcAttributeOut struct {
	VpcId              string
	EnableDNSHostnames *boolValue `wire:"enableDnsHostnames"`
	EnableDNSSupport   *boolValue `wire:"enableDnsSupport"`
	UsageMetrics       *boolValue `wire:"enableNetworkAddressUsageMetrics"`
}

func (s *Service) describeVpcAttribute(c *wire.Call, in *describeVpcAttributeIn) (*describeVpcAttributeOut, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	out := &describeVpcAttributeOut{VpcId: v.VpcId}
	switch in.Attribute {
	case "enableDnsHostnames":
		out.EnableDNSHostnames = &boolValue{v.DNSHostnames}
	case "enableDnsSupport":
		out.EnableDNSSupport = &boolValue{v.DNSSupport}
	case "enableNetworkAddressUsageMetrics":
		out.UsageMetrics = &boolValue{v.UsageMetrics}
	default:
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter attribute is invalid. Unknown attribute.", in.Attribute)
	}
	return out, nil
}
