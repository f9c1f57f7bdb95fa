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

// Address is a public address that the cluster owns: what a zone's NAT gateway shows to
// the outside. CloudID is its allocation id.
type Address struct{ resource }

func newAddress(s *survey, zone string) *Address {
	return &Address{resource{
		s: s, kind: "address", key: zone,
		tags: s.tagsFor(zone, zone+"."+s.cluster, nil),
	}}
}

// Describe says what the address is for.
func (a *Address) Describe() string { return "public address of the NAT gateway in " + a.key }

// Observe finds the address and compares its tags: it has no settings.
func (a *Address) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := a.s.addresses.find(ctx, a.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	diffTags(d, o.Tags, a.tags)
	return found(&a.resource, a.s.addresses, o, exists, d), nil
}

// Apply allocates the address or changes its tags.
func (a *Address) Apply(ctx context.Context, c tasks.Change) error {
	if c.Action == tasks.Update {
		return a.s.applyTags(ctx, c.Observed.(owned[ec2types.Address]).ID, c)
	}
	id, err := a.s.addresses.makeOnce(ctx, a.key, func(ctx context.Context) (string, error) {
		out, err := a.s.ec2.AllocateAddress(ctx, &ec2.AllocateAddressInput{
			Domain:            ec2types.DomainTypeVpc,
			TagSpecifications: tagSpec(ec2types.ResourceTypeElasticIp, a.tags),
		})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.AllocationId), nil
	})
	if err != nil {
		return fmt.Errorf("allocate a public address for %s: %w", a.key, err)
	}
	a.CloudID.Set(id)
	return nil
}

// listAddresses reads the addresses that the cluster owns; the call has no pages. What
// an address is attached to is not ours to compare.
func (s *survey) listAddresses(ctx context.Context) ([]owned[ec2types.Address], error) {
	out, err := s.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: s.mine()})
	if err != nil {
		return nil, err
	}
	var all []owned[ec2types.Address]
	for _, a := range out.Addresses {
		if o, ours := ownedEC2(s, a.AllocationId, a.Tags, a); ours {
			all = append(all, o)
		}
	}
	return all, nil
}

func (s *survey) removeAddress(ctx context.Context, l leftover) error {
	_, err := s.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: &l.ID})
	return ifThere(err)
}

// Export writes the address.
func (a *Address) Export(_ context.Context, m *terraform.Module) error {
	b := a.export(m, "aws_eip")
	b.SetText("domain", string(ec2types.DomainTypeVpc))
	a.exportTags(b)
	return nil
}
