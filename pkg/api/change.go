// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
)

// ValidateChange returns what is wrong with going from one completed manifest of a
// cluster to another: fields that are fixed for a cluster's life, etcd changes that
// could cost its quorum, versions that must not be skipped. What is wrong with new in
// itself is for Validate.
func ValidateChange(old, new *Manifest) Faults {
	if old.Cluster == nil || new.Cluster == nil {
		return nil
	}
	c := &changes{validator{m: new, c: new.Cluster, facts: factsOf(new.Cluster)}, old}
	c.fixed()
	c.subnetsKept()
	c.upgrade()
	c.etcdKept()
	c.groupsKept()
	return c.faults
}

// changes is a validator with the manifest that was before.
type changes struct {
	validator
	old *Manifest
}

const newCluster = "is fixed for a cluster's life; to change it create another cluster and move the work there"

// fix faults a field that had a value and has another now.
func (c *changes) fix(path, was, is, why string) {
	if was != "" && was != is {
		c.fault(path, is, "was %q and %s", was, why)
	}
}

// fixed checks the fields of the cluster that must stay.
func (c *changes) fixed() {
	was, is := c.old.Cluster, c.c
	c.fix("metadata.name", was.Metadata.Name, is.Metadata.Name, newCluster)
	c.fix("metadata.uid", was.Metadata.UID, is.Metadata.UID, "marks what the cluster owns; put it back")
	if f := factsOf(was); f != nil {
		if f != c.facts {
			c.fault("spec.cloudProvider", "", "was %s and %s", f.name, newCluster)
		} else {
			c.fix("spec.cloudProvider."+f.name+".region", *f.specRegion(&was.Spec.CloudProvider), *f.specRegion(&is.Spec.CloudProvider), newCluster)
		}
	}
	a, b := &was.Spec.Networking, &is.Spec.Networking
	const at = "spec.networking."
	if a.NetworkID == "" && b.NetworkID != "" {
		c.fault(at+"networkID", b.NetworkID, "was not set: the cluster has a network of its own, and that %s", newCluster)
	}
	c.fix(at+"networkID", a.NetworkID, b.NetworkID, newCluster)
	c.fix(at+"networkCIDR", a.NetworkCIDR, b.NetworkCIDR, newCluster+"; more addresses come with spec.networking.additionalNetworkCIDRs")
	c.fix(at+"podCIDR", a.PodCIDR, b.PodCIDR, newCluster)
	c.fix(at+"serviceClusterIPRange", a.ServiceClusterIPRange, b.ServiceClusterIPRange, newCluster)
	c.fix("spec.clusterDNSDomain", was.Spec.ClusterDNSDomain, is.Spec.ClusterDNSDomain, newCluster)
	if a.CNI != nil && b.CNI != nil && a.CNI.name() != b.CNI.name() {
		c.fault(at+"cni", b.CNI.name(), "was %q and %s", a.CNI.name(), newCluster)
	}
	for i, r := range a.AdditionalNetworkCIDRs {
		if !slices.Contains(b.AdditionalNetworkCIDRs, r) && a.NetworkID == "" {
			c.warn(fmt.Sprintf("%sadditionalNetworkCIDRs[%d]", at, i), r, "was removed: the cloud refuses it while anything has an address in it")
		}
	}
}

// name is the choice as the spec spells it.
func (c *CNI) name() string {
	switch {
	case c.Routes != nil:
		return "routes"
	case c.Flannel != nil:
		return "flannel"
	case c.Cilium != nil:
		return "cilium"
	case c.Calico != nil:
		return "calico"
	case c.External != nil:
		return "external"
	default:
		return ""
	}
}

// subnetsKept checks that a subnet of the same name is the same subnet.
func (c *changes) subnetsKept() {
	const why = "is fixed for a subnet's life; add a subnet of another name, move the groups there, then remove this one"
	for i, is := range c.c.Spec.Networking.Subnets {
		for _, was := range c.old.Cluster.Spec.Networking.Subnets {
			if was.Name != is.Name {
				continue
			}
			path := fmt.Sprintf("spec.networking.subnets[%d].", i)
			c.fix(path+"zone", was.Zone, is.Zone, why)
			c.fix(path+"cidr", was.CIDR, is.CIDR, why)
			c.fix(path+"id", was.ID, is.ID, why)
			if was.ID == "" && is.ID != "" {
				c.fault(path+"id", is.ID, "was not set: the subnet is the cluster's own, and that %s", why)
			}
			if was.Type == SubnetPrivate != (is.Type == SubnetPrivate) {
				c.fix(path+"type", string(was.Type), string(is.Type), why)
			}
		}
	}
}

// upgrade checks the step from version to version.
func (c *changes) upgrade() {
	const path = "spec.kubernetesVersion"
	was, err1 := parseVersion(c.old.Cluster.Spec.KubernetesVersion)
	is, err2 := parseVersion(c.c.Spec.KubernetesVersion)
	text := c.c.Spec.KubernetesVersion
	switch {
	case err1 != nil || err2 != nil:
	case is.major != was.major || is.minor < was.minor:
		c.fault(path, text, "was %s: a control plane cannot go back a minor, its data may be newer than it can read", c.old.Cluster.Spec.KubernetesVersion)
	case is.minor > was.minor+1:
		c.fault(path, text, "was %s: go one minor at a time, next to %d.%d", c.old.Cluster.Spec.KubernetesVersion, was.major, was.minor+1)
	case is.less(was):
		c.warn(path, text, "is an older patch than %s", c.old.Cluster.Spec.KubernetesVersion)
	}
}

// etcdKept checks that every change of members keeps the quorum. A spec always names
// an odd number; the even number in between belongs to whoever adds or removes the
// members, one at a time. So one change may grow or shrink by two, or replace a
// minority, and not both.
func (c *changes) etcdKept() {
	for _, was := range c.old.Cluster.Spec.EtcdClusters {
		i := slices.IndexFunc(c.c.Spec.EtcdClusters, func(e EtcdCluster) bool { return e.Name == was.Name })
		if i < 0 {
			c.fault("spec.etcdClusters", was.Name, "was removed, and its data with it; put it back")
			continue
		}
		is := c.c.Spec.EtcdClusters[i]
		path := fmt.Sprintf("spec.etcdClusters[%d].etcdMembers", i)
		var kept int
		for j, m := range is.Members {
			k := slices.IndexFunc(was.Members, func(o EtcdMember) bool { return o.Name == m.Name })
			if k >= 0 {
				kept++
				c.memberKept(fmt.Sprintf("%s[%d].", path, j), was.Members[k], m)
			}
		}
		removed, added := len(was.Members)-kept, len(is.Members)-kept
		switch {
		case added > 0 && removed > 0 && (removed > (len(was.Members)-1)/2 || added != removed):
			c.fault(path, "", "%d members go and %d come: replace at most %d at once, or first add and then remove", removed, added, (len(was.Members)-1)/2)
		case added > 2 || removed > 2 && added == 0:
			c.fault(path, "", "%d members come and %d go: grow or shrink by two at a time, and apply in between", added, removed)
		case kept == 0 && len(was.Members) > 0 && len(is.Members) > 0:
			c.fault(path, "", "no member stays: the data would be lost; keep at least one")
		}
	}
}

// memberKept checks that a member of the same name keeps its volume.
func (c *changes) memberKept(path string, was, is EtcdMember) {
	const why = "is fixed for a member's life: its volume cannot follow; add a member of another name, then remove this one"
	if zones := [2]string{zoneOf(c.old, was.InstanceGroup), zoneOf(c.m, is.InstanceGroup)}; zones[0] != "" && zones[1] != "" && zones[0] != zones[1] {
		c.fault(path+"instanceGroup", is.InstanceGroup, "is in zone %s, the member was in %s; the zone %s", zones[1], zones[0], why)
	}
	c.fix(path+"kmsKeyID", was.KMSKeyID, is.KMSKeyID, why)
	if was.KMSKeyID == "" && is.KMSKeyID != "" {
		c.fault(path+"kmsKeyID", is.KMSKeyID, "was not set, and %s", why)
	}
	if was.EncryptedVolume != nil && is.EncryptedVolume != nil && *was.EncryptedVolume != *is.EncryptedVolume {
		c.fault(path+"encryptedVolume", fmt.Sprint(*is.EncryptedVolume), "was %t and %s", *was.EncryptedVolume, why)
	}
	if is.VolumeSize < was.VolumeSize {
		c.fault(path+"volumeSize", fmt.Sprint(is.VolumeSize), "was %d: a volume can grow and not shrink", was.VolumeSize)
	}
}

// zoneOf is the zone of a group that stands in one subnet, or "".
func zoneOf(m *Manifest, group string) string {
	g := m.Group(group)
	if g == nil || len(g.Spec.Subnets) != 1 {
		return ""
	}
	for _, s := range m.Cluster.Spec.Networking.Subnets {
		if s.Name == g.Spec.Subnets[0] {
			return s.Zone
		}
	}
	return ""
}

// groupsKept checks groups that were there before.
func (c *changes) groupsKept() {
	for _, is := range c.m.Groups {
		was := c.old.Group(is.Metadata.Name)
		if was == nil {
			continue
		}
		c.object = objectPath(KindInstanceGroup, is.Metadata.Name)
		c.fix("spec.role", string(was.Spec.Role), string(is.Spec.Role), "is fixed for a group's life; add a group of another name and remove this one")
		if zone := zoneOf(c.old, was.Metadata.Name); was.Spec.Role == RoleControlPlane && is.Spec.Role == RoleControlPlane && membersIn(c.old.Cluster, was.Metadata.Name) > 0 {
			if now := zoneOf(c.m, is.Metadata.Name); zone != "" && now != "" && zone != now {
				c.fault("spec.subnets", strings.Join(is.Spec.Subnets, ", "), "is in zone %s and the group's etcd volumes are in %s", now, zone)
			}
		}
	}
	c.object = ""
}
