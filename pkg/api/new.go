// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
)

const (
	controlPlanePrefix = "control-plane-"
	nodesPrefix        = "nodes-"
	utilityPrefix      = "utility-"
	bastionGroup       = "bastions"
	sshKeyName         = "admin"
)

// CreateOptions is what the flags of "create cluster" say. Zero values are not given.
type CreateOptions struct {
	Name, Cloud string
	Region      string // only checked against the zones

	Zones             []string // one subnet and one group of nodes each
	ControlPlaneZones []string // default the first of Zones; a zone may stand several times
	ControlPlaneCount *int32   // odd; may exceed the number of zones
	NodeCount         *int32   // spread over Zones

	ControlPlaneSize, NodeSize, BastionSize        string
	Image                                          string // of every role that has none of its own
	ControlPlaneImage, NodeImage, BastionImage     string
	ControlPlaneVolumeSize, NodeVolumeSize         int32 // GiB
	ControlPlaneVolumeType, NodeVolumeType         string
	ControlPlaneSecurityGroups, NodeSecurityGroups []string
	ControlPlaneTenancy, NodeTenancy               string
	AssociatePublicIP                              *bool
	Topology                                       Topology
	Networking                                     string // routes, flannel, cilium, calico or external
	NetworkCIDR, NetworkID                         string
	SubnetIDs, UtilitySubnetIDs                    []string // one for each zone, in their order
	KubernetesVersion                              string
	DNS                                            DNSMode
	DNSZone                                        string
	AdminAccess, SSHAccess                         []string // SSHAccess defaults to none
	SSHPublicKey                                   string   // the key's text
	APILoadBalancer                                string   // public, internal, none; "" by default rules
	APIPublicName                                  string
	Bastion                                        bool
	CloudLabels                                    map[string]string
	EtcdClusters                                   []string // default main and events
	EncryptEtcd                                    *bool
	EtcdVolumeType                                 string
	Sets, Unsets                                   []string // PATH=VALUE and PATH, of the cluster
}

// New builds the manifest that the flags ask for, completed. It does no I/O. All wrong
// flags are in the one *InvalidError, named as flags; Validate judges the result.
func New(o CreateOptions) (*Manifest, error) {
	b := builder{o: o, m: &Manifest{Cluster: &Cluster{TypeMeta: TypeMeta{Version, KindCluster}}}}
	b.checkName()
	b.chooseCloud()
	counts := b.controlPlanes()
	b.nodeCounts()
	if err := b.faults.Err(); err != nil {
		return nil, err
	}
	b.cluster()
	b.network()
	b.controlPlaneGroups(counts)
	b.nodeGroups()
	b.bastion()
	b.etcd()
	b.sshKey()
	if err := b.faults.Err(); err != nil {
		return nil, err
	}
	if err := b.sets(); err != nil {
		return nil, err
	}
	Complete(b.m)
	return b.m, nil
}

// builder turns options into a manifest step by step.
type builder struct {
	o      CreateOptions
	m      *Manifest
	facts  *cloudFacts
	perNG  []int32 // nodes by zone
	faults Faults
}

func (b *builder) fault(flag, value, format string, args ...any) {
	b.faults = append(b.faults, Fault{Path: flag, Value: value, Message: fmt.Sprintf(format, args...)})
}

func (b *builder) checkName() {
	if b.o.Name == "" {
		b.fault("--name", "", "a cluster needs a name, such as demo.example.com")
	}
	b.m.Cluster.Metadata.Name = b.o.Name
}

// chooseCloud takes --cloud or tells it from the form of the zones, and checks that
// all zones are of one cloud and one region.
func (b *builder) chooseCloud() {
	zones := append(slices.Clone(b.o.Zones), b.o.ControlPlaneZones...)
	if len(b.o.Zones) == 0 {
		b.fault("--zones", "", "give at least one zone, such as us-east-1a")
		return
	}
	if twice := duplicate(b.o.Zones); twice != "" {
		b.fault("--zones", twice, "stands twice")
	}
	if b.o.Cloud != "" {
		if b.facts = cloudNamed(b.o.Cloud); b.facts == nil {
			b.fault("--cloud", b.o.Cloud, "is not a cloud that this release knows; it knows %s", strings.Join(cloudNames(), ", "))
			return
		}
	} else if b.facts = b.guess(zones); b.facts == nil {
		return
	}
	b.facts.setSpec(&b.m.Cluster.Spec.CloudProvider)
	byRegion := map[string][]string{}
	for _, z := range zones {
		region := b.facts.regionOf(z)
		switch {
		case region == "":
			b.fault("--zones", z, "is not a zone of %s", b.facts.name)
		case !slices.Contains(byRegion[region], z):
			byRegion[region] = append(byRegion[region], z)
		}
	}
	if len(byRegion) > 1 {
		var sets []string
		for _, r := range sortedKeys(byRegion) {
			sets = append(sets, r+" ("+strings.Join(byRegion[r], ", ")+")")
		}
		b.fault("--zones", "", "all zones must be of one region; these are of %s", strings.Join(sets, " and "))
	}
	if region := b.o.Region; region != "" && len(byRegion) > 0 && byRegion[region] == nil {
		b.fault("--region", region, "the zones are of %s", strings.Join(sortedKeys(byRegion), ", "))
	}
	*b.facts.specRegion(&b.m.Cluster.Spec.CloudProvider) = b.facts.regionOf(zones[0])
}

// guess tells the cloud from the zones.
func (b *builder) guess(zones []string) *cloudFacts {
	found := map[string][]string{}
	var facts *cloudFacts
	for _, z := range zones {
		name := "no cloud"
		for _, f := range foreignZones {
			if f.zone.MatchString(z) {
				name = f.cloud
			}
		}
		for _, f := range clouds {
			if f.regionOf(z) != "" {
				name, facts = f.name, f
			}
		}
		if !slices.Contains(found[name], z) {
			found[name] = append(found[name], z)
		}
	}
	if len(found) == 1 && facts != nil {
		return facts
	}
	var parts []string
	for _, name := range sortedKeys(found) {
		parts = append(parts, fmt.Sprintf("%s of %s", strings.Join(found[name], ", "), name))
	}
	if len(found) > 1 {
		b.fault("--zones", "", "are of different clouds: %s", strings.Join(parts, "; "))
		return nil
	}
	if found["no cloud"] != nil {
		b.fault("--zones", strings.Join(zones, ","), "has the form of no cloud's zone; use one such as us-east-1a")
		return nil
	}
	b.fault("--zones", strings.Join(zones, ","), "are zones of %s, which cannot be used yet; this release knows %s",
		sortedKeys(found)[0], strings.Join(cloudNames(), ", "))
	return nil
}

// zoneCount is how many control planes a zone gets.
type zoneCount struct {
	zone  string
	count int
}

// controlPlanes spreads the control planes over the zones: an odd number, one per zone
// up to three when nothing is said.
func (b *builder) controlPlanes() []zoneCount {
	given := b.o.ControlPlaneZones
	zones := given
	if len(given) == 0 {
		zones = b.o.Zones
	}
	if len(zones) == 0 {
		return nil
	}
	var n int
	switch {
	case b.o.ControlPlaneCount != nil:
		n = int(*b.o.ControlPlaneCount)
		if n < 1 || n%2 == 0 || n > maxMembers {
			b.fault("--control-plane-count", fmt.Sprint(n), "must be odd and from 1 to %d: of an even number of etcd members no more may fail than of one less", maxMembers)
			return nil
		}
		if n < len(given) {
			b.fault("--control-plane-zones", strings.Join(given, ","), "are %d zones for %d control planes", len(given), n)
		}
	case len(given) > 0:
		n = len(given)
		if n%2 == 0 {
			b.fault("--control-plane-zones", strings.Join(given, ","), "would make %d control planes, an even number, of which no more may fail than of %d; name an odd number of zones (one may stand several times) or give --control-plane-count", n, n-1)
			return nil
		}
	default:
		n = min(len(zones), 3)
		n -= 1 - n%2
	}
	var out []zoneCount
	for i := range n {
		zone := zones[i%len(zones)]
		at := slices.IndexFunc(out, func(c zoneCount) bool { return c.zone == zone })
		if at < 0 {
			at, out = len(out), append(out, zoneCount{zone: zone})
		}
		out[at].count++
	}
	return out
}

// nodeCounts spreads the nodes over the zones, the first ones getting the rest.
func (b *builder) nodeCounts() {
	zones := int32(len(b.o.Zones))
	if zones == 0 {
		return
	}
	n := zones
	if b.o.NodeCount != nil {
		if n = *b.o.NodeCount; n < 0 {
			b.fault("--node-count", fmt.Sprint(n), "must not be negative")
			return
		}
	}
	for i := range zones {
		count := n / zones
		if i < n%zones {
			count++
		}
		b.perNG = append(b.perNG, count)
	}
}

// sets applies --set and --unset, whose paths may start with "cluster.".
func (b *builder) sets() error {
	var faults Faults
	note := func(flag string, err error) {
		if err == nil {
			return
		}
		if invalid, ok := err.(*InvalidError); ok {
			for _, f := range invalid.Faults {
				f.Path = flag + " " + f.Path
				faults = append(faults, f)
			}
		}
	}
	for _, s := range b.o.Sets {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			faults = append(faults, Fault{Path: "--set", Value: s, Message: "must be PATH=VALUE"})
			continue
		}
		note("--set", Set(b.m, "cluster", strings.TrimPrefix(path, "cluster."), value))
	}
	for _, path := range b.o.Unsets {
		note("--unset", Unset(b.m, "cluster", strings.TrimPrefix(path, "cluster.")))
	}
	return faults.Err()
}

func duplicate(list []string) string {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			return s
		}
	}
	return ""
}
