// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"context"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Call is one call of a driver.
type Call struct {
	Op  string // "read", "write", "create", "replace", "delete" or "list"
	Key string // for "list" the prefix
}

// Writes reports whether the call changes the store.
func (c Call) Writes() bool { return c.Op != "read" && c.Op != "list" }

// Fault is what happens to a call; the zero value is none.
type Fault struct {
	Err  error // the call fails with it
	Late bool  // the call is made all the same, and only its answer is lost
	Cut  int   // of a read: so many bytes are missing at the end
}

// Faulty is a driver with faults on request and a log of its calls.
type Faulty struct {
	driver.Store
	// Decide returns what happens to a call; nil means that nothing does. It may be
	// called by many goroutines.
	Decide func(Call) Fault

	mu    sync.Mutex
	calls []Call
}

// Calls returns all calls up to now, and forgets them.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// Unwrap returns the driver without faults.
func (f *Faulty) Unwrap() driver.Store { return f.Store }

func (f *Faulty) do(op, key string, call func() error) (Fault, error) {
	c := Call{op, key}
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	var fault Fault
	if f.Decide != nil {
		fault = f.Decide(c)
	}
	if fault.Err == nil {
		return fault, call()
	}
	if fault.Late {
		call() // its answer is lost, be it good or bad
	}
	return fault, &driver.Error{Op: op, Name: f.URL() + "/" + key, Kind: fault.Err, Hint: "injected"}
}

// Get implements driver.Store.
func (f *Faulty) Get(ctx context.Context, key string) (o driver.Object, err error) {
	fault, err := f.do("read", key, func() error { o, err = f.Store.Get(ctx, key); return err })
	if err != nil {
		return driver.Object{}, err
	}
	o.Data = o.Data[:max(0, len(o.Data)-fault.Cut)]
	return o, nil
}

// Put implements driver.Store.
func (f *Faulty) Put(ctx context.Context, key string, data []byte) (v string, err error) {
	_, err = f.do("write", key, func() error { v, err = f.Store.Put(ctx, key, data); return err })
	return v, err
}

// PutIfAbsent implements driver.Store.
func (f *Faulty) PutIfAbsent(ctx context.Context, key string, data []byte) (v string, err error) {
	_, err = f.do("create", key, func() error { v, err = f.Store.PutIfAbsent(ctx, key, data); return err })
	return v, err
}

// PutIfMatch implements driver.Store.
func (f *Faulty) PutIfMatch(ctx context.Context, key string, data []byte, version string) (v string, err error) {
	_, err = f.do("replace", key, func() error { v, err = f.Store.PutIfMatch(ctx, key, data, version); return err })
	return v, err
}

// Delete implements driver.Store.
func (f *Faulty) Delete(ctx context.Context, key string) error {
	_, err := f.do("delete", key, func() error { return f.Store.Delete(ctx, key) })
	return err
}

// List implements driver.Store.
func (f *Faulty) List(ctx context.Context, prefix string, o driver.ListOptions) (p driver.Page, err error) {
	_, err = f.do("list", prefix, func() error { p, err = f.Store.List(ctx, prefix, o); return err })
	if err != nil {
		return driver.Page{}, err
	}
	return p, nil
}
