// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Store returns a store that checks the lock before each write below its cluster, so
// that a holder which was paused, and unlocked meanwhile, writes no more.
func (l *Lock) Store() *Store {
	guarded := *l.s
	guarded.d = &fence{Store: l.s.d, lock: l}
	return &guarded
}

// fence is a driver that asks the lock before it writes.
type fence struct {
	driver.Store
	lock *Lock
}

// Unwrap lets driver.As find the optional sides of the store below.
func (f *fence) Unwrap() driver.Store { return f.Store }

func (f *fence) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := f.check(ctx, key); err != nil {
		return "", err
	}
	return f.Store.Put(ctx, key, data)
}

func (f *fence) PutIfAbsent(ctx context.Context, key string, data []byte) (string, error) {
	if err := f.check(ctx, key); err != nil {
		return "", err
	}
	return f.Store.PutIfAbsent(ctx, key, data)
}

func (f *fence) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	if err := f.check(ctx, key); err != nil {
		return "", err
	}
	return f.Store.PutIfMatch(ctx, key, data, version)
}

func (f *fence) Delete(ctx context.Context, key string) error {
	if err := f.check(ctx, key); err != nil {
		return err
	}
	return f.Store.Delete(ctx, key)
}

// check leaves the locks themselves free: they are how a lock is ended.
func (f *fence) check(ctx context.Context, key string) error {
	rest, ours := strings.CutPrefix(key, f.lock.cluster+"/")
	if !ours || strings.HasPrefix(rest, "lock/") {
		return nil
	}
	return f.lock.Check(ctx)
}
