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

// NATGateway is the way out of a zone's private subnets.
type NATGateway struct {
	resource
	subnet  placed   // a public subnet of the zone
	address *Address // its own, or nil
	given   string   // allocation id of an existing address
}

func newNATGateway(s *survey, zone string, subnet placed, address *Address, given string, gateway *InternetGateway) *NATGateway {
	n := &NATGateway{
		resource: resource{
			s: s, kind: "natgateway", key: zone, deps: []tasks.Task{subnet},
			tags: s.tagsFor(zone, zone+"."+s.cluster, nil),
		},
		subnet: subnet, address: address, given: given,
	}
	if address != nil {
		n.deps = append(n.deps, address)
	}
	if gateway != nil {
		n.deps = append(n.deps, gateway)
	}
	return n
}

// Describe says whom the gateway serves.
func (n *NATGateway) Describe() string { return "NAT gateway for the private subnets of " + n.key }

func (n *NATGateway) allocation() tasks.Value {
	if n.address == nil {
		return tasks.V(n.given)
	}
	return n.address.CloudID.Plan()
}

// Observe finds the gateway. It can change neither its subnet nor its address.
func (n *NATGateway) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := n.s.nats.find(ctx, n.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Fixed("subnet", aws.ToString(o.Value.SubnetId), n.subnet.cloudID().Plan())
	d.Fixed("address", allocationOf(o.Value), n.allocation())
	diffTags(d, o.Tags, n.tags)
	c := d.Change(o)
	if c.Action == tasks.Replace {
		// The old one holds the address, so it goes first, here and not as a removal.
		d.Because("the zone's private subnets have no way out until the new one stands")
		n.s.nats.claim(o.ID)
	}
	return found(&n.resource, n.s.nats, o, exists, d), nil
}

func allocationOf(n ec2types.NatGateway) string {
	for _, a := range n.NatGatewayAddresses {
		return aws.ToString(a.AllocationId)
	}
	return ""
}

// Apply makes the gateway and waits until it works.
func (n *NATGateway) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.NatGateway])
	if c.Action == tasks.Update {
		return n.s.applyTags(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := n.s.removeNAT(ctx, leftover{ID: o.ID}); err != nil {
			return fmt.Errorf("replace NAT gateway %s: %w", o.ID, err)
		}
	}
	if err := n.freeAddress(ctx); err != nil {
		return err
	}
	id, err := n.s.nats.makeOnce(ctx, n.key, n.create)
	if err != nil {
		return fmt.Errorf("create NAT gateway in %s: %w", n.key, err)
	}
	now, err := n.s.readNAT(ctx, id)
	switch {
	case err != nil:
		return tasks.Retry(err)
	case now == nil || now.State == ec2types.NatGatewayStatePending:
		return tasks.Wait(fmt.Errorf("NAT gateway %s is still pending", id))
	case now.State != ec2types.NatGatewayStateAvailable:
		return fmt.Errorf("NAT gateway %s is %s: %s", id, now.State, aws.ToString(now.FailureMessage))
	}
	n.CloudID.Set(id)
	return nil
}

// freeAddress waits until a gateway whose deletion somebody began has let go of the
// address: AWS would take the call for a new one and report it as failed.
func (n *NATGateway) freeAddress(ctx context.Context) error {
	old, going, err := n.s.nats.find(ctx, n.key+retired)
	if err != nil || !going || allocationOf(old.Value) != n.allocation().Text {
		return err
	}
	return n.s.removeNAT(ctx, leftover{ID: old.ID})
}

func (n *NATGateway) create(ctx context.Context) (string, error) {
	out, err := n.s.ec2.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{
		AllocationId:      aws.String(n.allocation().Text),
		SubnetId:          aws.String(n.subnet.cloudID().Value()),
		ClientToken:       aws.String(n.s.token(&n.resource)),
		TagSpecifications: tagSpec(ec2types.ResourceTypeNatgateway, n.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.NatGateway.NatGatewayId), nil
}

// listNATs reads the gateways that the cluster owns. AWS shows deleted and failed ones
// for an hour more; one that is being deleted has lost its place already.
func (s *survey) listNATs(ctx context.Context) ([]owned[ec2types.NatGateway], error) {
	states := ec2types.Filter{Name: aws.String("state"), Values: []string{"pending", "available", "deleting"}}
	var out []owned[ec2types.NatGateway]
	err := pages(ctx, ec2.NewDescribeNatGatewaysPaginator(s.ec2, &ec2.DescribeNatGatewaysInput{Filter: append(s.mine(), states)}),
		func(page *ec2.DescribeNatGatewaysOutput) {
			for _, n := range page.NatGateways {
				o, ours := ownedEC2(s, n.NatGatewayId, n.Tags, n)
				if n.State == ec2types.NatGatewayStateDeleting {
					o.Key += retired
				}
				if ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

// readNAT reads one gateway; nil is one that AWS does not know (yet, or any more).
func (s *survey) readNAT(ctx context.Context, id string) (*ec2types.NatGateway, error) {
	out, err := s.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
	if gone(err) || err == nil && len(out.NatGateways) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read NAT gateway %s: %w", id, err)
	}
	return &out.NatGateways[0], nil
}

// removeNAT deletes a gateway and waits until it is gone: until then it holds its
// address, its subnet and the internet gateway.
func (s *survey) removeNAT(ctx context.Context, l leftover) error {
	for _, deleted := range []bool{false, true} {
		n, err := s.readNAT(ctx, l.ID)
		if err != nil {
			return err
		}
		if n == nil || n.State == ec2types.NatGatewayStateDeleted || n.State == ec2types.NatGatewayStateFailed {
			return nil
		}
		if deleted || n.State == ec2types.NatGatewayStateDeleting {
			break
		}
		if _, err := s.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &l.ID}); ifThere(err) != nil {
			return err
		}
	}
	return tasks.Wait(fmt.Errorf("NAT gateway %s is still being deleted", l.ID))
}

// Export writes the gateway.
func (n *NATGateway) Export(_ context.Context, m *terraform.Module) error {
	b := n.export(m, "aws_nat_gateway")
	b.SetText("allocation_id", n.allocation().Text)
	b.SetText("subnet_id", n.subnet.cloudID().Value())
	n.exportTags(b)
	exportAfterGateway(b, n.deps)
	return nil
}
