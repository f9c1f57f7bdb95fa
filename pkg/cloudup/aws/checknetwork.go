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
)

// Limits of AWS on networks. A subnet loses five addresses to AWS itself.
const (
	widestRange    = 16 // of a VPC's and a subnet's prefix length
	narrowestRange = 28
)

// ownTags is how many tags of our own an object can carry at most, the roles of an
// instance group among them; what is left of AWS's 50 is the user's.
const ownTags = 14

// checkNetwork reports what AWS would refuse of the network: names, zones, ranges, ways
// out, existing objects, and another cluster of the same name.
func (c *Cloud) checkNetwork(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	faults := append(c.checkTags(m), checkRanges(m)...)
	faults = append(faults, checkEgress(m)...)
	for _, check := range []func(context.Context, *api.Manifest) (api.Faults, error){
		c.checkZones, c.checkNamesake, c.checkEgressIDs, c.checkExisting,
	} {
		more, err := check(ctx, m)
		if err != nil {
			return nil, err
		}
		faults = append(faults, more...)
	}
	return faults, nil
}

// checkTags reports names and labels that do not fit into tags.
func (c *Cloud) checkTags(m *api.Manifest) api.Faults {
	var faults api.Faults
	if over := len(c.clusterTag()) - maxTagKey; over > 0 {
		faults = append(faults, api.Fault{Path: "metadata.name", Value: c.cluster, Message: fmt.Sprintf(
			"is %d characters too long: the tag %s/<name> may have %d", over, "kubernetes.io/cluster", maxTagKey)})
	}
	faults = append(faults, checkLabels("spec.cloudLabels", m.Cluster.Spec.CloudLabels)...)
	for _, g := range m.Groups {
		all := map[string]string{}
		for _, labels := range []map[string]string{m.Cluster.Spec.CloudLabels, g.Spec.CloudLabels} {
			for k, v := range labels {
				all[k] = v
			}
		}
		path := "instancegroup/" + g.Metadata.Name + " spec.cloudLabels"
		faults = append(faults, checkLabels(path, g.Spec.CloudLabels)...)
		if len(g.Spec.CloudLabels) > 0 && len(all) > maxTags-ownTags {
			faults = append(faults, tooMany(path, len(all)))
		}
	}
	return faults
}

func checkLabels(path string, labels map[string]string) api.Faults {
	var faults api.Faults
	for _, k := range sortedKeys(labels) {
		at, v := path+"["+k+"]", labels[k]
		switch {
		case k == "" || len(k) > maxTagKey:
			faults = append(faults, api.Fault{Path: at, Message: fmt.Sprintf("a tag's key has 1 to %d characters, this one has %d", maxTagKey, len(k))})
		case len(v) > maxTagValue:
			faults = append(faults, api.Fault{Path: at, Message: fmt.Sprintf("a tag's value has at most %d characters, this one has %d", maxTagValue, len(v))})
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			faults = append(faults, api.Fault{Path: at, Message: "keys that begin with aws: are AWS's own"})
		case strings.HasPrefix(k, tagOurs):
			faults = append(faults, api.Fault{Path: at, Message: "keys that begin with " + tagOurs + " are Slipway's own"})
		case badTagText(k) || badTagText(v):
			faults = append(faults, api.Fault{Path: at, Value: v, Message: "a tag has letters, digits, spaces and _ . : / = + - @ only"})
		}
	}
	if len(labels) > maxTags-ownTags {
		faults = append(faults, tooMany(path, len(labels)))
	}
	return faults
}

func tooMany(path string, n int) api.Fault {
	return api.Fault{Path: path, Message: fmt.Sprintf("%d labels are too many: AWS allows %d tags on an object and up to %d are Slipway's",
		n, maxTags, ownTags)}
}

func badTagText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r < 128 && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" _.:/=+-@", r))
	})
}

// checkRanges reports ranges of a size that AWS does not take.
func checkRanges(m *api.Manifest) api.Faults {
	n := m.Cluster.Spec.Networking
	var faults api.Faults
	check := func(path, text string) {
		p, err := netip.ParsePrefix(text)
		if err == nil && (p.Bits() < widestRange || p.Bits() > narrowestRange) {
			faults = append(faults, api.Fault{Path: path, Value: text, Message: fmt.Sprintf("AWS takes ranges from /%d to /%d", widestRange, narrowestRange)})
		}
	}
	if n.NetworkID == "" {
		check("spec.networking.networkCIDR", n.NetworkCIDR)
		for i, r := range n.AdditionalNetworkCIDRs {
			check(fmt.Sprintf("spec.networking.additionalNetworkCIDRs[%d]", i), r)
		}
	}
	for i, s := range n.Subnets {
		if s.ID == "" {
			check(subnetPath(i)+".cidr", s.CIDR)
		}
	}
	return faults
}

func subnetPath(i int) string { return fmt.Sprintf("spec.networking.subnets[%d]", i) }

// checkEgress reports private subnets without a way out, or with two in one zone.
func checkEgress(m *api.Manifest) api.Faults {
	subnets := m.Cluster.Spec.Networking.Subnets
	first := map[string]int{}
	var faults api.Faults
	for i, s := range subnets {
		if s.Type != api.SubnetPrivate || s.ID != "" {
			if s.Egress != "" {
				faults = append(faults, api.Fault{Path: subnetPath(i) + ".egress", Value: s.Egress, Message: "is only for private subnets that are not given by id"})
			}
			continue
		}
		if j, twice := first[s.Zone]; twice && subnets[j].Egress != s.Egress {
			faults = append(faults, api.Fault{Path: subnetPath(i) + ".egress", Value: s.Egress, Message: fmt.Sprintf(
				"private subnets of a zone share a route table: %s has %q", subnets[j].Name, subnets[j].Egress)})
		} else if !twice {
			first[s.Zone] = i
		}
		home := slices.ContainsFunc(subnets, func(o api.Subnet) bool { return o.Zone == s.Zone && o.Type != api.SubnetPrivate })
		switch {
		case !slices.Contains([]string{"", "external", "nat", "eipalloc", "tgw", "i"}, prefixOf(s.Egress)):
			faults = append(faults, api.Fault{Path: subnetPath(i) + ".egress", Value: s.Egress, Message: "must be nat-..., eipalloc-..., tgw-..., i-... or external"})
		case !home && (s.Egress == "" || prefixOf(s.Egress) == "eipalloc"):
			faults = append(faults, api.Fault{Path: subnetPath(i), Value: s.Name, Message: fmt.Sprintf(
				"is private, and zone %s has no public or utility subnet for the NAT gateway: add one, or set egress", s.Zone)})
		}
	}
	return faults
}

// checkZones reports zones that the region does not have.
func (c *Cloud) checkZones(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	out, err := c.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("list the zones of %s: %w", c.region, err)
	}
	var zones []string
	for _, z := range out.AvailabilityZones {
		if z.State == ec2types.AvailabilityZoneStateAvailable {
			zones = append(zones, aws.ToString(z.ZoneName))
		}
	}
	slices.Sort(zones)
	var faults api.Faults
	for i, s := range m.Cluster.Spec.Networking.Subnets {
		if s.Zone != "" && !slices.Contains(zones, s.Zone) {
			faults = append(faults, api.Fault{Path: subnetPath(i) + ".zone", Value: s.Zone, Message: "is no zone of " + c.region + ", which has " + strings.Join(zones, ", ")})
		}
	}
	return faults, nil
}

// checkNamesake reports another cluster of this name in the region: the controllers in
// both would take each other's objects for their own.
func (c *Cloud) checkNamesake(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	filter := []ec2types.Filter{{Name: aws.String("tag:KubernetesCluster"), Values: []string{c.cluster}}}
	var faults api.Faults
	seen := map[string]bool{c.uid: true}
	met := func(id string, tags map[string]string, vpc bool) {
		uid := tags[tagUID]
		if seen[uid] || uid == "" && (!vpc || id == m.Cluster.Spec.Networking.NetworkID) {
			return
		}
		seen[uid] = true
		other := "the UID " + uid
		if uid == "" {
			other = "no UID, so another tool made it"
		}
		faults = append(faults, api.Fault{Path: "metadata.name", Value: c.cluster, Message: fmt.Sprintf(
			"a cluster of this name is in %s already: %s has %s, this cluster has %s; choose another name or region", c.region, id, other, c.uid)})
	}
	vpcs, err := c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("look for another cluster of this name: %w", err)
	}
	for _, v := range vpcs.Vpcs {
		met(aws.ToString(v.VpcId), tagMap(v.Tags), true)
	}
	err = pages(ctx, ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{Filters: filter}),
		func(page *ec2.DescribeSecurityGroupsOutput) {
			for _, g := range page.SecurityGroups {
				met(aws.ToString(g.GroupId), tagMap(g.Tags), false)
			}
		})
	if err != nil {
		return nil, fmt.Errorf("look for another cluster of this name: %w", err)
	}
	return faults, nil
}

// checkEgressIDs reports NAT gateways and addresses that are named as a way out and are
// not there.
func (c *Cloud) checkEgressIDs(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	var faults api.Faults
	for i, s := range m.Cluster.Spec.Networking.Subnets {
		there, err := c.egressThere(ctx, s.Egress)
		if !there && err == nil {
			faults = append(faults, api.Fault{Path: subnetPath(i) + ".egress", Value: s.Egress, Message: "is not in " + c.region})
		} else if err != nil {
			return nil, fmt.Errorf("look for the way out %s: %w", s.Egress, err)
		}
	}
	return faults, nil
}

// egressThere reports whether a way out that can be looked up exists.
func (c *Cloud) egressThere(ctx context.Context, id string) (bool, error) {
	found := 1
	var err error
	switch prefixOf(id) {
	case "nat":
		var out *ec2.DescribeNatGatewaysOutput
		if out, err = c.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}}); err == nil {
			found = len(out.NatGateways)
		}
	case "eipalloc":
		var out *ec2.DescribeAddressesOutput
		if out, err = c.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}}); err == nil {
			found = len(out.Addresses)
		}
	}
	if gone(err) || strings.HasSuffix(codeOf(err), ".Malformed") {
		return false, nil
	}
	return found > 0, err
}
