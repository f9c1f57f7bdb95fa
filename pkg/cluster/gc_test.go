// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

const yard = "demo.example.com"

// quietCloud is a cloud that only says what its machines read.
type quietCloud struct {
	used []string
	err  error
}

func (quietCloud) Provide(*terraform.Module) {}

func (quietCloud) SealingKey(*model.Blueprint, *tasks.Graph) (cloudup.SealingKey, error) {
	return nil, nil
}

func (quietCloud) Whoami(context.Context) (cloudup.Identity, error) { return cloudup.Identity{}, nil }

func (quietCloud) Resolve(context.Context, *api.Manifest) error { return nil }

func (quietCloud) Check(context.Context, *api.Manifest) (api.Faults, error) { return nil, nil }

func (quietCloud) Lower(*model.Blueprint, *tasks.Graph) error { return nil }

func (quietCloud) Removals(context.Context, *tasks.Graph) error { return nil }

func (c quietCloud) InUse(context.Context) ([]string, error) { return c.used, c.err }

// mute is a cloud that does not say it.
type mute struct{ cloudup.Cloud }

// gcYard is a store with one cluster and a cloud.
type gcYard struct {
	t     *testing.T
	d     Deps
	cloud cloudup.Cloud
	now   time.Time
}

func (y *gcYard) Now() time.Time                         { return y.now }
func (y *gcYard) After(d time.Duration) <-chan time.Time { return nil }

func newYard(t *testing.T) *gcYard {
	t.Helper()
	y := &gcYard{t: t, cloud: quietCloud{}, now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	store := statestore.New(mem.New(t.Name(), y.Now), statestore.Options{Clock: y.Now, Host: "h", User: "ann"})
	y.d = Deps{
		Store: store, Clock: y, Logger: slog.New(slog.DiscardHandler), Who: "ann",
		OpenCloud: func(context.Context, *api.Manifest, cloudup.Ledger) (cloudup.Cloud, error) { return y.cloud, nil },
	}
	m, err := api.New(api.CreateOptions{Name: yard, Zones: []string{"us-east-1a"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range m.Groups { // what only the cloud could tell
		g.Spec.Image = "ami-0123456789abcdef0"
	}
	m.Cluster.Metadata.UID = "uid-1"
	y.revise(0, m)
	return y
}

// revise stores a revision with its objects, and returns their keys.
func (y *gcYard) revise(base int, m *api.Manifest) []string {
	y.t.Helper()
	content, err := api.Marshal(m)
	if err != nil {
		y.t.Fatal(err)
	}
	if _, err := y.d.Store.Append(y.t.Context(), yard, base, content, statestore.Meta{}); err != nil {
		y.t.Fatal(err)
	}
	b, err := model.Build(m, model.Options{Store: y.d.Store.URL()})
	if err != nil {
		y.t.Fatal(err)
	}
	var keys []string
	for _, o := range b.Objects {
		y.put(o.Key, string(o.Content))
		keys = append(keys, o.Key)
	}
	return keys
}

// label makes the next revision, in which every group has another label.
func (y *gcYard) label(base int, text string) []string {
	y.t.Helper()
	c, err := Load(y.t.Context(), y.d, yard)
	if err != nil {
		y.t.Fatal(err)
	}
	for _, g := range c.Groups {
		g.Spec.NodeLabels = map[string]string{"example.com/pool": text}
	}
	return y.revise(base, c.Manifest)
}

func (y *gcYard) put(key, content string) {
	y.t.Helper()
	if err := y.d.Store.Objects(yard).Put(y.t.Context(), key, []byte(content)); err != nil {
		y.t.Fatal(err)
	}
}

// journal writes the journal of a run; an open one was cut off.
func (y *gcYard) journal(run string, open bool) {
	y.t.Helper()
	for n, s := range []segment{
		{Verb: "update cluster", Intents: []intent{{"a/b/c", tasks.Create}}},
		{Verb: "update cluster", Results: []tasks.Outcome{{ID: "a/b/c", Action: tasks.Create}}},
	} {
		if n == 1 && open {
			return
		}
		data, err := json.Marshal(s)
		if err != nil {
			y.t.Fatal(err)
		}
		if err := y.d.Store.AppendJournal(y.t.Context(), yard, run, n+1, data); err != nil {
			y.t.Fatal(err)
		}
	}
}

func (y *gcYard) collect(o GarbageOptions) *Result {
	y.t.Helper()
	o.Name = yard
	result, err := Collect(y.t.Context(), y.d, o)
	if err != nil {
		y.t.Fatal(err)
	}
	return result
}

// deleted lists what a plan removes, without the areas.
func deleted(p *tasks.Plan) []string {
	var out []string
	for _, i := range p.Items {
		if i.Action == tasks.Delete {
			id := strings.TrimPrefix(string(i.ID), "store/object/")
			out = append(out, strings.TrimPrefix(id, "store/"))
		}
	}
	slices.Sort(out)
	return out
}

// is fails the test when a list is not as wanted.
func (y *gcYard) is(what string, got []string, want ...string) {
	y.t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		y.t.Errorf("%s: garbage is %q, want %q", what, got, want)
	}
}

var all = GarbageOptions{UpdateOptions: UpdateOptions{Yes: true, Command: "gc"}, KeepJournals: 10}

// TestNothingInUseIsGarbage: a revision that is newest or applied, a machine, or an object
// that is used in turn, each keeps what it names.
func TestNothingInUseIsGarbage(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	first := y.label(1, "one")
	second := y.label(2, "two")
	third := y.label(3, "three")
	initial := y.keysOf(1)
	if err := y.d.Store.SetApplied(t.Context(), yard, statestore.Applied{Revision: 3, UID: "uid-1"}); err != nil {
		t.Fatal(err)
	}
	sum := func(text string) string { return nodeconfig.Digest([]byte(text)) }
	y.put("addons/"+sum("a")+"/channel.yaml", "manifests: x.yaml")
	y.put("addons/"+sum("a")+"/x.yaml", "program: assets/"+sum("p"))
	y.put("addons/"+sum("b")+"/channel.yaml", "unused, names assets/"+sum("q"))
	y.put("assets/"+sum("p"), "program")
	y.put("assets/"+sum("q"), "program")
	y.put("assets/"+sum("agent"), "program")
	y.put("nodes/handmade/"+sum("n")+".yaml", "addons: "+sum("a"))
	y.put("nodes/odd", "no digest in the name; a handmade config names it")
	y.put("nodes/even", "nothing names it")
	y.put("nodes/handmade/"+sum("m")+".yaml", "see nodes/odd")
	y.put("pki/ca.yaml", "keys are never garbage")
	y.put("backups/etcd/x", "nor are backups")
	y.cloud = quietCloud{used: []string{
		first[0], "assets/" + sum("agent"), "nodes/handmade/" + sum("n") + ".yaml", "nodes/handmade/" + sum("m") + ".yaml", "nodes/gone/" + sum("z") + ".yaml",
	}}
	garbage := append(append(slices.Clone(initial), first[1:]...), "addons/"+sum("b")+"/channel.yaml", "assets/"+sum("q"), "nodes/even")

	plan := all
	plan.Yes = false
	y.is("plan", deleted(y.collect(plan).Plan), garbage...)
	y.is("a plan removes nothing", deleted(y.collect(plan).Plan), garbage...)
	result := y.collect(all)
	if result.Summary.Done[tasks.Delete] != len(garbage) {
		t.Errorf("removed %v", result.Summary.Done)
	}
	y.is("done", deleted(y.collect(all).Plan))
	for _, key := range slices.Concat(second, third, first[:1], []string{"pki/ca.yaml", "backups/etcd/x", "nodes/odd", "assets/" + sum("p")}) {
		if _, err := y.d.Store.Objects(yard).Get(t.Context(), key); err != nil {
			t.Errorf("%s is gone: %v", key, err)
		}
	}
	ops, err := y.d.Store.Operations(t.Context(), yard)
	if err != nil || len(ops) != 1 || ops[0].Command != "gc" || ops[0].Result != "succeeded" {
		t.Errorf("operations: %v, %v", ops, err)
	}
	if runs, err := y.d.Store.JournalRuns(t.Context(), yard); err != nil || len(runs) > 0 {
		t.Errorf("a collection has a journal: %v, %v", runs, err)
	}
}

// keysOf returns the keys of a revision's objects.
func (y *gcYard) keysOf(revision int) []string {
	y.t.Helper()
	rev, err := y.d.Store.Revision(y.t.Context(), yard, revision)
	if err != nil {
		y.t.Fatal(err)
	}
	m, err := decode(rev)
	if err != nil {
		y.t.Fatal(err)
	}
	b, err := model.Build(m, model.Options{Store: y.d.Store.URL()})
	if err != nil {
		y.t.Fatal(err)
	}
	var keys []string
	for _, o := range b.Objects {
		keys = append(keys, o.Key)
	}
	return keys
}

// TestUntoldIsNotGarbage: when the cloud does not say what machines read, objects stay
// and the plan says why; journals are another matter.
func TestUntoldIsNotGarbage(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]cloudup.Cloud{
		"a failure":            quietCloud{err: errors.New("access denied")},
		"a cloud that is mute": mute{quietCloud{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.label(1, "one")
			y.cloud = cloud
			y.journal("20261201T000001.0-r1", false)
			y.journal("20261201T000002.0-r1", false)
			o := all
			o.KeepJournals = 1
			result := y.collect(o)
			y.is("untold", deleted(result.Plan), "journal/20261201T000001.0-r1")
			if len(result.Plan.Warnings) != 1 || !strings.Contains(result.Plan.Warnings[0].Text, "cannot be told what the machines use") {
				t.Errorf("warnings: %v", result.Plan.Warnings)
			}
		})
	}
	y := newYard(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	y.cloud = quietCloud{err: context.Canceled}
	if _, err := Collect(ctx, y.d, GarbageOptions{UpdateOptions: UpdateOptions{Name: yard}}); err == nil {
		t.Error("an interrupt is no answer, and was taken for one")
	}
}

// TestYoungStays: what was just written may belong to work in progress.
func TestYoungStays(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	old := y.keysOf(1)
	y.now = y.now.Add(30 * time.Minute)
	y.label(1, "one")
	y.label(2, "two")
	y.now = y.now.Add(45 * time.Minute)
	o := all
	o.OlderThan = time.Hour
	result := y.collect(o)
	y.is("an hour", deleted(result.Plan), old...)
	if w := result.Plan.Warnings; len(w) != 1 || !strings.Contains(w[0].Text, fmt.Sprintf("%d that nothing references are younger than 1h0m0s", len(old))) {
		t.Errorf("warnings: %v", w)
	}
}

// TestJournalsThatStay: the newest, and those of runs that nothing has finished since.
func TestJournalsThatStay(t *testing.T) {
	t.Parallel()
	run := func(n int) string { return fmt.Sprintf("20261201T00000%d.0-r1", n) }
	for name, c := range map[string]struct {
		open []bool // by run
		keep int
		want []int // runs whose journals go
	}{
		"keep two":                  {[]bool{false, false, false, false}, 2, []int{0, 1}},
		"keep all":                  {[]bool{false, false}, 10, nil},
		"keep none":                 {[]bool{false, false}, 0, []int{0, 1}},
		"the last was cut off":      {[]bool{false, false, true}, 0, []int{0, 1}},
		"the last two were cut off": {[]bool{false, true, true}, 1, []int{0}},
		"cut off, then finished":    {[]bool{false, true, false}, 1, []int{0, 1}},
		"none":                      {nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			for n, open := range c.open {
				y.journal(run(n), open)
			}
			o := all
			o.KeepJournals = c.keep
			var want []string
			for _, n := range c.want {
				want = append(want, "journal/"+run(n))
			}
			y.is("journals", deleted(y.collect(o).Plan), want...)
			runs, err := y.d.Store.JournalRuns(t.Context(), yard)
			if err != nil || len(runs) != len(c.open)-len(c.want) {
				t.Errorf("left: %v, %v", runs, err)
			}
		})
	}
}

// TestDamagedJournalStays: nobody knows what it said.
func TestDamagedJournalStays(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.journal("20261201T000000.0-r1", false)
	if err := y.d.Store.AppendJournal(t.Context(), yard, "20261201T000001.0-r1", 2, []byte("{}")); err != nil {
		t.Fatal(err) // segment 1 is missing
	}
	o := all
	o.KeepJournals = 0
	y.is("damaged", deleted(y.collect(o).Plan), "journal/20261201T000000.0-r1")
}

// TestCollectIsLocked: somebody else's run stops it, and its own lock ends with it.
func TestCollectIsLocked(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	lock, err := y.d.Store.Lock(t.Context(), yard, statestore.LockInfo{Command: "update"})
	if err != nil {
		t.Fatal(err)
	}
	o := all
	o.Name = yard
	if _, err := Collect(t.Context(), y.d, o); !errors.As(err, new(*statestore.LockedError)) {
		t.Errorf("got %v", err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.collect(o)
	y.collect(o)
}

// TestMarks: what a key is known by.
func TestMarks(t *testing.T) {
	t.Parallel()
	sum := nodeconfig.Digest([]byte("x"))
	for key, want := range map[string]string{
		nodeconfig.Key("nodes", sum):            sum,
		nodeconfig.Key("deadbeefdeadbeef", sum): sum,
		"addons/" + sum + "/a/b.yaml":           sum,
		"assets/" + sum:                         sum,
		"nodes/plain":                           "nodes/plain",
	} {
		if got := mark(key); got != want {
			t.Errorf("%s: got %s", key, got)
		}
	}
}
