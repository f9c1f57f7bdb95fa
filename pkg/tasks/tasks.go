// SPDX-License-Identifier: Apache-2.0

// Package tasks is the engine: it observes a graph of idempotent tasks, plans the
// difference, shows it and applies it. The cluster side (cloud and store objects)
// and nodeup (host objects) use it; it knows nothing of either.
package tasks

import "context"

// ID names a task: unique in a graph, stable over runs, and what plans and logs
// print. Its form is "<area>/<kind>/<name>", such as "aws/vpc/demo.example.com".
type ID string

// Task is one object that should be in a wanted state.
type Task interface {
	// ID returns the task's name in plans, logs and errors.
	ID() ID

	// Deps returns the tasks that must be observed and applied before this one.
	Deps() []Task

	// Observe reads the object and returns what Apply would have to do. It writes
	// nothing, in the world or in the wanted state; it may set Outputs. An absent
	// object is no error: it is a Change with action Create.
	Observe(ctx context.Context) (Change, error)

	// Apply makes exactly the change that Observe returned and sets the task's
	// Outputs. It is safe to repeat after a failure or a lost answer: the same
	// intent never makes a second object.
	Apply(ctx context.Context, c Change) error
}

// Describer is an optional side of a Task: Kind and Name for people, where the ID
// alone reads badly.
type Describer interface {
	// Describe returns one short line such as "public subnet in us-east-1a".
	Describe() string
}
