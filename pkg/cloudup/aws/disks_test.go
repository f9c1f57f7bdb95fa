// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// diskPlan is a blueprint with one etcd volume and nothing else.
func diskPlan(t *testing.T, v model.Volume) *model.Blueprint {
	t.Helper()
	b := networkPlan("demo.example.com", "uid-1")
	if v.Etcd == "" {
		v.Etcd, v.Member, v.Pool, v.Zone = "main", "a", "cp", "us-east-1a"
	}
	b.Volumes = []model.Volume{v}
	return b
}

func TestVolumeLife(t *testing.T) { judged(t, testVolumeLife) }

func testVolumeLife(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	plain := model.Volume{SizeGiB: 20, Encrypted: true}
	w.settle(c, diskPlan(t, plain))

	bigger := model.Volume{SizeGiB: 30, Type: "gp3", IOPS: 4000, Throughput: 200, Encrypted: true}
	mustSay(t, w.plan(c, diskPlan(t, bigger)), "size: 20 -> 30", "iops: 3000 -> 4000", "throughput: 125 -> 200")
	w.settle(c, diskPlan(t, bigger))
	if w.moto { // AWS and the simulator take the next change of a volume after six hours
		bigger.IOPS, bigger.Throughput = 0, 0
		mustSay(t, w.plan(c, diskPlan(t, bigger)), "iops: 4000 -> 3000", "throughput: 200 -> 125")
		w.settle(c, diskPlan(t, bigger))
		bigger.Type, bigger.IOPS = "io2", 1000
		mustSay(t, w.plan(c, diskPlan(t, bigger)), "type: gp3 -> io2", "iops: 3000 -> 1000", "throughput: 125 -> (none)")
		w.settle(c, diskPlan(t, bigger))
	}

	// Size back, encryption off: neither can be, so the plan says so and changes nothing.
	shrunk := bigger
	shrunk.SizeGiB, shrunk.Encrypted = 20, false
	p := w.plan(c, diskPlan(t, shrunk))
	if p.Pending() {
		t.Errorf("drift became a change:\n%s", changes(p))
	}
	for _, i := range p.Items {
		if i.ID == "aws/volume/main/a" && (i.Action != tasks.Keep || !strings.Contains(i.Reason, "encrypted is true, the spec says false; the size is 30 GiB, the spec says 20")) {
			t.Errorf("the volume is %s because %q", i.Action, i.Reason)
		}
	}

	// Another zone is another volume: data is lost, and the plan marks both.
	moved := bigger
	moved.Etcd, moved.Member, moved.Pool, moved.Zone = "main", "a", "cp", "us-east-1b"
	p = w.plan(c, diskPlan(t, moved))
	mustSay(t, p, "± aws/volume/main/a", "zone: us-east-1a -> us-east-1b", "- aws/volume/main/a/vol-")
	for _, i := range p.Items {
		if strings.HasPrefix(string(i.ID), "aws/volume/") && !i.Data {
			t.Errorf("%s is not marked as holding data", i.ID)
		}
	}
	w.settle(c, diskPlan(t, moved))
	p = w.plan(c, nil)
	for _, i := range p.Items {
		if strings.HasPrefix(string(i.ID), "aws/volume/") && !i.Data {
			t.Errorf("the removal of %s is not marked as a loss of data", i.ID)
		}
	}
	w.clear(c)
}

// The boot disks of machines carry the cluster's UID and are not etcd volumes.
func TestBootDisksAreNotOurs(t *testing.T) { judged(t, testBootDisksAreNotOurs) }

func testBootDisksAreNotOurs(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	if _, err := c.ec2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: ptr("us-east-1a"), Size: ptr(int32(8)),
		TagSpecifications: tagSpec("volume", map[string]string{tagUID: "uid-1", tagKey: "nodes"}),
	}); err != nil {
		t.Fatal(err)
	}
	if n := count(w.plan(c, nil), tasks.Delete, "aws/volume/"); n != 0 {
		t.Errorf("the deletion takes %d boot disks", n)
	}
}

func TestKeyPairs(t *testing.T) { judged(t, testKeyPairs) }

func testKeyPairs(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	b := networkPlan("demo.example.com", "uid-1")
	b.SSHKeys = []model.SSHKey{{Name: "admin", PublicKey: testKey}}
	w.settle(c, b)
	b.SSHKeys[0].PublicKey = strings.TrimSuffix(testKey, " someone@example.com") + " another comment"
	if p := w.plan(c, b); p.Pending() {
		t.Errorf("a comment became a change:\n%s", changes(p))
	}
	b.SSHKeys[0].PublicKey = otherKey
	p := w.plan(c, b)
	mustSay(t, p, "± aws/keypair/admin", "publicKey: SHA256:", "- aws/keypair/admin/key-")
	w.settle(c, b)
	b.SSHKeys = []model.SSHKey{{Name: "theirs", Existing: "theirs"}}
	if _, err := w.tryPlan(c, b); err == nil || !strings.Contains(err.Error(), "there is no key pair theirs") {
		t.Errorf("the plan said: %v", err)
	}
	if _, err := c.ec2.ImportKeyPair(t.Context(), &ec2.ImportKeyPairInput{KeyName: ptr("theirs"), PublicKeyMaterial: []byte(testKey)}); err != nil {
		t.Fatal(err)
	}
	w.settle(c, b)
	w.clear(c)
	if out, err := c.ec2.DescribeKeyPairs(t.Context(), &ec2.DescribeKeyPairsInput{}); err != nil || len(out.KeyPairs) != 1 {
		t.Errorf("the existing key pair is not there any more (%v)", err)
	}
}

// A40: the size between the bounds is the autoscaler's; at the edges it is clamped.
func TestGroupSize(t *testing.T) { judged(t, testGroupSize) }

func testGroupSize(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	s := &m.Groups[0].Spec
	for _, test := range []struct {
		size, min, max int32
		says           string // "" is no change of the size
	}{
		{3, 2, 10, ""}, {2, 2, 10, ""}, {7, 2, 10, ""}, {1, 2, 10, "size: 1 -> 2"}, {7, 2, 5, "size: 7 -> 5"}, {5, 8, 8, "size: 5 -> 8"},
	} {
		s.MinSize, s.MaxSize = ptr(int32(1)), ptr(int32(10))
		w.settle(c, build(t, m))
		name := c.groupName("bastions")
		if _, err := c.scaling.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: &name, DesiredCapacity: &test.size}); err != nil {
			t.Fatal(err)
		}
		s.MinSize, s.MaxSize = &test.min, &test.max
		got := changes(w.plan(c, build(t, m)))
		if test.says == "" && strings.Contains(got, "    size:") || !strings.Contains(got, test.says) {
			t.Errorf("%d machines between %d and %d: want %q, the plan says\n%s", test.size, test.min, test.max, test.says, got)
		}
		w.settle(c, build(t, m))
	}
}

// A35: however a group spells its template's version, it means a number.
func TestTemplateVersionSpellings(t *testing.T) { judged(t, testTemplateVersionSpellings) }

func testTemplateVersionSpellings(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	b := build(t, bastionManifest("demo.example.com", "uid-1"))
	w.settle(c, b)
	name, template := c.groupName("bastions"), c.templateName("bastions")
	for _, version := range []string{"$Latest", "$Default", "1"} {
		if _, err := c.scaling.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: &name, LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: &template, Version: &version},
		}); err != nil {
			t.Fatal(err)
		}
		if p := w.plan(c, b); p.Pending() {
			t.Errorf("version %s became a change:\n%s", version, changes(p))
		}
	}
}

// What others did to a group stays: their tags, processes that they suspended.
func TestGroupOfOthersDoing(t *testing.T) { judged(t, testGroupOfOthersDoing) }

func testGroupOfOthersDoing(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	m.Groups[0].Spec.SuspendProcesses = []string{"AZRebalance"}
	w.settle(c, build(t, m))
	name := c.groupName("bastions")
	if _, err := c.scaling.SuspendProcesses(t.Context(), &autoscaling.SuspendProcessesInput{AutoScalingGroupName: &name, ScalingProcesses: []string{"Launch"}}); err != nil {
		t.Fatal(err)
	}
	g := AutoScalingGroup{name: name}
	if _, err := c.scaling.CreateOrUpdateTags(t.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: g.scalingTags(map[string]string{"theirs": "x"})}); err != nil {
		t.Fatal(err)
	}
	if p := w.plan(c, build(t, m)); p.Pending() {
		t.Errorf("what others did became a change:\n%s", changes(p))
	}
	m.Groups[0].Spec.SuspendProcesses = nil
	w.settle(c, build(t, m))
	o, _, err := newSurvey(c, tasks.NewGraph()).scalingGroups.find(t.Context(), "bastions")
	if err != nil || len(o.Value.SuspendedProcesses) != 1 || o.Tags["theirs"] != "x" {
		t.Errorf("suspended are %v, tags %v (%v)", o.Value.SuspendedProcesses, o.Tags, err)
	}
}

func TestMachinesOf(t *testing.T) {
	t.Parallel()
	g := &api.InstanceGroup{Spec: api.InstanceGroupSpec{MachineType: "a", MixedInstances: &api.MixedInstances{Instances: []string{"a", "b"}}}}
	if got := strings.Join(machinesOf(g), ","); got != "a,b" {
		t.Error(got)
	}
}
