// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// resource is what the task of every object has: its names, what it waits for, and the
// id that its dependents read.
type resource struct {
	s    *survey
	kind string            // "vpc": in the task's ID, aws/<kind>/<key>
	key  string            // unique within the kind; the value of the slipway.dev/id tag
	tags map[string]string // wanted; nil where the object is shared or takes none
	deps []tasks.Task

	// CloudID is the cloud's own id, such as vpc-0a1b2c.
	CloudID tasks.Output[string]

	importID string // CloudID before an export made a mark of it
}

// ID returns the task's ID, aws/<kind>/<key>.
func (r *resource) ID() tasks.ID { return taskID(r.kind, r.key) }

// Deps returns the tasks that must be applied before this one.
func (r *resource) Deps() []tasks.Task { return r.deps }

// taskID is the ID of the task of an object: its kind and key.
func taskID(kind, key string) tasks.ID { return tasks.ID("aws/" + kind + "/" + key) }

// found finishes the observation of an owned object: it claims it unless a new one will
// take its place, and publishes its id to the tasks that depend on it.
func found[T any](r *resource, i *inventory[T], o owned[T], exists bool, d *tasks.Diff) tasks.Change {
	c := d.Change(o)
	if !exists {
		r.CloudID.Clear()
		return c
	}
	c.Exact = exactly(o)
	if c.Action == tasks.Replace {
		i.replace(o.ID)
		r.CloudID.Clear()
		return c
	}
	i.claim(o.ID)
	r.CloudID.Set(o.ID)
	return c
}

// kept is the observation of a shared object: it stays as it is.
func kept(r *resource, id string, value any) tasks.Change {
	r.CloudID.Set(id)
	return tasks.Change{Action: tasks.Keep, Reason: "shared: given by id", Exact: exactly(value), Observed: value}
}

// cloudID is CloudID for tasks of several types.
func (r *resource) cloudID() *tasks.Output[string] { return &r.CloudID }

// placed is a task whose object others are put into: a subnet, our own or shared.
type placed interface {
	tasks.Task
	cloudID() *tasks.Output[string]
}
