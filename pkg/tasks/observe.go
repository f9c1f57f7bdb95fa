// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	defaultWorkers  = 16
	observeDeadline = 2 * time.Minute
)

// PlanOptions says how MakePlan observes. The zero value is usable.
type PlanOptions struct {
	Workers int    // calls at a time; 16 when zero
	Header  Header // of the plan

	// Removals is called when all wanted tasks were observed. It adds the removal of
	// what no task wants with g.Remove.
	Removals func(ctx context.Context, g *Graph) error

	TaskDeadline time.Duration // of retrying one observation; 2 minutes when zero
	Logger       *slog.Logger
	Clock        Clock
	Jitter       func(time.Duration) time.Duration // of pauses between retries
}

func (o PlanOptions) filled() PlanOptions {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.TaskDeadline <= 0 {
		o.TaskDeadline = observeDeadline
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Jitter == nil {
		o.Jitter = halfJitter
	}
	return o
}

// MakePlan observes the tasks of a graph, in parallel and dependencies first, and
// returns what Apply would do. It writes nothing. All faults of the graph, or all
// tasks that could not be observed, come in one error; tasks that depend on one of
// those are not observed and not named. When ctx ends, the error wraps ctx.Err().
func MakePlan(ctx context.Context, g *Graph, o PlanOptions) (*Plan, error) {
	o = o.filled()
	wanted, err := arrange(g.Wanted(), nil)
	if err != nil {
		return nil, fmt.Errorf("check the task graph: %w", err)
	}
	p := &Plan{Format: PlanFormat, Header: o.Header, Items: []Item{}}
	if p.Header.When.IsZero() {
		p.Header.When = o.Clock.Now()
	}
	p.Header.When = p.Header.When.UTC().Round(0)
	if err := p.observe(ctx, wanted, false, o); err != nil {
		return nil, err
	}
	if o.Removals != nil {
		if err := o.Removals(ctx, g); err != nil {
			return nil, fmt.Errorf("find what is no longer wanted: %w", err)
		}
	}
	known := make(map[ID]*vertex, len(wanted))
	for _, v := range wanted {
		known[v.id] = v
	}
	removals, err := arrange(g.Removals(), known)
	if err != nil {
		return nil, fmt.Errorf("check the removals: %w", err)
	}
	if err := p.observe(ctx, removals, true, o); err != nil {
		return nil, err
	}
	return p, nil
}

// observe appends an item for each vertex.
func (p *Plan) observe(ctx context.Context, vertices []*vertex, removal bool, o PlanOptions) error {
	steps := make([]*step, len(vertices))
	changes := make([]Change, len(vertices)) // each written by its own step's call only
	byVertex := make(map[*vertex]*step, len(vertices))
	for i, v := range vertices {
		s := &step{id: v.id, index: i}
		s.do = func(ctx context.Context) (err error) {
			changes[i], err = observeOne(ctx, v.task, removal)
			return err
		}
		for _, d := range v.deps {
			s.after(byVertex[d])
		}
		steps[i], byVertex[v] = s, s
	}
	sched := &schedule{
		workers: o.Workers, clock: o.Clock, hooks: observing{o.Logger},
		retry: retryPolicy{deadline: o.TaskDeadline, jitter: o.Jitter},
	}
	stopped := sched.run(ctx, steps)
	var failures []error
	if stopped != nil {
		failures = append(failures, fmt.Errorf("planning was interrupted: %w", stopped))
	}
	for _, s := range steps {
		if s.state == failed && (stopped == nil || !errors.Is(s.err, context.Canceled)) {
			failures = append(failures, fmt.Errorf("observe %s: %w", s.id, s.err))
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	for i, v := range vertices {
		p.Items = append(p.Items, newItem(v, changes[i], removal))
		p.work = append(p.work, planned{task: v.task, change: changes[i]})
	}
	return nil
}

func observeOne(ctx context.Context, t Task, removal bool) (Change, error) {
	c, err := t.Observe(ctx)
	if err != nil {
		return Change{}, err
	}
	if c.Action == "" {
		c.Action = None
	}
	if !c.Action.valid() || removal && (c.Action == Create || c.Action == Replace) {
		return Change{}, fmt.Errorf("the task wants the action %q, which it cannot have", c.Action)
	}
	return c, nil
}

func newItem(v *vertex, c Change, removal bool) Item {
	i := Item{
		ID: v.id, Action: c.Action, Reason: utf8Text(c.Reason), Leaves: utf8Text(c.Leaves), Data: c.Data, Exact: utf8Text(c.Exact), Removal: removal,
	}
	if d, ok := v.task.(Describer); ok {
		i.Description = utf8Text(d.Describe())
	}
	for _, d := range v.deps {
		i.Deps = append(i.Deps, d.id)
	}
	for _, f := range c.Fields {
		f.Path, f.Old, f.New = utf8Text(f.Path), portable(f.Old), portable(f.New)
		i.Fields = append(i.Fields, f)
	}
	return i
}

// portable makes a value that JSON carries unchanged, so that what is shown, saved and
// compared is the same: JSON knows valid UTF-8 only.
func portable(v Value) Value {
	v.Text = utf8Text(v.Text)
	switch {
	case v.State == Unset || v.State == Unknown:
		v.Text = ""
	case v.State == Sensitive && v.Text == "":
		v.Text = "none"
	}
	return v
}

func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// observing logs what happens while observing.
type observing struct{ log *slog.Logger }

func (observing) before(context.Context, []*step) error    { return nil }
func (observing) withdrawn(context.Context, []*step) error { return nil }
func (observing) running(*step)                            {}
func (observing) skipped(*step)                            {}

func (h observing) retrying(s *step, err error, in time.Duration) {
	h.log.Debug("observe again", "task", s.id, "in", in, "error", err)
}

func (h observing) after(_ context.Context, ended []*step) error {
	for _, s := range ended {
		logEnd(h.log, "observed", s)
	}
	return nil
}

// logEnd writes a panic's stack to the log; its error only names it.
func logEnd(log *slog.Logger, what string, s *step) {
	var p *PanicError
	if errors.As(s.err, &p) {
		log.Error("task panicked", "task", s.id, "panic", p.Value, "stack", p.Stack)
		return
	}
	log.Debug(what, "task", s.id, "took", s.ended.Sub(s.begun), "calls", s.calls, "error", s.err)
}
