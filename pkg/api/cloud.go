// SPDX-License-Identifier: Apache-2.0

package api

import (
	"regexp"
	"strings"
)

// cloudFacts is what the spec's defaults and checks need to know of a cloud: data
// only, so that no check branches on a cloud's name.
type cloudFacts struct {
	name   string
	zone   *regexp.Regexp // form of a zone's name; the first group is its region
	region *regexp.Regexp

	volumes       map[string]volumeFacts // by type
	defaultVolume string
	bootVolumes   []string // types that a machine can start from

	controlPlaneSizes []sizeStep // by number of nodes, smallest first
	nodeSize          string
	bastionSize       string

	networkBits [2]int // prefix lengths that a network or subnet may have, widest first
	reserved    int    // addresses of each subnet that the cloud keeps

	ids        map[string]idForm // by what is named: network, subnet, securityGroup, ...
	image      *regexp.Regexp
	imageForms string
	sshTypes   []string

	keyService bool // it keeps keys, and opens what they seal for those whom it knows

	labelKey, labelValue *regexp.Regexp
	labelKeyLen          int
	labelValueLen        int
	labelMax             int      // labels that a user may set; the rest are ours
	labelReserved        []string // prefixes that the cloud keeps
	labelOurs            []string // keys, or prefixes ending in "/", that we set ourselves

	tenancies, cpuCredits, processes   []string
	onDemandStrategies, spotStrategies []string
	specOf                             func(*CloudProvider) bool
	setSpec                            func(*CloudProvider)
	specRegion                         func(*CloudProvider) *string
	instanceTagsNeed                   *regexp.Regexp // label keys that the metadata service can serve
}

// volumeFacts bounds a type of volume; a zero range means that it cannot be set.
type volumeFacts struct {
	size, iops, throughput [2]int32 // GiB, operations/s, MiB/s
	iopsPerGiB             int32
}

// sizeStep is the machine type for control planes up to a number of nodes.
type sizeStep struct {
	nodes int32
	size  string
}

// idForm is how a cloud's own ids look.
type idForm struct {
	form    *regexp.Regexp
	example string
}

// clouds are the clouds that a spec can name.
var clouds = []*cloudFacts{&awsFacts}

// foreignZones tells the zones of clouds that cannot be used yet from mistakes.
var foreignZones = []struct {
	cloud string
	zone  *regexp.Regexp
}{
	{"gce", regexp.MustCompile(`^[a-z]+-[a-z]+\d+-[a-z]$`)},
	{"digitalocean", regexp.MustCompile(`^[a-z]{3}\d$`)},
}

// factsOf returns the facts of the cloud that a spec selects, or nil.
func factsOf(c *Cluster) *cloudFacts {
	if c == nil {
		return nil
	}
	for _, f := range clouds {
		if f.specOf(&c.Spec.CloudProvider) {
			return f
		}
	}
	return nil
}

// cloudNamed returns the facts by the name that --cloud takes.
func cloudNamed(name string) *cloudFacts {
	for _, f := range clouds {
		if f.name == name {
			return f
		}
	}
	return nil
}

func cloudNames() []string {
	var names []string
	for _, f := range clouds {
		names = append(names, f.name)
	}
	return names
}

// regionOf returns the region of a zone, or "" when it has no such form.
func (f *cloudFacts) regionOf(zone string) string {
	if m := f.zone.FindStringSubmatch(zone); m != nil {
		return m[1]
	}
	return ""
}

// controlPlaneSize is the machine type for control planes of a cluster with so many
// nodes.
func (f *cloudFacts) controlPlaneSize(nodes int32) string {
	for _, s := range f.controlPlaneSizes {
		if nodes <= s.nodes {
			return s.size
		}
	}
	return f.controlPlaneSizes[len(f.controlPlaneSizes)-1].size
}

// size is the default machine type of a role.
func (f *cloudFacts) size(role Role, nodes int32) string {
	switch role {
	case RoleControlPlane:
		return f.controlPlaneSize(nodes)
	case RoleBastion:
		return f.bastionSize
	default:
		return f.nodeSize
	}
}

// isOurs says whether a label key is one that we set.
func (f *cloudFacts) isOurs(key string) bool {
	for _, k := range f.labelOurs {
		if key == k || strings.HasSuffix(k, "/") && strings.HasPrefix(key, k) {
			return true
		}
	}
	return false
}

// Name returns the cloud that the spec selects, such as "aws", or "".
func (p CloudProvider) Name() string {
	for _, c := range clouds {
		if c.specOf(&p) {
			return c.name
		}
	}
	return ""
}

// HasKeyService reports whether the cloud of a manifest has a key management service.
func HasKeyService(m *Manifest) bool {
	f := factsOf(m.Cluster)
	return f != nil && f.keyService
}
