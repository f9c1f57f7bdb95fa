// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// allAddresses is the destination of a default route.
const allAddresses = "0.0.0.0/0"

// Route is one destination of one of our route tables. It leads to a gateway that is a
// task, or to an existing object by its id.
type Route struct {
	resource
	table *RouteTable
	cidr  string
	via   placed // the gateway's task, or nil
	given string // nat-, tgw-, i-, igw-
}

func newRoute(s *survey, table *RouteTable, cidr string, via placed, given string) *Route {
	r := &Route{
		resource: resource{s: s, kind: "route", key: table.key + "/" + cidr, deps: []tasks.Task{table}},
		table:    table, cidr: cidr, via: via, given: given,
	}
	if via != nil {
		r.deps = append(r.deps, via)
	}
	return r
}

func (r *Route) target() tasks.Value {
	if r.via == nil {
		return tasks.V(r.given)
	}
	return r.via.cloudID().Plan()
}

// Observe reads the route from the inventory of tables.
func (r *Route) Observe(ctx context.Context) (tasks.Change, error) {
	t, _, err := r.s.tables.find(ctx, r.table.key)
	if err != nil {
		return tasks.Change{}, err
	}
	have := targetTo(t.Value, r.cidr)
	if id, known := r.table.CloudID.Get(); !known || id != t.ID {
		have = "" // the table will be a new one
	}
	d := tasks.NewDiff(have != "")
	d.Field("target", have, r.target())
	return d.Change(nil), nil
}

// targetTo returns where a table leads a destination to, or "".
func targetTo(t ec2types.RouteTable, cidr string) string {
	for _, r := range t.Routes {
		if aws.ToString(r.DestinationCidrBlock) != cidr {
			continue
		}
		for _, id := range []*string{r.NatGatewayId, r.TransitGatewayId, r.InstanceId, r.GatewayId, r.NetworkInterfaceId, r.VpcPeeringConnectionId} {
			if aws.ToString(id) != "" {
				return *id
			}
		}
		return "nowhere" // its target was deleted
	}
	return ""
}

// Apply makes the route or points it at another target.
func (r *Route) Apply(ctx context.Context, c tasks.Change) error {
	table, target := r.table.CloudID.Value(), r.target().Text
	if c.Action == tasks.Create {
		in := &ec2.CreateRouteInput{RouteTableId: &table, DestinationCidrBlock: &r.cidr}
		switch prefixOf(target) {
		case "nat":
			in.NatGatewayId = &target
		case "tgw":
			in.TransitGatewayId = &target
		case "i":
			in.InstanceId = &target
		default:
			in.GatewayId = &target
		}
		_, err := r.s.ec2.CreateRoute(ctx, in)
		if err == nil {
			return nil
		}
		if !is(err, "RouteAlreadyExists") {
			return fmt.Errorf("route %s of %s to %s: %w", r.cidr, r.table.key, target, err)
		}
	}
	in := &ec2.ReplaceRouteInput{RouteTableId: &table, DestinationCidrBlock: &r.cidr}
	switch prefixOf(target) {
	case "nat":
		in.NatGatewayId = &target
	case "tgw":
		in.TransitGatewayId = &target
	case "i":
		in.InstanceId = &target
	default:
		in.GatewayId = &target
	}
	if _, err := r.s.ec2.ReplaceRoute(ctx, in); err != nil {
		return fmt.Errorf("route %s of %s to %s: %w", r.cidr, r.table.key, target, err)
	}
	return nil
}

// prefixOf returns the part of an id that says what it is of: "nat" of nat-0a1b.
func prefixOf(id string) string {
	kind, _, _ := strings.Cut(id, "-")
	return kind
}

// Export writes the route.
func (r *Route) Export(_ context.Context, m *terraform.Module) error {
	b := m.Resource("aws_route", r.key)
	b.SetText("route_table_id", r.table.CloudID.Value())
	b.SetText("destination_cidr_block", r.cidr)
	argument := "gateway_id"
	if _, nat := r.via.(*NATGateway); nat {
		argument = "nat_gateway_id"
	}
	switch prefixOf(r.given) {
	case "nat":
		argument = "nat_gateway_id"
	case "tgw":
		argument = "transit_gateway_id"
	case "i":
		// An instance is routed to by its interface, which the machine's own id tells.
		if m.Review {
			b.Placeholder("network_interface_id", terraform.Text("eni-00000000"), "the first interface of "+r.given)
			return nil
		}
		d := m.Data("aws_instance", r.given)
		d.SetText("instance_id", r.given)
		b.Set("network_interface_id", terraform.Expression("data."+d.Address()+".network_interface_id"))
		argument = ""
	}
	if argument != "" {
		b.SetText(argument, r.target().Text)
	}
	if r.table.importID != "" {
		b.Import(r.table.importID + "_" + r.cidr)
	}
	return nil
}
