// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Address is an elastic IP address.
type Address struct {
	AllocationId            string
	PublicIp                string
	Domain                  string
	PublicIpv4Pool          string
	NetworkBorderGroup      string
	AssociationId           string
	InstanceId              string `wire:"instanceId,keep"`
	NetworkInterfaceId      string
	NetworkInterfaceOwnerId string
	PrivateIpAddress        string
	Tags                    []Tag  `wire:"tagSet"`
	NatGatewayId            string `wire:"-"` // the gateway that holds it
}

const defaultAddressQuota = 5

// Public addresses come from 198.18.0.0/15, which is kept for tests and routed nowhere.
var publicPool = netip.MustParsePrefix("198.18.0.0/15")

func (a *Address) detach() {
	a.AssociationId, a.InstanceId, a.NetworkInterfaceId, a.NetworkInterfaceOwnerId, a.PrivateIpAddress, a.NatGatewayId = "", "", "", "", "", ""
}

func newAddressKind(s *Service, w *world.World) (*kind[Address], error) {
	return newKind(s, w, kind[Address]{
		resource: "elastic-ip", prefix: "eipalloc-", notFound: "InvalidAllocationID.NotFound", word: "allocation ID",
		id:   func(a *Address) string { return a.AllocationId },
		tags: func(a *Address) *[]Tag { return &a.Tags },
		filters: map[string]func(*Address) []string{
			"allocation-id": one(func(a *Address) string { return a.AllocationId }), "association-id": one(func(a *Address) string { return a.AssociationId }),
			"public-ip": one(func(a *Address) string { return a.PublicIp }), "private-ip-address": one(func(a *Address) string { return a.PrivateIpAddress }),
			"instance-id": one(func(a *Address) string { return a.InstanceId }), "network-interface-id": one(func(a *Address) string { return a.NetworkInterfaceId }),
			"domain": one(func(a *Address) string { return a.Domain }), "network-border-group": one(func(a *Address) string { return a.NetworkBorderGroup }),
		},
	})
}

func (s *Service) addressOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"AllocateAddress": op(s.allocateAddress), "DescribeAddresses": op(s.describeAddresses), "ReleaseAddress": op(s.releaseAddress),
		"AssociateAddress": op(s.associateAddress), "DisassociateAddress": op(s.disassociateAddress),
	}
}

// publicAddress gives out the pool's lowest free address.
func (s *Service) publicAddress(c *wire.Call) string {
	used := map[string]bool{}
	for _, a := range s.addresses.all(c) {
		used[a.PublicIp] = true
	}
	for _, i := range s.interfaces.all(c) {
		if i.Association != nil {
			used[i.Association.PublicIp] = true
		}
	}
	a := publicPool.Addr().Next()
	for used[a.String()] {
		a = a.Next()
	}
	return a.String()
}

type allocateAddressIn struct {
	Domain             string
	NetworkBorderGroup string
	PublicIpv4Pool     string
	TagSpecifications  []TagSpecification `wire:"TagSpecification"`
}

type allocateAddressOut struct{ AllocationId, PublicIp, Domain, PublicIpv4Pool, NetworkBorderGroup string }

func (s *Service) allocateAddress(c *wire.Call, in *allocateAddressIn) (*allocateAddressOut, error) {
	if in.Domain != "" && in.Domain != "vpc" {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter domain is invalid.", in.Domain)
	}
	if in.PublicIpv4Pool != "" && in.PublicIpv4Pool != "amazon" {
		return nil, wire.Errorf("InvalidPoolID.NotFound", "The pool ID '%s' does not exist", in.PublicIpv4Pool)
	}
	tags, err := tagsFor(in.TagSpecifications, "elastic-ip")
	if err != nil {
		return nil, err
	}
	if limit := c.Quota("addresses", defaultAddressQuota); len(s.addresses.all(c)) >= limit {
		return nil, wire.Errorf("AddressLimitExceeded", "The maximum number of addresses has been reached: %d of %d.", limit, limit)
	}
	a := &Address{AllocationId: s.newID("eipalloc-"), PublicIp: s.publicAddress(c), Domain: "vpc", PublicIpv4Pool: "amazon", NetworkBorderGroup: c.Region, Tags: tags}
	s.addresses.put(c, a)
	return &allocateAddressOut{a.AllocationId, a.PublicIp, a.Domain, a.PublicIpv4Pool, a.NetworkBorderGroup}, nil
}

type describeAddressesOut struct {
	Addresses []*Address `wire:"addressesSet"`
}

func (s *Service) describeAddresses(c *wire.Call, in *struct {
	AllocationIds []string `wire:"AllocationId"`
	PublicIps     []string `wire:"PublicIp"`
	Filters       []Filter `wire:"Filter"`
}) (*describeAddressesOut, error) {
	rows, err := s.addresses.pick(c, in.AllocationIds)
	if err != nil {
		return nil, err
	}
	if len(in.PublicIps) > 0 {
		rows = nil
		for _, ip := range in.PublicIps {
			a, err := s.addressBy(c, "", ip)
			if err != nil {
				return nil, err
			}
			rows = append(rows, a)
		}
	}
	if rows, err = filter(rows, in.Filters, s.addresses.filters, s.addresses.tags); err != nil {
		return nil, err
	}
	return &describeAddressesOut{rows}, nil
}

func (s *Service) addressBy(c *wire.Call, allocation, ip string) (*Address, *wire.Error) {
	if allocation != "" {
		return s.addresses.get(c, allocation)
	}
	if ip == "" {
		return nil, wire.Errorf("MissingParameter", "Either public IP or allocation id must be specified")
	}
	if a := s.addresses.first(c, func(a *Address) bool { return a.PublicIp == ip }); a != nil {
		return a, nil
	}
	return nil, wire.Errorf("InvalidAddress.NotFound", "Address '%s' not found.", ip)
}

func (s *Service) releaseAddress(c *wire.Call, in *struct {
	AllocationId, PublicIp, NetworkBorderGroup string
}) (*done, error) {
	a, err := s.addressBy(c, in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	if a.AssociationId != "" {
		return nil, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", a.PublicIp)
	}
	s.addresses.remove(c, a)
	return ok()
}

type associateAddressIn struct {
	AllocationId, PublicIp, InstanceId, NetworkInterfaceId, PrivateIpAddress string
	AllowReassociation                                                       *bool
}

type associationOut struct{ AssociationId string }

func (s *Service) associateAddress(c *wire.Call, in *associateAddressIn) (*associationOut, error) {
	a, err := s.addressBy(c, in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	if (in.InstanceId == "") == (in.NetworkInterfaceId == "") {
		return nil, wire.Errorf("InvalidParameterCombination", "Give either an instance or a network interface")
	}
	target := in.NetworkInterfaceId
	if in.InstanceId != "" {
		vm, err := s.instances.get(c, in.InstanceId)
		if err != nil {
			return nil, err
		}
		cards := s.InterfacesOf(c, vm.InstanceId)
		if len(cards) == 0 {
			return nil, wire.Errorf("InvalidInstanceID", "The instance %s is not in a valid state for this operation", vm.InstanceId)
		}
		target = cards[0].NetworkInterfaceId
	}
	i, err := s.interfaces.get(c, target)
	if err != nil {
		return nil, err
	}
	if s.gatewayOf(c, i.VpcId) == nil {
		return nil, wire.Errorf("Gateway.NotAttached", "Network %s is not attached to any internet gateway", i.VpcId)
	}
	reassociate := in.AllowReassociation == nil || *in.AllowReassociation
	if a.NatGatewayId != "" || (a.AssociationId != "" && !reassociate) {
		return nil, wire.Errorf("Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", a.AllocationId, a.AssociationId)
	}
	if a.NetworkInterfaceId != "" {
		s.freeInterface(c, a.NetworkInterfaceId)
	}
	if i.Association != nil && i.Association.AllocationId != "" && i.Association.AllocationId != a.AllocationId {
		if old := s.addresses.table.Get(c.Region, i.Association.AllocationId); old != nil {
			old.detach()
			s.addresses.put(c, old)
		}
	}
	s.bind(c, a, i)
	return &associationOut{a.AssociationId}, nil
}

// bind gives an interface the address.
func (s *Service) bind(c *wire.Call, a *Address, i *NetworkInterface) {
	a.detach()
	a.AssociationId, a.NetworkInterfaceId, a.NetworkInterfaceOwnerId, a.PrivateIpAddress = s.newID("eipassoc-"), i.NetworkInterfaceId, s.account, i.PrivateIpAddress
	if i.Attachment != nil {
		a.InstanceId = i.Attachment.InstanceId
	}
	i.associate(&InterfaceAssociation{PublicIp: a.PublicIp, IpOwnerId: s.account, AllocationId: a.AllocationId, AssociationId: a.AssociationId}, c.Region)
	s.addresses.put(c, a)
	s.interfaces.put(c, i)
}

func (s *Service) freeInterface(c *wire.Call, id string) {
	if i := s.interfaces.table.Get(c.Region, id); i != nil {
		i.associate(nil, c.Region)
		s.interfaces.put(c, i)
	}
}

func (s *Service) disassociateAddress(c *wire.Call, in *struct{ AssociationId, PublicIp string }) (*done, error) {
	a := s.addresses.first(c, func(a *Address) bool {
		return a.AssociationId != "" && a.AssociationId == in.AssociationId || in.PublicIp != "" && a.PublicIp == in.PublicIp
	})
	if a == nil {
		return nil, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", in.AssociationId)
	}
	if a.NatGatewayId != "" {
		return nil, wire.Errorf("AuthFailure", "You do not have permission to access the specified resource: the address belongs to %s.", a.NatGatewayId)
	}
	s.freeInterface(c, a.NetworkInterfaceId)
	a.detach()
	s.addresses.put(c, a)
	return ok()
}
