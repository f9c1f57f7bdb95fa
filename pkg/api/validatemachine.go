// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var machineType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// machine checks what a group says of its machines.
func (v *validator) machine(s *InstanceGroupSpec) {
	switch {
	case s.MachineType == "":
		v.fault("spec.machineType", "", "is missing")
	case !machineType.MatchString(s.MachineType):
		v.fault("spec.machineType", s.MachineType, "is not the name of a machine type")
	}
	if s.RootVolume != nil {
		v.volume("spec.rootVolume", "type", "size", "iops", "throughput", *s.RootVolume, true)
		if s.RootVolume.EncryptionKey != "" && s.RootVolume.Encrypted != nil && !*s.RootVolume.Encrypted {
			v.fault("spec.rootVolume.encryptionKey", s.RootVolume.EncryptionKey, "is of no use with encryption false")
		}
	}
	v.price(s)
	if s.MixedInstances != nil {
		v.mixed(s, s.MixedInstances)
	}
	if s.InstanceMetadata != nil {
		v.metadata(s, s.InstanceMetadata)
	}
	v.userData(s.AdditionalUserData)
	if v.facts == nil {
		return
	}
	if s.Image != "" && !v.facts.image.MatchString(s.Image) {
		v.aging("image-form", "spec.image", s.Image, "must be %s", v.facts.imageForms)
	}
	v.cloudValue("spec.tenancy", s.Tenancy, v.facts.tenancies)
	v.cloudValue("spec.cpuCredits", s.CPUCredits, v.facts.cpuCredits)
	for i, p := range s.SuspendProcesses {
		at := fmt.Sprintf("spec.suspendProcesses[%d]", i)
		v.cloudValue(at, p, v.facts.processes)
		if slices.Contains(s.SuspendProcesses[:i], p) {
			v.fault(at, p, "stands twice")
		}
	}
	if s.IAM != nil {
		v.id("spec.iam.profile", "profile", s.IAM.Profile)
	}
}

// volume checks a volume whose fields have these names below path.
func (v *validator) volume(path, typeField, sizeField, iopsField, throughputField string, d RootVolume, boot bool) {
	for _, n := range []struct {
		field string
		value int32
	}{{sizeField, d.Size}, {iopsField, d.IOPS}, {throughputField, d.Throughput}} {
		if n.value < 0 {
			v.fault(path+"."+n.field, fmt.Sprint(n.value), "must not be negative")
			return
		}
	}
	if v.facts == nil || d.Type == "" {
		return
	}
	facts, ok := v.facts.volumes[d.Type]
	if !ok {
		v.aging("volume-limits", path+"."+typeField, d.Type, "is not a type of volume%s", didYouMean(d.Type, sortedKeys(v.facts.volumes)))
		return
	}
	if boot && !slices.Contains(v.facts.bootVolumes, d.Type) {
		v.aging("volume-limits", path+"."+typeField, d.Type, "machines cannot start from it; use one of %s", strings.Join(v.facts.bootVolumes, ", "))
	}
	v.bound(path+"."+sizeField, d.Type, "GiB", d.Size, facts.size)
	v.bound(path+"."+iopsField, d.Type, "operations a second", d.IOPS, facts.iops)
	v.bound(path+"."+throughputField, d.Type, "MiB a second", d.Throughput, facts.throughput)
	switch most := int64(d.Size) * int64(facts.iopsPerGiB); {
	case d.IOPS > 0 && most > 0 && int64(d.IOPS) > max(most, int64(facts.iops[0])):
		v.aging("volume-limits", path+"."+iopsField, fmt.Sprint(d.IOPS), "is too much for %d GiB, which carry %d", d.Size, most)
	case d.Type == "io1" || d.Type == "io2":
		if d.IOPS == 0 {
			v.aging("volume-limits", path+"."+iopsField, "", "is needed with type %s", d.Type)
		}
	}
}

// bound checks a value against a range of a type of volume; 0 is not given.
func (v *validator) bound(path, kind, unit string, value int32, limits [2]int32) {
	switch {
	case value == 0:
	case limits == [2]int32{}:
		v.aging("volume-limits", path, fmt.Sprint(value), "cannot be set with type %s", kind)
	case value < limits[0] || value > limits[1]:
		v.aging("volume-limits", path, fmt.Sprint(value), "type %s takes %d to %d %s", kind, limits[0], limits[1], unit)
	}
}

func (v *validator) price(s *InstanceGroupSpec) {
	if s.MaxPrice == "" {
		return
	}
	price, err := strconv.ParseFloat(s.MaxPrice, 64)
	if err != nil || price <= 0 || math.IsInf(price, 0) || strings.ContainsAny(s.MaxPrice, "eExX_+") {
		v.fault("spec.maxPrice", s.MaxPrice, "must be a price for an hour, such as 0.05")
	}
	if s.Role == RoleControlPlane {
		v.warn("spec.maxPrice", s.MaxPrice, "control planes on spot may be taken away together, and etcd's quorum with them")
	}
}

func (v *validator) mixed(s *InstanceGroupSpec, m *MixedInstances) {
	const path = "spec.mixedInstancesPolicy"
	for i, name := range m.Instances {
		at := fmt.Sprintf("%s.instances[%d]", path, i)
		if !machineType.MatchString(name) {
			v.fault(at, name, "is not the name of a machine type")
		}
		if slices.Contains(m.Instances[:i], name) {
			v.fault(at, name, "stands twice")
		}
	}
	if v.facts != nil {
		v.cloudValue(path+".onDemandAllocationStrategy", m.OnDemandAllocationStrategy, v.facts.onDemandStrategies)
		v.cloudValue(path+".spotAllocationStrategy", m.SpotAllocationStrategy, v.facts.spotStrategies)
	}
	for _, n := range []struct {
		field   string
		value   *int32
		lo, top int32
	}{{"onDemandBase", m.OnDemandBase, 0, mostMachines}, {"onDemandAboveBase", m.OnDemandAboveBase, 0, 100}, {"spotInstancePools", m.SpotInstancePools, 1, 20}} {
		if n.value != nil && (*n.value < n.lo || *n.value > n.top) {
			v.fault(path+"."+n.field, fmt.Sprint(*n.value), "must be from %d to %d", n.lo, n.top)
		}
	}
	if m.SpotInstancePools != nil && m.SpotAllocationStrategy != "" && m.SpotAllocationStrategy != "lowest-price" {
		v.fault(path+".spotInstancePools", fmt.Sprint(*m.SpotInstancePools), "only goes with spotAllocationStrategy lowest-price")
	}
	if s.CPUCredits != "" && len(m.Instances) > 0 && !allBurstable(m.Instances) {
		v.warn("spec.cpuCredits", s.CPUCredits, "only machine types with credits (t...) take it")
	}
}

func allBurstable(types []string) bool {
	return !slices.ContainsFunc(types, func(t string) bool { return !strings.HasPrefix(t, "t") })
}

func (v *validator) metadata(s *InstanceGroupSpec, m *InstanceMetadata) {
	const path = "spec.instanceMetadata"
	oneOf(v, path+".httpTokens", m.HTTPTokens, "required", "optional")
	if m.HTTPTokens == "optional" {
		v.warn(path+".httpTokens", m.HTTPTokens, "lets whoever can make a machine send a request read its credentials")
	}
	if n := m.HTTPPutResponseHopLimit; n != nil && (*n < 1 || *n > 64) {
		v.fault(path+".httpPutResponseHopLimit", fmt.Sprint(*n), "must be from 1 to 64")
	}
	if m.InstanceMetadataTags && v.facts != nil {
		v.instanceTags(path+".instanceMetadataTags", s)
	}
}

// instanceTags refuses tags in the metadata service: our own marks have keys that it
// cannot serve, and then no machine starts.
func (v *validator) instanceTags(path string, s *InstanceGroupSpec) {
	bad := []string{"kubernetes.io/cluster/" + v.c.Metadata.Name}
	for _, labels := range []map[string]string{v.c.Spec.CloudLabels, s.CloudLabels} {
		for _, key := range sortedKeys(labels) {
			if !v.facts.instanceTagsNeed.MatchString(key) && !slices.Contains(bad, key) {
				bad = append(bad, key)
			}
		}
	}
	v.fault(path, "true", "no machine would start: the metadata service cannot serve keys with / or spaces, and the machines carry %s", strings.Join(bad, ", "))
}

// userDataTypes are the parts that cloud-init acts on.
var userDataTypes = []string{"text/x-shellscript", "text/cloud-config", "text/cloud-boothook", "text/x-include-url", "text/cloud-config-archive", "text/upstart-job", "text/part-handler", "text/jinja2"}

func (v *validator) userData(parts []UserDataPart) {
	for i, p := range parts {
		path := fmt.Sprintf("spec.additionalUserData[%d]", i)
		if p.Name == "" || strings.ContainsAny(p.Name, "\"\\/\r\n") || len(p.Name) > 100 {
			v.fault(path+".name", p.Name, "must be a plain file name")
		}
		if slices.ContainsFunc(parts[:i], func(o UserDataPart) bool { return o.Name == p.Name }) {
			v.fault(path+".name", p.Name, "is the name of another part too")
		}
		if !slices.Contains(userDataTypes, p.Type) {
			v.fault(path+".type", p.Type, "must be one of %s", strings.Join(userDataTypes, ", "))
		}
		switch {
		case p.Content == "":
			v.fault(path+".content", "", "is missing")
		case p.Type == "text/x-shellscript" && !strings.HasPrefix(p.Content, "#!"):
			v.fault(path+".content", "", "a script starts with #!, such as #!/bin/sh")
		}
	}
}
