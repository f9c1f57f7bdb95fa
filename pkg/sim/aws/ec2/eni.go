// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"encoding/hex"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// NetworkInterface is a network card: of an instance, a gateway, a balancer or none.
type NetworkInterface struct {
	NetworkInterfaceId string
	SubnetId           string
	VpcId              string
	AvailabilityZone   string
	Description        string `wire:"description,keep"`
	OwnerId            string
	RequesterId        string
	RequesterManaged   bool
	Status             string
	MacAddress         string
	PrivateIpAddress   string
	PrivateDnsName     string
	SourceDestCheck    bool
	InterfaceType      string
	Groups             []GroupIdentifier `wire:"groupSet"`
	Attachment         *InterfaceAttachment
	Association        *InterfaceAssociation
	PrivateIpAddresses []PrivateIP     `wire:"privateIpAddressesSet"`
	Ipv6Addresses      []InterfaceIPv6 `wire:"ipv6AddressesSet"`
	Tags               []Tag           `wire:"tagSet"`
}

// GroupIdentifier names a security group.
type GroupIdentifier struct{ GroupId, GroupName string }

// InterfaceAttachment joins an interface to an instance.
type InterfaceAttachment struct {
	AttachmentId        string
	InstanceId          string
	InstanceOwnerId     string
	DeviceIndex         int
	NetworkCardIndex    int
	Status              string
	AttachTime          time.Time
	DeleteOnTermination bool
}

// InterfaceAssociation is an interface's public address.
type InterfaceAssociation struct {
	PublicIp      string
	PublicDnsName string
	IpOwnerId     string
	AllocationId  string
	AssociationId string
}

// PrivateIP is one of an interface's IPv4 addresses.
type PrivateIP struct {
	PrivateIpAddress string
	PrivateDnsName   string
	Primary          bool
	Association      *InterfaceAssociation
}

// InterfaceIPv6 is one of an interface's IPv6 addresses.
type InterfaceIPv6 struct{ Ipv6Address string }

// InterfaceSpec asks for an interface; the other services make theirs with it.
type InterfaceSpec struct {
	SubnetId      string
	Description   string // "ELB net/NAME/ID" of a balancer
	GroupIds      []string
	PrivateIP     string // "" for any
	IPv6Count     int
	InterfaceType string // "interface" when ""
	RequesterId   string // account of the service that manages it, "" for the caller's own
	Public        bool   // gets a public address
	Tags          []Tag
}

func newInterfaceKind(s *Service, w *world.World) (*kind[NetworkInterface], error) {
	attachment := func(get func(*InterfaceAttachment) string) func(*NetworkInterface) []string {
		return one(func(i *NetworkInterface) string {
			if i.Attachment == nil {
				return ""
			}
			return get(i.Attachment)
		})
	}
	association := func(get func(*InterfaceAssociation) string) func(*NetworkInterface) []string {
		return one(func(i *NetworkInterface) string {
			if i.Association == nil {
				return ""
			}
			return get(i.Association)
		})
	}
	return newKind(s, w, kind[NetworkInterface]{
		resource: "network-interface", prefix: "eni-", notFound: "InvalidNetworkInterfaceID.NotFound", word: "networkInterface ID",
		id:   func(i *NetworkInterface) string { return i.NetworkInterfaceId },
		tags: func(i *NetworkInterface) *[]Tag { return &i.Tags },
		filters: map[string]func(*NetworkInterface) []string{
			"network-interface-id": one(func(i *NetworkInterface) string { return i.NetworkInterfaceId }),
			"subnet-id":            one(func(i *NetworkInterface) string { return i.SubnetId }), "vpc-id": one(func(i *NetworkInterface) string { return i.VpcId }),
			"availability-zone": one(func(i *NetworkInterface) string { return i.AvailabilityZone }), "description": one(func(i *NetworkInterface) string { return i.Description }),
			"interface-type": one(func(i *NetworkInterface) string { return i.InterfaceType }), "owner-id": one(func(i *NetworkInterface) string { return i.OwnerId }),
			"private-ip-address": one(func(i *NetworkInterface) string { return i.PrivateIpAddress }), "status": one(func(i *NetworkInterface) string { return i.Status }),
			"mac-address": one(func(i *NetworkInterface) string { return i.MacAddress }), "requester-id": one(func(i *NetworkInterface) string { return i.RequesterId }),
			"requester-managed":            flag(func(i *NetworkInterface) bool { return i.RequesterManaged }),
			"group-id":                     many(func(i *NetworkInterface) []GroupIdentifier { return i.Groups }, func(g GroupIdentifier) string { return g.GroupId }),
			"group-name":                   many(func(i *NetworkInterface) []GroupIdentifier { return i.Groups }, func(g GroupIdentifier) string { return g.GroupName }),
			"addresses.private-ip-address": many(func(i *NetworkInterface) []PrivateIP { return i.PrivateIpAddresses }, func(p PrivateIP) string { return p.PrivateIpAddress }),
			"attachment.instance-id":       attachment(func(a *InterfaceAttachment) string { return a.InstanceId }),
			"attachment.attachment-id":     attachment(func(a *InterfaceAttachment) string { return a.AttachmentId }),
			"attachment.status":            attachment(func(a *InterfaceAttachment) string { return a.Status }),
			"association.public-ip":        association(func(a *InterfaceAssociation) string { return a.PublicIp }),
			"association.allocation-id":    association(func(a *InterfaceAssociation) string { return a.AllocationId }),
		},
	})
}

// CreateInterface makes an interface in a subnet, with its addresses.
func (s *Service) CreateInterface(c *wire.Call, spec InterfaceSpec) (*NetworkInterface, *wire.Error) {
	n, err := s.subnets.get(c, spec.SubnetId)
	if err != nil {
		return nil, err
	}
	i := &NetworkInterface{
		NetworkInterfaceId: s.newID("eni-"), SubnetId: n.SubnetId, VpcId: n.VpcId, AvailabilityZone: n.AvailabilityZone, Description: spec.Description,
		OwnerId: s.account, RequesterId: spec.RequesterId, RequesterManaged: spec.RequesterId != "", Status: "available", MacAddress: s.mac(),
		SourceDestCheck: true, InterfaceType: spec.InterfaceType, Tags: spec.Tags,
	}
	if i.InterfaceType == "" {
		i.InterfaceType = "interface"
	}
	if i.Groups, err = s.groupsFor(c, n.VpcId, spec.GroupIds, i.InterfaceType); err != nil {
		return nil, err
	}
	if err := s.giveAddresses(c, n, i, spec); err != nil {
		return nil, err
	}
	if spec.Public {
		i.associate(&InterfaceAssociation{PublicIp: s.publicAddress(c), IpOwnerId: "amazon"}, c.Region)
	}
	s.interfaces.put(c, i)
	return i, nil
}

// DeleteInterface removes an interface whatever it is attached to; one that is
// not there is no fault.
func (s *Service) DeleteInterface(c *wire.Call, id string) {
	i := s.interfaces.table.Get(c.Region, id)
	if i == nil {
		return
	}
	for _, a := range s.addresses.all(c) {
		if a.NetworkInterfaceId == id {
			a.detach()
			s.addresses.put(c, a)
		}
	}
	s.interfaces.remove(c, i)
}

// groupsFor checks security groups of an interface; a network's default group stands when none is given.
func (s *Service) groupsFor(c *wire.Call, vpc string, ids []string, interfaceType string) ([]GroupIdentifier, *wire.Error) {
	groups := []GroupIdentifier{}
	for _, id := range ids {
		g, err := s.groups.get(c, id)
		if err != nil {
			return nil, err
		}
		if g.VpcId != vpc {
			return nil, wire.Errorf("InvalidParameter", "Security group %s and subnet belong to different networks.", id)
		}
		groups = append(groups, GroupIdentifier{g.GroupId, g.GroupName})
	}
	if limit := c.Quota("groups-per-interface", 5); len(ids) > limit {
		return nil, wire.Errorf("SecurityGroupsPerInterfaceLimitExceeded", "The maximum number of security groups per interface has been reached: %d of %d.", len(ids), limit)
	}
	if len(ids) == 0 && interfaceType == "interface" {
		if g := s.groups.first(c, func(g *SecurityGroup) bool { return g.VpcId == vpc && g.GroupName == "default" }); g != nil {
			groups = append(groups, GroupIdentifier{g.GroupId, g.GroupName})
		}
	}
	return groups, nil
}

// giveAddresses takes the subnet's lowest free addresses, or the one asked for.
func (s *Service) giveAddresses(c *wire.Call, n *Subnet, i *NetworkInterface, spec InterfaceSpec) *wire.Error {
	used := map[string]bool{}
	for _, other := range s.interfaces.all(c) {
		if other.SubnetId != n.SubnetId {
			continue
		}
		for _, p := range other.PrivateIpAddresses {
			used[p.PrivateIpAddress] = true
		}
		for _, p := range other.Ipv6Addresses {
			used[p.Ipv6Address] = true
		}
	}
	if n.CidrBlock != "" {
		ip, err := pickIPv4(n, used, spec.PrivateIP)
		if err != nil {
			return err
		}
		name := "ip-" + strings.ReplaceAll(ip, ".", "-") + "." + internalDomain(c.Region)
		i.PrivateIpAddress, i.PrivateDnsName = ip, name
		i.PrivateIpAddresses = []PrivateIP{{PrivateIpAddress: ip, PrivateDnsName: name, Primary: true}}
	}
	count := spec.IPv6Count
	if n.AssignIpv6AddressOnCreation && count == 0 && i.InterfaceType == "interface" {
		count = 1
	}
	if count > 0 && len(n.Ipv6CidrBlocks) == 0 {
		return wire.Errorf("InvalidParameterValue", "The subnet %s has no IPv6 CIDR block", n.SubnetId)
	}
	for range count {
		p := netip.MustParsePrefix(n.Ipv6CidrBlocks[0].Ipv6CidrBlock)
		b := p.Addr().As16()
		_, _ = io.ReadFull(s.rand, b[8:]) // a short read leaves zeros: still an address
		i.Ipv6Addresses = append(i.Ipv6Addresses, InterfaceIPv6{netip.AddrFrom16(b).String()})
	}
	return nil
}

func pickIPv4(n *Subnet, used map[string]bool, wanted string) (string, *wire.Error) {
	p := netip.MustParsePrefix(n.CidrBlock)
	if wanted != "" {
		a, err := netip.ParseAddr(wanted)
		if err != nil || !p.Contains(a) {
			return "", wire.Errorf("InvalidParameterValue", "Address does not fall within the subnet's address range")
		}
		if used[a.String()] {
			return "", wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", wanted)
		}
		return a.String(), nil
	}
	a := p.Addr()
	for range 4 {
		a = a.Next()
	}
	for ; p.Contains(a.Next()); a = a.Next() {
		if !used[a.String()] {
			return a.String(), nil
		}
	}
	return "", wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", n.SubnetId)
}

func internalDomain(region string) string {
	if region == "us-east-1" {
		return "ec2.internal"
	}
	return region + ".compute.internal"
}

func publicDNS(region, ip string) string {
	name := "ec2-" + strings.ReplaceAll(ip, ".", "-") + "."
	if region == "us-east-1" {
		return name + "compute-1.amazonaws.com"
	}
	return name + region + ".compute.amazonaws.com"
}

// associate gives the interface a public address.
func (i *NetworkInterface) associate(a *InterfaceAssociation, region string) {
	if a != nil {
		a.PublicDnsName = publicDNS(region, a.PublicIp)
	}
	i.Association = a
	if len(i.PrivateIpAddresses) > 0 {
		i.PrivateIpAddresses[0].Association = a
	}
}

func (s *Service) mac() string {
	var b [5]byte
	_, _ = io.ReadFull(s.rand, b[:]) // a short read leaves zeros: still an address
	h := "02" + hex.EncodeToString(b[:])
	return strings.Join([]string{h[:2], h[2:4], h[4:6], h[6:8], h[8:10], h[10:12]}, ":")
}

// InterfacesOf returns an instance's interfaces, by device index.
func (s *Service) InterfacesOf(c *wire.Call, instance string) []*NetworkInterface {
	var list []*NetworkInterface
	for _, i := range s.interfaces.all(c) {
		if i.Attachment != nil && i.Attachment.InstanceId == instance {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *NetworkInterface) int { return a.Attachment.DeviceIndex - b.Attachment.DeviceIndex })
	return list
}
