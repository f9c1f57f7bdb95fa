// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

var errDenied = errors.New("access denied")

func TestApplyFailureSkipsDependentsOnce(t *testing.T) {
	t.Parallel()
	vpc := created("aws/vpc/x")
	vpc.apply = func(context.Context) error { return errDenied }
	kept := &fakeTask{id: "aws/subnet/x", deps: []tasks.Task{vpc}}
	group := created("aws/group/x", kept)
	other := created("aws/role/x")
	old := removed("aws/volume/old")
	p := plan(t, graph(t, []tasks.Task{vpc, kept, group, other}, old))
	rec := &recorder{}
	sum, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{Reporter: rec, Journal: rec})

	if got := err.Error(); got != "create aws/vpc/x: access denied" {
		t.Errorf("error = %q", got)
	}
	if !errors.Is(err, errDenied) {
		t.Error("the cause is lost")
	}
	if sum.Interrupted || sum.Done[tasks.Create] != 1 || len(sum.Failed) != 1 {
		t.Errorf("summary = %+v", sum)
	}
	if diff := cmp.Diff([]tasks.ID{"aws/group/x", "aws/volume/old"}, sum.Skipped); diff != "" {
		t.Error(diff)
	}
	if rec.skipped["aws/volume/old"] != "aws/vpc/x" {
		t.Errorf("skipped because %q", rec.skipped["aws/volume/old"])
	}
	if len(rec.intents) != 2 || len(rec.results) != 2 || rec.ended != 1 {
		t.Errorf("events: %v", rec.events)
	}
}

func TestApplyOrderIsByWorkBehindThenByGraph(t *testing.T) {
	t.Parallel()
	a, b := created("a"), created("b")
	c := created("c", b)
	d := created("d", c)
	p := plan(t, graph(t, []tasks.Task{a, b, c, d}, removed("r1"), removed("r2")))
	rec := &recorder{}
	if _, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{Workers: 1, Journal: rec}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rec.intents); got != "[b c a d r1 r2]" {
		t.Errorf("order %s", got)
	}
}

func TestRetrySchedules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		throttled, waiting, busy := created("throttled"), created("waiting"), created("busy")
		throttled.apply = func(context.Context) error { return tasks.Retry(errors.New("slow down")) }
		var waits int
		waiting.apply = func(context.Context) error {
			if waits++; waits <= 11 {
				return fmt.Errorf("listener: %w", tasks.Wait(errors.New("balancer is provisioning")))
			}
			return nil
		}
		p := plan(t, graph(t, []tasks.Task{throttled, waiting, busy}))
		rec := &recorder{}
		sum, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{
			Workers: 1, Reporter: rec, Jitter: same, TaskDeadline: time.Minute,
		})
		if got := fmt.Sprint(rec.pauses["throttled"]); got != "[500ms 1s 2s 4s 8s 15s 15s]" {
			t.Errorf("retries after %s", got)
		}
		if got := fmt.Sprint(rec.pauses["waiting"]); !strings.HasPrefix(got, "[200ms 300ms 450ms 675ms 1.0125s") ||
			!strings.HasSuffix(got, " 5s 5s 5s]") {
			t.Errorf("waits of %s", got)
		}
		if sum.Done[tasks.Create] != 2 || len(sum.Failed) != 1 {
			t.Errorf("summary %+v", sum)
		}
		if got := err.Error(); got != "create throttled: gave up after 46s and 8 attempts: slow down" {
			t.Errorf("error %q", got)
		}
	})
}

func TestDefaultJitterStaysInUpperHalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries int
		x := created("x")
		x.apply = func(context.Context) error {
			if tries++; tries < 4 {
				return tasks.Retry(errDenied)
			}
			return nil
		}
		rec := &recorder{}
		if _, err := tasks.Apply(t.Context(), plan(t, graph(t, []tasks.Task{x})), tasks.ApplyOptions{Reporter: rec}); err != nil {
			t.Fatal(err)
		}
		for i, full := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			if got := rec.pauses["x"][i]; got < full/2 || got > full {
				t.Errorf("pause %d is %s", i, got)
			}
		}
	})
}

func TestCancelLetsCallsInFlightEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		quick, stuck, sleepy := created("quick"), created("stuck"), created("sleepy")
		quick.apply = func(ctx context.Context) error {
			cancel()
			time.Sleep(20 * time.Second)
			return ctx.Err()
		}
		stuck.apply = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		sleepy.apply = func(context.Context) error { return tasks.Retry(errDenied) }
		later := created("later", quick)
		p := plan(t, graph(t, []tasks.Task{sleepy, stuck, quick, later}))
		rec := &recorder{}
		begun := time.Now()
		sum, err := tasks.Apply(ctx, p, tasks.ApplyOptions{Journal: rec, Grace: 30 * time.Second})
		if !errors.Is(err, context.Canceled) || !sum.Interrupted {
			t.Errorf("error %v, summary %+v", err, sum)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("took %s", took)
		}
		if sum.Done[tasks.Create] != 1 || len(sum.Failed) != 2 || !slices.Equal(sum.NotBegun, []tasks.ID{"later"}) {
			t.Errorf("summary %+v", sum)
		}
		if len(rec.results) != 3 {
			t.Errorf("results %+v", rec.results)
		}
	})
}

func TestGuardAndJournalStopTheRun(t *testing.T) {
	t.Parallel()
	lost := errors.New("the lock is no longer ours")
	for _, c := range []struct {
		name    string
		options func(*recorder, *tasks.ApplyOptions)
		made    int
	}{
		{"guard", func(_ *recorder, o *tasks.ApplyOptions) {
			n := 0
			o.Guard = func(context.Context) error {
				if n++; n > 1 {
					return lost
				}
				return nil
			}
		}, 1},
		{"intent", func(r *recorder, _ *tasks.ApplyOptions) { r.failIntent = lost }, 0},
		{"result", func(r *recorder, _ *tasks.ApplyOptions) { r.failResult = lost }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := created("a")
			p := plan(t, graph(t, []tasks.Task{a, created("b", a)}))
			rec := &recorder{}
			o := tasks.ApplyOptions{Reporter: rec, Journal: rec}
			c.options(rec, &o)
			sum, err := tasks.Apply(t.Context(), p, o)
			if !errors.Is(err, lost) || !sum.Interrupted || rec.ended != 1 {
				t.Errorf("error %v, summary %+v", err, sum)
			}
			if sum.Done[tasks.Create] != c.made || len(sum.NotBegun) != 2-c.made {
				t.Errorf("summary %+v", sum)
			}
		})
	}
}

func TestCancelDuringIntentBeginsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a := created("a")
	a.apply = func(context.Context) error { t.Error("called"); return nil }
	rec := &recorder{}
	sum, err := tasks.Apply(ctx, plan(t, graph(t, []tasks.Task{a})), tasks.ApplyOptions{
		Journal: rec, Guard: func(context.Context) error { cancel(); return nil },
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(sum.NotBegun, []tasks.ID{"a"}) {
		t.Errorf("error %v, summary %+v", err, sum)
	}
	if len(rec.results) != 1 || !rec.results[0].NotBegun {
		t.Errorf("results %+v", rec.results)
	}
}

func TestPanicAndGoexitAreErrorsOfTheTask(t *testing.T) {
	t.Parallel()
	a, b := created("a"), created("b")
	a.apply = func(context.Context) error { panic("index out of range") }
	b.apply = func(context.Context) error { runtime.Goexit(); return nil }
	_, err := tasks.Apply(t.Context(), plan(t, graph(t, []tasks.Task{a, b})), tasks.ApplyOptions{})
	want := "create a: the task panicked: index out of range\ncreate b: the task ended its goroutine instead of returning"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	var p *tasks.PanicError
	if !errors.As(err, &p) || !strings.Contains(p.Stack, "apply_test.go") {
		t.Error("no stack")
	}
}

func TestApplyRefusesForeignAndUsedPlans(t *testing.T) {
	t.Parallel()
	p := plan(t, graph(t, []tasks.Task{created("a")}))
	b, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := tasks.DecodePlan(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tasks.Apply(t.Context(), saved, tasks.ApplyOptions{}); err == nil {
		t.Error("a decoded plan was applied")
	}
	if _, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{}); err == nil {
		t.Error("a plan was applied twice")
	}
}

func TestSleepingTasksDoNotHoldWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		slow := created("slow")
		slow.apply = func(context.Context) error {
			if !ready.Load() {
				return tasks.Wait(errDenied)
			}
			return nil
		}
		other := created("other")
		other.apply = func(context.Context) error { ready.Store(true); return nil }
		sum, err := tasks.Apply(t.Context(), plan(t, graph(t, []tasks.Task{slow, other})),
			tasks.ApplyOptions{Workers: 1, Jitter: same})
		if err != nil || sum.Took != 200*time.Millisecond {
			t.Errorf("%v, %+v", err, sum)
		}
	})
}

func TestBigGraphIsFast(t *testing.T) {
	t.Parallel()
	const n = 5000
	var all []tasks.Task
	var mu sync.Mutex
	applied := 0
	for i := range n {
		x := created(tasks.ID(fmt.Sprintf("t/%04d", i)))
		for _, back := range []int{1, 7, 100} {
			if i%50 != 0 && i >= back {
				x.deps = append(x.deps, all[i-back])
			}
		}
		x.change.Fields = []tasks.Field{{Path: "size", New: tasks.V(i)}}
		x.apply = func(context.Context) error { mu.Lock(); applied++; mu.Unlock(); return nil }
		all = append(all, x)
	}
	begun := time.Now()
	p := plan(t, graph(t, all))
	if _, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); applied != n || took > 5*time.Second {
		t.Errorf("%d applied in %s", applied, took)
	}
}
