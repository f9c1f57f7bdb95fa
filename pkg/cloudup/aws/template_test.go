// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// userDataOf returns what the latest template version of a group starts machines with.
func userDataOf(t *testing.T, c *Cloud, pool string) string {
	t.Helper()
	o, there, err := newSurvey(c, tasks.NewGraph()).templates.find(t.Context(), pool)
	if err != nil || !there {
		t.Fatalf("there is no launch template of %s (%v)", pool, err)
	}
	plain, err := base64.StdEncoding.DecodeString(aws.ToString(o.Value.Latest.LaunchTemplateData.UserData))
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// Workers find the bootstrap server by a private path: the private addresses of a public
// load balancer, or the name of an internal one. Control planes need neither.
func TestBootstrapAddresses(t *testing.T) { judged(t, testBootstrapAddresses) }

func testBootstrapAddresses(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	p := w.plan(c, build(t, m))
	for _, i := range p.Items {
		for _, f := range i.Fields {
			if f.Path == "userData" && (f.New.State == tasks.Unknown) != strings.Contains(string(i.ID), "nodes-") {
				t.Errorf("%s: user data is %s before the load balancer is made", i.ID, f.New)
			}
		}
	}
	w.apply(p)
	nodes := userDataOf(t, c, "nodes-us-east-1a")
	want := "172.20."
	if w.moto { // moto shows no interfaces of load balancers: the name stands for them
		want = ".elb.amazonaws.com:3988"
	}
	if !strings.Contains(nodes, want) || !strings.Contains(nodes, ":3988") {
		t.Errorf("nodes start with\n%s", nodes)
	}
	if strings.Contains(userDataOf(t, c, "control-plane-us-east-1a"), ":3988") {
		t.Error("control planes are given the load balancer's addresses")
	}
	if w.moto {
		return // starts no machines from a later version with user data
	}
	m.Cluster.Spec.API.LoadBalancer.Type = api.LoadBalancerInternal
	w.settle(c, build(t, m))
	if nodes := userDataOf(t, c, "nodes-us-east-1a"); !strings.Contains(nodes, ".elb.us-east-1.amazonaws.com:3988") {
		t.Errorf("with an internal load balancer nodes start with\n%s", nodes)
	}
}

// Old versions go, but for the last few and those that machines still run.
func TestTemplateVersionsArePruned(t *testing.T) { judged(t, testTemplateVersionsArePruned) }

func testTemplateVersionsArePruned(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	w.apply(w.plan(c, build(t, m)))
	const changes = keptVersions + 5
	for i := range changes {
		m.Groups[0].Spec.RootVolume = &api.RootVolume{Size: int32(40 + i)}
		w.apply(w.plan(c, build(t, m)))
	}
	o, _, err := newSurvey(c, tasks.NewGraph()).templates.find(t.Context(), "bastions")
	if err != nil {
		t.Fatal(err)
	}
	if n := aws.ToInt64(o.Value.Template.DefaultVersionNumber); n != changes+1 || aws.ToInt64(o.Value.Latest.VersionNumber) != n {
		t.Errorf("version %d is the default, want the latest of %d", n, changes+1)
	}
	if w.moto {
		return // moto deletes no versions; that they stay is logged, and no more
	}
	w.wholePages()
	out, err := c.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &o.ID})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, v := range out.LaunchTemplateVersions {
		left = append(left, fmt.Sprint(aws.ToInt64(v.VersionNumber)))
	}
	// The bastion runs version 1 since nothing replaced it.
	if len(left) != keptVersions+1 || left[len(left)-1] != "1" {
		t.Errorf("the versions %v are left", left)
	}
}

// A template version that someone else made is a difference, and so is another default.
func TestTemplateOfOthersDoing(t *testing.T) { judged(t, testTemplateOfOthersDoing) }

func testTemplateOfOthersDoing(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	w.settle(c, build(t, m))
	m.Groups[0].Spec.DetailedMonitoring = true
	w.settle(c, build(t, m))
	name := c.templateName("bastions")
	if _, err := c.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: &name, DefaultVersion: ptr("1")}); err != nil {
		t.Fatal(err)
	}
	mustSay(t, w.plan(c, build(t, m)), "defaultVersion: 1 -> 2")
	w.settle(c, build(t, m))
	if _, err := c.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: &name, SourceVersion: ptr("1"), LaunchTemplateData: launchData{
			Image: "ami-0000000000000a001", Machine: "t3.small", RootDevice: "/dev/sda1", RootGiB: 8, RootType: "gp3", Tokens: "optional", HopLimit: 2,
		}.request(),
	}); err != nil {
		t.Fatal(err)
	}
	mustSay(t, w.plan(c, build(t, m)), "machineType: t3.small -> m5.large", "metadata.tokens: optional -> required")
	w.settle(c, build(t, m))
}
