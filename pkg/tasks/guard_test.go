// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A task that was paused asks again before it changes anything.
func TestMayWriteLooksAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, asked := error(nil), 0
		g := NewGraph()
		var first, second, third error
		var between, after int
		if err := g.Add(&calling{do: func(ctx context.Context) error {
			first = MayWrite(ctx)
			between = asked
			lost = errors.New("the lock is another run's")
			second = MayWrite(ctx) // a moment later: not asked again
			time.Sleep(2 * lookAgain)
			third = MayWrite(ctx)
			after = asked
			return third
		}}); err != nil {
			t.Fatal(err)
		}
		plan, err := MakePlan(t.Context(), g, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Apply(t.Context(), plan, ApplyOptions{Guard: func(context.Context) error { asked++; return lost }})
		if first != nil || second != nil || !errors.Is(third, lost) || !errors.Is(err, lost) {
			t.Errorf("first %v, second %v, third %v, run %v", first, second, third, err)
		}
		if between != 1 || after != 2 {
			t.Errorf("the guard was asked %d times before the pause and %d after it", between, after)
		}
		if err := MayWrite(t.Context()); err != nil {
			t.Errorf("outside a run: %v", err)
		}
	})
}

// calling is a task whose apply is a function.
type calling struct{ do func(context.Context) error }

func (*calling) ID() ID       { return "test/calling/x" }
func (*calling) Deps() []Task { return nil }
func (*calling) Observe(context.Context) (Change, error) {
	return Change{Action: Create}, nil
}
func (c *calling) Apply(ctx context.Context, _ Change) error { return c.do(ctx) }
