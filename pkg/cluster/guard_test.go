// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// keys returns the keys of a memory store, by its name.
func keys(t *testing.T, name string) []string {
	t.Helper()
	page, err := mem.New(name, time.Now).List(t.Context(), "", driver.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range page.Objects {
		out = append(out, o.Key)
	}
	return out
}

func TestAClusterThatIsNotThereIsNotLocked(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	before := len(keys(t, t.Name()))
	o := UpdateOptions{Name: "other.example.com", Yes: true}
	for verb, run := range map[string]func() error{
		"update":     func() error { _, err := Update(t.Context(), y.d, o); return err },
		"delete":     func() error { _, err := Delete(t.Context(), y.d, o); return err },
		"unregister": func() error { return Unregister(t.Context(), y.d, o) },
		"gc":         func() error { _, err := Collect(t.Context(), y.d, GarbageOptions{UpdateOptions: o}); return err },
		"group":      func() error { _, err := DeleteGroup(t.Context(), y.d, "nodes-us-east-1a", o); return err },
		"secret": func() error {
			return CreateSecret(t.Context(), y.d, "token", []byte("x"), false, KeyOptions{Cluster: o.Name})
		},
	} {
		if err := run(); !errors.Is(err, statestore.ErrNotFound) {
			t.Errorf("%s: got %v", verb, err)
		}
	}
	if after := keys(t, t.Name()); len(after) != before {
		t.Errorf("something was written: %q", after)
	}
}

// meanwhile is a clock by which something happens while a run waits for a lock.
type meanwhile struct {
	*gcYard
	happens func()
}

func (m meanwhile) After(d time.Duration) <-chan time.Time {
	if d != lockPoll {
		return nil
	}
	m.happens()
	over := make(chan time.Time)
	close(over)
	return over
}

func TestAClusterThatIsDeletedMeanwhileGetsNoKey(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	l, err := y.d.Store.Lock(t.Context(), yard, statestore.LockInfo{})
	if err != nil {
		t.Fatal(err)
	}
	d := y.d
	d.Clock = meanwhile{y, func() {
		if err := errors.Join(y.d.Store.Tombstone(t.Context(), yard, 1, statestore.Meta{}), l.Release(t.Context())); err != nil {
			t.Error(err)
		}
	}}
	err = CreateSecret(t.Context(), d, "token", []byte("x"), false, KeyOptions{Cluster: yard, LockWait: time.Minute})
	if !errors.Is(err, statestore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for _, key := range keys(t, t.Name()) {
		if key == yard+"/secrets/token" {
			t.Error("a deleted cluster got a secret")
		}
	}
	if h, err := y.d.Store.LockHolder(t.Context(), yard); h != nil || err != nil {
		t.Errorf("the lock stays: %v, %v", h, err)
	}
}

func TestWhatForgetsWaitsForARun(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	l, err := y.d.Store.Lock(t.Context(), yard, statestore.LockInfo{Command: "update"})
	if err != nil {
		t.Fatal(err)
	}
	o := UpdateOptions{Name: yard, Yes: true}
	if err := Unregister(t.Context(), y.d, o); !errors.As(err, new(*statestore.LockedError)) {
		t.Errorf("unregister: got %v", err)
	}
	// The first apply runs, and nothing is applied yet: the group may have machines.
	if _, err := DeleteGroup(t.Context(), y.d, "nodes-us-east-1a", o); !errors.As(err, new(*statestore.LockedError)) {
		t.Errorf("delete instancegroup: got %v", err)
	}
	if c, err := Load(t.Context(), y.d, yard); err != nil || c.Group("nodes-us-east-1a") == nil {
		t.Errorf("something was changed: %v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Unregister(t.Context(), y.d, o); err != nil {
		t.Error(err)
	}
	if l, err = y.d.Store.Lock(t.Context(), yard, statestore.LockInfo{}); err != nil {
		t.Fatal(err)
	}
	if err := Purge(t.Context(), y.d, o); !errors.As(err, new(*statestore.LockedError)) {
		t.Errorf("purge: got %v", err)
	}
	if err := errors.Join(l.Release(t.Context()), Purge(t.Context(), y.d, o)); err != nil {
		t.Error(err)
	}
	if err := Purge(t.Context(), y.d, o); !errors.Is(err, statestore.ErrNotFound) {
		t.Errorf("nothing left to purge: got %v", err)
	}
}

func TestAGroupOfAnApplyThatWasCutOffMayHaveMachines(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	began := func(want bool) {
		t.Helper()
		if got, err := y.d.everBegan(t.Context(), yard); got != want || err != nil {
			t.Errorf("got %t, %v", got, err)
		}
	}
	began(false)
	run := func(n string) {
		t.Helper()
		if err := y.d.Store.AppendJournal(t.Context(), yard, "20261201T100000.000000000-r"+n, 1, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	run("1")
	began(true)
	if err := Unregister(t.Context(), y.d, UpdateOptions{Name: yard}); err != nil {
		t.Fatal(err)
	}
	m, err := api.New(api.CreateOptions{Name: yard, Zones: []string{"us-east-1a"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Cluster.Metadata.UID = "uid-2"
	y.revise(2, m)
	began(false) // the journal is of a cluster that is gone
	run("3")
	began(true)
}

// A machine whose clock is ahead runs once; what runs after it is still the last run.
func TestJournalsSortByRunsNotByClocks(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	right := y.now
	for n, at := range []time.Time{right, right.AddDate(3, 0, 0), right, right} {
		y.now = at
		j, err := newJournal(t.Context(), y.d, yard, tasks.Header{Revision: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Intent(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		runs, err := y.d.Store.JournalRuns(t.Context(), yard)
		if err != nil || len(runs) != n+1 || runs[n] != j.run {
			t.Errorf("run %d is %s, the runs are %q, %v", n, j.run, runs, err)
		}
	}
}
