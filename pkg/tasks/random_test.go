// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// script is how one task of a random graph behaves.
type script struct {
	deps     []int // of the same part: wanted or removals
	action   tasks.Action
	removal  bool
	hiccups  []tasks.Class // errors before the last answer
	fails    bool          // the last answer is a permanent error
	panics   bool
	takes    time.Duration // of each call
	deaf     bool          // does not listen to its context
	observes int           // retryable errors of Observe
}

// world is a random graph and what happens to its run.
type world struct {
	tasks    []script // wanted ones first
	workers  int
	cancelAt time.Duration // 0: never
	guardAt  int           // batch at which the guard says stop; 0: never
}

func drawWorld(t *rapid.T) world {
	wanted, removals := rapid.IntRange(0, 25).Draw(t, "wanted"), rapid.IntRange(0, 8).Draw(t, "removals")
	faulty := rapid.Bool().Draw(t, "faulty")
	var w world
	for i := range wanted + removals {
		s := script{
			removal: i >= wanted,
			takes:   time.Duration(rapid.IntRange(0, 3000).Draw(t, "takes")) * time.Millisecond,
			hiccups: rapid.SliceOfN(rapid.SampledFrom([]tasks.Class{tasks.Retryable, tasks.Waiting}), 0, 3).Draw(t, "hiccups"),
		}
		first, actions := 0, []tasks.Action{tasks.None, tasks.Create, tasks.Update, tasks.Replace, tasks.Keep}
		if s.removal {
			first, actions = wanted, []tasks.Action{tasks.None, tasks.Delete, tasks.Update, tasks.Keep}
		}
		s.action = rapid.SampledFrom(actions).Draw(t, "action")
		if i > first {
			s.deps = rapid.SliceOfNDistinct(rapid.IntRange(first, i-1), 0, 3, rapid.ID).Draw(t, "deps")
		}
		if faulty {
			s.fails = rapid.IntRange(0, 9).Draw(t, "fails") == 0
			s.panics = s.fails && rapid.Bool().Draw(t, "panics")
			s.deaf = rapid.Bool().Draw(t, "deaf")
			s.observes = rapid.IntRange(0, 2).Draw(t, "observes")
		}
		w.tasks = append(w.tasks, s)
	}
	w.workers = rapid.IntRange(1, 6).Draw(t, "workers")
	if rapid.IntRange(0, 3).Draw(t, "cancels") == 0 {
		w.cancelAt = time.Duration(rapid.IntRange(1, 10000).Draw(t, "cancelAt")) * time.Millisecond
	}
	if rapid.IntRange(0, 3).Draw(t, "guards") == 0 {
		w.guardAt = rapid.IntRange(1, 12).Draw(t, "guardAt")
	}
	return w
}

func id(i int) tasks.ID { return tasks.ID(fmt.Sprintf("t/%02d", i)) }

// history is what the tasks of a world saw.
type history struct {
	mu      sync.Mutex
	faults  []string
	success map[int]int
	calls   map[int]int
	running int
}

func (h *history) fault(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// enter checks what must hold when a call begins.
func (h *history) enter(w world, i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running++
	h.calls[i]++
	s := w.tasks[i]
	if h.running > w.workers {
		h.fault("%d calls at a time, %d workers", h.running, w.workers)
	}
	if h.success[i] > 0 {
		h.fault("%s was applied again after its success", id(i))
	}
	if !s.action.Pending() {
		h.fault("%s has nothing to do and was applied", id(i))
	}
	for j, other := range w.tasks {
		before := slices.Contains(s.deps, j) || s.removal && !other.removal
		if before && other.action.Pending() && h.success[j] == 0 {
			h.fault("%s began before %s had succeeded", id(i), id(j))
		}
	}
}

func (h *history) leave(i int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if err == nil {
		h.success[i]++
	}
}

// build makes the graph of a world.
func (w world) build(t testing.TB, h *history) *tasks.Graph {
	var wanted, removals, all []tasks.Task
	for i, s := range w.tasks {
		x := &fakeTask{id: id(i), change: tasks.Change{Action: s.action}}
		for _, d := range s.deps {
			x.deps = append(x.deps, all[d])
		}
		left := s.observes
		x.observe = func(context.Context) error {
			if left--; left >= 0 {
				return tasks.Retry(errors.New("list is throttled"))
			}
			return nil
		}
		x.apply = func(ctx context.Context) (err error) {
			h.enter(w, i)
			err = errors.New("panicked")
			defer func() { h.leave(i, err) }()
			err = s.answer(ctx, h, i)
			return err
		}
		all = append(all, x)
		if s.removal {
			removals = append(removals, x)
		} else {
			wanted = append(wanted, x)
		}
	}
	return graph(t, wanted, removals...)
}

func (s script) answer(ctx context.Context, h *history, i int) error {
	if s.deaf {
		time.Sleep(s.takes)
	} else {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	n := h.calls[i] - 1
	h.mu.Unlock()
	switch {
	case n < len(s.hiccups) && s.hiccups[n] == tasks.Waiting:
		return tasks.Wait(errors.New("not ready"))
	case n < len(s.hiccups):
		return tasks.Retry(errors.New("throttled"))
	case s.panics:
		err := errors.New("boom")
		panic(err)
	case s.fails:
		return errors.New("denied")
	}
	return nil
}

// TestRandomGraphs runs random graphs in bubbles of fake time; a bubble also fails when
// a goroutine is left behind.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = w.live(t) })
		if len(faults) > 0 {
			rt.Fatalf("%d faults, first: %s\n%+v", len(faults), faults[0], w)
		}
	})
}

// live plans and applies a world and returns what was not as it must be.
func (w world) live(t *testing.T) []string {
	h := &history{success: map[int]int{}, calls: map[int]int{}}
	p, err := tasks.MakePlan(t.Context(), w.build(t, h), tasks.PlanOptions{Workers: w.workers})
	if err != nil {
		return []string{"plan: " + err.Error()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if w.cancelAt > 0 {
		timer := time.AfterFunc(w.cancelAt, cancel)
		defer timer.Stop()
	}
	begun, batches := time.Now(), 0
	rec := &recorder{onRunning: func(id tasks.ID) {
		late := w.cancelAt > 0 && time.Since(begun) > w.cancelAt
		if late || w.guardAt > 0 && batches >= w.guardAt {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.fault("%s began after the stop", id)
		}
	}}
	lost := errors.New("lock lost")
	o := tasks.ApplyOptions{Workers: w.workers, Reporter: rec, Journal: rec, Grace: 2 * time.Second}
	o.Guard = func(context.Context) error {
		if batches++; batches == w.guardAt {
			return lost
		}
		return nil
	}
	sum, err := tasks.Apply(ctx, p, o)
	h.judge(w, sum, err, rec, lost)
	return h.faults
}

// judge compares what happened with what was reported.
func (h *history) judge(w world, sum tasks.Summary, err error, rec *recorder, lost error) {
	pending, failed := 0, map[int]bool{}
	skipped, notBegun := map[tasks.ID]bool{}, map[tasks.ID]bool{}
	for _, s := range sum.Skipped {
		skipped[s] = true
	}
	for _, s := range sum.NotBegun {
		notBegun[s] = true
	}
	failures := map[tasks.ID]bool{}
	for _, f := range sum.Failed {
		failures[f.ID] = true
	}
	made := 0
	for _, n := range sum.Done {
		made += n
	}
	brokenWanted := false
	for i, s := range w.tasks {
		upstream := s.removal && brokenWanted
		for _, d := range s.deps {
			upstream = upstream || failed[d]
		}
		failed[i] = upstream || failures[id(i)]
		brokenWanted = brokenWanted || failed[i] && !s.removal
		if !s.action.Pending() {
			continue
		}
		pending++
		if upstream != skipped[id(i)] {
			h.fault("%s: skipped is %v, an upstream failed is %v", id(i), skipped[id(i)], upstream)
		}
		if (upstream || notBegun[id(i)]) && h.calls[i] > 0 {
			h.fault("%s was called and is reported as not", id(i))
		}
		if h.success[i] > 1 {
			h.fault("%s succeeded %d times", id(i), h.success[i])
		}
	}
	h.judgeSums(w, sum, err, rec, lost, pending, made)
}

func (h *history) judgeSums(w world, sum tasks.Summary, err error, rec *recorder, lost error, pending, made int) {
	if made != len(h.success) {
		h.fault("%d made, %d succeeded", made, len(h.success))
	}
	if got := made + len(sum.Failed) + len(sum.Skipped) + len(sum.NotBegun); got != pending {
		h.fault("the summary adds up to %d of %d", got, pending)
	}
	if len(sum.NotBegun) > 0 && !sum.Interrupted {
		h.fault("not begun, and not interrupted: %v", sum.NotBegun)
	}
	if sum.Interrupted != (errors.Is(err, context.Canceled) || errors.Is(err, lost)) {
		h.fault("interrupted is %v, the error %v", sum.Interrupted, err)
	}
	if (err == nil) != (made == pending && !sum.Interrupted) {
		h.fault("error %v with %d of %d made", err, made, pending)
	}
	if len(rec.intents) != len(rec.results) {
		h.fault("%d intents, %d results", len(rec.intents), len(rec.results))
	}
	if len(rec.skipped) != len(sum.Skipped) || rec.ended != 1 {
		h.fault("reported %d skipped of %d, %d ends", len(rec.skipped), len(sum.Skipped), rec.ended)
	}
	for i := range w.tasks {
		if h.calls[i] > 0 && !slices.Contains(rec.intents, id(i)) {
			h.fault("%s was called without an intent", id(i))
		}
	}
	if h.running != 0 {
		h.fault("%d calls still run", h.running)
	}
}
