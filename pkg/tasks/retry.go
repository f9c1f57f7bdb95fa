// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Clock is the time that the engine lives by.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the Clock of the machine.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// The schedules of retries. A retryable error doubles its pause; waiting for a
// dependency starts soon, since most are ready within a second, and grows gently.
const (
	firstRetry = 500 * time.Millisecond
	maxRetry   = 15 * time.Second
	firstWait  = 200 * time.Millisecond
	maxWait    = 5 * time.Second
)

// retryPolicy decides whether and when a failed call is made again.
type retryPolicy struct {
	deadline time.Duration // of retrying, from a step's first call
	jitter   func(time.Duration) time.Duration
}

// next returns the pause before the next call, or false when the step has failed; its
// error then says how long it was tried.
func (p retryPolicy) next(s *step, now time.Time) (time.Duration, bool) {
	var pause time.Duration
	var verb string
	switch Classify(s.err) {
	case Retryable:
		pause, verb = grown(firstRetry, 2, s.failures, maxRetry), "gave up"
		s.failures++
	case Waiting:
		pause, verb = grown(firstWait, 1.5, s.waits, maxWait), "still not ready"
		s.waits++
	default:
		return 0, false
	}
	pause = max(p.jitter(pause), 0)
	spent := now.Sub(s.begun)
	if spent+pause > p.deadline {
		s.err = fmt.Errorf("%s after %s and %d attempts: %w", verb, spent.Round(time.Second), s.calls, s.err)
		return 0, false
	}
	return pause, true
}

func grown(first time.Duration, factor float64, times int, most time.Duration) time.Duration {
	d := float64(first)
	for ; times > 0 && d < float64(most); times-- {
		d *= factor
	}
	return min(time.Duration(d), most)
}

// halfJitter spreads pauses over the upper half, so that calls that were throttled
// together do not come back together.
func halfJitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}
