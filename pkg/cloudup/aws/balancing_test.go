// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"slices"
	"strings"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// balancerPlan is a network with an API load balancer and no machines behind it.
func balancerPlan(t *testing.T, m *api.Manifest) *model.Blueprint {
	t.Helper()
	b := build(t, m)
	b.Pools, b.Identities, b.SSHKeys, b.Volumes = nil, nil, nil, nil
	return b
}

func TestBalancerLife(t *testing.T) { judged(t, testBalancerLife) }

func testBalancerLife(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	b := balancerPlan(t, m)
	w.settle(c, b)

	m.Cluster.Spec.API.LoadBalancer.CrossZone = ptr(true)
	p := w.plan(c, balancerPlan(t, m))
	mustSay(t, p, "crossZone: false -> true")
	w.settle(c, balancerPlan(t, m))
	m.Cluster.Spec.API.LoadBalancer.CrossZone = nil
	mustSay(t, w.plan(c, balancerPlan(t, m)), "crossZone: true -> false")
	w.settle(c, balancerPlan(t, m))

	b = balancerPlan(t, m)
	b.Endpoints[0].Listeners[0].Health = "tcp"
	b.Endpoints[0].Subnets = b.Endpoints[0].Subnets[:2]
	p = w.plan(c, b)
	mustSay(t, p, "health.protocol: HTTPS -> TCP", "health.path: /readyz -> (none)", "    subnets: subnet-")
	w.settle(c, b)
	mustSay(t, w.plan(c, balancerPlan(t, m)), "health.path: (none) -> /readyz")
	w.settle(c, balancerPlan(t, m))

	// Another port behind the listener is another target group.
	b = balancerPlan(t, m)
	b.Endpoints[0].Listeners[0].Target = 6443
	p = w.plan(c, b)
	mustSay(t, p, "± aws/targetgroup/api-https", "port: 443 -> 6443", "~ aws/listener/api-https", "- aws/targetgroup/api-https/arn:")
	w.settle(c, b)
	// A port that nobody wants any more closes.
	b.Endpoints[0].Listeners = b.Endpoints[0].Listeners[:1]
	p = w.plan(c, b)
	mustSay(t, p, "- aws/listener/api-bootstrap", "- aws/targetgroup/api-bootstrap")
	w.settle(c, b)
	w.clear(c)
}

// Another scheme is another load balancer, and the plan says what that means.
func TestBalancerScheme(t *testing.T) { judged(t, testBalancerScheme) }

func testBalancerScheme(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	w.settle(c, balancerPlan(t, m))
	m.Cluster.Spec.API.LoadBalancer.Type = api.LoadBalancerInternal
	p := w.plan(c, balancerPlan(t, m))
	mustSay(t, p, "± aws/loadbalancer/api (its address changes", "scheme: internet-facing -> internal", "± aws/listener/api-https")
	w.settle(c, balancerPlan(t, m))
	w.clear(c)
}

// D05: two clusters whose long names differ in the last character, in one account.
func TestLookAlikeClusters(t *testing.T) { judged(t, testLookAlikeClusters) }

func testLookAlikeClusters(t *testing.T, w *world) {
	long := "team-platform-very-long-name-of-a-staging-cluster"
	names := []string{long + "-a.example.com", long + "-b.example.com"}
	var clouds []*Cloud
	for i, name := range names {
		uid := "uid-" + string(rune('1'+i))
		c := w.open(name, uid)
		clouds = append(clouds, c)
		m := testManifest(name, uid)
		m.Groups = append(m.Groups[:1], m.Groups[3])
		m.Cluster.Spec.EtcdClusters[0].Members = m.Cluster.Spec.EtcdClusters[0].Members[:1]
		m.SSHKeys = nil
		b := build(t, m)
		w.apply(w.plan(c, b))
		if p := w.plan(c, b); p.Pending() {
			t.Fatalf("the plan of %s after apply is not empty:\n%s", name, changes(p))
		}
	}
	a, b := clouds[0], clouds[1]
	for _, pair := range [][2]string{
		{a.balancerName("api", limitBalancer), b.balancerName("api", limitBalancer)},
		{a.balancerName("api-bootstrap-3988", limitTarget), b.balancerName("api-bootstrap-3988", limitTarget)},
		{a.roleName(api.RoleControlPlane), b.roleName(api.RoleControlPlane)},
		{a.profileName(api.RoleNode), b.profileName(api.RoleNode)},
		{a.templateName("nodes-us-east-1a"), b.templateName("nodes-us-east-1a")},
	} {
		if pair[0] == pair[1] {
			t.Errorf("both clusters use the name %s", pair[0])
		}
	}
	// The ledger of the test is one for both; in life each cluster has its own.
	entries := w.ledger.entries
	w.ledger.entries = slices.DeleteFunc(slices.Clone(entries), func(e cloudup.LedgerEntry) bool {
		return strings.Contains(e.ID, "-b.") || e.ID == b.roleName(api.RoleControlPlane) || e.ID == b.roleName(api.RoleNode)
	})
	w.apply(w.plan(a, nil))
	out, err := b.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil || len(out.LoadBalancers) != 1 {
		t.Fatalf("%d load balancers are left, want the neighbour's (%v)", len(out.LoadBalancers), err)
	}
	if n := count(w.plan(b, nil), tasks.Delete, "aws/"); n < 20 {
		t.Errorf("only %d objects of the neighbour are left", n)
	}
}

func TestBalancerNamesAreLegal(t *testing.T) {
	t.Parallel()
	for _, cluster := range []string{"a.b", "demo.example.com", strings.Repeat("long-", 12) + "x.example.com", "-", "a--b.c"} {
		c := &Cloud{cluster: cluster, uid: "uid"}
		for _, key := range []string{"api", "api-int", "bastion"} {
			if n := c.balancerName(key, limitBalancer); !limitBalancer.Legal(n) || !strings.HasPrefix(n, key) {
				t.Errorf("%s of %s is named %s", key, cluster, n)
			}
		}
		for _, key := range []string{"api-https-443", "api-bootstrap-3988", "bastion-ssh-22"} {
			if n := c.balancerName(key, limitTarget); !limitTarget.Legal(n) {
				t.Errorf("%s of %s is named %s", key, cluster, n)
			}
		}
	}
}
