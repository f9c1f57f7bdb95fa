// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	t.Parallel()
	m := example(t)
	for _, c := range []struct{ object, path, value string }{
		{"cluster", "spec.kubernetesVersion", "1.35.2"},
		{"cluster", "api.access", "192.0.2.0/24, 198.51.100.0/24"},
		{"cluster", "spec.sshAccess", `["192.0.2.1/32"]`},
		{"cluster", "api.access[2]", "203.0.113.0/24"},
		{"cluster", "cloudLabels.example.com/team", "a"},
		{"cluster", "cloudLabels[cost.center]", "b"},
		{"cluster", "networking.tagSubnets", "false"},
		{"cluster", "networking.cni", `{"flannel":{}}`},
		{"cluster", "iam.allowContainerRegistry", "true"},
		{"cluster", "etcdClusters[main].etcdMembers[b].volumeSize", "40"},
		{"cluster", "etcdClusters[*].etcdMembers[*].volumeType", "gp2"},
		{"cluster", "spec.externalPolicies.node", "arn:aws:iam::123456789012:policy/x"},
		{"cluster", "metadata.annotations.note", "hello"},
		{ng, "spec.maxSize", "5"},
		{ng, "rootVolume.size", "50"},
		{ng, "rollingUpdate.maxSurge", "1"},
		{ng, "mixedInstancesPolicy.instances", "t3.large,t3a.large"},
		{ng, "nodeLabels.node-role.example.com/x", ""},
	} {
		if err := Set(m, c.object, c.path, c.value); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	s, g := m.Cluster.Spec, m.Group(ng).Spec
	got := []any{s.KubernetesVersion, s.API.Access, s.SSHAccess, s.CloudLabels, *s.Networking.TagSubnets, s.Networking.CNI.name(), s.IAM.AllowContainerRegistry,
		s.EtcdClusters[0].Members[1].VolumeSize, s.EtcdClusters[1].Members[2].VolumeType, s.ExternalPolicies, m.Cluster.Metadata.Annotations,
		*g.MaxSize, g.RootVolume.Size, g.RootVolume.Type, g.RollingUpdate.MaxSurge, g.MixedInstances.Instances, g.NodeLabels}
	want := []any{"1.35.2", []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"}, []string{"192.0.2.1/32"}, map[string]string{"example.com/team": "a", "cost.center": "b"}, false, "flannel", true,
		int32(40), "gp2", map[string][]string{"node": {"arn:aws:iam::123456789012:policy/x"}}, map[string]string{"note": "hello"},
		int32(5), int32(50), "gp3", "1", []string{"t3.large", "t3a.large"}, map[string]string{"node-role.example.com/x": ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ object, path string }{
		{"cluster", "api.access[1]"}, {"cluster", "spec.sshAccess"}, {"cluster", "cloudLabels.example.com/team"},
		{"cluster", "iam"}, {"cluster", "etcdClusters[events]"}, {"cluster", "bastion.publicName"}, {"cluster", "rollingUpdate.maxSurge"},
		{ng, "mixedInstancesPolicy.instances[t3.large]"}, {ng, "rollingUpdate"}, {ng, "nodeLabels.none"},
	} {
		err := Unset(m, c.object, c.path)
		if strings.Contains(c.path, "[t3.large]") {
			faultsOf(t, err) // items of plain lists go by index
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	s, g = m.Cluster.Spec, m.Group(ng).Spec
	if len(s.API.Access) != 2 || s.SSHAccess != nil || len(s.CloudLabels) != 1 || s.IAM != nil || len(s.EtcdClusters) != 1 || s.RollingUpdate != nil || g.RollingUpdate != nil {
		t.Errorf("unset left something: %+v", s)
	}
}

// TestSetRefuses: a wrong path or value changes nothing.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	m := example(t)
	before, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ object, path, value, want string }{
		{"cluster", "spec.kubernetesVerison", "1.36.1", "spec.kubernetesVerison: unknown field; did you mean kubernetesVersion?"},
		{"cluster", "spec.sshAcces", "192.0.2.0/24", "spec.sshAcces: unknown field; did you mean sshAccess?"},
		{"cluster", "spec.networking.subnets[9].zone", "x", "spec.networking.subnets[9]: no such item; known are us-east-1a"},
		{"cluster", "spec.networking.subnets[us-east-1d].zone", "x", "did you mean us-east-1a?"},
		{"cluster", "spec.etcdClusters[mian].version", "3.6.0", "spec.etcdClusters[mian]: no such item; did you mean main?"},
		{"cluster", "spec.networking.tagSubnets", "maybe", "must be true or false"},
		{"cluster", "spec.networking.cni", "cilium", "must be JSON here"},
		{"cluster", "spec.networking.cni", `{"cillium":{}}`, "spec.networking.cni.cillium: unknown field; did you mean cilium?"},
		{"cluster", "spec.api.access", `[1]`, "spec.api.access[0]: must be a string"},
		{"cluster", "spec.iam", `{"a":1,"a":2}`, "stands twice"},
		{"cluster", "spec.kubernetesVersion.minor", "1", "spec.kubernetesVersion: is a single value and has no minor in it"},
		{"cluster", "metadata.name", "x", "only metadata.labels and metadata.annotations can be changed"},
		{"cluster", "", "x", "a path is needed"},
		{"cluster", "a..b", "x", "a name is missing between two dots"},
		{"cluster", "a[", "x", "a bracket is not closed"},
		{ng, "maxSize", "many", "instancegroup/" + ng + " spec.maxSize: must be a whole number"},
		{ng, "maxSize", "9999999999", "must be a whole number between"},
		{"nodes-us-east-1d", "maxSize", "1", "is neither the cluster nor a group; did you mean nodes-us-east-1a?"},
	} {
		if got := faultsOf(t, Set(m, c.object, c.path, c.value)); !strings.Contains(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	faultsOf(t, Unset(m, "cluster", "spec.iam.nothing"))
	if after, _ := Marshal(m); string(after) != string(before) {
		t.Error(cmp.Diff(string(before), string(after)))
	}
}

func FuzzSet(f *testing.F) {
	f.Add("spec.api.access", "a,b")
	f.Add("etcdClusters[*].etcdMembers[0].volumeSize", "1")
	f.Add("cloudLabels.a.b[c]", "{}")
	f.Add("networking.subnets[6]", `{"name":"x"}`)
	f.Fuzz(func(t *testing.T, path, value string) {
		m := example(t)
		if err := Set(m, "cluster", path, value); err != nil {
			faultsOf(t, err)
		} else if text, err := Marshal(m); err != nil {
			t.Fatal(err)
		} else if _, err := Load(text, "fuzz"); err != nil {
			t.Fatalf("what was set cannot be read: %v", err)
		}
		Complete(m)
		_ = Validate(m)
		_ = Unset(m, "cluster", path)
	})
}
