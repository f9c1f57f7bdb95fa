// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// InternetGateway joins a network to the internet.
type InternetGateway struct {
	InternetGatewayId string
	OwnerId           string
	Attachments       []GatewayAttachment `wire:"attachmentSet"`
	Tags              []Tag               `wire:"tagSet"`
}

// EgressOnlyGateway lets IPv6 out and nothing in.
type EgressOnlyGateway struct {
	EgressOnlyInternetGatewayId string
	Attachments                 []GatewayAttachment `wire:"attachmentSet"`
	Tags                        []Tag               `wire:"tagSet"`
}

// GatewayAttachment names the network that a gateway serves.
type GatewayAttachment struct {
	VpcId string
	State string
}

const defaultGatewayQuota = 5

func gatewayVpcs(list []GatewayAttachment) []string {
	var ids []string
	for _, a := range list {
		ids = append(ids, a.VpcId)
	}
	return ids
}

func newGatewayKind(s *Service, w *world.World) (*kind[InternetGateway], error) {
	return newKind(s, w, kind[InternetGateway]{
		resource: "internet-gateway", prefix: "igw-", notFound: "InvalidInternetGatewayID.NotFound", word: "internetGateway ID",
		id:   func(g *InternetGateway) string { return g.InternetGatewayId },
		tags: func(g *InternetGateway) *[]Tag { return &g.Tags },
		filters: map[string]func(*InternetGateway) []string{
			"internet-gateway-id": one(func(g *InternetGateway) string { return g.InternetGatewayId }),
			"owner-id":            one(func(g *InternetGateway) string { return g.OwnerId }),
			"attachment.vpc-id":   func(g *InternetGateway) []string { return gatewayVpcs(g.Attachments) },
			"attachment.state":    many(func(g *InternetGateway) []GatewayAttachment { return g.Attachments }, func(a GatewayAttachment) string { return a.State }),
		},
	})
}

func newEgressOnlyKind(s *Service, w *world.World) (*kind[EgressOnlyGateway], error) {
	return newKind(s, w, kind[EgressOnlyGateway]{
		resource: "egress-only-internet-gateway", prefix: "eigw-", notFound: "InvalidEgressOnlyInternetGatewayId.NotFound", word: "egressOnlyInternetGateway ID",
		id:      func(g *EgressOnlyGateway) string { return g.EgressOnlyInternetGatewayId },
		tags:    func(g *EgressOnlyGateway) *[]Tag { return &g.Tags },
		filters: map[string]func(*EgressOnlyGateway) []string{},
		bounds:  wire.Bounds{Min: 5, Max: 255, Default: 255},
	})
}

func (s *Service) gatewayOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateInternetGateway": op(s.createGateway), "DescribeInternetGateways": op(s.describeGateways), "DeleteInternetGateway": op(s.deleteGateway),
		"AttachInternetGateway": op(s.attachGateway), "DetachInternetGateway": op(s.detachGateway),
		"CreateEgressOnlyInternetGateway": op(s.createEgressOnly), "DescribeEgressOnlyInternetGateways": op(s.describeEgressOnly),
		"DeleteEgressOnlyInternetGateway": op(s.deleteEgressOnly),
	}
}

type gatewayOut struct{ InternetGateway InternetGateway }

func (s *Service) createGateway(c *wire.Call, in *struct {
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}) (*gatewayOut, error) {
	tags, err := tagsFor(in.TagSpecifications, "internet-gateway")
	if err != nil {
		return nil, err
	}
	if limit := c.Quota("internet-gateways", c.Quota("vpcs", defaultGatewayQuota)); len(s.gateways.all(c)) >= limit {
		return nil, wire.Errorf("InternetGatewayLimitExceeded", "The maximum number of internet gateways has been reached: %d of %d.", limit, limit)
	}
	g := &InternetGateway{InternetGatewayId: s.newID("igw-"), OwnerId: s.account, Tags: tags}
	s.gateways.put(c, g)
	return &gatewayOut{*g}, nil
}

type describeGatewaysIn struct {
	Ids []string `wire:"InternetGatewayId"`
	describe
}

type describeGatewaysOut struct {
	NextToken string
	Gateways  []*InternetGateway `wire:"internetGatewaySet"`
}

func (s *Service) describeGateways(c *wire.Call, in *describeGatewaysIn) (*describeGatewaysOut, error) {
	rows, next, err := s.gateways.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeGatewaysOut{next, rows}, nil
}

type gatewayIn struct {
	InternetGatewayId string `wire:"InternetGatewayId,required"`
}

func (s *Service) deleteGateway(c *wire.Call, in *gatewayIn) (*done, error) {
	g, err := s.gateways.get(c, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	if len(g.Attachments) > 0 {
		return nil, wire.Errorf("DependencyViolation", "The internetGateway '%s' has dependencies and cannot be deleted.", g.InternetGatewayId)
	}
	s.gateways.remove(c, g)
	return ok()
}

type attachGatewayIn struct {
	gatewayIn
	VpcId string `wire:"VpcId,required"`
}

func (s *Service) attachGateway(c *wire.Call, in *attachGatewayIn) (*done, error) {
	g, err := s.gateways.get(c, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	if len(g.Attachments) > 0 {
		return nil, wire.Errorf("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.InternetGatewayId, g.Attachments[0].VpcId)
	}
	if s.gatewayOf(c, v.VpcId) != nil {
		return nil, wire.Errorf("InvalidParameterValue", "Network %s already has an internet gateway attached", v.VpcId)
	}
	g.Attachments = []GatewayAttachment{{v.VpcId, "available"}}
	s.gateways.put(c, g)
	return ok()
}

// gatewayOf returns the internet gateway of a network, or nil.
func (s *Service) gatewayOf(c *wire.Call, vpc string) *InternetGateway {
	return s.gateways.first(c, func(g *InternetGateway) bool { return len(g.Attachments) > 0 && g.Attachments[0].VpcId == vpc })
}

func (s *Service) detachGateway(c *wire.Call, in *attachGatewayIn) (*done, error) {
	g, err := s.gateways.get(c, in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	if len(g.Attachments) == 0 || g.Attachments[0].VpcId != in.VpcId {
		return nil, wire.Errorf("Gateway.NotAttached", "resource %s is not attached to network %s", g.InternetGatewayId, in.VpcId)
	}
	if s.interfaces.first(c, func(i *NetworkInterface) bool { return i.VpcId == in.VpcId && i.Association != nil }) != nil {
		return nil, wire.Errorf("DependencyViolation", "Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", in.VpcId)
	}
	g.Attachments = nil
	s.gateways.put(c, g)
	return ok()
}

type createEgressOnlyIn struct {
	VpcId             string `wire:"VpcId,required"`
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type egressOnlyOut struct {
	ClientToken               string
	EgressOnlyInternetGateway EgressOnlyGateway
}

func (s *Service) createEgressOnly(c *wire.Call, in *createEgressOnlyIn) (*egressOnlyOut, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "egress-only-internet-gateway")
	if tagErr != nil {
		return nil, tagErr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		if limit := c.Quota("egress-only-gateways", c.Quota("vpcs", defaultGatewayQuota)); len(s.egressOnly.all(c)) >= limit {
			return "", wire.Errorf("EgressOnlyInternetGatewayLimitExceeded", "The maximum number of egress-only internet gateways has been reached: %d.", limit)
		}
		g := &EgressOnlyGateway{EgressOnlyInternetGatewayId: s.newID("eigw-"), Tags: tags, Attachments: []GatewayAttachment{{v.VpcId, "attached"}}}
		s.egressOnly.put(c, g)
		return g.EgressOnlyInternetGatewayId, nil
	})
	if err != nil {
		return nil, err
	}
	g, err := s.egressOnly.get(c, id)
	if err != nil {
		return nil, err
	}
	return &egressOnlyOut{in.ClientToken, *g}, nil
}

type describeEgressOnlyIn struct {
	Ids []string `wire:"EgressOnlyInternetGatewayId"`
	describe
}

type describeEgressOnlyOut struct {
	NextToken string
	Gateways  []*EgressOnlyGateway `wire:"egressOnlyInternetGatewaySet"`
}

func (s *Service) describeEgressOnly(c *wire.Call, in *describeEgressOnlyIn) (*describeEgressOnlyOut, error) {
	rows, next, err := s.egressOnly.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeEgressOnlyOut{next, rows}, nil
}

type returnCode struct{ ReturnCode bool }

func (s *Service) deleteEgressOnly(c *wire.Call, in *struct {
	Id string `wire:"EgressOnlyInternetGatewayId,required"`
}) (*returnCode, error) {
	g, err := s.egressOnly.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	s.egressOnly.remove(c, g)
	return &returnCode{true}, nil
}
