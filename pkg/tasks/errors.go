// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"context"
	"errors"
)

// Class says what the engine does with an error.
type Class int

// The classes of errors. An error without a class is permanent.
const (
	Permanent Class = iota // denied, invalid, over a limit: stop this task at once
	Retryable              // throttled, eventual consistency: back off and try again
	Waiting                // a dependency is not ready yet: try again, without counting it as a failure
)

type classed struct {
	error
	class Class
}

func (c classed) Unwrap() error { return c.error }

// Retry marks an error as retryable; nil stays nil.
func Retry(err error) error { return mark(err, Retryable) }

// Wait marks an error as "dependency not ready yet"; nil stays nil.
func Wait(err error) error { return mark(err, Waiting) }

func mark(err error, c Class) error {
	if err == nil {
		return nil
	}
	return classed{err, c}
}

// Classify returns the class of an error; the outermost mark decides.
func Classify(err error) Class {
	if errors.Is(err, context.Canceled) {
		return Permanent
	}
	var c classed
	if errors.As(err, &c) {
		return c.class
	}
	return Permanent
}
