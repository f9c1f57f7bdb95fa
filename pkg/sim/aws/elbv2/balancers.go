// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/route53"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// balancer is a row of the table of load balancers, whose id is the ARN.
type balancer struct {
	ARN, Name, ID, DNSName string
	Scheme, VPC, IPType    string
	Created                time.Time
	Zones                  []balancerZone
	Groups                 []string
	HadGroups              bool // was made with security groups: only then can it have others
	PrivateLinkRules       string
	Attributes             map[string]string
	Tags                   []Tag
}

// balancerZone is a balancer's foot in one subnet.
type balancerZone struct {
	Zone, Subnet, Interface        string
	Allocation, PublicIP           string
	WantedPrivate, Private, Global string // addresses; Global is IPv6
}

const (
	internetFacing = "internet-facing"
	internal       = "internal"
	ipv4           = "ipv4"
	dualstack      = "dualstack"
)

type balancerView struct {
	LoadBalancerArn                                      string
	DNSName                                              string
	CanonicalHostedZoneId                                string
	CreatedTime                                          time.Time
	LoadBalancerName                                     string
	Scheme                                               string
	VpcId                                                string
	State                                                struct{ Code string }
	Type                                                 string
	AvailabilityZones                                    []zoneView
	SecurityGroups                                       []string `wire:"SecurityGroups,omitempty"`
	IpAddressType                                        string
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
}

type zoneView struct {
	ZoneName              string
	SubnetId              string
	LoadBalancerAddresses []addressView
}

type addressView struct {
	IpAddress, AllocationId, PrivateIPv4Address, IPv6Address string
}

func (s *Service) view(c *wire.Call, b *balancer) balancerView {
	v := balancerView{LoadBalancerArn: b.ARN, DNSName: b.DNSName, CanonicalHostedZoneId: route53.BalancerZone(c.Region), CreatedTime: b.Created,
		LoadBalancerName: b.Name, Scheme: b.Scheme, VpcId: b.VPC, Type: "network", AvailabilityZones: b.zoneViews(), SecurityGroups: b.Groups,
		IpAddressType: b.IPType, EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: b.PrivateLinkRules}
	v.State.Code = "active"
	if s.delay > 0 && c.Now.Sub(b.Created) < s.delay {
		v.State.Code = "provisioning"
	}
	return v
}

func (b *balancer) zoneViews() []zoneView {
	out := []zoneView{}
	for _, z := range b.Zones {
		v := zoneView{ZoneName: z.Zone, SubnetId: z.Subnet, LoadBalancerAddresses: []addressView{}}
		a := addressView{AllocationId: z.Allocation, PrivateIPv4Address: z.WantedPrivate}
		if z.Allocation != "" {
			a.IpAddress = z.PublicIP
		}
		if a != (addressView{}) {
			v.LoadBalancerAddresses = append(v.LoadBalancerAddresses, a)
		}
		out = append(out, v)
	}
	return out
}

func (s *Service) balancer(c *wire.Call, arn string) (*balancer, *wire.Error) {
	if b := s.balancers.Get(c.Region, arn); b != nil {
		return b, nil
	}
	if !strings.HasPrefix(arn, "arn:") {
		return nil, invalid("'%s' is not a valid load balancer ARN", arn)
	}
	return nil, wire.Errorf("LoadBalancerNotFound", "Load balancer '%s' not found", arn)
}

func (s *Service) balancerOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateLoadBalancer": wire.Op(s.createBalancer), "DescribeLoadBalancers": wire.Op(s.describeBalancers), "DeleteLoadBalancer": wire.Op(s.deleteBalancer),
	}
}

type subnetMapping struct {
	SubnetId           string `wire:"SubnetId,required"`
	AllocationId       string
	PrivateIPv4Address string
}

type createBalancerIn struct {
	Name           string `wire:"Name,required"`
	Subnets        []string
	SubnetMappings []subnetMapping
	SecurityGroups []string
	Scheme         string
	Tags           []Tag
	Type           string
	IpAddressType  string
}

type balancersOut struct {
	LoadBalancers []balancerView
	NextMarker    string
}

const defaultBalancerQuota = 50

// createBalancer returns the balancer that there is when one of that name was
// asked for with the same settings, as AWS does.
func (s *Service) createBalancer(c *wire.Call, in *createBalancerIn) (*balancersOut, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	for _, b := range s.balancers.All(c.Region) {
		if b.Name != in.Name {
			continue
		}
		if !b.asked(in) {
			return nil, wire.Errorf("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", in.Name)
		}
		return &balancersOut{LoadBalancers: []balancerView{s.view(c, b)}}, nil
	}
	if most := c.Quota("network-load-balancers", defaultBalancerQuota); len(s.balancers.All(c.Region)) >= most {
		return nil, wire.Errorf("TooManyLoadBalancers", "The maximum number of load balancers has been reached: %d", most)
	}
	id := s.newID()
	b := &balancer{Name: in.Name, ID: id, ARN: s.arn(c, "loadbalancer/net/"+in.Name+"/"+id), Scheme: in.Scheme, IPType: in.IpAddressType,
		DNSName: strings.ToLower(in.Name) + "-" + id + ".elb." + c.Region + ".amazonaws.com", Created: c.Now.UTC().Truncate(10 * time.Millisecond),
		Groups: in.SecurityGroups, HadGroups: len(in.SecurityGroups) > 0, Attributes: map[string]string{}, Tags: tags}
	if b.HadGroups {
		b.PrivateLinkRules = "on"
	}
	zones, err := s.planZones(c, b, in.SubnetMappings)
	if err != nil {
		return nil, err
	}
	if err := s.ec2.CheckGroups(c, b.VPC, b.Groups); err != nil {
		return nil, wire.Errorf("InvalidSecurityGroup", "%s", err.Message)
	}
	if err := s.enter(c, b, zones); err != nil {
		return nil, err
	}
	s.balancers.Put(c.Region, b.ARN, b)
	return &balancersOut{LoadBalancers: []balancerView{s.view(c, b)}}, nil
}

// check judges the request alone and fills its defaults.
func (in *createBalancerIn) check() *wire.Error {
	if err := checkName("Load balancer", in.Name); err != nil {
		return err
	}
	switch in.Type {
	case "network":
	case "", "application", "gateway":
		return misconfigured("The simulator has network load balancers only: Type must be network")
	default:
		return invalid("1 validation error detected: Value '%s' at 'type' failed to satisfy constraint: Member must satisfy enum value set: [application, network, gateway]", in.Type)
	}
	if in.Scheme == "" {
		in.Scheme = internetFacing
	}
	if in.Scheme != internetFacing && in.Scheme != internal {
		return invalid("1 validation error detected: Value '%s' at 'scheme' failed to satisfy constraint: Member must satisfy enum value set: [internet-facing, internal]", in.Scheme)
	}
	if in.IpAddressType == "" {
		in.IpAddressType = ipv4
	}
	if err := checkIPType(in.IpAddressType); err != nil {
		return err
	}
	var err *wire.Error
	in.SubnetMappings, err = mappings(in.Subnets, in.SubnetMappings)
	return err
}

func checkIPType(t string) *wire.Error {
	if t != ipv4 && t != dualstack {
		return invalid("1 validation error detected: Value '%s' at 'ipAddressType' failed to satisfy constraint: Member must satisfy enum value set: [ipv4, dualstack]", t)
	}
	return nil
}

// mappings makes one list of the two ways to name subnets.
func mappings(subnets []string, list []subnetMapping) ([]subnetMapping, *wire.Error) {
	if len(subnets) > 0 && len(list) > 0 {
		return nil, invalid("You can specify either subnets or subnet mappings, not both")
	}
	for _, id := range subnets {
		list = append(list, subnetMapping{SubnetId: id})
	}
	if len(list) == 0 {
		return nil, invalid("At least one subnet must be specified")
	}
	return list, nil
}

// asked tells whether a request for a new balancer describes this one.
func (b *balancer) asked(in *createBalancerIn) bool {
	var have, want []string
	for _, z := range b.Zones {
		have = append(have, z.Subnet+" "+z.Allocation+" "+z.WantedPrivate)
	}
	for _, m := range in.SubnetMappings {
		want = append(want, m.SubnetId+" "+m.AllocationId+" "+m.PrivateIPv4Address)
	}
	slices.Sort(have)
	slices.Sort(want)
	groups, asked := slices.Clone(b.Groups), slices.Clone(in.SecurityGroups)
	slices.Sort(groups)
	slices.Sort(asked)
	return b.Scheme == in.Scheme && b.IPType == in.IpAddressType && slices.Equal(have, want) && slices.Equal(groups, asked)
}

// planZones checks subnets for a balancer and sets its network when it has none.
func (s *Service) planZones(c *wire.Call, b *balancer, list []subnetMapping) ([]balancerZone, *wire.Error) {
	var out []balancerZone
	for _, m := range list {
		n, err := s.ec2.Subnet(c, m.SubnetId)
		if err != nil {
			return nil, wire.Errorf("SubnetNotFound", "The subnet ID '%s' does not exist", m.SubnetId)
		}
		if b.VPC == "" {
			b.VPC = n.VpcId
		}
		switch {
		case n.VpcId != b.VPC:
			return nil, misconfigured("All subnets must belong to the same VPC: '%s'", b.VPC)
		case slices.ContainsFunc(out, func(z balancerZone) bool { return z.Zone == n.AvailabilityZone }):
			return nil, misconfigured("A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		case b.IPType == dualstack && len(n.Ipv6CidrBlocks) == 0:
			return nil, invalid("You must specify subnets with an associated IPv6 CIDR block.")
		case m.AllocationId != "" && b.Scheme == internal:
			return nil, misconfigured("Elastic IP addresses are not supported for load balancers with scheme 'internal'")
		case m.PrivateIPv4Address != "" && b.Scheme != internal:
			return nil, misconfigured("Private IPv4 addresses are not supported for load balancers with scheme 'internet-facing'")
		case n.AvailableIpAddressCount != 0 && n.AvailableIpAddressCount < 8:
			return nil, wire.Errorf("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free IP addresses in each subnet.", m.SubnetId)
		}
		out = append(out, balancerZone{Zone: n.AvailabilityZone, Subnet: m.SubnetId, Allocation: m.AllocationId, WantedPrivate: m.PrivateIPv4Address})
	}
	if b.Scheme == internetFacing && !s.ec2.HasGateway(c, b.VPC) {
		return nil, wire.Errorf("InvalidSubnet", "VPC %s has no internet gateway", b.VPC)
	}
	slices.SortFunc(out, func(x, y balancerZone) int { return strings.Compare(x.Zone, y.Zone) })
	return out, nil
}

// requester is the account that AWS makes a balancer's interfaces with.
const requester = "amazon-elb"

// enter makes the balancer's interfaces in zones, all or none.
func (s *Service) enter(c *wire.Call, b *balancer, zones []balancerZone) *wire.Error {
	var made []string
	for _, z := range zones {
		z, err := s.enterZone(c, b, z)
		if z.Interface != "" {
			made = append(made, z.Interface)
		}
		if err != nil {
			for _, id := range made {
				s.ec2.DeleteInterface(c, id)
			}
			b.Zones = slices.DeleteFunc(b.Zones, func(have balancerZone) bool { return slices.Contains(made, have.Interface) })
			return err
		}
		b.Zones = append(b.Zones, z)
	}
	return nil
}

func (s *Service) enterZone(c *wire.Call, b *balancer, z balancerZone) (balancerZone, *wire.Error) {
	spec := ec2.InterfaceSpec{SubnetId: z.Subnet, Description: "ELB net/" + b.Name + "/" + b.ID, GroupIds: b.Groups, PrivateIP: z.WantedPrivate,
		InterfaceType: "network_load_balancer", RequesterId: requester, Public: b.Scheme == internetFacing && z.Allocation == ""}
	if b.IPType == dualstack {
		spec.IPv6Count = 1
	}
	card, err := s.ec2.CreateInterface(c, spec)
	if err != nil {
		return z, wire.Errorf("InvalidSubnet", "%s", err.Message)
	}
	card.Status = "in-use"
	z.Interface, z.Private = card.NetworkInterfaceId, card.PrivateIpAddress
	if len(card.Ipv6Addresses) > 0 {
		z.Global = card.Ipv6Addresses[0].Ipv6Address
	}
	if card.Association != nil {
		z.PublicIP = card.Association.PublicIp
	}
	if z.Allocation != "" {
		ip, err := s.ec2.BindAddress(c, z.Allocation, card.NetworkInterfaceId)
		if err != nil {
			return z, wire.Errorf("AllocationIdNotFound", "%s", err.Message)
		}
		z.PublicIP = ip
	}
	return z, nil
}

type describeBalancersIn struct {
	LoadBalancerArns []string
	Names            []string
	paging
}

func (s *Service) describeBalancers(c *wire.Call, in *describeBalancersIn) (*balancersOut, error) {
	if len(in.LoadBalancerArns) > 20 || len(in.Names) > 20 {
		return nil, invalid("The maximum number of load balancers that you can describe in a single call is 20")
	}
	if len(in.LoadBalancerArns) > 0 && len(in.Names) > 0 {
		return nil, invalid("Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	rows := s.balancers.Visible(c.Region)
	for _, want := range slices.Concat(in.LoadBalancerArns, in.Names) {
		if !slices.ContainsFunc(rows, func(b *balancer) bool { return b.ARN == want || b.Name == want }) {
			return nil, wire.Errorf("LoadBalancerNotFound", "Load balancers '[%s]' not found", want)
		}
	}
	if wanted := slices.Concat(in.LoadBalancerArns, in.Names); len(wanted) > 0 {
		rows = slices.DeleteFunc(slices.Clone(rows), func(b *balancer) bool { return !slices.Contains(wanted, b.ARN) && !slices.Contains(wanted, b.Name) })
	}
	rows, next, err := page(c, rows, in.paging)
	out := &balancersOut{LoadBalancers: []balancerView{}, NextMarker: next}
	for _, b := range rows {
		out.LoadBalancers = append(out.LoadBalancers, s.view(c, b))
	}
	return out, err
}

type ofBalancer struct {
	LoadBalancerArn string `wire:"LoadBalancerArn,required"`
}

// deleteBalancer succeeds when there is nothing to delete, as AWS does. The
// interfaces stay a while.
func (s *Service) deleteBalancer(c *wire.Call, in *ofBalancer) (*none, error) {
	b := s.balancers.Get(c.Region, in.LoadBalancerArn)
	if b == nil {
		return &none{}, nil
	}
	if b.attribute("deletion_protection.enabled") == "true" {
		return nil, wire.Errorf("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", b.ARN)
	}
	for _, l := range s.listenersOf(c, b.ARN) {
		s.listeners.Delete(c.Region, l.ARN)
	}
	s.leave(c, b.Zones)
	s.balancers.Delete(c.Region, b.ARN)
	return &none{}, nil
}

// leave lets a balancer's interfaces fade.
func (s *Service) leave(c *wire.Call, zones []balancerZone) {
	for _, z := range zones {
		if s.delay <= 0 {
			s.ec2.DeleteInterface(c, z.Interface)
			continue
		}
		s.fading.Put(c.Region, z.Interface, &fadingInterface{z.Interface, c.Now.Add(s.delay)})
	}
}
