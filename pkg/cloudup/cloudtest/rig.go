// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cloudup/all"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Clock jumps over pauses: who waits wakes at once, and then it is later. World and
// engine share one, so that what the one waits for has happened in the other.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// longest is the longest pause that is jumped over: longer ones bound something, as the
// grace of calls in flight and the signs of life of a lock do.
const longest = 16 * time.Second

// After fires at once, when it is later by d.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	if d > longest {
		return time.After(d)
	}
	target, fired := c.Now().Add(d), make(chan time.Time, 1)
	time.AfterFunc(min(d, time.Millisecond), func() {
		c.mu.Lock()
		c.ahead = max(c.ahead, time.Until(target))
		c.mu.Unlock()
		fired <- target
	})
	return fired
}

// Rig is a world, a store and the operations of the commands on them.
type Rig struct {
	T       testing.TB
	Harness Harness
	World   World
	Clock   *Clock
	Wire    *Wire
	Objects driver.Store // of the state store

	// Wrap, when set, stands round the clouds and the store of what is run from then on.
	Wrap func(cloudup.Cloud) cloudup.Cloud

	uids int
	log  *lockedBuffer
}

// NewRig starts an empty world with an empty store.
func NewRig(t testing.TB, h Harness) *Rig {
	t.Helper()
	clock := &Clock{}
	w := h.Start(t, clock)
	r := &Rig{
		T: t, Harness: h, World: w, Clock: clock, Wire: &Wire{world: w},
		Objects: mem.New("conformance", nil), log: &lockedBuffer{},
	}
	t.Cleanup(func() {
		if t.Failed() && r.log.Len() > 0 {
			t.Log(r.log.String())
		}
	})
	return r
}

// Deps are what the operations work on, fresh as for a new process.
func (r *Rig) Deps() cluster.Deps {
	return cluster.Deps{
		Store: statestore.New(r.Objects, statestore.Options{User: "conformance", Host: "test", Tool: "slipway test"}),
		OpenCloud: func(ctx context.Context, m *api.Manifest, l cloudup.Ledger) (cloudup.Cloud, error) {
			c, err := all.Open(ctx, m, all.Options{Ledger: l, HTTPClient: &http.Client{Transport: r.Wire}})
			if err == nil && r.Wrap != nil {
				c = r.Wrap(c)
			}
			return c, err
		},
		Sealing: sealing,
		NewUID:  func() string { r.uids++; return fmt.Sprintf("uid-%d", r.uids) },
		Clock:   r.Clock, Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Tool: "slipway test", Who: "conformance", Host: "test",
	}
}

// operator is whom the keys of all test clusters are sealed to.
var operator = sync.OnceValues(func() ([]pki.Wrapper, error) {
	identity, _, err := pki.NewAgeIdentity()
	if err != nil {
		return nil, err
	}
	return pki.AgeIdentities(identity)
})

func sealing(*api.Manifest) cluster.Sealing {
	to, err := operator()
	return cluster.Sealing{Ring: pki.Ring(to...), To: func(context.Context, cluster.OwnKey) ([]pki.Wrapper, error) { return to, err }}
}

// Create stores a new cluster.
func (r *Rig) Create(o api.CreateOptions) *api.Manifest {
	r.T.Helper()
	m, err := api.New(o)
	if err != nil {
		r.T.Fatal(err)
	}
	created, err := cluster.Create(r.T.Context(), r.Deps(), m, cluster.CreateOptions{})
	if err != nil {
		r.T.Fatalf("create %s: %v", o.Name, err)
	}
	return created.Manifest
}

// Change edits the stored spec.
func (r *Rig) Change(name string, edit func(m *api.Manifest) error) {
	r.T.Helper()
	if _, err := cluster.Change(r.T.Context(), r.Deps(), name, "test", edit); err != nil {
		r.T.Fatalf("change %s: %v", name, err)
	}
}

// Options are those of a run of a cluster.
func Options(name string, yes bool) cluster.UpdateOptions {
	return cluster.UpdateOptions{Name: name, Yes: yes, Command: "test"}
}

// Plan plans and changes nothing.
func (r *Rig) Plan(name string) *tasks.Plan {
	r.T.Helper()
	got, err := cluster.Update(r.T.Context(), r.Deps(), Options(name, false))
	if err != nil {
		r.T.Fatalf("plan %s: %v", name, err)
	}
	return got.Plan
}

// Apply plans and applies. What holds data may be lost: tests have no other.
func (r *Rig) Apply(name string) *cluster.Result {
	r.T.Helper()
	got, err := r.TryApply(name)
	if err != nil {
		r.T.Fatalf("apply %s: %v", name, err)
	}
	return got
}

// TryApply is Apply with the error.
func (r *Rig) TryApply(name string) (*cluster.Result, error) {
	o := Options(name, true)
	o.Show = func(p *tasks.Plan) error {
		for _, i := range p.Items {
			if i.Data && i.Action == tasks.Delete {
				return fmt.Errorf("%s holds data and would be deleted", i.ID)
			}
		}
		return nil
	}
	return cluster.Update(r.T.Context(), r.Deps(), o)
}

// Delete deletes a cluster and fails the test if anything goes wrong.
func (r *Rig) Delete(name string) *cluster.Result {
	r.T.Helper()
	got, err := cluster.Delete(r.T.Context(), r.Deps(), Options(name, true))
	if err != nil {
		r.T.Fatalf("delete %s: %v", name, err)
	}
	return got
}

// Settled fails the test when a plan is not empty.
func (r *Rig) Settled(name string) {
	r.T.Helper()
	if p := r.Plan(name); p.Pending() {
		r.T.Fatalf("the plan of %s after its apply is not empty:\n%s", name, Changes(p))
	}
}

// Snapshot lists the world.
func (r *Rig) Snapshot() map[string]string {
	r.T.Helper()
	objects, err := r.World.Objects(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	return objects
}

// StoreSnapshot lists the state store but for what begins with one of some prefixes.
func (r *Rig) StoreSnapshot(but ...string) map[string]string {
	r.T.Helper()
	out := map[string]string{}
	o := driver.ListOptions{}
	for {
		page, err := r.Objects.List(r.T.Context(), "", o)
		if err != nil {
			r.T.Fatal(err)
		}
		for _, info := range page.Objects {
			if slices.ContainsFunc(but, func(p string) bool { return strings.HasPrefix(info.Key, p) }) {
				continue
			}
			object, err := r.Objects.Get(r.T.Context(), info.Key)
			if err != nil {
				r.T.Fatal(err)
			}
			out[info.Key] = string(object.Data)
		}
		if page.Next == "" {
			return out
		}
		o.Token = page.Next
	}
}

// LedgerEmpty fails the test when the ledger of a cluster still has entries.
func (r *Rig) LedgerEmpty(name string) {
	r.T.Helper()
	l, err := r.Deps().Store.Ledger(r.T.Context(), name)
	if err != nil {
		r.T.Fatal(err)
	}
	if len(l.Entries) > 0 {
		r.T.Errorf("the ledger of %s still holds %v", name, l.Entries)
	}
}

// Changes lists what a plan would do, one field a line.
func Changes(p *tasks.Plan) string {
	var b strings.Builder
	for _, i := range p.Items {
		if !i.Action.Pending() {
			continue
		}
		fmt.Fprintf(&b, "%c %s %s\n", i.Action.Symbol(), i.ID, i.Reason)
		for _, f := range i.Fields {
			fmt.Fprintf(&b, "    %s: %s -> %s\n", f.Path, f.Old, f.New)
		}
	}
	return b.String()
}

// Same fails the test and names the objects that differ between two snapshots.
func Same(t testing.TB, what string, before, after map[string]string) {
	t.Helper()
	if maps.Equal(before, after) {
		return
	}
	n := 0
	say := func(format string, args ...any) {
		if n++; n <= 5 {
			t.Errorf(format, args...)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if now, there := after[k]; !there {
			say("%s: %s is gone; it was %s", what, k, before[k])
		} else if now != before[k] {
			say("%s: %s changed\nfrom %s\nto   %s", what, k, before[k], now)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[k]; !there {
			say("%s: %s is new: %s", what, k, after[k])
		}
	}
}

// lockedBuffer keeps the log of a rig.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}
