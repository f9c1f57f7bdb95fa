// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// chainLength is how many kills one cluster goes through when SLIPWAY_FULL is not set:
// the second run is killed at a later step, and so on. With it, each has a cluster of
// its own.
const chainLength = 6

// act is an operation that is killed.
type act struct {
	name   string
	before func(r *cloudtest.Rig, name string) // the state that it starts from
	run    func(r *cloudtest.Rig, o cluster.UpdateOptions) error
	gone   bool // the cluster is gone when it has succeeded
}

// signs reports whether a step is a task's, which the journal knows. A deletion removes
// the store's objects itself, after its last task.
func (a act) signs(s cloudtest.Step) bool {
	return s.IsTask() && (!a.gone || strings.HasPrefix(s.Label, "aws/"))
}

func update(r *cloudtest.Rig, o cluster.UpdateOptions) error {
	_, err := cluster.Update(r.T.Context(), r.Deps(), o)
	return err
}

var acts = []act{
	{name: "create", before: func(*cloudtest.Rig, string) {}, run: update},
	{name: "change", before: func(r *cloudtest.Rig, name string) {
		r.Apply(name)
		r.Change(name, changeALot)
	}, run: update},
	{name: "delete", gone: true, before: func(r *cloudtest.Rig, name string) { r.Apply(name) },
		run: func(r *cloudtest.Rig, o cluster.UpdateOptions) error {
			_, err := cluster.Delete(r.T.Context(), r.Deps(), o)
			return err
		}},
}

// changeALot is one edit that reaches most kinds of objects: a label on everything, a
// group more, a group less, other machines, other access.
func changeALot(m *api.Manifest) error {
	m.Cluster.Spec.CloudLabels["cost"] = "42"
	m.Cluster.Spec.API.Access = []string{"198.51.100.0/24"}
	first := slices.IndexFunc(m.Groups, func(g *api.InstanceGroup) bool { return g.Spec.Role == api.RoleNode })
	m.Groups[first].Metadata.Name = "more"
	for _, g := range m.Groups[first:] {
		if g.Spec.Role == api.RoleNode {
			g.Spec.MachineType = "m5.xlarge"
		}
	}
	return nil
}

// killed is a world in which one act is killed and repeated.
type killed struct {
	*cloudtest.Rig
	fuse  *cloudtest.Fuse
	name  string
	empty map[string]string // the world before the cluster
}

func newKilled(t testing.TB, a act) *killed {
	t.Helper()
	h := awstest.Harness()
	k := &killed{Rig: cloudtest.NewRig(t, h)}
	o := cloudtest.HAPrivate(t, h, k.World)
	k.empty = k.Snapshot()
	k.name = o.Name
	k.fuse = cloudtest.NewFuse(k.Rig)
	k.Create(o)
	a.before(k.Rig, k.name)
	k.fuse.Arm(cloudtest.Step{}, cloudtest.BeforeCall)
	return k
}

// options are those of the act, and keep what its plan says.
func (k *killed) options(said *strings.Builder) cluster.UpdateOptions {
	o := cloudtest.Options(k.name, true)
	o.Show = func(p *tasks.Plan) error {
		for _, w := range p.Warnings {
			fmt.Fprintln(said, w.Text)
		}
		return nil
	}
	return o
}

// outcome is what an undisturbed act leaves.
type outcome struct {
	world []string
	store []string
	steps []cloudtest.Step
}

// storeKeys lists the objects that the store must hold, but for the books of runs.
func (k *killed) storeKeys() []string {
	return slices.Sorted(maps.Keys(k.StoreSnapshot(k.name+"/journal/", k.name+"/operations/", k.name+"/lock/")))
}

func undisturbed(t *testing.T, a act) outcome {
	t.Helper()
	k := newKilled(t, a)
	var said strings.Builder
	if err := a.run(k.Rig, k.options(&said)); err != nil {
		t.Fatal(err)
	}
	out := outcome{steps: k.fuse.Steps(), store: k.storeKeys()}
	k.fuse.Arm(cloudtest.Step{}, cloudtest.BeforeCall)
	if a.gone {
		cloudtest.Same(t, "after the deletion", k.empty, k.Snapshot())
	} else {
		k.Settled(k.name)
		out.world = cloudtest.Canonical(k.Snapshot(), k.Harness.Volatile)
	}
	return out
}

// point is where a run is killed.
type point struct {
	step  cloudtest.Step
	order cloudtest.Order
}

func (p point) String() string { return fmt.Sprintf("%s %d %s", p.step.Label, p.step.N, p.order) }

// pointsOf lists the kills of a run. To be killed before a task's second call is to be
// killed after the answer of its first one, which its success or the next kill shows.
func pointsOf(steps []cloudtest.Step) []point {
	var out []point
	for _, s := range steps {
		if s.N == 1 || !s.IsTask() {
			out = append(out, point{s, cloudtest.BeforeCall})
		}
		out = append(out, point{s, cloudtest.BeforeAnswer})
	}
	return out
}

// chains deals points out so that those of one chain lie far apart, in their order.
func chains(points []point, length int) [][]point {
	n := (len(points) + length - 1) / length
	out := make([][]point, n)
	for i, p := range points {
		out[i%n] = append(out[i%n], p)
	}
	return out
}

// figures count what the kill test did.
type figures struct {
	mu     sync.Mutex
	tasks  map[string]bool
	kills  int
	missed []point // the run was over before it came to them
	lost   int     // worlds or stores that lack something at the end
}

func (f *figures) killed(p point) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kills++
	if p.step.IsTask() {
		f.tasks[p.step.Label] = true
	}
}

func (f *figures) miss(points []point) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missed = append(f.missed, points...)
}

// TestKilledAtEveryTask ends a run at each of its tasks, once between the written intent
// and the call and once between the call and its answer, and at each write of its own
// books. The run after it says what the last one left and completes it; the world and
// the store are then as an undisturbed run leaves them, and the deletion leaves nothing.
func TestKilledAtEveryTask(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of killed runs")
	}
	length := chainLength
	if os.Getenv("SLIPWAY_FULL") != "" {
		length = 1
	}
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			want := undisturbed(t, a)
			f := &figures{tasks: map[string]bool{}}
			wave := func(name string, all [][]point) {
				t.Run(name, func(t *testing.T) {
					for _, chain := range all {
						t.Run(chain[0].String(), func(t *testing.T) {
							t.Parallel()
							kill(t, a, chain, want, f)
						})
					}
				})
			}
			wave("chained", chains(pointsOf(want.steps), length))
			missed := f.missed
			f.missed = nil
			if len(missed) > 0 {
				wave("alone", chains(missed, 1))
			}
			for _, p := range f.missed {
				if a.signs(p.step) && p.step.N == 1 { // a second call may be another try
					t.Errorf("no run came to %s", p)
				}
			}
			t.Logf("%s: %d tasks, %d kills (%d alone), %d worlds or stores not made good", a.name, len(f.tasks), f.kills, len(missed), f.lost)
		})
	}
}

// kill kills runs of one act, one after the other, lets the last one end, and looks at
// what is there then.
func kill(t *testing.T, a act, chain []point, want outcome, f *figures) {
	k := newKilled(t, a)
	defer func() {
		if t.Failed() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.lost++
		}
	}()
	var last *point
	for i, p := range chain {
		k.fuse.Arm(p.step, p.order)
		err := k.run(a, last)
		if !k.fuse.Blown() {
			f.miss(chain[i:])
			if err != nil {
				t.Fatalf("the run after %v: %v", last, err)
			}
			k.fuse.Arm(cloudtest.Step{}, p.order)
			k.check(a, want)
			return
		}
		f.killed(p)
		last = &p
		k.fuse.Arm(cloudtest.Step{}, p.order)
		// A test cannot be dead: an unlock stands for what the next run would find out.
		if _, err := k.Deps().Store.Unlock(t.Context(), k.name); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.run(a, last); err != nil {
		t.Fatalf("the run after %v: %v", last, err)
	}
	k.check(a, want)
}

// run runs an act; where the run before was killed at a task, it must say so.
func (k *killed) run(a act, last *point) error {
	k.T.Helper()
	if a.gone {
		if _, err := k.Deps().Store.Latest(k.T.Context(), k.name); errors.Is(err, statestore.ErrNotFound) {
			return nil // the killed run had come to its very end
		}
	}
	var said strings.Builder
	err := a.run(k.Rig, k.options(&said))
	if last == nil || !a.signs(last.step) {
		return err
	}
	if said.Len() > 0 && !strings.Contains(said.String(), last.step.Label) {
		k.T.Errorf("the run after does not say that %s was cut off:\n%s", last.step.Label, said.String())
	}
	if said.Len() == 0 && err == nil {
		k.T.Errorf("the run after says nothing of the last one, which was cut off at %s", last.step.Label)
	}
	return err
}

// check compares the end with that of an undisturbed run, and deletes the cluster.
func (k *killed) check(a act, want outcome) {
	k.T.Helper()
	if got := k.storeKeys(); !slices.Equal(got, want.store) {
		k.T.Errorf("the store holds\n%s\nand should hold\n%s", strings.Join(got, "\n"), strings.Join(want.store, "\n"))
	}
	if !a.gone {
		k.Settled(k.name)
		cloudtest.SameLines(k.T, "the world", want.world, cloudtest.Canonical(k.Snapshot(), k.Harness.Volatile))
		k.Delete(k.name)
	}
	cloudtest.Same(k.T, "after the deletion", k.empty, k.Snapshot())
	k.LedgerEmpty(k.name)
}

// TestFailedCreationCanBeDeleted lets each task of a creation fail for good; the
// deletion then leaves the account as it was, whatever was there of the cluster.
func TestFailedCreationCanBeDeleted(t *testing.T) {
	a := acts[0]
	var labels []string
	for _, s := range undisturbed(t, a).steps {
		if strings.HasPrefix(s.Label, "aws/") && !slices.Contains(labels, s.Label) {
			labels = append(labels, s.Label)
		}
	}
	for _, label := range labels {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, a)
			k.fuse.Fail(label)
			var said strings.Builder
			if err := a.run(k.Rig, k.options(&said)); err == nil || !strings.Contains(err.Error(), label) {
				t.Fatalf("the creation does not name the task that failed: %v", err)
			}
			k.fuse.Arm(cloudtest.Step{}, cloudtest.BeforeCall)
			k.Delete(k.name)
			cloudtest.Same(t, "after the deletion", k.empty, k.Snapshot())
			k.LedgerEmpty(k.name)
		})
	}
	t.Logf("%d tasks failed", len(labels))
}
