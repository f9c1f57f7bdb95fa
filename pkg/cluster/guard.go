// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// releaseTime bounds the release of a lock after an interrupt.
const releaseTime = 10 * time.Second

// guard says whether a run still holds its lock.
type guard func(context.Context) error

// locked runs an operation, under the cluster's lock when it will change something. run
// gets a store that writes nothing once the lock is lost, and the guard for the rest.
func (d Deps) locked(ctx context.Context, o UpdateOptions,
	run func(ctx context.Context, d Deps, still guard) (*Result, error)) (result *Result, err error) {
	if !o.Yes {
		return run(ctx, d, func(context.Context) error { return nil })
	}
	err = d.holding(ctx, o, func(ctx context.Context, d Deps, still guard) error {
		result, err = run(ctx, d, still)
		return err
	})
	return result, err
}

// holding runs a change while it holds the lock of the cluster that o names. What change
// needs to know of the cluster it reads itself: waiting for the lock may have taken long.
func (d Deps) holding(ctx context.Context, o UpdateOptions, change func(ctx context.Context, d Deps, still guard) error) error {
	// A cluster that is not there is not locked: that would leave its name in the store.
	if _, err := d.Store.Latest(ctx, o.Name); err != nil {
		return err
	}
	return d.underLock(ctx, o, change)
}

// underLock takes a cluster's lock for a change and releases it.
func (d Deps) underLock(ctx context.Context, o UpdateOptions, change func(ctx context.Context, d Deps, still guard) error) (err error) {
	lock, err := d.lock(ctx, o.Name, o.Command, o.LockWait)
	if err != nil {
		return err
	}
	defer func() {
		// An interrupt must not leave the lock behind.
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if lost := lock.Release(release); !errors.As(err, new(*statestore.LostLockError)) {
			err = errors.Join(err, lost)
		}
	}()
	stop := d.beat(ctx, lock)
	defer stop()
	d.Store = lock.Store()
	return change(ctx, d, lock.Check)
}

// lockPoll is how often a run that waits for a lock looks again.
const lockPoll = time.Second

// lock takes a cluster's lock, waiting for another holder up to wait.
func (d Deps) lock(ctx context.Context, name, command string, wait time.Duration) (*statestore.Lock, error) {
	deadline := d.now().Add(wait)
	for {
		lock, err := d.Store.Lock(ctx, name, statestore.LockInfo{Command: command})
		var locked *statestore.LockedError
		if !errors.As(err, &locked) || !d.now().Before(deadline) {
			return lock, err
		}
		d.Logger.Info("waiting for the lock", "cluster", name, "holder", locked.Holder.String())
		select {
		case <-d.Clock.After(lockPoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beatEvery is how often a run that holds a lock gives a sign of life.
const beatEvery = 20 * time.Second

// beat gives signs of life until stop is called.
func (d Deps) beat(ctx context.Context, lock *statestore.Lock) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-d.Clock.After(beatEvery):
			case <-ctx.Done():
				return
			}
			if err := lock.Beat(ctx); err != nil && ctx.Err() == nil {
				d.Logger.Warn("no sign of life could be given; the lock itself is checked before each step", "error", err)
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// MovedError says that the world is no longer as a saved plan saw it.
type MovedError struct{ Moved []string }

// Error names what moved.
func (e *MovedError) Error() string {
	return "the saved plan no longer holds; nothing was changed. Since it was made:\n  " + strings.Join(e.Moved, "\n  ")
}

// sameAsSaved refuses a saved plan that a fresh one differs from.
func sameAsSaved(saved, now *tasks.Plan) error {
	var moved []string
	for _, m := range saved.Moved(now) {
		moved = append(moved, m.String())
	}
	if len(moved) > 0 {
		return &MovedError{Moved: moved}
	}
	return nil
}

// DataLossError names the objects that hold data and would be deleted.
type DataLossError struct{ Objects []tasks.ID }

// Error lists the objects and how to allow each.
func (e *DataLossError) Error() string {
	var b strings.Builder
	b.WriteString("this plan deletes objects that hold data; nothing was changed. Allow each by name:")
	for _, id := range e.Objects {
		fmt.Fprintf(&b, "\n  --allow-data-loss %s", id)
	}
	return b.String()
}

// refuseDataLoss stops a plan that deletes or replaces data without a yes by name.
func refuseDataLoss(p *tasks.Plan, allowed []string) error {
	var lost []tasks.ID
	for _, item := range p.Items {
		gone := item.Action == tasks.Delete || item.Action == tasks.Replace
		if item.Data && gone && !slices.Contains(allowed, string(item.ID)) {
			lost = append(lost, item.ID)
		}
	}
	if len(lost) > 0 {
		return &DataLossError{Objects: lost}
	}
	return nil
}
