// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// state says where a step is; it only moves forward, but for ready, running and asleep.
type state int

const (
	blocked state = iota // a dependency is not done
	ready                // could start
	running
	asleep // will be tried again
	done
	failed
	skipped // a dependency failed
)

// step is one task in a run.
type step struct {
	id      ID
	index   int // place in graph order
	height  int // steps on the longest path that waits for this one
	missing int // dependencies that are not done
	next    []*step
	do      func(context.Context) error // nil: done as soon as its dependencies are

	state    state
	begun    time.Time // of the first call
	ended    time.Time
	calls    int
	failures int // retryable ones
	waits    int
	wake     time.Time
	err      error
	because  ID // the failed step that a skipped one waited for
}

// after makes s wait for dep.
func (s *step) after(dep *step) {
	dep.next = append(dep.next, s)
	s.missing++
}

// hooks are told what happens in a run, one call at a time.
type hooks interface {
	// before comes before the calls of a batch; its error stops the run.
	before(ctx context.Context, batch []*step) error
	// withdrawn: the run was stopped between before and the first call.
	withdrawn(ctx context.Context, batch []*step) error
	running(s *step)
	retrying(s *step, err error, in time.Duration)
	// after gets steps that are done or failed; its error stops the run.
	after(ctx context.Context, ended []*step) error
	skipped(s *step)
}

// schedule runs steps: a heap of ready ones, a bounded number of calls at a time, no
// waiting for batches. One goroutine owns all state; calls report to it.
type schedule struct {
	workers int
	clock   Clock
	retry   retryPolicy
	grace   time.Duration // from a stop until calls in flight are cancelled
	hooks   hooks

	ready   readyHeap
	asleep  sleepHeap
	busy    int
	results chan result
	stopped error // why no new calls start
}

type result struct {
	step *step
	err  error
}

// run returns when every step is done, failed or skipped, or when the run was stopped
// and the calls in flight have ended; then it returns the reason of the stop.
func (r *schedule) run(ctx context.Context, steps []*step) error {
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	r.results = make(chan result, r.workers)
	setHeights(steps)
	for _, s := range steps {
		if s.missing == 0 && s.state == blocked {
			r.admit(s)
		}
	}
	cancelled := ctx.Done()
	var grace, timer <-chan time.Time
	var timerFor time.Time
	for {
		r.wakeUp()
		if ctx.Err() != nil {
			r.stop(ctx.Err())
		}
		r.dispatch(ctx, calls)
		if r.busy == 0 && (r.stopped != nil || len(r.ready)+len(r.asleep) == 0) {
			r.failSleepers(calls)
			return r.stopped
		}
		if r.stopped != nil && grace == nil {
			cancelled, grace = nil, r.clock.After(r.grace)
		}
		if r.stopped == nil && len(r.asleep) > 0 && !r.asleep[0].wake.Equal(timerFor) {
			timerFor = r.asleep[0].wake
			timer = r.clock.After(timerFor.Sub(r.clock.Now()))
		}
		select {
		case res := <-r.results:
			r.settle(calls, r.drain(res))
		case <-timer:
			timer, timerFor = nil, time.Time{}
		case <-cancelled:
		case <-grace:
			cut()
		}
	}
}

// setHeights needs the steps in an order in which dependencies come first.
func setHeights(steps []*step) {
	for i := len(steps) - 1; i >= 0; i-- {
		for _, n := range steps[i].next {
			steps[i].height = max(steps[i].height, n.height+1)
		}
	}
}

func (r *schedule) stop(why error) {
	if r.stopped == nil {
		r.stopped = why
	}
}

// admit takes a step whose dependencies are all done.
func (r *schedule) admit(s *step) {
	if s.do == nil {
		r.complete(s)
		return
	}
	s.state = ready
	heap.Push(&r.ready, s)
}

func (r *schedule) complete(s *step) {
	s.state = done
	for _, n := range s.next {
		n.missing--
		if n.missing == 0 && n.state == blocked {
			r.admit(n)
		}
	}
}

// dispatch starts as many ready steps as there are free workers.
func (r *schedule) dispatch(ctx, calls context.Context) {
	if r.stopped != nil {
		return
	}
	var batch []*step
	for r.busy+len(batch) < r.workers && len(r.ready) > 0 {
		batch = append(batch, heap.Pop(&r.ready).(*step))
	}
	if len(batch) == 0 {
		return
	}
	if err := r.hooks.before(calls, batch); err != nil {
		r.putBack(batch)
		r.stop(err)
		return
	}
	if ctx.Err() != nil {
		r.putBack(batch)
		r.stop(errors.Join(ctx.Err(), r.hooks.withdrawn(calls, batch)))
		return
	}
	for _, s := range batch {
		s.state = running
		if s.calls == 0 {
			s.begun = r.clock.Now()
		}
		s.calls++
		r.busy++
		r.hooks.running(s)
		go call(calls, s, r.results)
	}
}

// putBack returns steps that were not called: a retried one keeps its last error.
func (r *schedule) putBack(batch []*step) {
	for _, s := range batch {
		if s.calls > 0 {
			s.state = asleep
			heap.Push(&r.asleep, s)
			continue
		}
		heap.Push(&r.ready, s)
	}
}

// call never fails to report: a panic or an ended goroutine is an error like others.
func call(ctx context.Context, s *step, results chan<- result) {
	err := errors.New("the task ended its goroutine instead of returning")
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
		results <- result{step: s, err: err}
	}()
	err = s.do(ctx)
}

// PanicError is the error of a task that panicked.
type PanicError struct {
	Value string
	Stack string
}

// Error names the panic; the stack is for logs.
func (e *PanicError) Error() string { return "the task panicked: " + e.Value }

func (r *schedule) drain(first result) []result {
	all := []result{first}
	for {
		select {
		case res := <-r.results:
			all = append(all, res)
		default:
			return all
		}
	}
}

// settle decides what becomes of steps whose calls have returned.
func (r *schedule) settle(calls context.Context, results []result) {
	var ended []*step
	now := r.clock.Now()
	for _, res := range results {
		s := res.step
		r.busy--
		s.err, s.ended = res.err, now
		if res.err == nil {
			s.state = done
			ended = append(ended, s)
			continue
		}
		wait, again := r.retry.next(s, now)
		if again && r.stopped == nil {
			s.state, s.wake = asleep, now.Add(wait)
			heap.Push(&r.asleep, s)
			r.hooks.retrying(s, s.err, wait)
			continue
		}
		s.state = failed
		ended = append(ended, s)
	}
	r.close(calls, ended)
}

// close reports ended steps and passes on what follows from them.
func (r *schedule) close(calls context.Context, ended []*step) {
	if len(ended) == 0 {
		return
	}
	if err := r.hooks.after(calls, ended); err != nil {
		r.stop(err)
	}
	for _, s := range ended {
		if s.state == done {
			r.complete(s)
		} else {
			r.skipAfter(s, s.id)
		}
	}
}

func (r *schedule) skipAfter(s *step, because ID) {
	for _, n := range s.next {
		if n.state != blocked {
			continue
		}
		n.state, n.because = skipped, because
		if n.do != nil {
			r.hooks.skipped(n)
		}
		r.skipAfter(n, because)
	}
}

func (r *schedule) wakeUp() {
	now := r.clock.Now()
	for r.stopped == nil && len(r.asleep) > 0 && !r.asleep[0].wake.After(now) {
		s := heap.Pop(&r.asleep).(*step)
		s.state = ready
		heap.Push(&r.ready, s)
	}
}

// failSleepers ends the steps that a stopped run will not try again.
func (r *schedule) failSleepers(calls context.Context) {
	var ended []*step
	for _, s := range r.ready {
		if s.calls > 0 {
			ended = append(ended, s)
		}
	}
	for len(r.asleep) > 0 {
		ended = append(ended, heap.Pop(&r.asleep).(*step))
	}
	for _, s := range ended {
		s.state = failed
		s.err = fmt.Errorf("stopped before another attempt: %w", s.err)
	}
	r.close(calls, ended)
}

// readyHeap yields the step with the most work behind it, then the first in graph
// order, so that two runs read alike.
type readyHeap []*step

func (h readyHeap) Len() int { return len(h) }
func (h readyHeap) Less(i, j int) bool {
	if h[i].height != h[j].height {
		return h[i].height > h[j].height
	}
	return h[i].index < h[j].index
}
func (h readyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *readyHeap) Push(x any)   { *h = append(*h, x.(*step)) }
func (h *readyHeap) Pop() any     { return popLast((*[]*step)(h)) }

// sleepHeap yields the step that wakes first.
type sleepHeap []*step

func (h sleepHeap) Len() int { return len(h) }
func (h sleepHeap) Less(i, j int) bool {
	if !h[i].wake.Equal(h[j].wake) {
		return h[i].wake.Before(h[j].wake)
	}
	return h[i].index < h[j].index
}
func (h sleepHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *sleepHeap) Push(x any)   { *h = append(*h, x.(*step)) }
func (h *sleepHeap) Pop() any     { return popLast((*[]*step)(h)) }

func popLast(h *[]*step) *step {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
