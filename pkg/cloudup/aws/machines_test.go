// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

const (
	testImage = "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260714"
	armImage  = "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20260714"
	testKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIJ3rS4QdZCIkqYFyYd2BV1hTnXEoHkkS3pRnLyTqzGs someone@example.com"
	otherKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC0aIEhcRV4z1dnJyk0qAzHMo8nDkMzAm4UhZQIDAQAB"
)

var testZones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// testManifest is a public cluster over three zones: a control plane and a group of
// nodes in each, an API load balancer, and no DNS.
func testManifest(name, uid string) *api.Manifest {
	m := &api.Manifest{Cluster: &api.Cluster{
		Metadata: api.ObjectMeta{Name: name, UID: uid},
		Spec: api.ClusterSpec{
			KubernetesVersion: "1.36.1",
			CloudProvider:     api.CloudProvider{AWS: &api.AWS{Region: testRegion}},
			Networking: api.Networking{
				NetworkCIDR: "172.20.0.0/16", PodCIDR: "100.96.0.0/11", ServiceClusterIPRange: "100.64.0.0/13",
				Topology: api.TopologyPublic, DNS: api.DNSNone,
			},
			API: api.APIAccess{Access: []string{"192.0.2.0/24"}, LoadBalancer: &api.APILoadBalancer{Type: api.LoadBalancerPublic}},
		},
	}}
	main := api.EtcdCluster{Name: "main"}
	for i, zone := range testZones {
		m.Cluster.Spec.Networking.Subnets = append(m.Cluster.Spec.Networking.Subnets, api.Subnet{
			Name: zone, Zone: zone, Type: api.SubnetPublic, CIDR: fmt.Sprintf("172.20.%d.0/24", i),
		})
		m.Groups = append(m.Groups, testGroup("control-plane-"+zone, api.RoleControlPlane, zone))
		main.Members = append(main.Members, api.EtcdMember{Name: string(rune('a' + i)), InstanceGroup: "control-plane-" + zone})
	}
	for _, zone := range testZones {
		m.Groups = append(m.Groups, testGroup("nodes-"+zone, api.RoleNode, zone))
	}
	m.Cluster.Spec.EtcdClusters = []api.EtcdCluster{main}
	m.SSHKeys = []*api.SSHPublicKey{{Metadata: api.ObjectMeta{Name: "admin"}, Spec: api.SSHPublicKeySpec{PublicKey: testKey}}}
	return m
}

func testGroup(name string, role api.Role, subnets ...string) *api.InstanceGroup {
	return &api.InstanceGroup{
		Metadata: api.ObjectMeta{Name: name},
		Spec: api.InstanceGroupSpec{
			Role: role, Subnets: subnets, MachineType: "m5.large", Image: testImage, MinSize: ptr(int32(1)), MaxSize: ptr(int32(1)),
		},
	}
}

func build(t *testing.T, m *api.Manifest) *model.Blueprint {
	t.Helper()
	b, err := model.Build(m, model.Options{Store: "s3://bucket/clusters"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mustSay fails the test for each text that a plan does not print.
func mustSay(t *testing.T, p *tasks.Plan, texts ...string) {
	t.Helper()
	got := changes(p)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			t.Errorf("the plan lacks %q:\n%s", want, got)
		}
	}
}

// clear deletes a cluster and checks that nothing is left.
func (w *world) clear(c *Cloud) {
	w.t.Helper()
	w.apply(w.plan(c, nil))
	if p := w.plan(c, nil); p.Pending() {
		w.t.Errorf("something is left after the deletion:\n%s", changes(p))
	}
	if len(w.ledger.entries) > 0 {
		w.t.Errorf("the ledger still holds %v", w.ledger.entries)
	}
}

func TestClusterLife(t *testing.T) { judged(t, testClusterLife) }

func testClusterLife(t *testing.T, w *world) {
	w.wholePages()
	c := w.open("demo.example.com", "uid-1")
	b := build(t, testManifest("demo.example.com", "uid-1"))
	first := w.plan(c, b)
	mark := w.calls.mark()
	w.apply(first)
	made := writes(w.calls.since(mark))
	t.Logf("first apply: %d objects, %d writes, %d reads", first.Counts()[tasks.Create], len(made), len(w.calls.since(mark))-len(made))
	t.Log(tally(made))

	c = w.open("demo.example.com", "uid-1")
	mark = w.calls.mark()
	again := w.plan(c, b)
	if again.Pending() {
		t.Fatalf("the plan after apply is not empty:\n%s", changes(again))
	}
	reads := w.calls.since(mark)
	t.Logf("no-op plan: %d calls\n%s", len(reads), tally(reads))
	if len(reads) > 36 { // Whoami and the store make the rest of 40
		t.Errorf("the no-op plan made %d calls", len(reads))
	}
	w.clear(c)
}

// The largest kind of cluster: machines without public addresses, a bastion, public
// names, and three control planes in groups of their own.
func TestPrivateClusterLife(t *testing.T) { judged(t, testPrivateClusterLife) }

func testPrivateClusterLife(t *testing.T, w *world) {
	w.wholePages()
	c := w.open("demo.example.test", "uid-1")
	makeZone(t, c, "example.test.", "", "1")
	m := testManifest("demo.example.test", "uid-1")
	n := &m.Cluster.Spec.Networking
	n.Topology, n.DNS = api.TopologyPrivate, api.DNSPublic
	for i := range n.Subnets {
		n.Subnets[i].Type = api.SubnetPrivate
	}
	for i, zone := range testZones {
		n.Subnets = append(n.Subnets, api.Subnet{Name: "utility-" + zone, Zone: zone, Type: api.SubnetUtility, CIDR: fmt.Sprintf("172.20.%d.0/26", 100+i)})
	}
	m.Groups = append(m.Groups, testGroup("bastions", api.RoleBastion, "utility-"+testZones[0]))
	m.Cluster.Spec.SSHAccess = []string{"192.0.2.0/24"}
	m.Cluster.Spec.Bastion = &api.Bastion{PublicName: "bastion.demo.example.test"}
	b := build(t, m)
	w.apply(w.plan(c, b))
	c = w.open("demo.example.test", "uid-1")
	if _, err := c.Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	mark := w.calls.mark()
	if faults, err := c.Check(t.Context(), m); err != nil || len(faults.Errors()) > 0 {
		t.Fatalf("%v %v", faults, err)
	}
	t.Logf("check: %s", tally(w.calls.since(mark)))
	if p := w.plan(c, b); p.Pending() {
		t.Fatalf("the plan after apply is not empty:\n%s", changes(p))
	}
	calls := w.calls.since(mark)
	t.Logf("check and no-op plan: %d calls: %s", len(calls), tally(calls))
	if len(calls) > 39 { // and one for Whoami
		t.Errorf("the check and the no-op plan made %d calls", len(calls))
	}
	w.clear(c)
}

// wholePages lets the simulator answer with pages of AWS's own size.
func (w *world) wholePages() {
	if w.sim != nil {
		w.sim.Tune(simaws.Tuning{})
	}
}

func tally(ops []string) string {
	n := map[string]int{}
	for _, op := range ops {
		n[op]++
	}
	var out []string
	for _, op := range sortedKeys(n) {
		out = append(out, fmt.Sprintf("%s %d", op, n[op]))
	}
	return strings.Join(out, ", ")
}

// The reads of a no-op plan grow with kinds, not with groups.
func TestPlanCallsDoNotGrowWithGroups(t *testing.T) { judged(t, testPlanCallsDoNotGrowWithGroups) }

func testPlanCallsDoNotGrowWithGroups(t *testing.T, w *world) {
	w.wholePages()
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	calls := func() []string {
		b := build(t, m)
		w.apply(w.plan(c, b))
		c = w.open("demo.example.com", "uid-1")
		mark := w.calls.mark()
		if p := w.plan(c, b); p.Pending() {
			t.Fatalf("the plan after apply is not empty:\n%s", changes(p))
		}
		return w.calls.since(mark)
	}
	few := calls()
	for i := range 30 {
		m.Groups = append(m.Groups, testGroup(fmt.Sprintf("more-%d", i), api.RoleNode, testZones[i%3]))
	}
	many := calls()
	slices.Sort(few)
	slices.Sort(many)
	if !slices.Equal(few, many) {
		t.Errorf("6 groups: %s\n36 groups: %s", tally(few), tally(many))
	}
}

// An answer that is lost on the way makes no second object, of any kind.
func TestLostAnswersOfMachines(t *testing.T) { judged(t, testLostAnswersOfMachines) }

func testLostAnswersOfMachines(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	w.calls.answer = losing()
	w.settle(c, build(t, m))
	w.calls.answer = losing()
	w.clear(c)
}

// A run that ends after any number of calls is finished by the next one.
func TestMachinesKilledAnywhere(t *testing.T) { judged(t, testMachinesKilledAnywhere) }

func testMachinesKilledAnywhere(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	m.Groups = append(m.Groups[:1], m.Groups[3])
	m.Cluster.Spec.EtcdClusters[0].Members = m.Cluster.Spec.EtcdClusters[0].Members[:1]
	b := build(t, m)
	for _, after := range []int{3, 12, 19, 26, 31, 35, 38} {
		var n atomic.Int32
		ctx, kill := context.WithCancel(t.Context())
		w.calls.answer = func(op string, _ *http.Request) (*http.Response, error) {
			if reads(op) || int(n.Add(1)) <= after {
				return nil, nil
			}
			kill()
			return nil, context.Canceled
		}
		p := w.plan(c, b)
		// By the real clock: calls in flight end before the next run looks.
		if _, err := tasks.Apply(ctx, p, tasks.ApplyOptions{}); err == nil {
			t.Fatalf("killed after %d writes: no error", after)
		}
		w.calls.answer = nil
		if after%2 == 0 {
			w.settle(c, b)
		}
		w.clear(c)
	}
}
