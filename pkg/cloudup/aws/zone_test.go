// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// makeZone makes a hosted zone, private where a VPC is given.
func makeZone(t *testing.T, c *Cloud, name, vpc, ref string) string {
	t.Helper()
	in := &route53.CreateHostedZoneInput{Name: &name, CallerReference: &ref}
	if vpc != "" {
		in.VPC = &r53types.VPC{VPCId: &vpc, VPCRegion: testRegion}
		// moto takes a zone for private by this field only, AWS by the VPC.
		in.HostedZoneConfig = &r53types.HostedZoneConfig{PrivateZone: true}
	}
	out, err := c.route53.CreateHostedZone(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return bareZone(*out.HostedZone.Id)
}

// A57, D10: which zone is meant where several have the name.
func TestZoneChoice(t *testing.T) { judged(t, testZoneChoice) }

func testZoneChoice(t *testing.T, w *world) {
	c := w.open("demo.corp.example.test", "uid-1")
	b := networkPlan("demo.corp.example.test", "uid-1")
	w.apply(w.plan(c, b))
	vpcs, err := newSurvey(c, tasks.NewGraph()).vpcs.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vpc := vpcs[0].ID
	other := networkPlan("other.example.test", "uid-2")
	w.apply(w.plan(w.open("other.example.test", "uid-2"), other))
	vpcs, err = newSurvey(w.open("other.example.test", "uid-2"), tasks.NewGraph()).vpcs.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := vpcs[0].ID

	zone := func(private bool) (string, error) {
		b.Zone = &model.Zone{Name: "corp.example.test", Private: private}
		g := tasks.NewGraph()
		if err := c.Lower(b, g); err != nil {
			t.Fatal(err)
		}
		_, err := tasks.MakePlan(t.Context(), g, tasks.PlanOptions{Clock: fastClock{}})
		return g.Task("aws/zone/corp.example.test").(*Zone).CloudID.Value(), err
	}
	wants := func(when string, private bool, want string, says ...string) {
		t.Helper()
		got, err := zone(private)
		if want != "" && (err != nil || got != want) {
			t.Errorf("%s: zone %s (%v), want %s", when, got, err, want)
		}
		for _, s := range says {
			if err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v lacks %q", when, err, s)
			}
		}
	}
	wants("no zone", false, "", "there is no public hosted zone corp.example.test", "spec.dnsZone")
	public := makeZone(t, c, "corp.example.test.", "", "1")
	makeZone(t, c, "corp.example.test.more.", "", "2")
	wants("one public", false, public)
	wants("no private", true, "", "there is no private hosted zone")
	elsewhere := makeZone(t, c, "corp.example.test.", theirs, "3")
	wants("one private, of another VPC", true, elsewhere)
	mine := makeZone(t, c, "corp.example.test.", vpc, "4")
	wants("two private, one tied to the VPC", true, mine)
	wants("two private, one public", false, public)
	if w.moto { // AWS ties no two zones of one name to one VPC
		second := makeZone(t, c, "corp.example.test.", vpc, "5")
		wants("two tied to the VPC", true, "", "2 private hosted zones", mine, second, "set spec.dnsZone to the id")
	}
	twin := makeZone(t, c, "corp.example.test.", "", "6")
	wants("two public", false, "", public, twin)

	b.Zone = &model.Zone{ID: mine}
	if _, err := w.tryPlan(c, b); err == nil || !strings.Contains(err.Error(), "is private, spec.networking.dns says public") {
		t.Errorf("a zone of the wrong kind by id: %v", err)
	}
	b.Zone = &model.Zone{ID: "ZNOSUCHZONE", Private: true}
	if _, err := w.tryPlan(c, b); err == nil || !strings.Contains(err.Error(), "there is no hosted zone ZNOSUCHZONE") {
		t.Errorf("a zone that is not there: %v", err)
	}
}

// A private zone is tied to the cluster's own VPC, and untied when the cluster goes.
func TestPrivateZoneIsTied(t *testing.T) { judged(t, testPrivateZoneIsTied) }

func testPrivateZoneIsTied(t *testing.T, w *world) {
	other := w.open("other.example.test", "uid-2")
	w.apply(w.plan(other, networkPlan("other.example.test", "uid-2")))
	vpcs, err := newSurvey(other, tasks.NewGraph()).vpcs.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	zone := makeZone(t, other, "example.test.", vpcs[0].ID, "1")
	c := w.open("demo.example.test", "uid-1")
	b := networkPlan("demo.example.test", "uid-1")
	b.Zone = &model.Zone{Name: "example.test", Private: true}
	p := w.plan(c, b)
	mustSay(t, p, "~ aws/zone/example.test", "vpc: (none) -> (known after apply)")
	w.apply(p)
	if again := w.plan(c, b); again.Pending() {
		t.Fatalf("the plan after apply is not empty:\n%s", changes(again))
	}
	w.clear(c)
	facts, err := newSurvey(c, tasks.NewGraph()).readZone(t.Context(), zone)
	if err != nil || !slices.Equal(facts.VPCs, []string{vpcs[0].ID}) {
		t.Errorf("the zone is tied to %v (%v)", facts.VPCs, err)
	}
}

// recordsOf returns "name type" of every record in a zone.
func recordsOf(t *testing.T, c *Cloud, zone string) []string {
	t.Helper()
	out, err := c.route53.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range out.ResourceRecordSets {
		got = append(got, bareName(*s.Name)+" "+string(s.Type))
	}
	slices.Sort(got)
	return got
}

func putRecord(t *testing.T, c *Cloud, zone, name string, kind r53types.RRType, value string) {
	t.Helper()
	err := newSurvey(c, tasks.NewGraph()).changeRecord(t.Context(), zone, r53types.ChangeActionUpsert, r53types.ResourceRecordSet{
		Name: ptr(name + "."), Type: kind, TTL: ptr(int64(60)), ResourceRecords: []r53types.ResourceRecord{{Value: &value}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The names of a cluster come and go with it; all others in the zone stay.
func TestRecords(t *testing.T) { judged(t, testRecords) }

func testRecords(t *testing.T, w *world) {
	c := w.open("demo.example.test", "uid-1")
	zone := makeZone(t, c, "example.test.", "", "1")
	putRecord(t, c, zone, "www.example.test", r53types.RRTypeA, "192.0.2.1")
	putRecord(t, c, zone, "api.demo.example.test", r53types.RRTypeTxt, `"theirs"`)
	before := recordsOf(t, c, zone)

	m := testManifest("demo.example.test", "uid-1")
	m.Cluster.Spec.Networking.DNS = api.DNSPublic
	w.settle(c, balancerPlan(t, m))
	if got := recordsOf(t, c, zone); !slices.Contains(got, "api.demo.example.test A") {
		t.Errorf("the zone holds %v", got)
	}

	// What the control planes write under their own name is not our business.
	putRecord(t, c, zone, "api.internal.demo.example.test", r53types.RRTypeA, "10.0.0.1")
	putRecord(t, c, zone, "api.internal.demo.example.test", r53types.RRTypeAaaa, "2001:db8::1")
	if p := w.plan(c, balancerPlan(t, m)); p.Pending() {
		t.Errorf("the control planes' record became a change:\n%s", changes(p))
	}

	// Someone pointed our name elsewhere.
	putRecord(t, c, zone, "api.demo.example.test", r53types.RRTypeA, "192.0.2.9")
	mustSay(t, w.plan(c, balancerPlan(t, m)), "~ aws/record/api.demo.example.test", "records: 192.0.2.9 -> (none)")
	w.settle(c, balancerPlan(t, m))

	// Another public name: the old one goes, and only the old one.
	m.Cluster.Spec.API.PublicName = "k8s.example.test"
	p := w.plan(c, balancerPlan(t, m))
	mustSay(t, p, "+ aws/record/k8s.example.test", "- aws/record/api.demo.example.test")
	w.settle(c, balancerPlan(t, m))
	w.clear(c)
	if got := recordsOf(t, c, zone); !slices.Equal(got, before) {
		t.Errorf("the zone holds %v, before it was %v", got, before)
	}
}

// A name that is there and not ours by the ledger stops the plan.
func TestRecordOfSomeoneElse(t *testing.T) { judged(t, testRecordOfSomeoneElse) }

func testRecordOfSomeoneElse(t *testing.T, w *world) {
	c := w.open("demo.example.test", "uid-1")
	zone := makeZone(t, c, "example.test.", "", "1")
	m := testManifest("demo.example.test", "uid-1")
	m.Cluster.Spec.Networking.DNS = api.DNSPublic
	putRecord(t, c, zone, "api.demo.example.test", r53types.RRTypeA, "192.0.2.1")
	putRecord(t, c, zone, "k8s.demo.example.test", r53types.RRTypeCname, "www.example.com.")
	for _, name := range []string{"", "k8s.demo.example.test"} {
		m.Cluster.Spec.API.PublicName = name
		if _, err := w.tryPlan(c, balancerPlan(t, m)); err == nil || !strings.Contains(err.Error(), "is not this cluster's") {
			t.Errorf("%s: the plan said: %v", name, err)
		}
	}
}

func TestDNSOrder(t *testing.T) {
	t.Parallel()
	names := []string{"example.test", "a.example.test", "b.a.example.test", "a-b.example.test", "b.example.test", "example.test2"}
	if !slices.IsSortedFunc(names, func(a, b string) int { return strings.Compare(dnsOrder(a), dnsOrder(b)) }) {
		t.Error("names are not in Route 53's order")
	}
}
