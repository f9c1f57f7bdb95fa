// SPDX-License-Identifier: Apache-2.0

package tasks

import "time"

// Reporter is told how an Apply goes, one call at a time. Running comes again after
// Retrying; each task ends with one Done, or is Skipped, or never starts.
type Reporter interface {
	Start(total int) // items with a change to make
	Running(id ID, a Action)
	Retrying(id ID, err error, in time.Duration)
	Done(id ID, a Action, err error, took time.Duration)
	Skipped(id ID, because ID) // because: the failed task
	End(Summary)
}

// NopReporter says nothing.
type NopReporter struct{}

// Start says nothing.
func (NopReporter) Start(int) {}

// Running says nothing.
func (NopReporter) Running(ID, Action) {}

// Retrying says nothing.
func (NopReporter) Retrying(ID, error, time.Duration) {}

// Done says nothing.
func (NopReporter) Done(ID, Action, error, time.Duration) {}

// Skipped says nothing.
func (NopReporter) Skipped(ID, ID) {}

// End says nothing.
func (NopReporter) End(Summary) {}
