// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// removable says how the leftovers of one kind are found and removed.
type removable struct {
	kind string // as in task IDs
	// list returns what the cluster owns of the kind and no task claimed.
	list func(ctx context.Context) ([]leftover, error)
	// remove deletes one object. It is called again until it succeeds, so what is gone
	// already is a success; a dependency that is still there is a tasks.Wait error.
	remove func(ctx context.Context, l leftover) error
	// after names the kinds whose removals come first.
	after []string
	// data says that the objects hold data, whose loss needs a yes by name.
	data bool
}

// Removals adds the removal of every object that this cluster owns and that no wanted
// task claimed.
func (c *Cloud) Removals(ctx context.Context, g *tasks.Graph) error {
	s := c.surveyOf(g)
	kinds := s.removables()
	made := map[string][]*Removal{}
	for _, k := range kinds {
		left, err := k.list(ctx)
		if err != nil {
			return err
		}
		taken := map[tasks.ID]bool{}
		for _, l := range left {
			id := taskID(k.kind, strings.TrimSuffix(l.Key, retired))
			if l.Key == "" || g.Task(id) != nil || taken[id] {
				id = taskID(k.kind, strings.Trim(l.Key+"/"+l.ID, "/"))
			}
			taken[id] = true
			made[k.kind] = append(made[k.kind], &Removal{id: id, left: l, kind: k})
		}
	}
	releases, err := s.releases(ctx)
	if err != nil {
		return err
	}
	for _, r := range releases {
		if err := g.Remove(r); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		for _, r := range made[k.kind] {
			for _, first := range k.after {
				r.deps = append(r.deps, removalTasks(made[first])...)
			}
			if err := g.Remove(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func removalTasks(rs []*Removal) []tasks.Task {
	out := make([]tasks.Task, len(rs))
	for i, r := range rs {
		out[i] = r
	}
	return out
}

// Removal deletes one object that the cluster owns and no longer wants.
type Removal struct {
	id   tasks.ID
	left leftover
	kind removable
	deps []tasks.Task
}

// ID returns the kind and the key of the object.
func (r *Removal) ID() tasks.ID { return r.id }

// Deps returns the removals that must come first.
func (r *Removal) Deps() []tasks.Task { return r.deps }

// Observe reports what the inventory found.
func (r *Removal) Observe(context.Context) (tasks.Change, error) {
	return tasks.Change{
		Action: tasks.Delete,
		Fields: []tasks.Field{{Path: "id", Old: tasks.V(r.left.ID)}},
		Reason: r.left.Reason, Data: r.kind.data, Exact: exactly(r.left.Value),
	}, nil
}

// Apply deletes the object.
func (r *Removal) Apply(ctx context.Context, _ tasks.Change) error {
	if err := r.kind.remove(ctx, r.left); err != nil {
		return fmt.Errorf("delete %s %s: %w", r.kind.kind, r.left.ID, err)
	}
	return nil
}
