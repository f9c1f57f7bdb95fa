// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// actionsOf returns the actions of calls, each once, sorted.
func actionsOf(calls []Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Action)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runDenied: with one right missing, for each action that a life needs in turn, the
// error names the action, what does not depend on it is done, and the run after the
// right is there completes.
func runDenied(t *testing.T, h Harness) {
	t.Parallel()
	r := NewRig(t, h)
	o := HAPrivate(t, h, r.World)
	r.Create(o)
	mark := r.Wire.Mark()
	full := r.Apply(o.Name)
	applying := r.Wire.Since(mark)
	wanted := Canonical(r.Snapshot(), h.Volatile)
	mark = r.Wire.Mark()
	r.Delete(o.Name)
	deleting := Writes(r.Wire.Since(mark))
	for _, action := range actionsOf(Writes(applying)) {
		t.Run("apply/"+action, func(t *testing.T) {
			t.Parallel()
			r := NewRig(t, h)
			HAPrivate(t, h, r.World)
			r.Create(o)
			r.deny(action)
			got, err := r.TryApply(o.Name)
			named(t, err, action)
			if got != nil {
				left := len(got.Summary.Skipped) + len(got.Summary.Failed) + len(got.Summary.NotBegun)
				if got.Summary.Interrupted || left+got.Summary.Done[tasks.Create] != full.Summary.Done[tasks.Create] {
					t.Errorf("independent branches did not finish: %+v", got.Summary)
				}
			}
			r.Wire.Between(nil, nil)
			r.Apply(o.Name)
			r.Settled(o.Name)
			SameLines(t, "the world of the second run", wanted, Canonical(r.Snapshot(), h.Volatile))
		})
	}
	t.Run("plan", func(t *testing.T) {
		t.Parallel()
		r := NewRig(t, h)
		HAPrivate(t, h, r.World)
		r.Create(o)
		r.Apply(o.Name)
		mark := r.Wire.Mark()
		r.Plan(o.Name)
		for _, action := range actionsOf(r.Wire.Since(mark)) {
			r.deny(action)
			_, err := cluster.Update(t.Context(), r.Deps(), Options(o.Name, false))
			named(t, err, action)
		}
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		r := NewRig(t, h)
		HAPrivate(t, h, r.World)
		before := r.Snapshot()
		r.Create(o)
		r.Apply(o.Name)
		for _, action := range actionsOf(deleting) {
			r.deny(action)
			_, err := cluster.Delete(t.Context(), r.Deps(), Options(o.Name, true))
			named(t, err, action)
			r.Wire.Between(nil, nil)
			r.Apply(o.Name) // what was deleted comes back, and the next right is missed
		}
		r.Delete(o.Name)
		Same(t, "after the deletion", before, r.Snapshot())
		r.LedgerEmpty(o.Name)
	})
}

// deny takes a right away.
func (r *Rig) deny(action string) {
	r.Wire.Between(func(req *http.Request, c Call) (*http.Response, error) {
		if c.Action == action {
			return r.World.Refuse(req, Denied), nil
		}
		return nil, nil
	}, nil)
}

func named(t *testing.T, err error, action string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), action) {
		t.Errorf("without the right to %s: %v", action, err)
	}
}

// runThrottled: calls that are refused for their number are made later. Each action is
// refused once, and one of them more often than an SDK repeats it by itself.
func runThrottled(t *testing.T, h Harness) {
	t.Parallel()
	r := NewRig(t, h)
	o := HAPrivate(t, h, r.World)
	before := r.Snapshot()
	r.Create(o)
	var mu sync.Mutex
	refused, stubborn := map[string]int{}, ""
	r.Wire.Between(func(req *http.Request, c Call) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if stubborn == "" && c.Writes {
			stubborn = c.Action
		}
		if refused[c.Action]++; refused[c.Action] == 1 || c.Action == stubborn && refused[c.Action] <= 4 {
			return r.World.Refuse(req, Throttled), nil
		}
		return nil, nil
	}, nil)
	r.Apply(o.Name)
	r.Settled(o.Name)
	r.Delete(o.Name)
	r.Wire.Between(nil, nil)
	t.Logf("%d actions were refused, %s several times", len(refused), stubborn)
	Same(t, "after the deletion", before, r.Snapshot())
}

// runTogether: of two applies at the same time one works and the other is told who
// does; afterwards there is one cluster.
func runTogether(t *testing.T, h Harness) {
	t.Parallel()
	r := NewRig(t, h)
	name := Shapes[0].Make(r)
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.Wire.Between(func(_ *http.Request, c Call) (*http.Response, error) {
		if c.Writes {
			once.Do(func() { close(begun); <-goOn })
		}
		return nil, nil
	}, nil)
	first := make(chan error)
	go func() {
		_, err := r.TryApply(name)
		first <- err
	}()
	<-begun
	_, second := r.TryApply(name)
	var locked *statestore.LockedError
	if !errors.As(second, &locked) {
		t.Errorf("the second apply was not refused by the lock: %v", second)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Errorf("the first apply: %v", err)
	}
	r.Settled(name)
	r.Delete(name)
}
