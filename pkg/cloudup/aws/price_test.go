// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cost"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// priced plans a blueprint (nil: the deletion) and returns what changes of its uses, an
// object a line.
func (w *world) priced(c *Cloud, b *model.Blueprint) (all []string, plan *tasks.Plan) {
	w.t.Helper()
	g := tasks.NewGraph()
	if b != nil {
		if err := c.Lower(b, g); err != nil {
			w.t.Fatal(err)
		}
	}
	plan, err := tasks.MakePlan(w.t.Context(), g, tasks.PlanOptions{Removals: c.Removals, Clock: fastClock{}})
	if err != nil {
		w.t.Fatal(err)
	}
	objects, err := c.Priced(w.t.Context(), g)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range objects {
		if was, is := usesText(o.Old), usesText(o.New); was != is {
			all = append(all, fmt.Sprintf("%s: %s -> %s", o.ID, was, is))
		}
	}
	slices.Sort(all)
	return all, plan
}

func usesText(uses []cost.Use) string {
	var texts []string
	for _, u := range uses {
		text := u.String()
		if u.Limit > 0 {
			text += fmt.Sprintf(" up to %g", u.Limit)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, " + ")
}

// TestPriced walks a cluster through its life: what it will use, what a change adds, that
// nothing changes when nothing does, and what a deletion saves.
func TestPriced(t *testing.T) { judged(t, testPriced) }

func testPriced(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	is := func(what string, got []string, want ...string) {
		t.Helper()
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("%s: no line %q in\n%s", what, line, strings.Join(got, "\n"))
			}
		}
	}
	lines, plan := w.priced(c, build(t, m))
	is("creation", lines,
		"aws/autoscalinggroup/nodes-us-east-1a: nothing -> 1 m5.large + 1 x 128 GiB gp3 + 1 address",
		"aws/loadbalancer/api: nothing -> 1 network load balancer + 3 address",
		"aws/volume/main/a: nothing -> 1 x 20 GiB gp3",
	)
	w.apply(plan)
	if lines, _ := w.priced(c, build(t, m)); len(lines) > 0 {
		t.Errorf("nothing changes, but the cost does:\n%s", strings.Join(lines, "\n"))
	}

	// What an autoscaler did is the state that is; a volume that grows; a type that changes.
	if _, err := c.scaling.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(c.groupName("nodes-us-east-1b")), DesiredCapacity: aws.Int32(1),
	}); err != nil {
		t.Fatal(err)
	}
	m.Group("nodes-us-east-1b").Spec.MinSize, m.Group("nodes-us-east-1b").Spec.MaxSize = ptr(int32(2)), ptr(int32(5))
	m.Group("nodes-us-east-1a").Spec.MachineType = "m5.xlarge"
	m.Cluster.Spec.EtcdClusters[0].Members[0].VolumeSize = 40
	m.Groups = slices.DeleteFunc(m.Groups, func(g *api.InstanceGroup) bool { return g.Metadata.Name == "nodes-us-east-1c" })
	lines, _ = w.priced(c, build(t, m))
	is("change", lines,
		"aws/autoscalinggroup/nodes-us-east-1b: 1 m5.large + 1 x 128 GiB gp3 + 1 address -> 2 m5.large + 2 x 128 GiB gp3 + 2 address",
		"aws/autoscalinggroup/nodes-us-east-1a: 1 m5.large + 1 x 128 GiB gp3 + 1 address -> 1 m5.xlarge + 1 x 128 GiB gp3 + 1 address",
		"aws/autoscalinggroup/nodes-us-east-1c: 1 m5.large + 1 x 128 GiB gp3 + 1 address -> nothing",
		"aws/volume/main/a: 1 x 20 GiB gp3 -> 1 x 40 GiB gp3",
	)
	if len(lines) != 4 {
		t.Errorf("more than that changes:\n%s", strings.Join(lines, "\n"))
	}
	lines, _ = w.priced(c, nil)
	is("deletion", lines, "aws/volume/main/a: 1 x 20 GiB gp3 -> nothing", "aws/loadbalancer/api: 1 network load balancer + 3 address -> nothing")
}

// TestPricedReplacement: what is replaced counts once on each side.
func TestPricedReplacement(t *testing.T) { judged(t, testPricedReplacement) }

func testPricedReplacement(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	w.apply(w.plan(c, build(t, m)))
	m.Cluster.Spec.API.LoadBalancer.Type = api.LoadBalancerInternal
	lines, _ := w.priced(c, build(t, m))
	var was, is int
	for _, line := range lines {
		before, after, _ := strings.Cut(line, " -> ")
		was += strings.Count(before, "network load balancer")
		is += strings.Count(after, "network load balancer")
	}
	if was != 1 || is != 1 {
		t.Errorf("%d load balancers before, %d after:\n%s", was, is, strings.Join(lines, "\n"))
	}
}

// TestMachineUses: how machines on demand and spot machines are told apart.
func TestMachineUses(t *testing.T) {
	t.Parallel()
	data := launchData{Machine: "m5.large"}
	spot := launchData{Machine: "m5.large", Spot: true, MaxPrice: "0.05"}
	mixed := mixedPolicy{wanted: true, machines: []string{"m5.large", "m6i.large"}, base: 1, aboveBase: 50, maxPrice: "0.04"}
	for _, c := range []struct {
		n      int
		data   launchData
		policy mixedPolicy
		want   string
	}{
		{0, data, mixedPolicy{}, "nothing"},
		{2, data, mixedPolicy{}, "2 m5.large"},
		{2, spot, mixedPolicy{}, "2 spot m5.large up to 0.05"},
		{6, data, mixed, "4 m5.large or m6i.large + 2 spot m5.large or m6i.large up to 0.04"},
		{1, data, mixed, "1 m5.large or m6i.large"},
		{3, data, mixedPolicy{wanted: true, aboveBase: 0}, "3 spot m5.large"},
		{3, data, mixedPolicy{wanted: true, aboveBase: 100}, "3 m5.large"},
	} {
		if got := usesText(machineUses(c.n, c.data, c.policy)); got != c.want {
			t.Errorf("%d machines: got %s, want %s", c.n, got, c.want)
		}
	}
}
