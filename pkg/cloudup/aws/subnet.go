// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Subnet is one range of the VPC in one zone that the cluster owns.
type Subnet struct {
	resource
	spec model.Subnet
	vpc  *VPC
}

func newSubnet(s *survey, vpc *VPC, m model.Subnet) *Subnet {
	return &Subnet{
		resource: resource{
			s: s, kind: "subnet", key: m.Name, deps: []tasks.Task{vpc},
			tags: s.tagsFor(m.Name, m.Name+"."+s.cluster, roleTags(m)),
		},
		spec: m, vpc: vpc,
	}
}

// roleTags say which load balancers Kubernetes may place in a subnet.
func roleTags(m model.Subnet) map[string]string {
	tags := map[string]string{}
	if m.ExternalLB {
		tags[tagElb] = "1"
	}
	if m.InternalLB {
		tags[tagIntElb] = "1"
	}
	return tags
}

// Describe says what the subnet is for.
func (n *Subnet) Describe() string { return fmt.Sprintf("%s subnet in %s", n.spec.Kind, n.spec.Zone) }

// Observe finds the subnet and compares its place, range and tags. Machines ask for
// public addresses themselves, so the subnet hands out none.
func (n *Subnet) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := n.s.subnets.find(ctx, n.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Fixed("vpc", aws.ToString(o.Value.VpcId), n.vpc.CloudID.Plan())
	d.Fixed("zone", aws.ToString(o.Value.AvailabilityZone), n.spec.Zone)
	d.Fixed("cidr", aws.ToString(o.Value.CidrBlock), n.spec.Range.String())
	d.Field("publicAddresses", aws.ToBool(o.Value.MapPublicIpOnLaunch), false)
	diffTags(d, o.Tags, n.tags)
	return found(&n.resource, n.s.subnets, o, exists, d), nil
}

// Apply makes the subnet, or changes its settings and tags.
func (n *Subnet) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.Subnet])
	if c.Action == tasks.Update {
		return n.update(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := n.s.retire(ctx, o.ID, n.key); err != nil {
			return err
		}
	}
	id, err := n.s.subnets.makeOnce(ctx, n.key, n.create)
	if is(err, "InvalidSubnet.Conflict") {
		return fmt.Errorf("create subnet %s: its range %s overlaps another subnet of the VPC; choose a free one: %w", n.key, n.spec.Range, err)
	}
	if is(err, "InvalidSubnet.Range") {
		// A range that was added to the VPC a moment ago is not ready at once.
		return tasks.Retry(fmt.Errorf("create subnet %s: %s is not within the VPC's ranges: %w", n.key, n.spec.Range, err))
	}
	if err != nil {
		return fmt.Errorf("create subnet %s: %w", n.key, err)
	}
	n.CloudID.Set(id)
	return nil
}

func (n *Subnet) create(ctx context.Context) (string, error) {
	out, err := n.s.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
		VpcId:             aws.String(n.vpc.CloudID.Value()),
		AvailabilityZone:  aws.String(n.spec.Zone),
		CidrBlock:         aws.String(n.spec.Range.String()),
		TagSpecifications: tagSpec(ec2types.ResourceTypeSubnet, n.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Subnet.SubnetId), nil
}

func (n *Subnet) update(ctx context.Context, id string, c tasks.Change) error {
	if c.Has("publicAddresses") {
		_, err := n.s.ec2.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{
			SubnetId: &id, MapPublicIpOnLaunch: &ec2types.AttributeBooleanValue{Value: aws.Bool(false)},
		})
		if err != nil {
			return fmt.Errorf("stop subnet %s giving out public addresses: %w", n.key, err)
		}
	}
	return n.s.applyTags(ctx, id, c)
}

// listSubnets reads the subnets that the cluster owns.
func (s *survey) listSubnets(ctx context.Context) ([]owned[ec2types.Subnet], error) {
	return s.readSubnets(ctx, s.mine(), true)
}

// readSubnets reads the subnets that a filter selects. How many addresses are free
// changes all the time and is left out.
func (s *survey) readSubnets(ctx context.Context, filter []ec2types.Filter, onlyMine bool) ([]owned[ec2types.Subnet], error) {
	var out []owned[ec2types.Subnet]
	err := pages(ctx, ec2.NewDescribeSubnetsPaginator(s.ec2, &ec2.DescribeSubnetsInput{Filters: filter}),
		func(page *ec2.DescribeSubnetsOutput) {
			for _, n := range page.Subnets {
				n.AvailableIpAddressCount = nil
				if o, ours := ownedEC2(s, n.SubnetId, n.Tags, n); ours || !onlyMine {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeSubnet(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &l.ID})
	return s.blocked(ctx, ifThere(err), "subnet-id", l.ID)
}

// Export writes the subnet.
func (n *Subnet) Export(_ context.Context, m *terraform.Module) error {
	b := n.export(m, "aws_subnet")
	b.SetText("vpc_id", n.vpc.CloudID.Value())
	b.SetText("availability_zone", n.spec.Zone)
	b.SetText("cidr_block", n.spec.Range.String())
	n.exportTags(b)
	m.Output("subnet_"+terraform.Label(n.key)+"_id", "The "+n.Describe()+".", b.Ref("id"))
	return nil
}
