// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
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

func TestClusterLife(t *testing.T) {
	w := motoWorld(t)
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
func TestPlanCallsDoNotGrowWithGroups(t *testing.T) {
	w := motoWorld(t)
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
