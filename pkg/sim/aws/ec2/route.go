// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type destinationIn struct {
	DestinationCidrBlock     string
	DestinationIpv6CidrBlock string
	DestinationPrefixListId  string
}

type routeIn struct {
	routeTableIdIn
	destinationIn
	GatewayId                   string
	NatGatewayId                string
	EgressOnlyInternetGatewayId string
	NetworkInterfaceId          string
	InstanceId                  string
	TransitGatewayId            string
	VpcPeeringConnectionId      string
}

const maxRoutes = 500

// canonical checks that there is one destination and writes it as AWS keeps it.
func (d *destinationIn) canonical() *wire.Error {
	given := 0
	for _, p := range []*string{&d.DestinationCidrBlock, &d.DestinationIpv6CidrBlock} {
		if *p == "" {
			continue
		}
		given++
		prefix, err := netip.ParsePrefix(*p)
		if err != nil || prefix.Addr().Is4() != (p == &d.DestinationCidrBlock) {
			return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter destinationCidrBlock is invalid. This is not a valid CIDR block.", *p)
		}
		*p = prefix.Masked().String()
	}
	if d.DestinationPrefixListId != "" {
		given++
	}
	if given != 1 {
		return wire.Errorf("InvalidParameterCombination", "Exactly one destination must be given, there are %d", given)
	}
	return nil
}

func (d *destinationIn) text() string {
	return d.DestinationCidrBlock + d.DestinationIpv6CidrBlock + d.DestinationPrefixListId
}

func (r Route) destination() string {
	return r.DestinationCidrBlock + r.DestinationIpv6CidrBlock + r.DestinationPrefixListId
}

// route checks the target and makes the line.
func (s *Service) route(c *wire.Call, t *RouteTable, in *routeIn) (Route, *wire.Error) {
	r := Route{
		DestinationCidrBlock: in.DestinationCidrBlock, DestinationIpv6CidrBlock: in.DestinationIpv6CidrBlock, DestinationPrefixListId: in.DestinationPrefixListId,
		GatewayId: in.GatewayId, NatGatewayId: in.NatGatewayId, EgressOnlyInternetGatewayId: in.EgressOnlyInternetGatewayId,
		NetworkInterfaceId: in.NetworkInterfaceId, InstanceId: in.InstanceId, TransitGatewayId: in.TransitGatewayId,
		VpcPeeringConnectionId: in.VpcPeeringConnectionId, Origin: "CreateRoute",
	}
	given := 0
	for _, id := range []string{r.GatewayId, r.NatGatewayId, r.EgressOnlyInternetGatewayId, r.NetworkInterfaceId, r.InstanceId, r.TransitGatewayId, r.VpcPeeringConnectionId} {
		if id != "" {
			given++
		}
	}
	if given == 0 {
		return r, wire.Errorf("MissingParameter", "The request must contain a target of the route")
	}
	if given > 1 {
		return r, wire.Errorf("InvalidParameterCombination", "A route has one target, %d were given", given)
	}
	if r.EgressOnlyInternetGatewayId != "" && r.DestinationCidrBlock != "" {
		return r, wire.Errorf("InvalidParameterValue", "An egress-only internet gateway takes IPv6 destinations only")
	}
	if r.DestinationPrefixListId != "" {
		if _, err := s.prefixLists.get(c, r.DestinationPrefixListId); err != nil {
			return r, err
		}
	}
	return r, s.routeTarget(c, t, &r)
}

func (s *Service) routeTarget(c *wire.Call, t *RouteTable, r *Route) *wire.Error {
	vpc := t.VpcId
	target := r.GatewayId
	switch {
	case strings.HasPrefix(r.GatewayId, "igw-"):
		g, err := s.gateways.get(c, r.GatewayId)
		if err != nil {
			return err
		}
		if len(g.Attachments) == 0 || g.Attachments[0].VpcId != t.VpcId {
			vpc = ""
		}
	case r.GatewayId != "":
		return wire.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", r.GatewayId)
	case r.NatGatewayId != "":
		n := s.nats.table.Get(c.Region, r.NatGatewayId)
		if n == nil || n.State == "deleted" {
			return wire.Errorf("InvalidNatGatewayID.NotFound", "The natGateway ID '%s' does not exist", r.NatGatewayId)
		}
		vpc, target = n.VpcId, r.NatGatewayId
	case r.EgressOnlyInternetGatewayId != "":
		g, err := s.egressOnly.get(c, r.EgressOnlyInternetGatewayId)
		if err != nil {
			return err
		}
		vpc, target = g.Attachments[0].VpcId, r.EgressOnlyInternetGatewayId
	case r.InstanceId != "":
		vm, err := s.instances.get(c, r.InstanceId)
		if err != nil {
			return err
		}
		cards := s.InterfacesOf(c, vm.InstanceId)
		if len(cards) != 1 {
			return wire.Errorf("InvalidInstanceID", "There are %d interfaces attached to instance '%s'. Specify an interface ID instead.", len(cards), vm.InstanceId)
		}
		vpc, target, r.InstanceOwnerId, r.NetworkInterfaceId = vm.VpcId, vm.InstanceId, s.account, cards[0].NetworkInterfaceId
	case r.NetworkInterfaceId != "":
		i, err := s.interfaces.get(c, r.NetworkInterfaceId)
		if err != nil {
			return err
		}
		vpc, target = i.VpcId, i.NetworkInterfaceId
		if i.Attachment != nil {
			r.InstanceId, r.InstanceOwnerId = i.Attachment.InstanceId, s.account
		}
	case r.TransitGatewayId != "":
		_, err := s.transits.get(c, r.TransitGatewayId)
		return err
	default:
		return wire.Errorf("InvalidVpcPeeringConnectionID.NotFound", "The vpcPeeringConnection ID '%s' does not exist", r.VpcPeeringConnectionId)
	}
	if vpc != t.VpcId {
		return wire.Errorf("InvalidParameterValue", "route table %s and network gateway %s belong to different networks", t.RouteTableId, target)
	}
	return nil
}

func (s *Service) routeCall(c *wire.Call, table string, d *destinationIn) (*RouteTable, int, *wire.Error) {
	t, err := s.routeTables.get(c, table)
	if err != nil {
		return nil, 0, err
	}
	if err := d.canonical(); err != nil {
		return nil, 0, err
	}
	return t, slices.IndexFunc(t.Routes, func(r Route) bool { return r.destination() == d.text() }), nil
}

// local says whether the destination is one of the network's own ranges.
func (s *Service) local(c *wire.Call, t *RouteTable, dest string) bool {
	return slices.ContainsFunc(s.shown(c, t).Routes, func(r Route) bool { return r.GatewayId == "local" && r.destination() == dest })
}

func (s *Service) createRoute(c *wire.Call, in *routeIn) (*done, error) {
	t, i, err := s.routeCall(c, in.RouteTableId, &in.destinationIn)
	if err != nil {
		return nil, err
	}
	if i >= 0 || s.local(c, t, in.text()) {
		return nil, wire.Errorf("RouteAlreadyExists", "The route identified by %s already exists.", in.text())
	}
	r, err := s.route(c, t, in)
	if err != nil {
		return nil, err
	}
	if limit := c.Quota("routes-per-table", maxRoutes); len(t.Routes) >= limit {
		return nil, wire.Errorf("RouteLimitExceeded", "The maximum number of routes has been reached: %d of %d.", limit, limit)
	}
	t.Routes = append(t.Routes, r)
	s.routeTables.put(c, t)
	return ok()
}

func (s *Service) replaceRoute(c *wire.Call, in *routeIn) (*done, error) {
	t, i, err := s.routeCall(c, in.RouteTableId, &in.destinationIn)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, wire.Errorf("InvalidParameterValue", "There is no route defined for '%s' in the route table. Use CreateRoute instead.", in.text())
	}
	r, err := s.route(c, t, in)
	if err != nil {
		return nil, err
	}
	t.Routes[i] = r
	s.routeTables.put(c, t)
	return ok()
}

type deleteRouteIn struct {
	routeTableIdIn
	destinationIn
}

func (s *Service) deleteRoute(c *wire.Call, in *deleteRouteIn) (*done, error) {
	t, i, err := s.routeCall(c, in.RouteTableId, &in.destinationIn)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		if s.local(c, t, in.text()) {
			return nil, wire.Errorf("InvalidParameterValue", "cannot remove local route %s in route table %s", in.text(), t.RouteTableId)
		}
		return nil, wire.Errorf("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", in.text(), t.RouteTableId)
	}
	t.Routes = slices.Delete(t.Routes, i, i+1)
	s.routeTables.put(c, t)
	return ok()
}
