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

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
)

// resolveNetwork takes what the spec leaves open of an existing VPC: its ranges, the
// zones and ranges of subnets given by id, and free ranges for those that are ours.
func (c *Cloud) resolveNetwork(ctx context.Context, m *api.Manifest) error {
	n := &m.Cluster.Spec.Networking
	if n.NetworkID == "" || resolved(n) {
		return nil
	}
	vpc, err := c.sharedVPC(ctx, n.NetworkID)
	if err != nil {
		return err
	}
	if n.NetworkCIDR == "" {
		n.NetworkCIDR = aws.ToString(vpc.CidrBlock)
		for _, r := range sortedKeys(rangesOf(vpc)) {
			if r != n.NetworkCIDR && len(n.AdditionalNetworkCIDRs) < len(rangesOf(vpc))-1 {
				n.AdditionalNetworkCIDRs = append(n.AdditionalNetworkCIDRs, r)
			}
		}
	}
	there, err := c.subnetsOf(ctx, n.NetworkID)
	if err != nil {
		return err
	}
	for i := range n.Subnets {
		s := &n.Subnets[i]
		have, ok := there[s.ID]
		if !ok {
			continue // Check names it
		}
		if s.Zone == "" {
			s.Zone = aws.ToString(have.AvailabilityZone)
		}
		if s.CIDR == "" {
			s.CIDR = aws.ToString(have.CidrBlock)
		}
	}
	return allocateGaps(n, there)
}

// resolved reports whether nothing is left open.
func resolved(n *api.Networking) bool {
	return n.NetworkCIDR != "" && !slices.ContainsFunc(n.Subnets, func(s api.Subnet) bool { return s.CIDR == "" || s.Zone == "" })
}

// allocateGaps gives the subnets that are ours and have no range one between those that
// are in the VPC already.
func allocateGaps(n *api.Networking, there map[string]ec2types.Subnet) error {
	var network, taken []netip.Prefix
	for _, text := range append([]string{n.NetworkCIDR}, n.AdditionalNetworkCIDRs...) {
		if p, err := netip.ParsePrefix(text); err == nil {
			network = append(network, p)
		}
	}
	for _, id := range sortedKeys(there) {
		if p, err := netip.ParsePrefix(aws.ToString(there[id].CidrBlock)); err == nil {
			taken = append(taken, p)
		}
	}
	var want []api.Want
	var at []int
	for i, s := range n.Subnets {
		if s.CIDR == "" && s.ID == "" {
			want, at = append(want, api.Want{Name: s.Name, Kind: s.Type}), append(at, i)
		} else if p, err := netip.ParsePrefix(s.CIDR); err == nil && s.ID == "" {
			taken = append(taken, p)
		}
	}
	ranges, err := api.Allocate(network, taken, want)
	if err != nil {
		return fmt.Errorf("find room in %s: %w", n.NetworkID, err)
	}
	for i, p := range ranges {
		n.Subnets[at[i]].CIDR = p.String()
	}
	return nil
}

// subnetsOf reads every subnet of a VPC, by id.
func (c *Cloud) subnetsOf(ctx context.Context, vpc string) (map[string]ec2types.Subnet, error) {
	out := map[string]ec2types.Subnet{}
	filter := []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}
	err := pages(ctx, ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{Filters: filter}),
		func(page *ec2.DescribeSubnetsOutput) {
			for _, s := range page.Subnets {
				out[aws.ToString(s.SubnetId)] = s
			}
		})
	if err != nil {
		return nil, fmt.Errorf("list the subnets of %s: %w", vpc, err)
	}
	return out, nil
}

// checkExisting compares the spec with the VPC and the subnets that it names by id.
func (c *Cloud) checkExisting(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	n := m.Cluster.Spec.Networking
	if n.NetworkID == "" {
		var faults api.Faults
		for i, s := range n.Subnets {
			if s.ID != "" {
				faults = append(faults, api.Fault{Path: subnetPath(i) + ".id", Value: s.ID, Message: "needs spec.networking.networkID, the VPC that it is in"})
			}
		}
		return faults, nil
	}
	out, err := c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{n.NetworkID}})
	if gone(err) || strings.HasSuffix(codeOf(err), ".Malformed") || err == nil && len(out.Vpcs) == 0 {
		return api.Faults{{Path: "spec.networking.networkID", Value: n.NetworkID, Message: "is no VPC of " + c.region}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read VPC %s: %w", n.NetworkID, err)
	}
	faults := checkVPCRanges(n, rangesOf(out.Vpcs[0]))
	there, err := c.subnetsOf(ctx, n.NetworkID)
	if err != nil {
		return nil, err
	}
	for i, s := range n.Subnets {
		if s.ID == "" {
			faults = append(faults, c.checkFree(i, s, there)...)
			continue
		}
		have, ok := there[s.ID]
		if !ok {
			faults = append(faults, api.Fault{Path: subnetPath(i) + ".id", Value: s.ID, Message: "is no subnet of " + n.NetworkID})
			continue
		}
		faults = append(faults, checkSame(i, s, have)...)
		if n.TagSubnets == nil || *n.TagSubnets {
			faults = append(faults, c.checkHeadroom(i, s, n, tagMap(have.Tags))...)
		}
	}
	more, err := c.checkWayOut(ctx, m)
	return append(faults, more...), err
}

// checkWayOut reports a public load balancer in an existing VPC without an internet
// gateway, which AWS refuses. One is made only for public subnets of our own.
func (c *Cloud) checkWayOut(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	n, lb := m.Cluster.Spec.Networking, m.Cluster.Spec.API.LoadBalancer
	own := func(s api.Subnet) bool { return s.Type != api.SubnetPrivate && s.ID == "" }
	if lb == nil || lb.Type != api.LoadBalancerPublic || slices.ContainsFunc(n.Subnets, own) {
		return nil, nil
	}
	attached, err := attachedGateway(ctx, c.ec2, n.NetworkID)
	if err != nil || attached != nil {
		return nil, err
	}
	return api.Faults{{Path: "spec.api.loadBalancer.type", Value: string(lb.Type), Message: "needs an internet gateway, and " + n.NetworkID +
		" has none: attach one and route to it, or set internal (--api-loadbalancer internal)"}}, nil
}

func checkVPCRanges(n api.Networking, have map[string]string) api.Faults {
	var faults api.Faults
	check := func(path, text string) {
		if _, ok := have[text]; !ok && text != "" {
			faults = append(faults, api.Fault{Path: path, Value: text, Message: n.NetworkID + " has the ranges " + strings.Join(sortedKeys(have), ", ")})
		}
	}
	check("spec.networking.networkCIDR", n.NetworkCIDR)
	for i, r := range n.AdditionalNetworkCIDRs {
		check(fmt.Sprintf("spec.networking.additionalNetworkCIDRs[%d]", i), r)
	}
	return faults
}

// checkFree reports existing subnets that a new one would overlap; those that this
// cluster made are its own.
func (c *Cloud) checkFree(i int, s api.Subnet, there map[string]ec2types.Subnet) api.Faults {
	want, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return nil
	}
	var clash []string
	for _, id := range sortedKeys(there) {
		if have, err := netip.ParsePrefix(aws.ToString(there[id].CidrBlock)); err == nil && have.Overlaps(want) && tagMap(there[id].Tags)[tagUID] != c.uid {
			clash = append(clash, fmt.Sprintf("%s (%s)", id, have))
		}
	}
	if len(clash) == 0 {
		return nil
	}
	return api.Faults{{Path: subnetPath(i) + ".cidr", Value: s.CIDR, Message: "overlaps " + strings.Join(clash, ", ") + ": choose a free range, or leave it out"}}
}

// checkSame reports where a subnet given by id is not what the spec says.
func checkSame(i int, s api.Subnet, have ec2types.Subnet) api.Faults {
	var faults api.Faults
	if s.Zone != "" && s.Zone != aws.ToString(have.AvailabilityZone) {
		faults = append(faults, api.Fault{Path: subnetPath(i) + ".zone", Value: s.Zone, Message: s.ID + " is in " + aws.ToString(have.AvailabilityZone)})
	}
	if s.CIDR != "" && s.CIDR != aws.ToString(have.CidrBlock) {
		faults = append(faults, api.Fault{Path: subnetPath(i) + ".cidr", Value: s.CIDR, Message: s.ID + " has " + aws.ToString(have.CidrBlock)})
	}
	return faults
}

// checkHeadroom reports a shared subnet that has no room for the tags that Kubernetes
// needs, and which tags of clusters may be stale.
func (c *Cloud) checkHeadroom(i int, s api.Subnet, n api.Networking, have map[string]string) api.Faults {
	count, clusters := 0, []string(nil)
	for _, k := range sortedKeys(have) {
		if !strings.HasPrefix(k, "aws:") {
			count++
		}
		if strings.HasPrefix(k, "kubernetes.io/cluster/") && k != c.clusterTag() {
			clusters = append(clusters, k)
		}
	}
	need := 0
	for k := range c.marksOf(s) {
		if _, there := have[k]; !there {
			need++
		}
	}
	if count+need <= maxTags {
		return nil
	}
	message := fmt.Sprintf("has %d tags and needs %d more; AWS allows %d: remove some, or set spec.networking.tagSubnets to false", count, need, maxTags)
	if len(clusters) > 0 {
		message += "; tags of other clusters, stale if those are gone: " + strings.Join(clusters, ", ")
	}
	return api.Faults{{Path: subnetPath(i) + ".id", Value: s.ID, Message: message}}
}

// marksOf are the tags that a shared subnet should carry, as its lowering has them.
func (c *Cloud) marksOf(s api.Subnet) map[string]string {
	tags := roleTags(model.Subnet{
		ExternalLB: s.Type != api.SubnetPrivate,
		InternalLB: s.Type == api.SubnetPrivate,
	})
	tags[c.clusterTag()] = "shared"
	return tags
}
