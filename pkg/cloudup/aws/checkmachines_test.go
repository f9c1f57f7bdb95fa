// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
)

func TestCheckMachines(t *testing.T) { judged(t, testCheckMachines) }

func testCheckMachines(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	for name, test := range map[string]struct {
		set  func(m *api.Manifest)
		says string // "" means no fault
	}{
		"good":    {func(*api.Manifest) {}, ""},
		"no type": {func(m *api.Manifest) { m.Groups[0].Spec.MachineType = "m99.large" }, "instancegroup/control-plane-us-east-1a spec.machineType: there is no such machine type in us-east-1"},
		"no zone": {func(m *api.Manifest) {
			m.Cluster.Spec.Networking.Subnets[1].Zone, m.Groups[1].Spec.MachineType = "us-east-1e", "m7i.large"
		},
			"is not offered in us-east-1e, where the group has a subnet; it is offered in us-east-1a, us-east-1b"},
		"no image": {func(m *api.Manifest) { m.Groups[4].Spec.Image = "099720109477/nothing-*" }, "instancegroup/nodes-us-east-1b spec.image: there is no such image"},
		"no id":    {func(m *api.Manifest) { m.Groups[4].Spec.Image = "ami-12345678" }, "spec.image: there is no such image"},
		"arm type": {func(m *api.Manifest) { m.Groups[3].Spec.MachineType = "m6g.large" },
			"has the architecture arm64, the group's image is for x86_64"},
		"arm name, x86 type": {func(m *api.Manifest) { m.Groups[3].Metadata.Name = "arm64-nodes" }, ""},
		"arm among mixed": {func(m *api.Manifest) {
			m.Groups[3].Spec.MixedInstances = &api.MixedInstances{Instances: []string{"m5.large", "m6g.large"}}
		}, "spec.mixedInstancesPolicy.instances: has the architecture arm64"},
		"tags in metadata": {func(m *api.Manifest) {
			m.Groups[3].Spec.InstanceMetadata = &api.InstanceMetadata{InstanceMetadataTags: true}
		}, "instanceMetadataTags"},
	} {
		m := testManifest("demo.example.com", "uid-1")
		test.set(m)
		faults, err := c.checkMachines(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.String())
		}
		if all := strings.Join(got, "\n"); test.says == "" && all != "" || !strings.Contains(all, test.says) {
			t.Errorf("%s: %q, want %q", name, all, test.says)
		}
	}
}

func TestCheckMachinesMakesThreeCalls(t *testing.T) { judged(t, testCheckMachinesMakesThreeCalls) }

func testCheckMachinesMakesThreeCalls(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	mark := w.calls.mark()
	for range 2 { // the second is answered from memory
		if _, err := c.checkMachines(t.Context(), testManifest("demo.example.com", "uid-1")); err != nil {
			t.Fatal(err)
		}
	}
	if calls := slices.Compact(w.calls.since(mark)); len(calls) != 3 { // pages apart
		t.Errorf("%s", tally(calls))
	}
}

func TestResolveMachines(t *testing.T) { judged(t, testResolveMachines) }

func testResolveMachines(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	for i, s := range []api.InstanceGroupSpec{
		{},                         // all defaults
		{MachineType: "m6g.large"}, // the image follows the type
		{Image: armImage},          // the type follows the image
		{Role: api.RoleBastion},    // a smaller one
		{MachineType: "m99.large"}, // left for Check to report
		{Image: "ami-1", MachineType: "m5.large"}, // nothing to do
	} {
		s.Subnets = m.Groups[i].Spec.Subnets
		m.Groups[i].Spec = s
	}
	if err := c.resolveMachines(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ machine, image string }{
		{"t3.medium", testImage}, {"m6g.large", armImage}, {"t4g.medium", armImage},
		{"t3.micro", testImage}, {"m99.large", ""}, {"m5.large", "ami-1"},
	} {
		stem := strings.TrimSuffix(want.image, "20260714") // the newest of each world
		if s := m.Groups[i].Spec; s.MachineType != want.machine || !strings.HasPrefix(s.Image, stem) || strings.Contains(s.Image, "*") || (stem == "") != (s.Image == "") {
			t.Errorf("group %d got %s with %s, want %s with %s", i, s.MachineType, s.Image, want.machine, want.image)
		}
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a*", "abc", true}, {"*c", "abc", true}, {"a?c", "abc", true},
		{"a?c", "ac", false}, {"*", "", true}, {"", "", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxc", false},
	} {
		if got := glob(test.pattern, test.text); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.text, got)
		}
	}
}
