// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const (
	applyDeadline = 10 * time.Minute
	defaultGrace  = 30 * time.Second
)

// Journal records what a run is about to do and what came of it. Calls come one at a
// time. An error of either stops the run: no call is made without a written intent.
type Journal interface {
	// Intent is called before the first call of tasks that are started together.
	Intent(ctx context.Context, batch []Item) error
	// Result is called with tasks that have succeeded or failed for good.
	Result(ctx context.Context, results []Outcome) error
}

// Outcome is what came of one item.
type Outcome struct {
	ID       ID            `json:"id"`
	Action   Action        `json:"action"`
	Error    string        `json:"error,omitempty"`      // empty: the change was made
	NotBegun bool          `json:"notBegun,omitempty"`   // stopped before the first call
	Attempts int           `json:"attempts"`             // calls of the task's Apply
	Took     time.Duration `json:"nanoseconds,omitzero"` // from the first call to the last answer
}

// ApplyOptions says how Apply works. The zero value is usable.
type ApplyOptions struct {
	Workers  int      // tasks at a time; 16 when zero
	Reporter Reporter // is told of progress, one call at a time
	Journal  Journal  // nil: none

	// Guard is called before each batch of tasks that start together, and by MayWrite. Its
	// error stops the run as a cancelled context does: a lost lock, for example.
	Guard func(ctx context.Context) error

	TaskDeadline time.Duration // of retrying one task; 10 minutes when zero
	Grace        time.Duration // for calls in flight when ctx ends; 30 seconds when zero, none when negative
	Logger       *slog.Logger
	Clock        Clock
	Jitter       func(time.Duration) time.Duration // of pauses between retries
}

func (o ApplyOptions) filled() ApplyOptions {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Reporter == nil {
		o.Reporter = NopReporter{}
	}
	if o.TaskDeadline <= 0 {
		o.TaskDeadline = applyDeadline
	}
	switch {
	case o.Grace == 0:
		o.Grace = defaultGrace
	case o.Grace < 0:
		o.Grace = 0
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

// Summary is what came of a run. Done, Failed, Skipped and NotBegun together are all
// items that had a change to make.
type Summary struct {
	Done        map[Action]int
	Failed      []Failure // in graph order
	Skipped     []ID      // a dependency of theirs failed
	NotBegun    []ID      // the run was stopped before they could start
	Interrupted bool      // the context ended, or the guard or the journal said stop
	Took        time.Duration
}

// Failure is a task that failed for good.
type Failure struct {
	ID     ID
	Action Action
	Err    error
}

// Error says what failed and why.
func (f Failure) Error() string { return fmt.Sprintf("%s %s: %v", f.Action, f.ID, f.Err) }

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// Apply makes the changes of a plan that MakePlan made in this process, each after its
// dependencies, removals when everything wanted has succeeded. It is for one time.
//
// A failed task stops those that depend on it; the others finish. Retryable and
// waiting errors are tried again until TaskDeadline. When ctx ends, nothing new starts
// and calls in flight have Grace to end; then the error wraps ctx.Err(). The error
// names every failed task once; the Summary is complete in any case.
func Apply(ctx context.Context, p *Plan, o ApplyOptions) (Summary, error) {
	if len(p.work) != len(p.Items) {
		return Summary{}, errors.New("apply: this plan was read from a file: plan again, compare the two, and apply the new one")
	}
	if p.applied {
		return Summary{}, errors.New("apply: this plan was applied before: plan again")
	}
	p.applied = true
	o = o.filled()
	run := &applying{plan: p, opts: o}
	if o.Guard != nil {
		run.watch = &watch{guard: o.Guard, clock: o.Clock}
		ctx = context.WithValue(ctx, watchKey{}, run.watch)
	}
	steps := run.steps()
	begun := o.Clock.Now()
	o.Reporter.Start(run.total)
	sched := &schedule{
		workers: o.Workers, clock: o.Clock, hooks: run, grace: o.Grace,
		retry: retryPolicy{deadline: o.TaskDeadline, jitter: o.Jitter},
	}
	stopped := sched.run(ctx, steps)
	sum := run.summary(steps, stopped)
	sum.Took = o.Clock.Now().Sub(begun)
	o.Reporter.End(sum)
	return sum, sum.problem(run.total, stopped)
}

// applying connects a schedule to a plan.
type applying struct {
	plan  *Plan
	opts  ApplyOptions
	watch *watch // nil without a guard
	total int    // items with a change to make
}

// steps lays out the plan: wanted items, a gate that waits for all of them, removals
// behind the gate. The gate's index is the number of items.
func (a *applying) steps() []*step {
	p := a.plan
	byID := make(map[ID]*step, len(p.Items))
	gate := &step{index: len(p.Items)}
	var wanted, removals []*step
	for i, item := range p.Items {
		s := &step{id: item.ID, index: i}
		if w := p.work[i]; w.change.Action.Pending() {
			a.total++
			s.do = func(ctx context.Context) error { return w.task.Apply(ctx, w.change) }
		}
		for _, d := range item.Deps {
			s.after(byID[d])
		}
		byID[item.ID] = s
		if item.Removal {
			s.after(gate)
			removals = append(removals, s)
		} else {
			gate.after(s)
			wanted = append(wanted, s)
		}
	}
	return slices.Concat(wanted, []*step{gate}, removals)
}

func (a *applying) action(s *step) Action { return a.plan.work[s.index].change.Action }

func (a *applying) before(ctx context.Context, batch []*step) error {
	if a.watch != nil {
		if err := a.watch.look(ctx); err != nil {
			return err
		}
	}
	var items []Item
	for _, s := range batch {
		if s.calls == 0 { // a retried task's intent stands already
			items = append(items, a.plan.Items[s.index])
		}
	}
	if a.opts.Journal == nil || len(items) == 0 {
		return nil
	}
	if err := a.opts.Journal.Intent(ctx, items); err != nil {
		return fmt.Errorf("write intents to the journal: %w", err)
	}
	return nil
}

func (a *applying) withdrawn(ctx context.Context, batch []*step) error {
	var results []Outcome
	for _, s := range batch {
		if s.calls == 0 {
			results = append(results, Outcome{ID: s.id, Action: a.action(s), NotBegun: true})
		}
	}
	return a.record(ctx, results)
}

func (a *applying) running(s *step) {
	a.opts.Reporter.Running(s.id, a.action(s))
	a.opts.Logger.Debug("apply", "task", s.id, "action", a.action(s), "call", s.calls)
}

func (a *applying) retrying(s *step, err error, in time.Duration) {
	a.opts.Reporter.Retrying(s.id, err, in)
	a.opts.Logger.Debug("apply again", "task", s.id, "in", in, "error", err)
}

func (a *applying) after(ctx context.Context, ended []*step) error {
	var results []Outcome
	for _, s := range ended {
		took := s.ended.Sub(s.begun)
		a.opts.Reporter.Done(s.id, a.action(s), s.err, took)
		logEnd(a.opts.Logger, "applied", s)
		out := Outcome{ID: s.id, Action: a.action(s), Attempts: s.calls, Took: took}
		if s.err != nil {
			out.Error = s.err.Error()
		}
		results = append(results, out)
	}
	return a.record(ctx, results)
}

func (a *applying) record(ctx context.Context, results []Outcome) error {
	if a.opts.Journal == nil || len(results) == 0 {
		return nil
	}
	if err := a.opts.Journal.Result(ctx, results); err != nil {
		return fmt.Errorf("write results to the journal: %w", err)
	}
	return nil
}

func (a *applying) skipped(s *step) { a.opts.Reporter.Skipped(s.id, s.because) }

func (a *applying) summary(steps []*step, stopped error) Summary {
	sum := Summary{Done: map[Action]int{}, Interrupted: stopped != nil}
	for _, s := range steps {
		if s.do == nil {
			continue
		}
		switch s.state {
		case done:
			sum.Done[a.action(s)]++
		case failed:
			sum.Failed = append(sum.Failed, Failure{ID: s.id, Action: a.action(s), Err: s.err})
		case skipped:
			sum.Skipped = append(sum.Skipped, s.id)
		default:
			sum.NotBegun = append(sum.NotBegun, s.id)
		}
	}
	return sum
}

// problem turns a summary into Apply's error.
func (s Summary) problem(total int, stopped error) error {
	var problems []error
	if stopped != nil {
		problems = append(problems, fmt.Errorf("stopped with %d of %d changes made (run the same again to go on): %w",
			s.made(), total, stopped))
	}
	for _, f := range s.Failed {
		problems = append(problems, f)
	}
	return errors.Join(problems...)
}

func (s Summary) made() int {
	n := 0
	for _, c := range s.Done {
		n += c
	}
	return n
}
