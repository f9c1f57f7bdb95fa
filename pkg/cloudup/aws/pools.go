// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"maps"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
)

// autoscalerTag is the beginning of the tags that tell the cluster autoscaler what nodes
// of an empty group would look like.
const autoscalerTag = "k8s.io/cluster-autoscaler/node-template/"

// lowerPools adds a launch template and an auto scaling group for each instance group.
func lowerPools(l *lowering) error {
	for _, p := range l.blueprint.Pools {
		t, err := l.template(p)
		if err != nil {
			return fmt.Errorf("group %s: %w", p.Name, err)
		}
		g, err := l.scalingGroup(p, t)
		if err != nil {
			return fmt.Errorf("group %s: %w", p.Name, err)
		}
		if err := l.addAll(t, g); err != nil {
			return err
		}
	}
	return nil
}

// machineTags are the tags of a group's machines, which its auto scaling group carries
// too. Fewer than AWS allows, or the error says what takes them up.
func (l *lowering) machineTags(p model.Pool) (map[string]string, error) {
	roles := map[string]string{tagGroup: p.Name, tagRole: roleKey(p.Role)}
	for k, v := range p.NodeLabels {
		roles[autoscalerTag+"label/"+k] = v
	}
	for _, t := range p.Taints {
		key, rest, _ := strings.Cut(t, "=")
		if i := strings.LastIndex(key, ":"); i >= 0 { // "key:Effect" has no value
			key, rest = key[:i], key[i:]
		}
		roles[autoscalerTag+"taint/"+key] = rest
	}
	tags := l.tagsWith(p.Name, p.Name+"."+l.cluster, roles, p.Labels)
	if len(tags) >= maxTags { // the group itself has one more
		return nil, fmt.Errorf("its machines would carry %d tags (%d labels of the cloud, %d node labels, %d taints), AWS allows %d: use fewer of them",
			len(tags), len(p.Labels), len(p.NodeLabels), len(p.Taints), maxTags)
	}
	return tags, nil
}

// diskTags are the tags of a machine's disks and interfaces.
func (l *lowering) diskTags(p model.Pool) map[string]string {
	return l.tagsWith(p.Name, p.Name+"."+l.cluster, map[string]string{tagGroup: p.Name, tagRole: roleKey(p.Role)}, p.Labels)
}

func (l *lowering) template(p model.Pool) (*LaunchTemplate, error) {
	t := &LaunchTemplate{
		resource: resource{s: l.survey, kind: "launchtemplate", key: p.Name},
		name:     l.templateName(p.Name), pool: p, given: p.Group.Spec.SecurityGroups,
	}
	l.imageRefs = append(l.imageRefs, p.Image)
	t.tags = l.tagsFor(p.Name, t.name, map[string]string{tagGroup: p.Name})
	g := l.groupOf[roleKey(p.Role)]
	t.groups, t.deps = append(t.groups, g), append(t.deps, g)
	if err := l.wantData(t, p); err != nil {
		return nil, err
	}
	if profile := l.profileOf[p.Role]; profile != nil && ownProfile(p) == "" {
		t.want.Profile, t.deps = profile.name, append(t.deps, profile)
	} else {
		t.want.Profile = ownProfile(p)
	}
	if p.SSHKey != "" {
		k := l.keyOf[p.SSHKey]
		if k == nil {
			return nil, fmt.Errorf("there is no SSH key %q", p.SSHKey)
		}
		t.want.Key, t.deps = k.name, append(t.deps, k)
	}
	if trust, ok := l.graph.Task(model.TrustTaskID).(model.TrustTask); ok && p.Pointer != nil {
		t.trust, t.deps = trust, append(t.deps, trust)
	}
	if needsBalancer(p) {
		if t.balancer = l.balancerOf[model.EndpointAPI]; t.balancer != nil {
			t.deps = append(t.deps, t.balancer)
		}
	}
	return t, nil
}

// needsBalancer reports whether machines find the bootstrap server only by the load
// balancer's addresses: they do not read the store and no name stands for it.
func needsBalancer(p model.Pool) bool {
	return p.Pointer != nil && p.Pointer.Store == "" && len(p.Pointer.Bootstrap) == 0
}

// wantData fills in what the spec says of a machine.
func (l *lowering) wantData(t *LaunchTemplate, p model.Pool) error {
	spec := p.Group.Spec
	tags, err := l.machineTags(p)
	if err != nil {
		return err
	}
	w := launchData{
		Machine: p.Machine, PublicIP: p.PublicIP,
		RootGiB: p.RootGiB, RootType: orText(p.RootType, defaultVolumeType), Encrypted: p.Encrypted,
		Tokens: "required", HopLimit: 1,
		Monitoring: spec.DetailedMonitoring, Tenancy: spec.Tenancy, Credits: spec.CPUCredits,
		InstanceTags: tags, VolumeTags: l.diskTags(p), InterfaceTags: l.diskTags(p),
	}
	if v := spec.RootVolume; v != nil {
		w.RootIOPS, w.Throughput, w.EncryptionKey = v.IOPS, v.Throughput, v.EncryptionKey
	}
	if m := spec.InstanceMetadata; m != nil {
		w.Tokens, w.HopLimit, w.MetadataTags = orText(m.HTTPTokens, w.Tokens), orNumber(m.HTTPPutResponseHopLimit, w.HopLimit), m.InstanceMetadataTags
	}
	// The price goes to the mixed policy where there is one: AWS refuses both together.
	if spec.MaxPrice != "" && spec.MixedInstances == nil {
		w.Spot, w.MaxPrice = true, price(spec.MaxPrice)
	}
	t.want = w
	return nil
}

func (l *lowering) scalingGroup(p model.Pool, t *LaunchTemplate) (*AutoScalingGroup, error) {
	g := &AutoScalingGroup{
		resource: resource{s: l.survey, kind: "autoscalinggroup", key: p.Name, tags: maps.Clone(t.want.InstanceTags)},
		name:     l.groupName(p.Name), pool: p, template: t, mixed: mixedWanted(p.Group, p.Machine),
	}
	if s := p.Group.Spec.SuspendProcesses; len(s) > 0 {
		g.tags[tagSuspended] = joinKeys(append([]string(nil), s...))
	}
	g.deps = append(g.deps, t)
	for _, n := range p.Subnets {
		at := l.subnets[n]
		if at == nil {
			return nil, fmt.Errorf("there is no subnet %q", n)
		}
		g.subnets, g.deps = append(g.subnets, at), append(g.deps, at)
	}
	for _, e := range p.Endpoints {
		for _, target := range l.targetsFor[e] {
			g.targets, g.deps = append(g.targets, target), append(g.deps, target)
		}
	}
	return g, nil
}

// machinesOf lists every machine type that a group may start, each once.
func machinesOf(g *api.InstanceGroup) []string {
	var out []string
	if g.Spec.MachineType != "" {
		out = append(out, g.Spec.MachineType)
	}
	if m := g.Spec.MixedInstances; m != nil {
		for _, name := range m.Instances {
			if name != g.Spec.MachineType {
				out = append(out, name)
			}
		}
	}
	return out
}
