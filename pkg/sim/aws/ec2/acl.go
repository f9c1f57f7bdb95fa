// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// NetworkACL is a network's stateless filter; only the default one is kept.
type NetworkACL struct {
	NetworkAclId string
	VpcId        string
	OwnerId      string
	Default      bool
	Entries      []ACLEntry       `wire:"entrySet"`
	Associations []ACLAssociation `wire:"associationSet"`
	Tags         []Tag            `wire:"tagSet"`
}

// ACLEntry is a line of a filter.
type ACLEntry struct {
	CidrBlock  string
	Egress     bool
	Protocol   string
	RuleAction string
	RuleNumber int
}

// ACLAssociation joins a filter to a subnet.
type ACLAssociation struct{ NetworkAclAssociationId, NetworkAclId, SubnetId string }

// TransitGateway joins networks; here a name that routes may point to.
type TransitGateway struct {
	TransitGatewayId  string
	TransitGatewayArn string
	State             string
	OwnerId           string
	Description       string
	CreationTime      time.Time
	Tags              []Tag `wire:"tagSet"`
}

func newACLKind(s *Service, w *world.World) (*kind[NetworkACL], error) {
	return newKind(s, w, kind[NetworkACL]{
		resource: "network-acl", prefix: "acl-", notFound: "InvalidNetworkAclID.NotFound", word: "networkAcl ID",
		id:   func(a *NetworkACL) string { return a.NetworkAclId },
		tags: func(a *NetworkACL) *[]Tag { return &a.Tags },
		filters: map[string]func(*NetworkACL) []string{
			"network-acl-id": one(func(a *NetworkACL) string { return a.NetworkAclId }), "vpc-id": one(func(a *NetworkACL) string { return a.VpcId }),
			"default": flag(func(a *NetworkACL) bool { return a.Default }),
		},
	})
}

func newTransitKind(s *Service, w *world.World) (*kind[TransitGateway], error) {
	return newKind(s, w, kind[TransitGateway]{
		resource: "transit-gateway", prefix: "tgw-", notFound: "InvalidTransitGatewayID.NotFound", word: "Transit Gateway ID",
		id:   func(t *TransitGateway) string { return t.TransitGatewayId },
		tags: func(t *TransitGateway) *[]Tag { return &t.Tags },
		filters: map[string]func(*TransitGateway) []string{
			"transit-gateway-id": one(func(t *TransitGateway) string { return t.TransitGatewayId }), "state": one(func(t *TransitGateway) string { return t.State }),
		},
	})
}

func (s *Service) otherOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"DescribeNetworkAcls": op(s.describeACLs), "DescribeAccountAttributes": op(s.describeAccount),
		"CreateTransitGateway": op(s.createTransit), "DescribeTransitGateways": op(s.describeTransits), "DeleteTransitGateway": op(s.deleteTransit),
	}
}

type describeACLsIn struct {
	Ids []string `wire:"NetworkAclId"`
	describe
}

type describeACLsOut struct {
	NextToken string
	ACLs      []NetworkACL `wire:"networkAclSet"`
}

func (s *Service) describeACLs(c *wire.Call, in *describeACLsIn) (*describeACLsOut, error) {
	rows, next, err := s.acls.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	out := &describeACLsOut{NextToken: next}
	for _, a := range rows {
		shown := *a
		for _, n := range s.subnets.all(c) {
			if n.VpcId == a.VpcId {
				// The id follows from the subnet's: there is one association a subnet.
				shown.Associations = append(shown.Associations, ACLAssociation{"aclassoc-" + n.SubnetId[len("subnet-"):], a.NetworkAclId, n.SubnetId})
			}
		}
		out.ACLs = append(out.ACLs, shown)
	}
	return out, nil
}

type accountAttribute struct {
	AttributeName string
	Values        []attributeValue `wire:"attributeValueSet"`
}

type attributeValue struct{ AttributeValue string }

type describeAccountOut struct {
	Attributes []accountAttribute `wire:"accountAttributeSet"`
}

func (s *Service) describeAccount(c *wire.Call, in *struct {
	Names []string `wire:"AttributeName"`
}) (*describeAccountOut, error) {
	values := map[string]string{
		"supported-platforms": "VPC", "default-vpc": "none", "vpc-max-security-groups-per-interface": itoa(c.Quota("groups-per-interface", 5)),
		"vpc-max-elastic-ips": itoa(c.Quota("addresses", defaultAddressQuota)), "max-elastic-ips": itoa(c.Quota("addresses", defaultAddressQuota)), "max-instances": "100000",
	}
	names := in.Names
	if len(names) == 0 {
		names = []string{"supported-platforms", "default-vpc", "vpc-max-security-groups-per-interface", "vpc-max-elastic-ips", "max-elastic-ips", "max-instances"}
	}
	out := &describeAccountOut{}
	for _, name := range names {
		v, known := values[name]
		if !known {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter attributeName is invalid.", name)
		}
		out.Attributes = append(out.Attributes, accountAttribute{name, []attributeValue{{v}}})
	}
	return out, nil
}

type transitOut struct{ TransitGateway TransitGateway }

func (s *Service) createTransit(c *wire.Call, in *struct {
	Description       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}) (*transitOut, error) {
	tags, err := tagsFor(in.TagSpecifications, "transit-gateway")
	if err != nil {
		return nil, err
	}
	t := &TransitGateway{TransitGatewayId: s.newID("tgw-"), State: "available", OwnerId: s.account, Description: in.Description, CreationTime: c.Now.UTC(), Tags: tags}
	t.TransitGatewayArn = s.arn(c, "transit-gateway", t.TransitGatewayId)
	s.transits.put(c, t)
	return &transitOut{*t}, nil
}

type describeTransitsIn struct {
	Ids []string `wire:"TransitGatewayIds"`
	describe
}

type describeTransitsOut struct {
	NextToken string
	Gateways  []*TransitGateway `wire:"transitGatewaySet"`
}

func (s *Service) describeTransits(c *wire.Call, in *describeTransitsIn) (*describeTransitsOut, error) {
	rows, next, err := s.transits.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeTransitsOut{next, rows}, nil
}

func (s *Service) deleteTransit(c *wire.Call, in *struct {
	Id string `wire:"TransitGatewayId,required"`
}) (*transitOut, error) {
	t, err := s.transits.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	s.transits.remove(c, t)
	shown := *t
	shown.State = "deleting"
	return &transitOut{shown}, nil
}
