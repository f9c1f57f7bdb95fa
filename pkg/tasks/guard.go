// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"context"
	"sync"
	"time"
)

// lookAgain is how old the last look at the guard may be when something is changed. A
// process that was paused between the two finds out before it changes anything.
const lookAgain = 200 * time.Millisecond

// watch is a run's guard with the time of the last look.
type watch struct {
	guard func(context.Context) error
	clock Clock

	mu   sync.Mutex
	last time.Time // by the wall: other clocks stand still while a machine sleeps
}

// look asks the guard.
func (w *watch) look(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ask(ctx)
}

func (w *watch) ask(ctx context.Context) error {
	now := w.clock.Now().Round(0)
	if err := w.guard(ctx); err != nil {
		return err
	}
	w.last = now
	return nil
}

type watchKey struct{}

// MayWrite asks the guard of the run that ctx belongs to, if it was not asked a moment
// ago. Who calls a cloud for a task asks it before each call that changes something;
// outside a run the answer is yes.
func MayWrite(ctx context.Context) error {
	w, _ := ctx.Value(watchKey{}).(*watch)
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := w.clock.Now().Round(0).Sub(w.last); since >= 0 && since < lookAgain {
		return nil
	}
	return w.ask(ctx)
}
