// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// api checks how the Kubernetes API is reached.
func (v *validator) api() {
	a := &v.c.Spec.API
	v.access("spec.api.access", a.Access)
	if a.PublicName != "" {
		if wrong := dnsName(a.PublicName, 253); wrong != "" {
			v.fault("spec.api.publicName", a.PublicName, "%s", wrong)
		}
	}
	for i, san := range a.AdditionalSANs {
		path := fmt.Sprintf("spec.api.additionalSANs[%d]", i)
		if _, err := netip.ParseAddr(san); err != nil {
			if wrong := dnsName(strings.TrimPrefix(san, "*."), 253); wrong != "" {
				v.fault(path, san, "must be an address or a DNS name")
			}
		}
		if slices.Contains(a.AdditionalSANs[:i], san) {
			v.fault(path, san, "stands twice")
		}
	}
	if a.DNS != nil {
		if v.c.Spec.Networking.DNS == DNSNone {
			v.fault("spec.api.dns", "", "needs spec.networking.dns public or private; without names and load balancer nobody finds the API")
		}
		if a.LoadBalancer != nil {
			v.fault("spec.api.dns", "", "means that there is no load balancer; remove it or spec.api.loadBalancer")
		}
	}
	if a.LoadBalancer != nil {
		v.loadBalancer(a.LoadBalancer)
	}
}

func (v *validator) loadBalancer(lb *APILoadBalancer) {
	const path = "spec.api.loadBalancer"
	oneOf(v, path+".type", lb.Type, LoadBalancerPublic, LoadBalancerInternal)
	v.securityGroups(path+".additionalSecurityGroups", lb.AdditionalSecurityGroups)
	v.id(path+".securityGroupOverride", "securityGroup", lb.SecurityGroupOverride)
	subnets := v.c.Spec.Networking.Subnets
	open := func(s Subnet) bool { return s.Type == SubnetPublic || s.Type == SubnetUtility }
	if lb.Type == LoadBalancerPublic && len(subnets) > 0 && !slices.ContainsFunc(subnets, open) {
		v.fault(path+".type", string(lb.Type), "needs a public or utility subnet to stand in; add one, or make it internal")
	}
}

func (v *validator) securityGroups(path string, ids []string) {
	for i, id := range ids {
		at := fmt.Sprintf("%s[%d]", path, i)
		if id == "" {
			v.fault(at, "", "is empty")
		}
		v.id(at, "securityGroup", id)
		if slices.Contains(ids[:i], id) {
			v.fault(at, id, "stands twice")
		}
	}
}

// access checks who may reach something: ranges, or lists of ranges that the cloud
// keeps.
func (v *validator) access(path string, list []string) {
	for i, text := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if slices.Contains(list[:i], text) {
			v.fault(at, text, "stands twice")
			continue
		}
		if text == "" {
			v.fault(at, "", "is empty")
			continue
		}
		if v.facts != nil && v.facts.ids["prefixList"].form != nil && strings.HasPrefix(text, "pl-") {
			v.id(at, "prefixList", text)
			continue
		}
		if p, ok := v.cidr(at, text); ok && p.Bits() == 0 {
			v.warn(at, text, "opens it to everyone")
		}
	}
}

// etcd checks members against the control-plane groups.
func (v *validator) etcd() {
	clusters := v.c.Spec.EtcdClusters
	if !slices.ContainsFunc(clusters, func(e EtcdCluster) bool { return e.Name == "main" }) {
		v.fault("spec.etcdClusters", "", `an etcd cluster named "main" is needed`)
	}
	for i, e := range clusters {
		path := fmt.Sprintf("spec.etcdClusters[%d]", i)
		if !dnsLabel.MatchString(e.Name) || len(e.Name) > 20 {
			v.fault(path+".name", e.Name, "must be at most 20 small letters, digits and inner hyphens")
		}
		if slices.ContainsFunc(clusters[:i], func(o EtcdCluster) bool { return o.Name == e.Name }) {
			v.fault(path+".name", e.Name, "is the name of another etcd cluster too")
		}
		if e.Version != "" {
			if _, err := parseVersion(e.Version); err != nil {
				v.fault(path+".version", e.Version, "must be like 3.6.5")
			}
		}
		if n := len(e.Members); n == 0 {
			v.fault(path+".etcdMembers", "", "at least one member is needed")
		} else if n%2 == 0 {
			v.fault(path+".etcdMembers", "", "there are %d; use an odd number: of %d no more may fail than of %d", n, n, n-1)
		} else if n > maxMembers {
			v.fault(path+".etcdMembers", "", "there are %d; use at most %d", n, maxMembers)
		}
		for j, m := range e.Members {
			v.member(fmt.Sprintf("%s.etcdMembers[%d]", path, j), m, e.Members[:j])
		}
	}
	v.memberCounts()
}

func (v *validator) member(path string, m EtcdMember, before []EtcdMember) {
	if !dnsLabel.MatchString(m.Name) {
		v.fault(path+".name", m.Name, "must be at most 63 small letters, digits and inner hyphens")
	}
	if slices.ContainsFunc(before, func(o EtcdMember) bool { return o.Name == m.Name }) {
		v.fault(path+".name", m.Name, "is the name of another member too")
	}
	v.volume(path, "volumeType", "volumeSize", "volumeIOPS", "volumeThroughput",
		RootVolume{Type: m.VolumeType, Size: m.VolumeSize, IOPS: m.VolumeIOPS, Throughput: m.VolumeThroughput}, false)
	if m.KMSKeyID != "" && m.EncryptedVolume != nil && !*m.EncryptedVolume {
		v.fault(path+".kmsKeyID", m.KMSKeyID, "is of no use with encryptedVolume false")
	}
	g := v.m.Group(m.InstanceGroup)
	switch {
	case m.InstanceGroup == "":
		v.fault(path+".instanceGroup", "", "is missing")
	case g == nil:
		v.fault(path+".instanceGroup", m.InstanceGroup, "no such group%s", didYouMean(m.InstanceGroup, v.groupNames(RoleControlPlane)))
	case g.Spec.Role != RoleControlPlane:
		v.fault(path+".instanceGroup", m.InstanceGroup, "is a group of role %s; members live on control planes", g.Spec.Role)
	}
}

func (v *validator) groupNames(role Role) []string {
	var names []string
	for _, g := range v.m.Groups {
		if g.Spec.Role == role {
			names = append(names, g.Metadata.Name)
		}
	}
	return names
}

// memberCounts checks that each control-plane group has as many machines as members of
// each etcd cluster, in one zone, since a volume cannot leave its own.
func (v *validator) memberCounts() {
	for _, g := range v.m.Groups {
		if g.Spec.Role != RoleControlPlane || g.Spec.MinSize == nil || g.Spec.MaxSize == nil {
			continue
		}
		v.object = objectPath(KindInstanceGroup, g.Metadata.Name)
		if lo, hi := *g.Spec.MinSize, *g.Spec.MaxSize; lo != hi {
			v.fault("spec.maxSize", fmt.Sprint(hi), "must equal minSize (%d): a group of control planes has a fixed size", lo)
		}
		for _, e := range v.c.Spec.EtcdClusters {
			var n int32
			for _, m := range e.Members {
				if m.InstanceGroup == g.Metadata.Name {
					n++
				}
			}
			if n != *g.Spec.MinSize {
				v.fault("spec.minSize", fmt.Sprint(*g.Spec.MinSize), "must be the number of members of etcd cluster %s in this group, which is %d: change spec.etcdClusters with it", e.Name, n)
			}
		}
		if len(g.Spec.Subnets) != 1 && membersIn(v.c, g.Metadata.Name) > 0 {
			v.fault("spec.subnets", strings.Join(g.Spec.Subnets, ", "), "must be exactly one: the group holds etcd members, whose volumes stay in one zone")
		}
	}
	v.object = ""
}
