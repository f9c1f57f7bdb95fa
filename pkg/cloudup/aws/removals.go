// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

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
// task claimed, and tells of what is shared and stays.
func (c *Cloud) Removals(ctx context.Context, g *tasks.Graph) error {
	s := c.surveyOf(g)
	kinds := s.removables()
	left, err := leftoversOf(ctx, kinds)
	if err != nil {
		return err
	}
	made := map[string][]*Removal{}
	for i, k := range kinds {
		made[k.kind] = removalsOf(g, k, left[i])
	}
	releases, err := s.releases(ctx)
	if err != nil {
		return err
	}
	kept, err := s.keptVPCs(ctx, made)
	if err != nil {
		return err
	}
	var all []tasks.Task
	for _, v := range kept {
		all = append(all, v)
	}
	for _, r := range releases {
		all = append(all, r)
	}
	for _, k := range kinds {
		for _, r := range made[k.kind] {
			for _, first := range k.after {
				r.deps = append(r.deps, removalTasks(made[first])...)
			}
			all = append(all, r)
		}
	}
	for _, t := range all {
		if err := g.Remove(t); err != nil {
			return err
		}
	}
	return nil
}

// leftoversOf asks every kind at the same time; the answers are in the order of kinds.
func leftoversOf(ctx context.Context, kinds []removable) ([][]leftover, error) {
	left := make([][]leftover, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, k := range kinds {
		group.Go(func() (err error) {
			left[i], err = k.list(ctx)
			return err
		})
	}
	return left, group.Wait()
}

// removalsOf makes the removals of one kind. One whose ID a wanted task or another
// removal has is told apart by the cloud's id.
func removalsOf(g *tasks.Graph, k removable, left []leftover) []*Removal {
	var out []*Removal
	taken := map[tasks.ID]bool{}
	for _, l := range left {
		id := taskID(k.kind, strings.TrimSuffix(l.Key, retired))
		if l.Key == "" || g.Task(id) != nil || taken[id] {
			id = taskID(k.kind, strings.Trim(l.Key+"/"+l.ID, "/"))
		}
		taken[id] = true
		out = append(out, &Removal{id: id, left: l, kind: k})
	}
	return out
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
		Reason: r.left.Reason, Leaves: r.left.Leaves, Data: r.kind.data, Exact: exactly(r.left.Value),
	}, nil
}

// Apply deletes the object.
func (r *Removal) Apply(ctx context.Context, _ tasks.Change) error {
	if err := r.kind.remove(ctx, r.left); err != nil {
		return fmt.Errorf("delete %s %s: %w", r.kind.kind, r.left.ID, err)
	}
	return nil
}
