// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Shape is a cluster that the suite makes.
type Shape struct {
	Name string
	// Options returns what `create cluster` is asked for, after making in the world what
	// must be there before.
	Options func(t testing.TB, h Harness, w World) api.CreateOptions
	Groups  int // more groups of nodes
}

// adminRange may reach the API and machines of test clusters.
const adminRange = "192.0.2.0/24"

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIJ3rS4QdZCIkqYFyYd2BV1hTnXEoHkkS3pRnLyTqzGs test@example.com"

// Shapes are the clusters of the suite.
var Shapes = []Shape{
	{Name: "minimal", Options: func(_ testing.TB, h Harness, _ World) api.CreateOptions {
		return api.CreateOptions{Name: "minimal.example.com", Zones: h.Zones[:1]}
	}},
	{Name: "ha-public", Options: HAPublic},
	{Name: "ha-private", Options: HAPrivate},
	{Name: "shared-network", Options: func(t testing.TB, h Harness, w World) api.CreateOptions {
		if h.Network == nil {
			t.Skip("the harness makes no network of someone else")
		}
		o := api.CreateOptions{Name: "guest.example.com", Zones: h.Zones, AdminAccess: []string{adminRange}}
		h.Network(t, w, &o)
		return o
	}},
	{Name: "20-groups", Groups: 14, Options: HAPublic},
}

// HAPublic is a highly available cluster whose machines have public addresses.
func HAPublic(_ testing.TB, h Harness, _ World) api.CreateOptions {
	return api.CreateOptions{
		Name: "ha.example.com", Zones: h.Zones, AdminAccess: []string{adminRange}, SSHAccess: []string{adminRange},
		SSHPublicKey: sshKey, CloudLabels: map[string]string{"team": "platform"},
	}
}

// HAPrivate is a highly available cluster in private subnets, with a bastion, names in a
// public zone, and keys sealed in the cloud.
func HAPrivate(t testing.TB, h Harness, w World) api.CreateOptions {
	if h.HostedZone == nil {
		t.Skip("the harness makes no DNS zone")
	}
	h.HostedZone(t, w, "example.test")
	return api.CreateOptions{
		Name: "ha.example.test", Zones: h.Zones, Topology: api.TopologyPrivate, Bastion: true,
		DNS: api.DNSPublic, DNSZone: "example.test", AdminAccess: []string{adminRange}, SSHAccess: []string{adminRange},
		SSHPublicKey: sshKey, CloudLabels: map[string]string{"team": "platform"},
		Sets: []string{"sealing.method=kms"},
	}
}

// Make stores the shape's cluster and returns its name.
func (s Shape) Make(r *Rig) string {
	r.T.Helper()
	o := s.Options(r.T, r.Harness, r.World)
	r.Create(o)
	if s.Groups > 0 {
		r.AddGroups(o.Name, s.Groups)
	}
	return o.Name
}

// AddGroups adds groups of nodes to a stored cluster.
func (r *Rig) AddGroups(name string, n int) {
	r.T.Helper()
	r.Change(name, func(m *api.Manifest) error {
		for i := range n {
			g := *m.Groups[len(m.Groups)-1]
			g.Metadata.Name = fmt.Sprintf("more-%d", i+1)
			if err := cluster.AddGroup(m, &g); err != nil {
				return err
			}
		}
		return nil
	})
}

// runLives: apply, and the plan is empty; delete, and the world is as it was before.
func runLives(t *testing.T, h Harness) {
	for _, shape := range Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			r := NewRig(t, h)
			o := shape.Options(t, h, r.World)
			before := r.Snapshot()
			r.Create(o)
			if shape.Groups > 0 {
				r.AddGroups(o.Name, shape.Groups)
			}
			mark := r.Wire.Mark()
			first := r.Apply(o.Name)
			made := len(Writes(r.Wire.Since(mark)))
			t.Logf("%d objects, %d writes, %d calls in all", first.Summary.Done[tasks.Create], made, r.Wire.Mark()-mark)
			r.Settled(o.Name)
			checkAccount(t, r.Delete(o.Name).Plan, first.Plan)
			Same(t, "after the deletion", before, r.Snapshot())
			r.LedgerEmpty(o.Name)
		})
	}
}

// checkAccount: a deletion's plan names every object that the first apply made, and what
// it keeps with the reason.
func checkAccount(t *testing.T, deleted, made *tasks.Plan) {
	t.Helper()
	listed := map[tasks.ID]bool{}
	for _, i := range deleted.Items {
		listed[i.ID] = true
		if i.Action == tasks.Keep && i.Reason == "" {
			t.Errorf("the deletion keeps %s and does not say why", i.ID)
		}
	}
	for _, i := range made.Items {
		parts := strings.SplitN(string(i.ID), "/", 3)
		if i.Action != tasks.Create || parts[0] == "store" || slices.Contains(withOthers, parts[1]) {
			continue
		}
		if !listed[i.ID] {
			t.Errorf("the deletion does not account for %s", i.ID)
		}
	}
}

// withOthers are the kinds that go with the object that they are a part of, and are
// accounted for with it.
var withOthers = []string{"route", "routetableassociation", "vpc-cidr"}

// runQuiet: a plan writes nothing, in the cloud or in the store, before the first apply,
// with changes pending, and after.
func runQuiet(t *testing.T, h Harness) {
	t.Parallel()
	r := NewRig(t, h)
	name := Shapes[1].Make(r)
	quiet := func(when string) {
		t.Helper()
		world, store, mark := r.Snapshot(), r.StoreSnapshot(), r.Wire.Mark()
		r.Plan(name)
		if _, err := cluster.Delete(t.Context(), r.Deps(), Options(name, false)); err != nil {
			t.Fatal(err)
		}
		if w := Writes(r.Wire.Since(mark)); len(w) > 0 {
			t.Errorf("plans %s make writing calls: %s", when, Tally(w))
		}
		Same(t, "the world by plans "+when, world, r.Snapshot())
		Same(t, "the store by plans "+when, store, r.StoreSnapshot())
	}
	quiet("before the first apply")
	r.Apply(name)
	quiet("after the apply")
	r.Change(name, func(m *api.Manifest) error { m.Cluster.Spec.CloudLabels["team"] = "other"; return nil })
	quiet("with changes pending")
}

// runNeighbours: another cluster with a look-alike name, and what belongs to nobody, are
// byte for byte as before when a cluster has come and gone, whoever of the two it is.
func runNeighbours(t *testing.T, h Harness) {
	for _, names := range [][2]string{
		{"bar.example.com", "foo-bar.example.com"},
		{"foo-bar.example.com", "bar.example.com"},
		{"bar.example.com", "bar.example.com-002.local"},
	} {
		t.Run(names[0]+" beside "+names[1], func(t *testing.T) {
			t.Parallel()
			r := NewRig(t, h)
			if h.Foreign != nil {
				h.Foreign(t, r.World, names[0])
			}
			r.Create(api.CreateOptions{Name: names[1], Zones: h.Zones[:1]})
			r.Apply(names[1])
			before := r.Snapshot()
			r.Create(api.CreateOptions{Name: names[0], Zones: h.Zones[:1]})
			r.Apply(names[0])
			r.Settled(names[0])
			r.Settled(names[1])
			r.Delete(names[0])
			Same(t, "the neighbours", before, r.Snapshot())
			r.Settled(names[1])
		})
	}
}

// runCalls: a plan without changes makes few calls, and their number does not grow with
// the number of groups.
func runCalls(t *testing.T, h Harness) {
	t.Parallel()
	const most, manyGroups = 40, 60
	r := NewRig(t, h)
	name := Shapes[1].Make(r)
	count := func() []Call {
		mark := r.Wire.Mark()
		r.Settled(name)
		return r.Wire.Since(mark)
	}
	before := r.Wire.Mark()
	r.Plan(name)
	dry := r.Wire.Since(before)
	r.Apply(name)
	few := count()
	r.AddGroups(name, manyGroups-6)
	r.Apply(name)
	many := count()
	t.Logf("calls: dry %d, 6 groups %d, %d groups %d", len(dry), len(few), manyGroups, len(many))
	if len(few) > most || len(dry) > most {
		t.Errorf("more than %d calls: dry %s; 6 groups %s", most, Tally(dry), Tally(few))
	}
	// A page more of each list that has an item for each group, and no call a group.
	if len(many) > len(few)+8 {
		t.Errorf("%d groups: %s\n6 groups: %s", manyGroups, Tally(many), Tally(few))
	}
}
