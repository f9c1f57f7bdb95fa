// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// fewAddresses is the number of usable addresses in a subnet for machines below which
// it is likely to be too small.
const fewAddresses = 32

// named is a range with the path that it stands at.
type named struct {
	path  string
	shown string // how messages name it
	p     netip.Prefix
}

// privateSpace are the ranges that no one on the internet has.
var privateSpace = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("198.18.0.0/15"),
}

// network checks the cluster's ranges, alone and against one another.
func (v *validator) network() {
	n := &v.c.Spec.Networking
	const at = "spec.networking."
	v.id(at+"networkID", "network", n.NetworkID)
	if n.NetworkCIDR == "" && n.NetworkID == "" {
		v.fault(at+"networkCIDR", "", "is missing")
	}
	var ranges []named
	add := func(path, text, shown string) {
		if p, ok := v.cidr(at+path, text); ok {
			v.public(at+path, p)
			ranges = append(ranges, named{at + path, shown, p})
		}
	}
	add("networkCIDR", n.NetworkCIDR, "the network")
	for i, text := range n.AdditionalNetworkCIDRs {
		add(fmt.Sprintf("additionalNetworkCIDRs[%d]", i), text, "an additional range of the network")
		if text == "" {
			v.fault(fmt.Sprintf("%sadditionalNetworkCIDRs[%d]", at, i), "", "is empty")
		}
	}
	for _, r := range ranges {
		v.networkSize(r)
	}
	add("podCIDR", n.PodCIDR, "the pods")
	add("serviceClusterIPRange", n.ServiceClusterIPRange, "the services")
	v.disjoint(ranges)
	v.capacity(n)
	oneOf(v, at+"topology", n.Topology, TopologyPublic, TopologyPrivate)
	oneOf(v, at+"dns", n.DNS, DNSPublic, DNSPrivate, DNSNone)
	if n.CNI != nil {
		v.cni(n.CNI)
	}
}

func (v *validator) cni(c *CNI) {
	var chosen []string
	for _, choice := range []struct {
		name string
		set  *struct{}
	}{{"routes", c.Routes}, {"flannel", c.Flannel}, {"cilium", c.Cilium}, {"calico", c.Calico}, {"external", c.External}} {
		if choice.set != nil {
			chosen = append(chosen, choice.name)
		}
	}
	if len(chosen) != 1 {
		v.fault("spec.networking.cni", strings.Join(chosen, ", "), "choose exactly one of routes, flannel, cilium, calico, external")
	}
}

// cidr parses a range; empty is not given and no fault.
func (v *validator) cidr(path, text string) (netip.Prefix, bool) {
	if text == "" {
		return netip.Prefix{}, false
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		if a, err := netip.ParseAddr(text); err == nil {
			v.fault(path, text, "is an address, not a range; write %s/%d for it alone", text, a.BitLen())
			return netip.Prefix{}, false
		}
		v.fault(path, text, "is not a range such as 10.0.0.0/16")
		return netip.Prefix{}, false
	case !p.Addr().Is4():
		v.fault(path, text, "is an IPv6 range; only IPv4 is supported")
		return netip.Prefix{}, false
	case p != p.Masked():
		v.fault(path, text, "has bits set behind its prefix; the range is %s", p.Masked())
		return netip.Prefix{}, false
	}
	return p, true
}

func (v *validator) public(path string, p netip.Prefix) {
	for _, s := range privateSpace {
		if s.Bits() <= p.Bits() && s.Contains(p.Addr()) {
			return
		}
	}
	v.warn(path, p.String(), "is public address space: whoever has it on the internet cannot be reached from the cluster")
}

func (v *validator) networkSize(r named) {
	if f := v.facts; f != nil && (r.p.Bits() < f.networkBits[0] || r.p.Bits() > f.networkBits[1]) {
		v.fault(r.path, r.p.String(), "must be a /%d to /%d", f.networkBits[0], f.networkBits[1])
	}
}

// disjoint faults every pair of ranges that share addresses.
func (v *validator) disjoint(ranges []named) {
	for i, r := range ranges {
		for _, before := range ranges[:i] {
			if r.p.Overlaps(before.p) {
				v.fault(r.path, r.p.String(), "overlaps %s (%s, %s)", before.shown, before.p, before.path)
			}
		}
	}
}

// podBits is the range that each node gets of the pods' range.
const podBits = 24

// capacity checks the sizes of the ranges for pods and services.
func (v *validator) capacity(n *Networking) {
	if p, err := netip.ParsePrefix(n.ServiceClusterIPRange); err == nil && p.Addr().Is4() && (p.Bits() < 12 || p.Bits() > 28) {
		v.fault("spec.networking.serviceClusterIPRange", n.ServiceClusterIPRange, "must be a /12 to /28; the API server takes no wider one")
	}
	p, err := netip.ParsePrefix(n.PodCIDR)
	if err != nil || !p.Addr().Is4() {
		return
	}
	if p.Bits() > podBits {
		v.fault("spec.networking.podCIDR", n.PodCIDR, "must be a /%d or wider: each node gets a /%d of it", podBits, podBits)
		return
	}
	var most int64
	for _, g := range v.m.Groups {
		if g.Spec.Role != RoleBastion && g.Spec.MaxSize != nil {
			most += int64(max(*g.Spec.MaxSize, 0))
		}
	}
	if room := int64(1) << (podBits - p.Bits()); most > room {
		v.warn("spec.networking.podCIDR", n.PodCIDR, "has ranges for %d nodes and the groups may have %d", room, most)
	}
}

// subnets checks each subnet and how they fit together.
func (v *validator) subnets() {
	n := &v.c.Spec.Networking
	if len(n.Subnets) == 0 {
		v.fault("spec.networking.subnets", "", "at least one subnet is needed")
	}
	var ranges []named
	for i, s := range n.Subnets {
		path := fmt.Sprintf("spec.networking.subnets[%d]", i)
		v.subnet(path, s, n.Subnets[:i])
		if p, ok := v.cidr(path+".cidr", s.CIDR); ok {
			v.inside(path+".cidr", p, s)
			ranges = append(ranges, named{path + ".cidr", "subnet " + s.Name, p})
		}
	}
	v.disjoint(ranges)
	if pods, err := netip.ParsePrefix(n.PodCIDR); err == nil {
		v.outside(ranges, pods, "the pods", "podCIDR")
	}
	if services, err := netip.ParsePrefix(n.ServiceClusterIPRange); err == nil {
		v.outside(ranges, services, "the services", "serviceClusterIPRange")
	}
	if n.NetworkID == "" {
		if _, at, err := n.allocate(); len(at) > 0 {
			reason := "there is no range to take it from"
			if err != nil {
				reason = err.Error()
			}
			v.fault(fmt.Sprintf("spec.networking.subnets[%d].cidr", at[0]), "", "is missing: %s", reason)
		}
	}
	v.topology(n)
}

// outside faults subnets in another range where the subnet's network is not known to
// hold them, as in an existing network.
func (v *validator) outside(ranges []named, p netip.Prefix, shown, field string) {
	for _, r := range ranges {
		if r.p.Overlaps(p) {
			v.fault(r.path, r.p.String(), "overlaps %s (%s, spec.networking.%s)", shown, p, field)
		}
	}
}

func (v *validator) subnet(path string, s Subnet, before []Subnet) {
	if s.Name == "" {
		v.fault(path+".name", "", "is missing")
	} else if !dnsLabel.MatchString(s.Name) {
		v.fault(path+".name", s.Name, "must be at most 63 small letters, digits and inner hyphens")
	}
	for j, other := range before {
		if s.Name != "" && other.Name == s.Name {
			v.fault(path+".name", s.Name, "is the name of subnets[%d] too", j)
		}
		if s.ID != "" && other.ID == s.ID {
			v.fault(path+".id", s.ID, "is subnet %s too", other.Name)
		}
	}
	oneOf(v, path+".type", s.Type, SubnetPublic, SubnetPrivate, SubnetUtility)
	v.id(path+".id", "subnet", s.ID)
	if s.ID != "" && v.c.Spec.Networking.NetworkID == "" {
		v.fault(path+".id", s.ID, "an existing subnet needs spec.networking.networkID, the network that it is in")
	}
	v.zone(path+".zone", s)
	v.id(path+".egress", "egress", s.Egress)
	if s.Egress != "" && s.Type != SubnetPrivate {
		v.fault(path+".egress", s.Egress, "is for private subnets; this one is %s", s.Type)
	}
}

func (v *validator) zone(path string, s Subnet) {
	if v.facts == nil {
		return
	}
	region := *v.facts.specRegion(&v.c.Spec.CloudProvider)
	switch got := v.facts.regionOf(s.Zone); {
	case s.Zone == "" && s.ID == "":
		v.fault(path, "", "is missing")
	case s.Zone == "":
	case got == "":
		v.fault(path, s.Zone, "is not the name of a zone")
	case region != "" && got != region:
		v.fault(path, s.Zone, "is not a zone of region %s", region)
	}
}

// inside checks that a subnet is in the network and large enough.
func (v *validator) inside(path string, p netip.Prefix, s Subnet) {
	n := &v.c.Spec.Networking
	var network []netip.Prefix
	for _, text := range append([]string{n.NetworkCIDR}, n.AdditionalNetworkCIDRs...) {
		if r, err := netip.ParsePrefix(text); err == nil {
			network = append(network, r)
		}
	}
	if len(network) > 0 && !slices.ContainsFunc(network, func(r netip.Prefix) bool { return r.Bits() <= p.Bits() && r.Contains(p.Addr()) }) {
		v.fault(path, s.CIDR, "is not in the network (%s)", list(network))
	}
	if v.facts == nil {
		return
	}
	switch usable := Usable(p, v.facts.reserved); {
	case p.Bits() < v.facts.networkBits[0] || p.Bits() > v.facts.networkBits[1]:
		v.fault(path, s.CIDR, "must be a /%d to /%d", v.facts.networkBits[0], v.facts.networkBits[1])
	case s.Type != SubnetUtility && usable < fewAddresses:
		v.warn(path, s.CIDR, "has %d usable addresses for the machines and load balancers of its zone", usable)
	}
}

// topology checks the types of subnets against the topology, and that private subnets
// have a way out.
func (v *validator) topology(n *Networking) {
	private := false
	for i, s := range n.Subnets {
		path := fmt.Sprintf("spec.networking.subnets[%d]", i)
		private = private || s.Type == SubnetPrivate
		if n.Topology == TopologyPublic && (s.Type == SubnetPrivate || s.Type == SubnetUtility) {
			v.fault(path+".type", string(s.Type), "needs spec.networking.topology private")
		}
		if s.Type != SubnetPrivate || s.Egress != "" || s.Zone == "" {
			continue
		}
		if !slices.ContainsFunc(n.Subnets, func(o Subnet) bool { return o.Zone == s.Zone && o.Type != SubnetPrivate }) {
			v.fault(path, s.Name, "has no way out: add a utility subnet in zone %s, or set egress", s.Zone)
		}
	}
	if n.Topology == TopologyPrivate && !private && len(n.Subnets) > 0 {
		v.fault("spec.networking.topology", string(n.Topology), "needs private subnets; there are none")
	}
}
