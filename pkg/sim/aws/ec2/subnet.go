// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Subnet is a range of a network in one zone.
type Subnet struct {
	SubnetId                      string
	SubnetArn                     string
	OwnerId                       string
	State                         string
	VpcId                         string
	CidrBlock                     string
	AvailableIpAddressCount       int
	AvailabilityZone              string
	AvailabilityZoneId            string
	DefaultForAz                  bool
	MapPublicIpOnLaunch           bool
	AssignIpv6AddressOnCreation   bool
	EnableDns64                   bool
	Ipv6Native                    bool
	Ipv6CidrBlocks                []Ipv6SubnetAssociation `wire:"ipv6CidrBlockAssociationSet"`
	PrivateDnsNameOptionsOnLaunch PrivateDNSOptions
	Tags                          []Tag `wire:"tagSet"`
}

// Ipv6SubnetAssociation is an IPv6 range of a subnet.
type Ipv6SubnetAssociation struct {
	AssociationId      string
	Ipv6CidrBlock      string
	Ipv6CidrBlockState AssociationState
}

// PrivateDNSOptions say how machines of a subnet are named.
type PrivateDNSOptions struct {
	HostnameType                    string
	EnableResourceNameDnsARecord    bool
	EnableResourceNameDnsAAAARecord bool
}

// reservedAddresses is how many addresses of a subnet AWS keeps: the first four and the last.
const reservedAddresses = 5

const defaultSubnetQuota = 200

func newSubnetKind(s *Service, w *world.World) (*kind[Subnet], error) {
	v6 := func(n *Subnet) []Ipv6SubnetAssociation { return n.Ipv6CidrBlocks }
	zoneName := one(func(n *Subnet) string { return n.AvailabilityZone })
	cidr := one(func(n *Subnet) string { return n.CidrBlock })
	return newKind(s, w, kind[Subnet]{
		resource: "subnet", prefix: "subnet-", notFound: "InvalidSubnetID.NotFound", word: "subnet ID",
		id:   func(n *Subnet) string { return n.SubnetId },
		tags: func(n *Subnet) *[]Tag { return &n.Tags },
		filters: map[string]func(*Subnet) []string{
			"subnet-id": one(func(n *Subnet) string { return n.SubnetId }), "vpc-id": one(func(n *Subnet) string { return n.VpcId }),
			"subnet-arn": one(func(n *Subnet) string { return n.SubnetArn }), "owner-id": one(func(n *Subnet) string { return n.OwnerId }),
			"availability-zone": zoneName, "availabilityZone": zoneName,
			"availability-zone-id": one(func(n *Subnet) string { return n.AvailabilityZoneId }),
			"cidr":                 cidr, "cidr-block": cidr, "cidrBlock": cidr,
			"state":                   one(func(n *Subnet) string { return n.State }),
			"default-for-az":          flag(func(n *Subnet) bool { return n.DefaultForAz }),
			"map-public-ip-on-launch": flag(func(n *Subnet) bool { return n.MapPublicIpOnLaunch }),
			"ipv6-native":             flag(func(n *Subnet) bool { return n.Ipv6Native }),
			"enable-dns64":            flag(func(n *Subnet) bool { return n.EnableDns64 }),
			"ipv6-cidr-block-association.ipv6-cidr-block": many(v6, func(a Ipv6SubnetAssociation) string { return a.Ipv6CidrBlock }),
			"ipv6-cidr-block-association.association-id":  many(v6, func(a Ipv6SubnetAssociation) string { return a.AssociationId }),
			"ipv6-cidr-block-association.state":           many(v6, func(a Ipv6SubnetAssociation) string { return a.Ipv6CidrBlockState.State }),
		},
	})
}

func (s *Service) subnetOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateSubnet": op(s.createSubnet), "DescribeSubnets": op(s.describeSubnets), "DeleteSubnet": op(s.deleteSubnet),
		"ModifySubnetAttribute":    op(s.modifySubnetAttribute),
		"AssociateSubnetCidrBlock": op(s.associateSubnetCidr), "DisassociateSubnetCidrBlock": op(s.disassociateSubnetCidr),
	}
}

type createSubnetIn struct {
	VpcId              string `wire:"VpcId,required"`
	CidrBlock          string
	Ipv6CidrBlock      string
	Ipv6Native         bool
	AvailabilityZone   string
	AvailabilityZoneId string
	TagSpecifications  []TagSpecification `wire:"TagSpecification"`
}

type subnetOut struct{ Subnet Subnet }

func (s *Service) createSubnet(c *wire.Call, in *createSubnetIn) (*subnetOut, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "subnet")
	if tagErr != nil {
		return nil, tagErr
	}
	z, err := subnetZone(c, in)
	if err != nil {
		return nil, err
	}
	n := &Subnet{
		SubnetId: s.newID("subnet-"), OwnerId: s.account, State: "available", VpcId: v.VpcId, AvailabilityZone: z.ZoneName, AvailabilityZoneId: z.ZoneId,
		Ipv6Native: in.Ipv6Native, AssignIpv6AddressOnCreation: in.Ipv6Native, PrivateDnsNameOptionsOnLaunch: PrivateDNSOptions{HostnameType: "ip-name"}, Tags: tags,
	}
	if in.Ipv6Native {
		n.PrivateDnsNameOptionsOnLaunch.HostnameType = "resource-name"
	}
	n.SubnetArn = s.arn(c, "subnet", n.SubnetId)
	if err := s.subnetRanges(c, v, n, in); err != nil {
		return nil, err
	}
	siblings := 0
	for _, other := range s.subnets.all(c) {
		if other.VpcId == v.VpcId {
			siblings++
		}
	}
	if limit := c.Quota("subnets-per-vpc", defaultSubnetQuota); siblings >= limit {
		return nil, wire.Errorf("SubnetLimitExceeded", "The maximum number of subnets has been reached: %d of %d.", siblings, limit)
	}
	s.subnets.put(c, n)
	s.countAddresses(c, n)
	return &subnetOut{*n}, nil
}

func subnetZone(c *wire.Call, in *createSubnetIn) (*zone, *wire.Error) {
	name := in.AvailabilityZone
	if name == "" {
		name = in.AvailabilityZoneId
	}
	if name == "" {
		return zonesOf(c.Region)[0], nil
	}
	z := zoneByName(c.Region, name)
	if z == nil {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid. Subnets can currently only be created in the availability zones of %s.", name, c.Region)
	}
	if z.OptInStatus == "not-opted-in" {
		return nil, wire.Errorf("OptInRequired", "You must opt in to the zone group %s first.", z.GroupName)
	}
	return z, nil
}

// subnetRanges checks the ranges wanted against the network and its subnets, and sets them.
func (s *Service) subnetRanges(c *wire.Call, v *Vpc, n *Subnet, in *createSubnetIn) *wire.Error {
	if (in.CidrBlock == "") != in.Ipv6Native {
		return wire.Errorf("MissingParameter", "The request must contain the parameter CidrBlock, unless the subnet is IPv6 native")
	}
	if in.CidrBlock != "" {
		cidr, err := ipv4Range(in.CidrBlock, "InvalidSubnet.Range")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(v.CidrBlocks, func(a CidrAssociation) bool { return within(a.CidrBlock, cidr) }) {
			return wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", in.CidrBlock)
		}
		if s.rangeInUse(c, v.VpcId, cidr.String()) {
			return wire.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", in.CidrBlock)
		}
		n.CidrBlock = cidr.String()
	}
	if in.Ipv6CidrBlock == "" {
		if in.Ipv6Native {
			return wire.Errorf("MissingParameter", "An IPv6 native subnet must have an Ipv6CidrBlock")
		}
		return nil
	}
	a, err := s.subnetIpv6(c, v, in.Ipv6CidrBlock)
	if err != nil {
		return err
	}
	n.Ipv6CidrBlocks = []Ipv6SubnetAssociation{a}
	return nil
}

func (s *Service) subnetIpv6(c *wire.Call, v *Vpc, text string) (Ipv6SubnetAssociation, *wire.Error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is6() || p.Bits() < 44 || p.Bits() > 64 || p.Bits()%4 != 0 || p != p.Masked() {
		return Ipv6SubnetAssociation{}, wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", text)
	}
	if !slices.ContainsFunc(v.Ipv6CidrBlocks, func(a Ipv6CidrAssociation) bool { return within(a.Ipv6CidrBlock, p) }) {
		return Ipv6SubnetAssociation{}, wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is not within the VPC's ranges.", text)
	}
	if s.rangeInUse(c, v.VpcId, p.String()) {
		return Ipv6SubnetAssociation{}, wire.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", text)
	}
	return Ipv6SubnetAssociation{s.newID("subnet-cidr-assoc-"), p.String(), AssociationState{State: "associated"}}, nil
}

// within says whether p lies in the range written in text.
func within(text string, p netip.Prefix) bool {
	outer, err := netip.ParsePrefix(text)
	return err == nil && outer.Bits() <= p.Bits() && outer.Contains(p.Addr())
}

// rangeInUse says whether a subnet of the network meets the range.
func (s *Service) rangeInUse(c *wire.Call, vpc, cidr string) bool {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return false
	}
	return s.subnets.first(c, func(n *Subnet) bool {
		return n.VpcId == vpc && (overlap(n.CidrBlock, p) || slices.ContainsFunc(n.Ipv6CidrBlocks, func(a Ipv6SubnetAssociation) bool { return overlap(a.Ipv6CidrBlock, p) }))
	}) != nil
}

type describeSubnetsIn struct {
	SubnetIds []string `wire:"SubnetId"`
	describe
}

type describeSubnetsOut struct {
	NextToken string
	Subnets   []*Subnet `wire:"subnetSet"`
}

func (s *Service) describeSubnets(c *wire.Call, in *describeSubnetsIn) (*describeSubnetsOut, error) {
	rows, next, err := s.subnets.list(c, in.SubnetIds, in.describe)
	if err != nil {
		return nil, err
	}
	s.countAddresses(c, rows...)
	return &describeSubnetsOut{next, rows}, nil
}

// countAddresses works out how many addresses of each subnet are free.
func (s *Service) countAddresses(c *wire.Call, subnets ...*Subnet) {
	used := map[string]int{}
	for _, i := range s.interfaces.all(c) {
		used[i.SubnetId] += len(i.PrivateIpAddresses)
	}
	for _, n := range subnets {
		n.AvailableIpAddressCount = 0
		if p, err := netip.ParsePrefix(n.CidrBlock); err == nil {
			n.AvailableIpAddressCount = 1<<(32-p.Bits()) - reservedAddresses - used[n.SubnetId]
		}
	}
}

func (s *Service) deleteSubnet(c *wire.Call, in *struct {
	SubnetId string `wire:"SubnetId,required"`
}) (*done, error) {
	n, err := s.subnets.get(c, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if s.interfaces.first(c, func(i *NetworkInterface) bool { return i.SubnetId == n.SubnetId }) != nil {
		return nil, wire.Errorf("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", n.SubnetId)
	}
	for _, t := range s.routeTables.all(c) {
		before := len(t.Associations)
		t.Associations = slices.DeleteFunc(t.Associations, func(a RouteTableAssociation) bool { return a.SubnetId == n.SubnetId })
		if len(t.Associations) != before {
			s.routeTables.put(c, t)
		}
	}
	s.subnets.remove(c, n)
	return ok()
}

type modifySubnetAttributeIn struct {
	SubnetId                       string     `wire:"SubnetId,required"`
	AssignIpv6AddressOnCreation    *boolValue `wire:"AssignIpv6AddressOnCreation"`
	MapPublicIpOnLaunch            *boolValue `wire:"MapPublicIpOnLaunch"`
	EnableDns64                    *boolValue `wire:"EnableDns64"`
	PrivateDnsHostnameTypeOnLaunch string
	ResourceNameA                  *boolValue `wire:"EnableResourceNameDnsARecordOnLaunch"`
	ResourceNameAAAA               *boolValue `wire:"EnableResourceNameDnsAAAARecordOnLaunch"`
}

func (s *Service) modifySubnetAttribute(c *wire.Call, in *modifySubnetAttributeIn) (*done, error) {
	n, err := s.subnets.get(c, in.SubnetId)
	if err != nil {
		return nil, err
	}
	targets := map[*bool]*boolValue{
		&n.AssignIpv6AddressOnCreation: in.AssignIpv6AddressOnCreation, &n.MapPublicIpOnLaunch: in.MapPublicIpOnLaunch, &n.EnableDns64: in.EnableDns64,
		&n.PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsARecord:    in.ResourceNameA,
		&n.PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsAAAARecord: in.ResourceNameAAAA,
	}
	given := 0
	for _, v := range targets {
		if v != nil {
			given++
		}
	}
	if in.PrivateDnsHostnameTypeOnLaunch != "" {
		given++
	}
	if given != 1 {
		return nil, wire.Errorf("InvalidParameterCombination", "Exactly one attribute of a subnet must be modified in a call, %d were given", given)
	}
	if t := in.PrivateDnsHostnameTypeOnLaunch; t != "" {
		if t != "ip-name" && t != "resource-name" {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter privateDnsHostnameTypeOnLaunch is invalid.", t)
		}
		n.PrivateDnsNameOptionsOnLaunch.HostnameType = t
	}
	if v := in.AssignIpv6AddressOnCreation; v != nil && v.Value && len(n.Ipv6CidrBlocks) == 0 {
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value for parameter assignIpv6AddressOnCreation: the subnet %s has no IPv6 CIDR block", n.SubnetId)
	}
	for field, v := range targets {
		if v != nil {
			*field = v.Value
		}
	}
	s.subnets.put(c, n)
	return ok()
}

type associateSubnetCidrIn struct {
	SubnetId      string `wire:"SubnetId,required"`
	Ipv6CidrBlock string `wire:"Ipv6CidrBlock,required"`
}

type subnetCidrOut struct {
	SubnetId                 string
	Ipv6CidrBlockAssociation Ipv6SubnetAssociation
}

func (s *Service) associateSubnetCidr(c *wire.Call, in *associateSubnetCidrIn) (*subnetCidrOut, error) {
	n, err := s.subnets.get(c, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if len(n.Ipv6CidrBlocks) > 0 {
		return nil, wire.Errorf("InvalidSubnet.Conflict", "The subnet %s already has an IPv6 CIDR block", n.SubnetId)
	}
	v, err := s.vpcs.get(c, n.VpcId)
	if err != nil {
		return nil, err
	}
	a, err := s.subnetIpv6(c, v, in.Ipv6CidrBlock)
	if err != nil {
		return nil, err
	}
	n.Ipv6CidrBlocks = append(n.Ipv6CidrBlocks, a)
	s.subnets.put(c, n)
	a.Ipv6CidrBlockState.State = "associating"
	return &subnetCidrOut{n.SubnetId, a}, nil
}

func (s *Service) disassociateSubnetCidr(c *wire.Call, in *associationIdIn) (*subnetCidrOut, error) {
	for _, n := range s.subnets.all(c) {
		for i, a := range n.Ipv6CidrBlocks {
			if a.AssociationId != in.AssociationId {
				continue
			}
			if s.interfaces.first(c, func(e *NetworkInterface) bool { return e.SubnetId == n.SubnetId && len(e.Ipv6Addresses) > 0 }) != nil {
				return nil, wire.Errorf("InvalidCidrBlock.InUse", "The subnet %s has network interfaces with addresses of %s", n.SubnetId, a.Ipv6CidrBlock)
			}
			n.Ipv6CidrBlocks = slices.Delete(n.Ipv6CidrBlocks, i, i+1)
			n.AssignIpv6AddressOnCreation = false
			s.subnets.put(c, n)
			a.Ipv6CidrBlockState.State = "disassociating"
			return &subnetCidrOut{n.SubnetId, a}, nil
		}
	}
	return nil, wire.Errorf("InvalidSubnetCidrBlockAssociationID.NotFound", "The subnet CIDR block association ID '%s' does not exist", in.AssociationId)
}
