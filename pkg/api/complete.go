// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// What a new cluster gets where its spec says nothing.
const (
	defaultNetwork   = "172.20.0.0/16"
	defaultPods      = "100.96.0.0/11"
	defaultServices  = "100.64.0.0/13"
	defaultDNSDomain = "cluster.local"
	etcdVolumeGiB    = 20
)

// rootGiB is the default size of a boot disk by role.
var rootGiB = map[Role]int32{RoleControlPlane: 64, RoleNode: 128, RoleBastion: 32}

// Complete fills in what was not given: values that follow from others and the
// defaults that matter, so that they are stored and a newer release changes nothing.
// It changes only fields that are not set and a second run changes nothing. What only
// the cloud knows (images, ranges in an existing network) it leaves open, and it never
// fails: what cannot be filled in is for Validate to name.
func Complete(m *Manifest) {
	c := m.Cluster
	if c == nil {
		return
	}
	facts := factsOf(c)
	if c.Spec.KubernetesVersion == "" {
		c.Spec.KubernetesVersion = DefaultKubernetesVersion()
	}
	if c.Spec.ClusterDNSDomain == "" {
		c.Spec.ClusterDNSDomain = defaultDNSDomain
	}
	completeSubnets(&c.Spec.Networking, facts)
	completeRegion(c, facts)
	completeNetworking(&c.Spec.Networking)
	nodes := completeSizes(m)
	for _, g := range m.Groups {
		completeGroup(g, facts, nodes)
	}
	completeAPI(m)
	completeEtcd(m, facts)
	label(m)
}

// completeSubnets derives zones from names, the topology from types, types from the
// topology.
func completeSubnets(n *Networking, facts *cloudFacts) {
	if n.Topology == "" {
		n.Topology = TopologyPublic
		if slices.ContainsFunc(n.Subnets, func(s Subnet) bool { return s.Type == SubnetPrivate || s.Type == SubnetUtility }) {
			n.Topology = TopologyPrivate
		}
	}
	for i := range n.Subnets {
		s := &n.Subnets[i]
		zone := strings.TrimPrefix(s.Name, utilityPrefix)
		if s.Type == "" {
			switch {
			case n.Topology == TopologyPrivate && zone != s.Name:
				s.Type = SubnetUtility
			case n.Topology == TopologyPrivate:
				s.Type = SubnetPrivate
			default:
				s.Type = SubnetPublic
			}
		}
		if s.Zone == "" && s.ID == "" && facts != nil && facts.regionOf(zone) != "" {
			s.Zone = zone
		}
	}
}

// completeRegion takes the region of the first zone.
func completeRegion(c *Cluster, facts *cloudFacts) {
	if facts == nil {
		return
	}
	region := facts.specRegion(&c.Spec.CloudProvider)
	for _, s := range c.Spec.Networking.Subnets {
		if *region == "" {
			*region = facts.regionOf(s.Zone)
		}
	}
}

func completeNetworking(n *Networking) {
	if n.NetworkCIDR == "" && n.NetworkID == "" {
		n.NetworkCIDR = defaultNetwork
	}
	if n.PodCIDR == "" {
		n.PodCIDR = defaultPods
	}
	if n.ServiceClusterIPRange == "" {
		n.ServiceClusterIPRange = defaultServices
	}
	if n.DNS == "" {
		n.DNS = DNSNone
	}
	if n.CNI == nil {
		n.CNI = &CNI{Routes: &struct{}{}}
	}
	if n.TagSubnets == nil {
		n.TagSubnets = new(true)
	}
	if n.NetworkID == "" {
		ranges, at, err := n.allocate()
		if err != nil {
			return
		}
		for i, p := range ranges {
			n.Subnets[at[i]].CIDR = p.String()
		}
	}
}

// allocate finds ranges for the subnets that have none; at holds their positions.
func (n *Networking) allocate() (ranges []netip.Prefix, at []int, err error) {
	var network, taken []netip.Prefix
	for _, text := range append([]string{n.NetworkCIDR}, n.AdditionalNetworkCIDRs...) {
		if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
			network = append(network, p.Masked())
		}
	}
	var want []Want
	for i, s := range n.Subnets {
		if s.CIDR == "" && s.ID == "" {
			want, at = append(want, Want{Name: s.Name, Kind: s.Type}), append(at, i)
		} else if p, err := netip.ParsePrefix(s.CIDR); err == nil {
			taken = append(taken, p.Masked())
		}
	}
	ranges, err = Allocate(network, taken, want)
	return ranges, at, err
}

// completeSizes sets roles and numbers of machines and returns how many nodes there
// are.
func completeSizes(m *Manifest) (nodes int32) {
	for _, g := range m.Groups {
		s := &g.Spec
		if s.Role == "" {
			s.Role = RoleNode
		}
		size := int32(1)
		switch s.Role {
		case RoleNode:
			size = max(1, int32(len(s.Subnets)))
		case RoleControlPlane:
			size = max(1, membersIn(m.Cluster, g.Metadata.Name))
		}
		switch {
		case s.MinSize == nil && s.MaxSize == nil:
			s.MinSize, s.MaxSize = new(size), new(size)
		case s.MinSize == nil:
			s.MinSize = new(min(size, *s.MaxSize))
		case s.MaxSize == nil:
			s.MaxSize = new(*s.MinSize)
		}
		if s.Role == RoleNode {
			nodes += *s.MinSize
		}
	}
	return nodes
}

// membersIn is the largest number of members that an etcd cluster has in a group.
func membersIn(c *Cluster, group string) (most int32) {
	for _, e := range c.Spec.EtcdClusters {
		var n int32
		for _, member := range e.Members {
			if member.InstanceGroup == group {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func completeGroup(g *InstanceGroup, facts *cloudFacts, nodes int32) {
	s := &g.Spec
	if s.RootVolume == nil {
		s.RootVolume = &RootVolume{}
	}
	v := s.RootVolume
	if v.Size == 0 {
		v.Size = rootGiB[s.Role]
	}
	if v.Encrypted == nil {
		v.Encrypted = new(true)
	}
	if facts == nil {
		return
	}
	if v.Type == "" {
		v.Type = facts.defaultVolume
	}
	if s.MachineType == "" {
		s.MachineType = facts.size(s.Role, nodes)
	}
}

// completeAPI decides on a load balancer and a name.
func completeAPI(m *Manifest) {
	a, dns := &m.Cluster.Spec.API, m.Cluster.Spec.Networking.DNS
	var machines int32
	for _, g := range m.Groups {
		if g.Spec.Role == RoleControlPlane {
			machines += *g.Spec.MinSize
		}
	}
	if a.LoadBalancer == nil && a.DNS == nil && (machines > 1 || dns == DNSNone) {
		a.LoadBalancer = &APILoadBalancer{}
	}
	if a.LoadBalancer != nil && a.LoadBalancer.Type == "" {
		a.LoadBalancer.Type = LoadBalancerPublic
	}
	if a.PublicName == "" && dns != DNSNone {
		a.PublicName = "api." + m.Cluster.Metadata.Name
	}
}

// completeEtcd gives a cluster without any the etcd clusters main and events, with a
// member on every control-plane machine, and fills in volumes.
func completeEtcd(m *Manifest, facts *cloudFacts) {
	c := m.Cluster
	if len(c.Spec.EtcdClusters) == 0 {
		for _, name := range []string{"main", "events"} {
			if members := defaultMembers(m, facts); len(members) > 0 {
				c.Spec.EtcdClusters = append(c.Spec.EtcdClusters, EtcdCluster{Name: name, Members: members})
			}
		}
	}
	for i := range c.Spec.EtcdClusters {
		members := c.Spec.EtcdClusters[i].Members
		if len(members) == 0 {
			members = defaultMembers(m, facts)
			c.Spec.EtcdClusters[i].Members = members
		}
		for j := range members {
			v := &members[j]
			if v.VolumeSize == 0 {
				v.VolumeSize = etcdVolumeGiB
			}
			if v.VolumeType == "" && facts != nil {
				v.VolumeType = facts.defaultVolume
			}
			if v.EncryptedVolume == nil {
				v.EncryptedVolume = new(true)
			}
		}
	}
}

// maxMembers bounds what is derived; etcd itself should not have more.
const maxMembers = 9

// defaultMembers is one member for every control-plane machine.
func defaultMembers(m *Manifest, facts *cloudFacts) []EtcdMember {
	var out []EtcdMember
	for _, g := range m.Groups {
		if g.Spec.Role != RoleControlPlane {
			continue
		}
		name := memberName(g.Metadata.Name, facts)
		size := min(*g.Spec.MinSize, maxMembers)
		for i := range size {
			member := EtcdMember{Name: name, InstanceGroup: g.Metadata.Name}
			if size > 1 {
				member.Name = fmt.Sprintf("%s-%d", name, i+1)
			}
			out = append(out, member)
		}
	}
	return out
}

// memberName shortens a group's name to the letter of its zone and what follows:
// control-plane-us-east-1a-2 to a-2. Other names it keeps.
func memberName(group string, facts *cloudFacts) string {
	rest, ok := strings.CutPrefix(group, controlPlanePrefix)
	if !ok || facts == nil {
		return group
	}
	for end := len(rest); end > 0; end-- {
		region := facts.regionOf(rest[:end])
		if short := strings.Trim(strings.TrimPrefix(rest, region), "-"); region != "" && short != "" {
			return short
		}
	}
	return rest
}

// label names the cluster on objects that a file may hold without it.
func label(m *Manifest) {
	set := func(meta *ObjectMeta) {
		if meta.Labels[ClusterLabel] != "" {
			return
		}
		if meta.Labels == nil {
			meta.Labels = map[string]string{}
		}
		meta.Labels[ClusterLabel] = m.Cluster.Metadata.Name
	}
	if m.Cluster.Metadata.Name == "" {
		return
	}
	for _, g := range m.Groups {
		set(&g.Metadata)
	}
	for _, k := range m.SSHKeys {
		set(&k.Metadata)
	}
}
