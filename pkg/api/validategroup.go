// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// groups checks all groups and that the cluster has what it needs of them.
func (v *validator) groups() {
	for i, g := range v.m.Groups {
		v.object = objectPath(KindInstanceGroup, g.Metadata.Name)
		if slices.ContainsFunc(v.m.Groups[:i], func(o *InstanceGroup) bool { return o.Metadata.Name == g.Metadata.Name }) {
			v.fault("metadata.name", g.Metadata.Name, "is the name of another group too")
		}
		v.group(g)
		v.machine(&g.Spec)
	}
	v.object = ""
	s := &v.c.Spec
	switch {
	case len(v.groupNames(RoleControlPlane)) == 0:
		v.fault("kind", "", "at least one InstanceGroup of role ControlPlane is needed")
	case len(v.groupNames(RoleNode)) == 0:
		v.warn("kind", "", "there is no InstanceGroup of role Node: nothing runs workloads")
	}
	bastions := len(v.groupNames(RoleBastion)) > 0
	if bastions && s.Networking.Topology != TopologyPrivate {
		v.warn("spec.networking.topology", string(s.Networking.Topology), "machines have public addresses of their own: a bastion is of no use")
	}
	if len(s.SSHAccess) > 0 && s.Networking.Topology == TopologyPrivate && !bastions {
		v.warn("spec.sshAccess", "", "machines have no public addresses and there is no group of role Bastion: who is outside reaches none by SSH")
	}
}

func (v *validator) group(g *InstanceGroup) {
	s := &g.Spec
	if !dnsLabel.MatchString(g.Metadata.Name) {
		v.fault("metadata.name", g.Metadata.Name, "must be at most 63 small letters, digits and inner hyphens")
	} else if g.Metadata.Name == "cluster" {
		v.fault("metadata.name", g.Metadata.Name, "is what commands call the cluster itself; use another name")
	}
	if g.Metadata.UID != "" {
		v.fault("metadata.uid", g.Metadata.UID, "only a cluster has a uid")
	}
	v.clusterLabel(g.Metadata)
	oneOf(v, "spec.role", s.Role, RoleControlPlane, RoleNode, RoleBastion)
	v.groupSubnets(s)
	v.sizes(s)
	v.groupVersion(s)
	v.securityGroups("spec.additionalSecurityGroups", s.SecurityGroups)
	v.labels("spec.cloudLabels", s.CloudLabels)
	if s.Role == RoleBastion && (len(s.NodeLabels) > 0 || len(s.Taints) > 0) {
		v.fault("spec.role", string(s.Role), "bastions are no Kubernetes nodes: they take no nodeLabels and taints")
	}
	v.nodeLabels(s.NodeLabels)
	v.taints(s.Taints)
	v.rolling("spec.rollingUpdate", s.RollingUpdate)
	if s.RollingUpdate != nil && s.Role == RoleControlPlane && !zeroCount(s.RollingUpdate.MaxSurge) {
		v.fault("spec.rollingUpdate.maxSurge", s.RollingUpdate.MaxSurge, "must be 0: a second machine cannot take an etcd member's volume")
	}
}

func zeroCount(s string) bool { return s == "" || s == "0" || s == "0%" }

// groupSubnets checks the references to subnets.
func (v *validator) groupSubnets(s *InstanceGroupSpec) {
	if len(s.Subnets) == 0 {
		v.fault("spec.subnets", "", "at least one is needed%s", didYouMean("", v.subnetNames()))
	}
	var kind SubnetType
	for i, name := range s.Subnets {
		path := fmt.Sprintf("spec.subnets[%d]", i)
		if slices.Contains(s.Subnets[:i], name) {
			v.fault(path, name, "stands twice")
		}
		at := slices.IndexFunc(v.c.Spec.Networking.Subnets, func(o Subnet) bool { return o.Name == name })
		if at < 0 {
			v.fault(path, name, "the cluster has no such subnet; it has %s%s", strings.Join(v.subnetNames(), ", "), suggestion(name, v.subnetNames()))
			continue
		}
		subnet := v.c.Spec.Networking.Subnets[at]
		switch {
		case subnet.Type == SubnetUtility && s.Role != RoleBastion:
			v.fault(path, name, "is a utility subnet: only bastions may stand there")
		case subnet.Type == SubnetPrivate && s.AssociatePublicIP != nil && *s.AssociatePublicIP:
			v.fault("spec.associatePublicIP", "true", "subnet %s is private: a public address there reaches nothing", name)
		case kind != "" && subnet.Type != kind && s.AssociatePublicIP == nil && s.Role != RoleBastion:
			v.fault(path, name, "is %s and the others are %s: use a group for each, or set associatePublicIP", subnet.Type, kind)
		}
		kind = subnet.Type
	}
}

func suggestion(name string, known []string) string {
	if n := nearest(name, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

func (v *validator) subnetNames() []string {
	var names []string
	for _, s := range v.c.Spec.Networking.Subnets {
		names = append(names, s.Name)
	}
	return names
}

// mostMachines bounds a group; Kubernetes itself is tested up to 5000 nodes.
const mostMachines = 5000

func (v *validator) sizes(s *InstanceGroupSpec) {
	if s.MinSize == nil || s.MaxSize == nil {
		v.fault("spec.minSize", "", "minSize and maxSize are needed")
		return
	}
	if *s.MinSize < 0 {
		v.fault("spec.minSize", fmt.Sprint(*s.MinSize), "must not be negative")
	}
	switch {
	case *s.MaxSize < *s.MinSize:
		v.fault("spec.maxSize", fmt.Sprint(*s.MaxSize), "must not be less than minSize (%d)", *s.MinSize)
	case *s.MaxSize > mostMachines:
		v.fault("spec.maxSize", fmt.Sprint(*s.MaxSize), "must be at most %d", mostMachines)
	}
}

// groupVersion checks a pinned version against the control plane's.
func (v *validator) groupVersion(s *InstanceGroupSpec) {
	const path = "spec.kubernetesVersion"
	if s.KubernetesVersion == "" {
		return
	}
	node, err := parseVersion(s.KubernetesVersion)
	if err != nil {
		v.fault(path, s.KubernetesVersion, "%v", err)
		return
	}
	controlPlane, err := parseVersion(v.c.Spec.KubernetesVersion)
	if err != nil {
		return // faulted where it stands
	}
	switch {
	case s.Role == RoleControlPlane && node != controlPlane:
		v.fault(path, s.KubernetesVersion, "control planes run the cluster's version (%s); pin groups of nodes only", v.c.Spec.KubernetesVersion)
	default:
		if err := checkSkew(controlPlane, node); err != nil {
			v.fault(path, s.KubernetesVersion, "%v", err)
		}
	}
}

func (v *validator) nodeLabels(labels map[string]string) {
	for _, key := range sortedKeys(labels) {
		path := join("spec.nodeLabels", key)
		if wrong := labelKey(key); wrong != "" {
			v.fault(path, "", "%s", wrong)
		}
		if value := labels[key]; value != "" && !labelName.MatchString(value) {
			v.fault(path, value, "a value is at most 63 letters, digits, and inner -, _ and .")
		}
	}
}

// labelKey says what is wrong with the key of a Kubernetes label, or "".
func labelKey(key string) string {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		prefix, name = "", key
	}
	if hasPrefix && dnsName(prefix, 253) != "" {
		return "what stands before the / must be a DNS name"
	}
	if !labelName.MatchString(name) {
		return "a key is at most 63 letters, digits, and inner -, _ and ., after an optional DNS name and /"
	}
	return ""
}

var taintEffects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

func (v *validator) taints(taints []string) {
	seen := map[string]bool{}
	for i, text := range taints {
		path := fmt.Sprintf("spec.taints[%d]", i)
		pair, effect, ok := strings.Cut(text, ":")
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case !ok:
			v.fault(path, text, "must be like key=value:NoSchedule")
		case labelKey(key) != "":
			v.fault(path, text, "key: %s", labelKey(key))
		case value != "" && !labelName.MatchString(value):
			v.fault(path, text, "a value is at most 63 letters, digits, and inner -, _ and .")
		case !slices.Contains(taintEffects, effect):
			v.fault(path, text, "the effect must be one of %s", strings.Join(taintEffects, ", "))
		case seen[key+":"+effect]:
			v.fault(path, text, "a taint with this key and effect stands there already")
		}
		seen[key+":"+effect] = true
	}
}

// rolling checks the bounds of a rolling update.
func (v *validator) rolling(path string, r *RollingUpdate) {
	if r == nil {
		return
	}
	unavailable := v.count(path+".maxUnavailable", r.MaxUnavailable)
	surge := v.count(path+".maxSurge", r.MaxSurge)
	if unavailable && surge && r.MaxUnavailable != "" && zeroCount(r.MaxUnavailable) && zeroCount(r.MaxSurge) {
		v.fault(path+".maxUnavailable", r.MaxUnavailable, "must not be 0 when maxSurge is 0: no machine could be replaced")
	}
}

// count checks a number or a percentage.
func (v *validator) count(path, text string) bool {
	if text == "" {
		return true
	}
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > math.MaxInt32 || percent && n > 100 || strconv.Itoa(n) != digits {
		v.fault(path, text, "must be a number such as 1, or a percentage such as 25%%")
		return false
	}
	return true
}
