// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Step is one write of a run: the n-th, from 1, that a task makes in the cloud or the
// store, or that the run itself makes in a folder of the store.
type Step struct {
	Label string
	N     int
}

// IsTask reports whether the step is a task's, and not the run's own book-keeping.
func (s Step) IsTask() bool { return !strings.HasPrefix(s.Label, "run ") }

// Order is when a run ends at a step.
type Order int

// The orders.
const (
	BeforeCall   Order = iota // the intent is written, the call is not made
	BeforeAnswer              // the call was made, its answer is not seen
)

// String names the order as tests do.
func (o Order) String() string {
	if o == BeforeCall {
		return "before the call"
	}
	return "before the answer"
}

// Fuse is what stands between a run and both the cloud and the store. It lists the
// writes of a run, and can end the run at one of them as a killed process ends: from
// then on nothing more is written or answered.
type Fuse struct {
	mu    sync.Mutex
	seen  map[string]int
	steps []Step
	at    Step
	order Order
	fail  string // refuse the writes of this task
	blown bool
}

// NewFuse puts a fuse into a rig.
func NewFuse(r *Rig) *Fuse {
	f := &Fuse{seen: map[string]int{}}
	r.Wrap = func(c cloudup.Cloud) cloudup.Cloud { return &traced{Cloud: c} }
	r.Objects = &fused{Store: r.Objects, fuse: f}
	r.Wire.Between(func(req *http.Request, c Call) (*http.Response, error) {
		if !c.Writes {
			return nil, f.dead()
		}
		label := string(taskOf(req.Context()))
		if f.fails(label) {
			return r.World.Refuse(req, Denied), nil
		}
		return nil, f.before(label)
	}, func(req *http.Request, c Call) error {
		if !c.Writes {
			return f.dead()
		}
		return f.after(string(taskOf(req.Context())))
	})
	return f
}

// errKilled is what a dead process would not see. It is a cancelled context's error, so
// that nothing is tried again.
var errKilled = fmt.Errorf("the process was killed: %w", context.Canceled)

// Arm starts a new process, which ends at a step; the zero Step is none.
func (f *Fuse) Arm(at Step, order Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.steps, f.blown, f.at, f.order, f.fail = map[string]int{}, nil, false, at, order, ""
}

// Fail starts a new process, in which every write of one task is refused.
func (f *Fuse) Fail(label string) {
	f.Arm(Step{}, BeforeCall)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = label
}

// Steps returns the writes since the process began.
func (f *Fuse) Steps() []Step {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Step(nil), f.steps...)
}

// Blown reports whether the process has ended at its step.
func (f *Fuse) Blown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

func (f *Fuse) fails(label string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail != "" && f.fail == label
}

func (f *Fuse) dead() error {
	if f.Blown() {
		return errKilled
	}
	return nil
}

// before counts a write that is about to be made.
func (f *Fuse) before(label string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blown {
		return errKilled
	}
	f.seen[label]++
	step := Step{label, f.seen[label]}
	f.steps = append(f.steps, step)
	if step == f.at && f.order == BeforeCall {
		f.blown = true
		return errKilled
	}
	return nil
}

// after is told that the last write of a label was made.
func (f *Fuse) after(label string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == (Step{label, f.seen[label]}) && f.order == BeforeAnswer {
		f.blown = true
	}
	if f.blown {
		return errKilled
	}
	return nil
}

// fused is a store behind a fuse.
type fused struct {
	driver.Store
	fuse *Fuse
}

// Unwrap lets driver.As find the optional sides of the store below.
func (s *fused) Unwrap() driver.Store { return s.Store }

// label says whose write of an object it is: of the task that signed it, of the task
// that keeps the object, or of the run.
func label(ctx context.Context, key string) string {
	if id := taskOf(ctx); id != "" {
		return string(id)
	}
	_, rest, _ := strings.Cut(key, "/")
	folder, name, _ := strings.Cut(rest, "/")
	switch folder {
	case "nodes", "addons", "assets", "values":
		return "store/object/" + rest
	case "pki":
		return "store/keyset/" + strings.TrimSuffix(name, ".yaml")
	}
	return "run " + folder
}

func (s *fused) Get(ctx context.Context, key string) (driver.Object, error) {
	if err := s.fuse.dead(); err != nil {
		return driver.Object{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s *fused) List(ctx context.Context, prefix string, o driver.ListOptions) (driver.Page, error) {
	if err := s.fuse.dead(); err != nil {
		return driver.Page{}, err
	}
	return s.Store.List(ctx, prefix, o)
}

func (s *fused) write(ctx context.Context, key string, do func() (string, error)) (string, error) {
	of := label(ctx, key)
	if s.fuse.fails(of) {
		return "", &driver.Error{Op: "write", Name: key, Kind: driver.ErrDenied}
	}
	if err := s.fuse.before(of); err != nil {
		return "", err
	}
	version, err := do()
	if lost := s.fuse.after(of); lost != nil {
		return "", lost
	}
	return version, err
}

func (s *fused) Put(ctx context.Context, key string, data []byte) (string, error) {
	return s.write(ctx, key, func() (string, error) { return s.Store.Put(ctx, key, data) })
}

func (s *fused) PutIfAbsent(ctx context.Context, key string, data []byte) (string, error) {
	return s.write(ctx, key, func() (string, error) { return s.Store.PutIfAbsent(ctx, key, data) })
}

func (s *fused) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	return s.write(ctx, key, func() (string, error) { return s.Store.PutIfMatch(ctx, key, data, version) })
}

func (s *fused) Delete(ctx context.Context, key string) error {
	_, err := s.write(ctx, key, func() (string, error) { return "", s.Store.Delete(ctx, key) })
	return err
}
