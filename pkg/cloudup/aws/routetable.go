// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// tagRoutes lists the destinations that we route, so that only those leave the table
// again: cloud controllers and people put routes of their own there.
const tagRoutes = tagOurs + "routes"

// RouteTable is "public", or "private-<zone>".
type RouteTable struct {
	resource
	vpc          *VPC
	destinations []string
}

func newRouteTable(s *survey, vpc *VPC, key string, destinations ...string) *RouteTable {
	t := &RouteTable{
		resource: resource{
			s: s, kind: "routetable", key: key, deps: []tasks.Task{vpc},
			tags: s.tagsFor(key, key+"."+s.cluster, nil),
		},
		vpc: vpc, destinations: destinations,
	}
	if len(destinations) > 0 {
		t.tags[tagRoutes] = strings.Join(destinations, " ")
	}
	return t
}

// Observe finds the table; routes that were ours and are not wanted are a difference.
func (t *RouteTable) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := t.s.tables.find(ctx, t.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Fixed("vpc", aws.ToString(o.Value.VpcId), t.vpc.CloudID.Plan())
	for _, cidr := range t.stale(o) {
		d.Field("routes["+cidr+"]", targetTo(o.Value, cidr), nil)
	}
	diffTags(d, o.Tags, t.tags)
	return found(&t.resource, t.s.tables, o, exists, d), nil
}

// stale returns the destinations that we routed before and do not route now.
func (t *RouteTable) stale(o owned[ec2types.RouteTable]) []string {
	var out []string
	for _, cidr := range strings.Fields(o.Tags[tagRoutes]) {
		if !slices.Contains(t.destinations, cidr) && targetTo(o.Value, cidr) != "" {
			out = append(out, cidr)
		}
	}
	return out
}

// Apply makes the table, or takes our stale routes out of it.
func (t *RouteTable) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.RouteTable])
	if c.Action == tasks.Update {
		for _, cidr := range t.stale(o) {
			_, err := t.s.ec2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: &o.ID, DestinationCidrBlock: &cidr})
			if ifThere(err) != nil {
				return fmt.Errorf("delete route %s of %s: %w", cidr, t.key, err)
			}
		}
		return t.s.applyTags(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := t.s.retire(ctx, o.ID, t.key); err != nil {
			return err
		}
	}
	id, err := t.s.tables.makeOnce(ctx, t.key, func(ctx context.Context) (string, error) {
		out, err := t.s.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
			VpcId:             aws.String(t.vpc.CloudID.Value()),
			ClientToken:       aws.String(t.s.token(&t.resource)),
			TagSpecifications: tagSpec(ec2types.ResourceTypeRouteTable, t.tags),
		})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.RouteTable.RouteTableId), nil
	})
	if err != nil {
		return fmt.Errorf("create route table %s: %w", t.key, err)
	}
	t.CloudID.Set(id)
	return nil
}

func (s *survey) listTables(ctx context.Context) ([]owned[ec2types.RouteTable], error) {
	var out []owned[ec2types.RouteTable]
	err := pages(ctx, ec2.NewDescribeRouteTablesPaginator(s.ec2, &ec2.DescribeRouteTablesInput{Filters: s.mine()}),
		func(page *ec2.DescribeRouteTablesOutput) {
			for _, t := range page.RouteTables {
				if o, ours := ownedEC2(s, t.RouteTableId, t.Tags, t); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

// removeTable deletes a table; subnets that still use it fall back to the VPC's main
// one.
func (s *survey) removeTable(ctx context.Context, l leftover) error {
	out, err := s.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{l.ID}})
	if gone(err) || err == nil && len(out.RouteTables) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range out.RouteTables[0].Associations {
		_, err := s.ec2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: a.RouteTableAssociationId})
		if ifThere(err) != nil {
			return fmt.Errorf("free subnet %s from it: %w", aws.ToString(a.SubnetId), err)
		}
	}
	_, err = s.ec2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &l.ID})
	return ifThere(err)
}

// Association makes a subnet use a route table.
type Association struct {
	resource
	table  *RouteTable
	subnet *Subnet
}

func newAssociation(s *survey, table *RouteTable, subnet *Subnet) *Association {
	return &Association{
		resource: resource{s: s, kind: "routetableassociation", key: subnet.key, deps: []tasks.Task{table, subnet}},
		table:    table, subnet: subnet,
	}
}

// Observe looks for the subnet in all of our tables.
func (a *Association) Observe(ctx context.Context) (tasks.Change, error) {
	tables, err := a.s.tables.all(ctx)
	if err != nil {
		return tasks.Change{}, err
	}
	subnet, known := a.subnet.CloudID.Get()
	have, id := "", ""
	for _, t := range tables {
		for _, as := range t.Value.Associations {
			if known && aws.ToString(as.SubnetId) == subnet {
				have, id = t.ID, aws.ToString(as.RouteTableAssociationId)
			}
		}
	}
	d := tasks.NewDiff(id != "")
	d.Field("routeTable", have, a.table.CloudID.Plan())
	c := d.Change(id)
	if c.Action == tasks.Create {
		c.Fields = append(c.Fields, tasks.Field{Path: "subnet", New: a.subnet.CloudID.Plan()})
	}
	return c, nil
}

// Apply moves the subnet to the table. A subnet is in one table at most, so repeating it
// makes no second association.
func (a *Association) Apply(ctx context.Context, c tasks.Change) error {
	table, subnet := a.table.CloudID.Value(), a.subnet.CloudID.Value()
	id := c.Observed.(string)
	if id == "" {
		_, err := a.s.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: &table, SubnetId: &subnet})
		if err == nil {
			return nil
		}
		if !is(err, "Resource.AlreadyAssociated") {
			return fmt.Errorf("use route table %s in subnet %s: %w", a.table.key, a.subnet.key, err)
		}
		if id, err = a.s.associationOf(ctx, subnet, table); err != nil || id == "" {
			return err
		}
	}
	_, err := a.s.ec2.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{AssociationId: &id, RouteTableId: &table})
	if err != nil {
		return fmt.Errorf("move subnet %s to route table %s: %w", a.subnet.key, a.table.key, err)
	}
	return nil
}

// associationOf returns the association of a subnet with another table than this, or "".
func (s *survey) associationOf(ctx context.Context, subnet, table string) (string, error) {
	out, err := s.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{
		Filters: []ec2types.Filter{{Name: aws.String("association.subnet-id"), Values: []string{subnet}}},
	})
	if err != nil {
		return "", fmt.Errorf("look for the route table of %s: %w", subnet, err)
	}
	for _, t := range out.RouteTables {
		for _, a := range t.Associations {
			if aws.ToString(a.SubnetId) == subnet && aws.ToString(t.RouteTableId) != table {
				return aws.ToString(a.RouteTableAssociationId), nil
			}
		}
	}
	return "", nil
}

// Export writes the table; its routes are resources of their own, so that those of others
// stay.
func (t *RouteTable) Export(_ context.Context, m *terraform.Module) error {
	b := t.export(m, "aws_route_table")
	b.SetText("vpc_id", t.vpc.CloudID.Value())
	t.exportTags(b)
	return nil
}

// Export writes the association.
func (a *Association) Export(_ context.Context, m *terraform.Module) error {
	b := m.Resource("aws_route_table_association", a.key)
	b.SetText("subnet_id", a.subnet.CloudID.Value())
	b.SetText("route_table_id", a.table.CloudID.Value())
	if a.subnet.importID != "" && a.table.importID != "" {
		b.Import(a.subnet.importID + "/" + a.table.importID)
	}
	return nil
}
