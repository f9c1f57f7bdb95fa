// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// RouteTable says where a subnet's traffic goes. Routes holds all but the
// local ones, which follow from the network's ranges.
type RouteTable struct {
	RouteTableId    string
	VpcId           string
	OwnerId         string
	Associations    []RouteTableAssociation `wire:"associationSet"`
	Routes          []Route                 `wire:"routeSet"`
	PropagatingVgws []struct{}              `wire:"propagatingVgwSet"`
	Tags            []Tag                   `wire:"tagSet"`
}

// RouteTableAssociation joins a table to a subnet, or makes it a network's main one.
type RouteTableAssociation struct {
	RouteTableAssociationId string
	RouteTableId            string
	SubnetId                string
	Main                    bool
	AssociationState        AssociationState
}

// Route is one line of a table.
type Route struct {
	DestinationCidrBlock        string
	DestinationIpv6CidrBlock    string
	DestinationPrefixListId     string
	GatewayId                   string
	NatGatewayId                string
	EgressOnlyInternetGatewayId string
	NetworkInterfaceId          string
	InstanceId                  string
	InstanceOwnerId             string
	TransitGatewayId            string
	VpcPeeringConnectionId      string
	Origin                      string
	State                       string
}

func newRouteTableKind(s *Service, w *world.World) (*kind[RouteTable], error) {
	associations := func(t *RouteTable) []RouteTableAssociation { return t.Associations }
	routes := func(t *RouteTable) []Route { return t.Routes }
	return newKind(s, w, kind[RouteTable]{
		resource: "route-table", prefix: "rtb-", notFound: "InvalidRouteTableID.NotFound", word: "routeTable ID",
		id:   func(t *RouteTable) string { return t.RouteTableId },
		tags: func(t *RouteTable) *[]Tag { return &t.Tags },
		filters: map[string]func(*RouteTable) []string{
			"route-table-id": one(func(t *RouteTable) string { return t.RouteTableId }), "vpc-id": one(func(t *RouteTable) string { return t.VpcId }),
			"owner-id":                               one(func(t *RouteTable) string { return t.OwnerId }),
			"association.subnet-id":                  many(associations, func(a RouteTableAssociation) string { return a.SubnetId }),
			"association.route-table-id":             many(associations, func(a RouteTableAssociation) string { return a.RouteTableId }),
			"association.route-table-association-id": many(associations, func(a RouteTableAssociation) string { return a.RouteTableAssociationId }),
			"association.main": many(associations, func(a RouteTableAssociation) string {
				if a.Main {
					return "true"
				}
				return "false"
			}),
			"route.destination-cidr-block":      many(routes, func(r Route) string { return r.DestinationCidrBlock }),
			"route.destination-ipv6-cidr-block": many(routes, func(r Route) string { return r.DestinationIpv6CidrBlock }),
			"route.gateway-id":                  many(routes, func(r Route) string { return r.GatewayId }),
			"route.nat-gateway-id":              many(routes, func(r Route) string { return r.NatGatewayId }),
			"route.instance-id":                 many(routes, func(r Route) string { return r.InstanceId }),
		},
	})
}

func (s *Service) routeTableOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateRouteTable": op(s.createRouteTable), "DescribeRouteTables": op(s.describeRouteTables), "DeleteRouteTable": op(s.deleteRouteTable),
		"AssociateRouteTable": op(s.associateRouteTable), "DisassociateRouteTable": op(s.disassociateRouteTable),
		"ReplaceRouteTableAssociation": op(s.replaceRouteTableAssociation),
		"CreateRoute":                  op(s.createRoute), "ReplaceRoute": op(s.replaceRoute), "DeleteRoute": op(s.deleteRoute),
	}
}

type createRouteTableIn struct {
	VpcId             string `wire:"VpcId,required"`
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type routeTableOut struct {
	ClientToken string
	RouteTable  RouteTable
}

func (s *Service) createRouteTable(c *wire.Call, in *createRouteTableIn) (*routeTableOut, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "route-table")
	if tagErr != nil {
		return nil, tagErr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		have := 0
		for _, t := range s.routeTables.all(c) {
			if t.VpcId == v.VpcId {
				have++
			}
		}
		if limit := c.Quota("route-tables-per-vpc", 200); have >= limit {
			return "", wire.Errorf("RouteTableLimitExceeded", "The maximum number of route tables has been reached: %d of %d.", have, limit)
		}
		t := &RouteTable{RouteTableId: s.newID("rtb-"), VpcId: v.VpcId, OwnerId: s.account, Tags: tags}
		s.routeTables.put(c, t)
		return t.RouteTableId, nil
	})
	if err != nil {
		return nil, err
	}
	t, err := s.routeTables.get(c, id)
	if err != nil {
		return nil, err
	}
	return &routeTableOut{in.ClientToken, s.shown(c, t)}, nil
}

// shown is the table with its local routes, and with the state of each route.
func (s *Service) shown(c *wire.Call, t *RouteTable) RouteTable {
	out := *t
	out.Routes = nil
	if v := s.vpcs.table.Get(c.Region, t.VpcId); v != nil {
		for _, a := range v.CidrBlocks {
			out.Routes = append(out.Routes, Route{DestinationCidrBlock: a.CidrBlock, GatewayId: "local", Origin: "CreateRouteTable", State: "active"})
		}
		for _, a := range v.Ipv6CidrBlocks {
			out.Routes = append(out.Routes, Route{DestinationIpv6CidrBlock: a.Ipv6CidrBlock, GatewayId: "local", Origin: "CreateRouteTable", State: "active"})
		}
	}
	for _, r := range t.Routes {
		r.State = s.routeState(c, t, r)
		out.Routes = append(out.Routes, r)
	}
	return out
}

// routeState is blackhole when the target is gone.
func (s *Service) routeState(c *wire.Call, t *RouteTable, r Route) string {
	alive := true
	switch {
	case r.NatGatewayId != "":
		n := s.nats.table.Get(c.Region, r.NatGatewayId)
		alive = n != nil && (n.State == "available" || n.State == "pending")
	case r.EgressOnlyInternetGatewayId != "":
		alive = s.egressOnly.table.Get(c.Region, r.EgressOnlyInternetGatewayId) != nil
	case r.InstanceId != "":
		vm := s.instances.table.Get(c.Region, r.InstanceId)
		alive = vm != nil && vm.State.Name == "running"
	case r.NetworkInterfaceId != "":
		i := s.interfaces.table.Get(c.Region, r.NetworkInterfaceId)
		alive = i != nil && i.Status == "in-use"
	case len(r.GatewayId) > 4 && r.GatewayId[:4] == "igw-":
		g := s.gateways.table.Get(c.Region, r.GatewayId)
		alive = g != nil && len(g.Attachments) > 0 && g.Attachments[0].VpcId == t.VpcId
	}
	if alive {
		return "active"
	}
	return "blackhole"
}

type describeRouteTablesIn struct {
	Ids []string `wire:"RouteTableId"`
	describe
}

type describeRouteTablesOut struct {
	NextToken string
	Tables    []RouteTable `wire:"routeTableSet"`
}

func (s *Service) describeRouteTables(c *wire.Call, in *describeRouteTablesIn) (*describeRouteTablesOut, error) {
	rows, next, err := s.routeTables.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	out := &describeRouteTablesOut{NextToken: next}
	for _, t := range rows {
		out.Tables = append(out.Tables, s.shown(c, t))
	}
	return out, nil
}

type routeTableIdIn struct {
	RouteTableId string `wire:"RouteTableId,required"`
}

func (s *Service) deleteRouteTable(c *wire.Call, in *routeTableIdIn) (*done, error) {
	t, err := s.routeTables.get(c, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	if len(t.Associations) > 0 {
		return nil, wire.Errorf("DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted.", t.RouteTableId)
	}
	s.routeTables.remove(c, t)
	return ok()
}

type associateRouteTableIn struct {
	routeTableIdIn
	SubnetId string `wire:"SubnetId,required"`
}

type routeAssociationOut struct {
	AssociationId    string
	NewAssociationId string
	AssociationState AssociationState
}

func (s *Service) associateRouteTable(c *wire.Call, in *associateRouteTableIn) (*routeAssociationOut, error) {
	t, err := s.routeTables.get(c, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	n, err := s.subnets.get(c, in.SubnetId)
	if err != nil {
		return nil, err
	}
	if n.VpcId != t.VpcId {
		return nil, wire.Errorf("InvalidParameterValue", "route table %s and subnet %s belong to different networks", t.RouteTableId, n.SubnetId)
	}
	for _, other := range s.routeTables.all(c) {
		if slices.ContainsFunc(other.Associations, func(a RouteTableAssociation) bool { return a.SubnetId == n.SubnetId }) {
			return nil, wire.Errorf("Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", t.RouteTableId)
		}
	}
	a := RouteTableAssociation{s.newID("rtbassoc-"), t.RouteTableId, n.SubnetId, false, AssociationState{State: "associated"}}
	t.Associations = append(t.Associations, a)
	s.routeTables.put(c, t)
	return &routeAssociationOut{AssociationId: a.RouteTableAssociationId, AssociationState: a.AssociationState}, nil
}

func (s *Service) association(c *wire.Call, id string) (*RouteTable, int, *wire.Error) {
	for _, t := range s.routeTables.all(c) {
		if i := slices.IndexFunc(t.Associations, func(a RouteTableAssociation) bool { return a.RouteTableAssociationId == id }); i >= 0 {
			return t, i, nil
		}
	}
	return nil, 0, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
}

func (s *Service) disassociateRouteTable(c *wire.Call, in *associationIdIn) (*done, error) {
	t, i, err := s.association(c, in.AssociationId)
	if err != nil {
		return nil, err
	}
	if t.Associations[i].Main {
		return nil, wire.Errorf("InvalidParameterValue", "cannot disassociate the main route table association %s", in.AssociationId)
	}
	t.Associations = slices.Delete(t.Associations, i, i+1)
	s.routeTables.put(c, t)
	return ok()
}

type replaceAssociationIn struct {
	associationIdIn
	routeTableIdIn
}

func (s *Service) replaceRouteTableAssociation(c *wire.Call, in *replaceAssociationIn) (*routeAssociationOut, error) {
	old, i, err := s.association(c, in.AssociationId)
	if err != nil {
		return nil, err
	}
	t, err := s.routeTables.get(c, in.RouteTableId)
	if err != nil {
		return nil, err
	}
	if t.VpcId != old.VpcId {
		return nil, wire.Errorf("InvalidParameterValue", "route tables %s and %s belong to different networks", t.RouteTableId, old.RouteTableId)
	}
	a := old.Associations[i]
	old.Associations = slices.Delete(old.Associations, i, i+1)
	a.RouteTableAssociationId, a.RouteTableId = s.newID("rtbassoc-"), t.RouteTableId
	t.Associations = append(t.Associations, a)
	s.routeTables.put(c, old)
	s.routeTables.put(c, t)
	return &routeAssociationOut{NewAssociationId: a.RouteTableAssociationId, AssociationState: a.AssociationState}, nil
}
