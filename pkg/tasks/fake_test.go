// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// fakeTask is a scripted task.
type fakeTask struct {
	id      tasks.ID
	deps    []tasks.Task
	change  tasks.Change
	about   string
	observe func(context.Context) error // before the change is returned
	apply   func(context.Context) error
}

func (t *fakeTask) ID() tasks.ID       { return t.id }
func (t *fakeTask) Deps() []tasks.Task { return t.deps }
func (t *fakeTask) Describe() string   { return t.about }

func (t *fakeTask) Observe(ctx context.Context) (tasks.Change, error) {
	if t.observe != nil {
		if err := t.observe(ctx); err != nil {
			return tasks.Change{}, err
		}
	}
	return t.change, nil
}

func (t *fakeTask) Apply(ctx context.Context, c tasks.Change) error {
	if c.Action != t.change.Action {
		return fmt.Errorf("got the change %q, observed %q", c.Action, t.change.Action)
	}
	if t.apply != nil {
		return t.apply(ctx)
	}
	return nil
}

func created(id tasks.ID, deps ...tasks.Task) *fakeTask {
	return &fakeTask{id: id, deps: deps, change: tasks.Change{Action: tasks.Create}}
}

func removed(id tasks.ID, deps ...tasks.Task) *fakeTask {
	return &fakeTask{id: id, deps: deps, change: tasks.Change{Action: tasks.Delete}}
}

func graph(t testing.TB, wanted []tasks.Task, removals ...tasks.Task) *tasks.Graph {
	t.Helper()
	g := tasks.NewGraph()
	for _, w := range wanted {
		if err := g.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range removals {
		if err := g.Remove(r); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func plan(t testing.TB, g *tasks.Graph) *tasks.Plan {
	t.Helper()
	p, err := tasks.MakePlan(t.Context(), g, tasks.PlanOptions{Header: tasks.Header{When: day}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var day = time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)

// same is a jitter that changes nothing.
func same(d time.Duration) time.Duration { return d }

// recorder is a Reporter and Journal that keeps what it is told, and panics when two
// calls overlap.
type recorder struct {
	mu      sync.Mutex
	events  []string
	intents []tasks.ID
	batches [][]tasks.ID
	results []tasks.Outcome
	skipped map[tasks.ID]tasks.ID
	pauses  map[tasks.ID][]time.Duration
	ended   int

	failIntent, failResult error
	onRunning              func(tasks.ID)
}

func (r *recorder) note(format string, args ...any) {
	if !r.mu.TryLock() {
		panic("two calls to a reporter or journal overlap")
	}
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Start(n int) {
	r.skipped, r.pauses = map[tasks.ID]tasks.ID{}, map[tasks.ID][]time.Duration{}
	r.note("start %d", n)
}
func (r *recorder) Running(id tasks.ID, _ tasks.Action) {
	r.note("running %s", id)
	if r.onRunning != nil {
		r.onRunning(id)
	}
}
func (r *recorder) Retrying(id tasks.ID, err error, in time.Duration) {
	r.pauses[id] = append(r.pauses[id], in)
	r.note("retrying %s", id)
}
func (r *recorder) Done(id tasks.ID, _ tasks.Action, err error, _ time.Duration) {
	r.note("done %s %v", id, err == nil)
}
func (r *recorder) Skipped(id, because tasks.ID) {
	r.skipped[id] = because
	r.note("skipped %s", id)
}
func (r *recorder) End(tasks.Summary) { r.ended++; r.note("end") }

func (r *recorder) Intent(_ context.Context, batch []tasks.Item) error {
	var ids []tasks.ID
	for _, i := range batch {
		ids = append(ids, i.ID)
		r.note("intent %s", i.ID)
	}
	if r.failIntent != nil {
		return r.failIntent
	}
	r.intents = append(r.intents, ids...)
	r.batches = append(r.batches, ids)
	return nil
}

func (r *recorder) Result(_ context.Context, results []tasks.Outcome) error {
	for _, o := range results {
		r.note("result %s", o.ID)
	}
	r.results = append(r.results, results...)
	return r.failResult
}
