// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// NatGateway gives private subnets a way out.
type NatGateway struct {
	NatGatewayId     string
	VpcId            string
	SubnetId         string
	State            string
	ConnectivityType string
	CreateTime       time.Time
	DeleteTime       time.Time
	FailureCode      string
	FailureMessage   string
	Addresses        []NatAddress `wire:"natGatewayAddressSet"`
	Tags             []Tag        `wire:"tagSet"`
	Due              time.Time    `wire:"-"` // when the state moves on
}

// Passing says whether the gateway is only still answered for.
func (n *NatGateway) Passing() bool { return n.State == "deleted" }

// NatAddress is an address of a NAT gateway.
type NatAddress struct {
	AllocationId       string
	NetworkInterfaceId string
	PrivateIp          string
	PublicIp           string
	AssociationId      string
	IsPrimary          bool
	Status             string
}

const defaultNatQuota = 5

// goneFor is how long deleted gateways and terminated instances stay visible.
const goneFor = time.Hour

func newNatKind(s *Service, w *world.World) (*kind[NatGateway], error) {
	return newKind(s, w, kind[NatGateway]{
		resource: "natgateway", prefix: "nat-", notFound: "NatGatewayNotFound", word: "NAT gateway",
		id:   func(n *NatGateway) string { return n.NatGatewayId },
		tags: func(n *NatGateway) *[]Tag { return &n.Tags },
		filters: map[string]func(*NatGateway) []string{
			"nat-gateway-id": one(func(n *NatGateway) string { return n.NatGatewayId }), "state": one(func(n *NatGateway) string { return n.State }),
			"subnet-id": one(func(n *NatGateway) string { return n.SubnetId }), "vpc-id": one(func(n *NatGateway) string { return n.VpcId }),
		},
	})
}

func (s *Service) natOps() map[string]wire.Handler {
	return map[string]wire.Handler{"CreateNatGateway": op(s.createNat), "DescribeNatGateways": op(s.describeNats), "DeleteNatGateway": op(s.deleteNat)}
}

type createNatIn struct {
	SubnetId          string `wire:"SubnetId,required"`
	AllocationId      string
	ConnectivityType  string
	PrivateIpAddress  string
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type natOut struct {
	ClientToken string
	NatGateway  NatGateway
}

func (s *Service) createNat(c *wire.Call, in *createNatIn) (*natOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "natgateway")
	if tagErr != nil {
		return nil, tagErr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) { return s.makeNat(c, in, tags) })
	if err != nil {
		return nil, err
	}
	n, err := s.nats.get(c, id)
	if err != nil {
		return nil, err
	}
	return &natOut{in.ClientToken, *n}, nil
}

func (s *Service) makeNat(c *wire.Call, in *createNatIn, tags []Tag) (string, *wire.Error) {
	subnet, err := s.subnets.get(c, in.SubnetId)
	if err != nil {
		return "", err
	}
	n := &NatGateway{
		NatGatewayId: s.newID("nat-"), VpcId: subnet.VpcId, SubnetId: subnet.SubnetId, State: "pending", ConnectivityType: "public",
		CreateTime: c.Now.UTC(), Tags: tags, Due: c.Now.Add(s.delay),
	}
	if in.ConnectivityType != "" {
		n.ConnectivityType = in.ConnectivityType
	}
	if n.ConnectivityType == "private" {
		if in.AllocationId != "" {
			return "", wire.Errorf("InvalidParameterCombination", "AllocationId may not be given for a private NAT gateway")
		}
	} else if n.ConnectivityType != "public" {
		return "", wire.Errorf("InvalidParameterValue", "Value (%s) for parameter connectivityType is invalid.", n.ConnectivityType)
	} else if in.AllocationId == "" {
		return "", wire.Errorf("MissingParameter", "The request must contain the parameter AllocationId")
	}
	if limit := c.Quota("nat-gateways-per-zone", defaultNatQuota); s.natsIn(c, subnet.AvailabilityZone) >= limit {
		return "", wire.Errorf("NatGatewayLimitExceeded", "The maximum number of NAT gateways in %s has been reached: %d.", subnet.AvailabilityZone, limit)
	}
	var address *Address
	if in.AllocationId != "" {
		if address, err = s.addresses.get(c, in.AllocationId); err != nil {
			return "", err
		}
		// AWS accepts the call and reports these two on the gateway.
		switch {
		case address.AssociationId != "":
			n.FailureCode, n.FailureMessage = "Resource.AlreadyAssociated", "Elastic IP address ["+address.AllocationId+"] is already associated"
		case s.gatewayOf(c, n.VpcId) == nil:
			n.FailureCode, n.FailureMessage = "Gateway.NotAttached", "Network "+n.VpcId+" has no Internet gateway attached"
		}
	}
	if n.FailureCode == "" {
		if err := s.natCard(c, n, address, in.PrivateIpAddress); err != nil {
			return "", err
		}
	}
	s.nats.put(c, n)
	return n.NatGatewayId, nil
}

// natCard makes the gateway's interface and takes the address.
func (s *Service) natCard(c *wire.Call, n *NatGateway, a *Address, wanted string) *wire.Error {
	card, err := s.CreateInterface(c, InterfaceSpec{
		SubnetId: n.SubnetId, Description: "Interface for NAT Gateway " + n.NatGatewayId, InterfaceType: "nat_gateway", RequesterId: "amazon-nat", PrivateIP: wanted,
	})
	if err != nil {
		return err
	}
	card.Status, card.SourceDestCheck = "in-use", false
	entry := NatAddress{NetworkInterfaceId: card.NetworkInterfaceId, PrivateIp: card.PrivateIpAddress, IsPrimary: true, Status: "succeeded"}
	if a != nil {
		s.bind(c, a, card)
		a.NatGatewayId = n.NatGatewayId
		s.addresses.put(c, a)
		entry.AllocationId, entry.PublicIp, entry.AssociationId = a.AllocationId, a.PublicIp, a.AssociationId
	}
	n.Addresses = []NatAddress{entry}
	s.interfaces.put(c, card)
	return nil
}

func (s *Service) natsIn(c *wire.Call, zoneName string) int {
	count := 0
	for _, n := range s.nats.all(c) {
		if subnet := s.subnets.table.Get(c.Region, n.SubnetId); subnet != nil && subnet.AvailabilityZone == zoneName && n.State != "deleted" && n.State != "failed" {
			count++
		}
	}
	return count
}

type describeNatsIn struct {
	Ids []string `wire:"NatGatewayId"`
	describe
}

type describeNatsOut struct {
	NextToken string
	Nats      []*NatGateway `wire:"natGatewaySet"`
}

func (s *Service) describeNats(c *wire.Call, in *describeNatsIn) (*describeNatsOut, error) {
	rows, next, err := s.nats.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeNatsOut{next, rows}, nil
}

type natIdOut struct{ NatGatewayId string }

func (s *Service) deleteNat(c *wire.Call, in *struct {
	Id string `wire:"NatGatewayId,required"`
}) (*natIdOut, error) {
	n, err := s.nats.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	if n.State == "deleted" {
		return nil, n.missing()
	}
	if n.State != "deleting" {
		n.State, n.DeleteTime, n.Due = "deleting", c.Now.UTC(), c.Now.Add(s.delay)
		s.nats.put(c, n)
	}
	return &natIdOut{n.NatGatewayId}, nil
}

func (n *NatGateway) missing() *wire.Error {
	return wire.Errorf("NatGatewayNotFound", "The NAT gateway '%s' does not exist", n.NatGatewayId)
}

// settleNat moves a gateway on when its time has come.
func (s *Service) settleNat(c *wire.Call, n *NatGateway) {
	if n.Due.IsZero() || c.Now.Before(n.Due) {
		return
	}
	switch n.State {
	case "pending":
		n.State, n.Due = "available", time.Time{}
		if n.FailureCode != "" {
			n.State, n.Due = "failed", c.Now.Add(goneFor)
		}
	case "deleting":
		for _, a := range n.Addresses {
			s.DeleteInterface(c, a.NetworkInterfaceId)
		}
		n.State, n.Due = "deleted", c.Now.Add(goneFor)
	case "deleted", "failed":
		s.nats.remove(c, n)
		return
	}
	s.nats.put(c, n)
}
