// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// InternetGateway is the way out of public subnets. An existing VPC's own is used and
// kept.
type InternetGateway struct {
	resource
	vpc *VPC
}

func newInternetGateway(s *survey, vpc *VPC) *InternetGateway {
	return &InternetGateway{
		resource: resource{
			s: s, kind: "internetgateway", key: s.cluster, deps: []tasks.Task{vpc},
			tags: s.tagsFor(s.cluster, s.cluster, nil),
		},
		vpc: vpc,
	}
}

// Observe finds the gateway: in an existing VPC first of all the one that is attached.
func (g *InternetGateway) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := g.s.gateways.find(ctx, g.key)
	if err != nil {
		return tasks.Change{}, err
	}
	if g.vpc.shared != "" && !exists {
		other, err := attachedGateway(ctx, g.s.ec2, g.vpc.shared)
		if err != nil {
			return tasks.Change{}, err
		}
		if other != nil {
			c := kept(&g.resource, aws.ToString(other.InternetGatewayId), *other)
			c.Reason = "shared: attached to the existing VPC"
			return c, nil
		}
	}
	d := tasks.NewDiff(exists)
	d.Field("vpc", attachedTo(o.Value), g.vpc.CloudID.Plan())
	diffTags(d, o.Tags, g.tags)
	return found(&g.resource, g.s.gateways, o, exists, d), nil
}

// attachedTo returns the VPC that a gateway is attached to, or "".
func attachedTo(g ec2types.InternetGateway) string {
	for _, a := range g.Attachments {
		return aws.ToString(a.VpcId)
	}
	return ""
}

// Apply makes the gateway and attaches it to the VPC.
func (g *InternetGateway) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.InternetGateway])
	id := o.ID
	if c.Action == tasks.Create {
		var err error
		if id, err = g.s.gateways.makeOnce(ctx, g.key, g.create); err != nil {
			return fmt.Errorf("create internet gateway: %w", err)
		}
	} else if err := g.s.applyTags(ctx, id, c); err != nil {
		return err
	}
	if c.Has("vpc") {
		if err := g.attach(ctx, id, attachedTo(o.Value)); err != nil {
			return err
		}
	}
	g.CloudID.Set(id)
	return nil
}

func (g *InternetGateway) create(ctx context.Context) (string, error) {
	out, err := g.s.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{
		TagSpecifications: tagSpec(ec2types.ResourceTypeInternetGateway, g.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.InternetGateway.InternetGatewayId), nil
}

func (g *InternetGateway) attach(ctx context.Context, id, from string) error {
	to := g.vpc.CloudID.Value()
	if from != "" {
		if err := g.s.detachGateway(ctx, id, from); err != nil {
			return err
		}
	}
	_, err := g.s.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: &id, VpcId: &to})
	if err != nil && !is(err, "Resource.AlreadyAssociated") {
		return fmt.Errorf("attach internet gateway %s to %s: %w", id, to, err)
	}
	return nil
}

func (s *survey) detachGateway(ctx context.Context, id, vpc string) error {
	_, err := s.ec2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &id, VpcId: &vpc})
	if err != nil && !gone(err) && !is(err, "Gateway.NotAttached") {
		return fmt.Errorf("detach internet gateway %s from %s: %w", id, vpc, err)
	}
	return nil
}

// attachedGateway returns the gateway of an existing VPC, or nil.
func attachedGateway(ctx context.Context, client *ec2.Client, vpc string) (*ec2types.InternetGateway, error) {
	out, err := client.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{
		Filters: []ec2types.Filter{{Name: aws.String("attachment.vpc-id"), Values: []string{vpc}}},
	})
	if err != nil {
		return nil, fmt.Errorf("look for the internet gateway of %s: %w", vpc, err)
	}
	if len(out.InternetGateways) == 0 {
		return nil, nil
	}
	return &out.InternetGateways[0], nil
}

func (s *survey) listGateways(ctx context.Context) ([]owned[ec2types.InternetGateway], error) {
	var out []owned[ec2types.InternetGateway]
	err := pages(ctx, ec2.NewDescribeInternetGatewaysPaginator(s.ec2, &ec2.DescribeInternetGatewaysInput{Filters: s.mine()}),
		func(page *ec2.DescribeInternetGatewaysOutput) {
			for _, g := range page.InternetGateways {
				if o, ours := ownedEC2(s, g.InternetGatewayId, g.Tags, g); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeGateway(ctx context.Context, l leftover) error {
	if vpc := attachedTo(l.Value.(ec2types.InternetGateway)); vpc != "" {
		if err := s.detachGateway(ctx, l.ID, vpc); err != nil {
			return s.blocked(ctx, err, "vpc-id", vpc)
		}
	}
	_, err := s.ec2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &l.ID})
	return ifThere(err)
}

// Export writes the gateway, but for one that an existing VPC has already.
func (g *InternetGateway) Export(ctx context.Context, m *terraform.Module) error {
	if g.vpc.shared != "" && !m.Review {
		other, err := attachedGateway(ctx, g.s.ec2, g.vpc.shared)
		if err != nil {
			return err
		}
		if other != nil && tagMap(other.Tags)[tagUID] != g.s.uid {
			g.CloudID.Set(aws.ToString(other.InternetGatewayId))
			return nil
		}
	}
	b := g.export(m, "aws_internet_gateway")
	b.SetText("vpc_id", g.vpc.CloudID.Value())
	g.exportTags(b)
	if g.vpc.shared != "" && m.Review {
		b.Note("placeholder: if %s has an internet gateway already, that one is used and this one is not made", g.vpc.shared)
	}
	return nil
}
