// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// tagRanges lists the further ranges that we put on the VPC, so that only those leave
// it again.
const tagRanges = tagOurs + "ranges"

// VPC is the cluster's network: its own, or an existing one that is verified and kept.
type VPC struct {
	resource
	shared string // id of an existing one
	ranges []netip.Prefix

	associations map[string]string // further ranges that it has -> their association ids
}

// vpcFacts is what Observe found of the cluster's own VPC.
type vpcFacts struct {
	id        string
	further   map[string]string // range -> association id, of ours
	hostnames bool
	support   bool
}

func newVPC(s *survey, n model.Network) *VPC {
	v := &VPC{
		resource: resource{s: s, kind: "vpc", key: s.cluster},
		shared:   n.ID, ranges: n.Ranges,
	}
	if v.shared != "" {
		return v
	}
	v.tags = s.tagsFor(v.key, s.cluster, nil)
	if further := v.further(); len(further) > 0 {
		v.tags[tagRanges] = strings.Join(further, " ")
	}
	return v
}

// further returns the ranges after the primary one.
func (v *VPC) further() []string {
	var out []string
	for _, r := range v.ranges[1:] {
		out = append(out, r.String())
	}
	return out
}

// Describe says whose network it is.
func (v *VPC) Describe() string {
	if v.shared != "" {
		return "existing network " + v.shared
	}
	return "network " + v.ranges[0].String()
}

// Observe finds the VPC and compares its ranges, DNS settings and tags.
func (v *VPC) Observe(ctx context.Context) (tasks.Change, error) {
	if v.shared != "" {
		vpc, err := v.s.sharedVPC(ctx, v.shared)
		if err != nil {
			return tasks.Change{}, err
		}
		if err := v.verify(vpc); err != nil {
			return tasks.Change{}, err
		}
		return kept(&v.resource, v.shared, vpc), nil
	}
	o, exists, err := v.s.vpcs.find(ctx, v.key)
	if err != nil {
		return tasks.Change{}, err
	}
	facts := vpcFacts{id: o.ID, further: v.furtherOf(o)}
	v.associations = facts.further
	if exists {
		if facts.hostnames, facts.support, err = v.s.vpcDNS(ctx, o.ID); err != nil {
			return tasks.Change{}, err
		}
	}
	d := tasks.NewDiff(exists)
	d.Fixed("cidr", aws.ToString(o.Value.CidrBlock), v.ranges[0].String())
	d.Field("additionalCIDRs", sortedKeys(facts.further), slices.Sorted(slices.Values(v.further())))
	d.Field("dnsHostnames", facts.hostnames, true)
	d.Field("dnsSupport", facts.support, true)
	diffTags(d, o.Tags, v.tags)
	c := found(&v.resource, v.s.vpcs, o, exists, d)
	c.Observed = facts
	return c, nil
}

// verify reports what an existing VPC lacks of what the spec says of it.
func (v *VPC) verify(vpc ec2types.Vpc) error {
	have := rangesOf(vpc)
	for _, r := range v.ranges {
		if _, ok := have[r.String()]; !ok {
			return fmt.Errorf("VPC %s has the ranges %s, not %s: correct spec.networking.networkCIDR or additionalNetworkCIDRs",
				v.shared, strings.Join(sortedKeys(have), ", "), r)
		}
	}
	return nil
}

// furtherOf returns the further ranges on a VPC that we put there or want there.
func (v *VPC) furtherOf(o owned[ec2types.Vpc]) map[string]string {
	ours := append(strings.Fields(o.Tags[tagRanges]), v.further()...)
	out := map[string]string{}
	for r, id := range rangesOf(o.Value) {
		if slices.Contains(ours, r) && r != aws.ToString(o.Value.CidrBlock) {
			out[r] = id
		}
	}
	return out
}

// rangesOf returns the IPv4 ranges of a VPC, with their association ids.
func rangesOf(vpc ec2types.Vpc) map[string]string {
	out := map[string]string{}
	for _, a := range vpc.CidrBlockAssociationSet {
		if a.CidrBlockState != nil && (a.CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociated ||
			a.CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociating) {
			out[aws.ToString(a.CidrBlock)] = aws.ToString(a.AssociationId)
		}
	}
	return out
}

// Apply makes the VPC, or what differs of it.
func (v *VPC) Apply(ctx context.Context, c tasks.Change) error {
	facts, ok := c.Observed.(vpcFacts)
	if !ok {
		return nil // shared
	}
	id := facts.id
	if c.Action != tasks.Update {
		if c.Action == tasks.Replace {
			if err := v.s.retire(ctx, id, v.key); err != nil {
				return err
			}
		}
		var err error
		if id, err = v.s.vpcs.makeOnce(ctx, v.key, v.create); err != nil {
			return fmt.Errorf("create VPC %s: %w", v.ranges[0], err)
		}
		facts = vpcFacts{id: id, support: true}
	}
	if err := v.applyDNS(ctx, facts); err != nil {
		return err
	}
	if err := v.applyRanges(ctx, id, facts); err != nil {
		return err
	}
	if c.Action == tasks.Update {
		if err := v.s.applyTags(ctx, id, c); err != nil {
			return err
		}
	}
	v.CloudID.Set(id)
	return nil
}

func (v *VPC) create(ctx context.Context) (string, error) {
	out, err := v.s.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         aws.String(v.ranges[0].String()),
		TagSpecifications: tagSpec(ec2types.ResourceTypeVpc, v.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Vpc.VpcId), nil
}

// applyDNS turns DNS support and host names on; AWS takes one attribute a call, support
// before host names.
func (v *VPC) applyDNS(ctx context.Context, have vpcFacts) error {
	on := &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}
	var calls []*ec2.ModifyVpcAttributeInput
	if !have.support {
		calls = append(calls, &ec2.ModifyVpcAttributeInput{VpcId: &have.id, EnableDnsSupport: on})
	}
	if !have.hostnames {
		calls = append(calls, &ec2.ModifyVpcAttributeInput{VpcId: &have.id, EnableDnsHostnames: on})
	}
	for _, in := range calls {
		if _, err := v.s.ec2.ModifyVpcAttribute(ctx, in); err != nil {
			return fmt.Errorf("turn DNS on in %s: %w", have.id, err)
		}
	}
	return nil
}

// applyRanges adds the further ranges that are wanted and takes away those that we put
// there before. It reads the VPC again first: an earlier attempt may have got half way.
func (v *VPC) applyRanges(ctx context.Context, id string, facts vpcFacts) error {
	want := v.further()
	if slices.Equal(sortedKeys(facts.further), slices.Sorted(slices.Values(want))) {
		return nil
	}
	vpc, err := v.s.sharedVPC(ctx, id)
	if err != nil {
		return err
	}
	have := rangesOf(vpc)
	for r, association := range facts.further {
		if _, still := have[r]; still && !slices.Contains(want, r) {
			_, err := v.s.ec2.DisassociateVpcCidrBlock(ctx, &ec2.DisassociateVpcCidrBlockInput{AssociationId: &association})
			if ifThere(err) != nil {
				return fmt.Errorf("take range %s from %s: %w", r, id, err)
			}
		}
	}
	for _, r := range want {
		if _, there := have[r]; there {
			continue
		}
		if _, err := v.s.ec2.AssociateVpcCidrBlock(ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: &id, CidrBlock: &r}); err != nil {
			return fmt.Errorf("add range %s to %s: %w", r, id, err)
		}
	}
	return nil
}

// listVPCs reads the VPCs that the cluster owns.
func (s *survey) listVPCs(ctx context.Context) ([]owned[ec2types.Vpc], error) {
	var out []owned[ec2types.Vpc]
	err := pages(ctx, ec2.NewDescribeVpcsPaginator(s.ec2, &ec2.DescribeVpcsInput{Filters: s.mine()}),
		func(page *ec2.DescribeVpcsOutput) {
			for _, v := range page.Vpcs {
				if o, ours := ownedEC2(s, v.VpcId, v.Tags, v); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

// sharedVPC reads one VPC by its id.
func (c *Cloud) sharedVPC(ctx context.Context, id string) (ec2types.Vpc, error) {
	out, err := c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if gone(err) || err == nil && len(out.Vpcs) == 0 {
		return ec2types.Vpc{}, fmt.Errorf("there is no VPC %s in %s: correct spec.networking.networkID or the region", id, c.region)
	}
	if err != nil {
		return ec2types.Vpc{}, fmt.Errorf("read VPC %s: %w", id, err)
	}
	return out.Vpcs[0], nil
}

// vpcDNS reads the two DNS settings of a VPC, which no list shows.
func (s *survey) vpcDNS(ctx context.Context, id string) (hostnames, support bool, err error) {
	h, err := s.ec2.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{
		VpcId: &id, Attribute: ec2types.VpcAttributeNameEnableDnsHostnames,
	})
	if err != nil {
		return false, false, fmt.Errorf("read the DNS settings of %s: %w", id, err)
	}
	n, err := s.ec2.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{
		VpcId: &id, Attribute: ec2types.VpcAttributeNameEnableDnsSupport,
	})
	if err != nil {
		return false, false, fmt.Errorf("read the DNS settings of %s: %w", id, err)
	}
	return h.EnableDnsHostnames != nil && aws.ToBool(h.EnableDnsHostnames.Value),
		n.EnableDnsSupport != nil && aws.ToBool(n.EnableDnsSupport.Value), nil
}

// removeVPC deletes a VPC; everything in it is gone by then, or named.
func (s *survey) removeVPC(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &l.ID})
	return s.blocked(ctx, ifThere(err), "vpc-id", l.ID)
}

// Export writes nothing of a shared VPC.
func (v *VPC) Export(_ context.Context, m *terraform.Module) error {
	if v.shared != "" {
		v.CloudID.Set(v.shared)
		v.importID = v.shared
		m.Output("vpc_id", "The VPC.", terraform.Text(v.shared))
		return nil
	}
	b := v.export(m, "aws_vpc")
	b.Set("cidr_block", terraform.Text(v.ranges[0].String()))
	b.Set("enable_dns_hostnames", terraform.Bool(true))
	b.Set("enable_dns_support", terraform.Bool(true))
	v.exportTags(b)
	m.Output("vpc_id", "The VPC.", b.Ref("id"))
	for _, r := range v.further() {
		a := m.Resource("aws_vpc_ipv4_cidr_block_association", v.key+"-"+r)
		a.Set("vpc_id", b.Ref("id"))
		a.Set("cidr_block", terraform.Text(r))
		a.Import(v.associations[r])
	}
	return nil
}
