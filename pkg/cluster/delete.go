// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Delete removes everything that the cluster owns in the cloud and then its objects in
// the store, leaving its history and a tombstone. It branches off Update after the
// spec: the ownership index, not the spec, says what is there.
func Delete(ctx context.Context, d Deps, o UpdateOptions) (*Result, error) {
	return d.locked(ctx, o, func(ctx context.Context, d Deps, still guard) (*Result, error) {
		c, err := Load(ctx, d, o.Name)
		if err != nil {
			return nil, err
		}
		cloud, who, err := d.open(ctx, c.Manifest)
		if err != nil {
			return nil, err
		}
		graph := tasks.NewGraph()
		plan, err := tasks.MakePlan(ctx, graph, tasks.PlanOptions{
			Workers: o.Workers, Header: d.header("delete cluster", c, who), Removals: cloud.Removals, Logger: d.Logger, Clock: d.Clock,
		})
		if err != nil {
			return nil, err
		}
		if err := d.tellLastRun(ctx, plan, o); err != nil {
			return nil, err
		}
		if err := d.price(ctx, cloud, who.Region, c.Manifest, graph, o); err != nil {
			return nil, err
		}
		if err := d.review(ctx, plan, c.Manifest, o); err != nil || !o.Yes {
			return &Result{Plan: plan}, err
		}
		summary, err := d.run(ctx, o.Name, plan, o, still)
		result := &Result{Plan: plan, Summary: summary}
		if err != nil {
			return result, err
		}
		if err := d.nothingLeft(ctx, c, o.Workers); err != nil {
			return result, err
		}
		if err := still(ctx); err != nil {
			return result, err
		}
		return result, d.forget(ctx, c)
	})
}

// nothingLeft looks again, since an autoscaler or a controller in the cluster may have
// made objects while the deletion ran.
func (d Deps) nothingLeft(ctx context.Context, c *Loaded, workers int) error {
	cloud, _, err := d.open(ctx, c.Manifest)
	if err != nil {
		return err
	}
	plan, err := tasks.MakePlan(ctx, tasks.NewGraph(), tasks.PlanOptions{
		Workers: workers, Removals: cloud.Removals, Logger: d.Logger, Clock: d.Clock,
	})
	if err != nil {
		return fmt.Errorf("look for what is left of cluster %s: %w", c.Cluster.Metadata.Name, err)
	}
	var left []tasks.ID
	for _, item := range plan.Items {
		if item.Action.Pending() {
			left = append(left, item.ID)
		}
	}
	if len(left) > 0 {
		return &LeftoverError{Cluster: c.Cluster.Metadata.Name, Objects: left}
	}
	return nil
}

// LeftoverError says what a deletion left in the cloud.
type LeftoverError struct {
	Cluster string
	Objects []tasks.ID
}

// Error names the objects; running the command again goes on with them.
func (e *LeftoverError) Error() string {
	return fmt.Sprintf("cluster %s still has %d objects in the cloud: %v; run `slipway delete cluster %s --yes` again",
		e.Cluster, len(e.Objects), e.Objects, e.Cluster)
}

// forget removes the managed objects and writes the tombstone, last: a run that dies
// in between is finished by the next one.
func (d Deps) forget(ctx context.Context, c *Loaded) error {
	name := c.Cluster.Metadata.Name
	if err := d.Store.DeleteManaged(ctx, name); err != nil {
		return fmt.Errorf("remove the store objects of cluster %s: %w", name, err)
	}
	return d.Store.Tombstone(ctx, name, c.Revision.Number, d.meta("delete cluster"))
}

// Unregister forgets a cluster without touching its cloud. Like every change it waits for
// a run that is at work, which would otherwise go on for a cluster that is gone.
func Unregister(ctx context.Context, d Deps, o UpdateOptions) error {
	return d.holding(ctx, o, func(ctx context.Context, d Deps, _ guard) error {
		c, err := Load(ctx, d, o.Name)
		if err != nil {
			return err
		}
		return d.forget(ctx, c)
	})
}

// DeleteGroup plans the cluster without one of its instance groups and, with Yes,
// stores that spec and applies it. A cluster of which no apply ever began has no
// machines: there only the spec changes, and the result has no plan.
func DeleteGroup(ctx context.Context, d Deps, group string, o UpdateOptions) (*Result, error) {
	o.Edit = func(m *api.Manifest) error { return RemoveGroup(m, group) }
	o.Reason = "delete instancegroup " + group
	if o.Yes {
		if began, err := d.editUnbegun(ctx, o); err != nil || !began {
			return &Result{}, err
		}
	}
	return Update(ctx, d, o)
}

// editUnbegun stores the edit that o asks for, unless an apply of the cluster ever began.
// It holds the lock, since a first apply that runs just now would make what goes.
func (d Deps) editUnbegun(ctx context.Context, o UpdateOptions) (began bool, err error) {
	err = d.holding(ctx, o, func(ctx context.Context, d Deps, _ guard) error {
		if began, err = d.everBegan(ctx, o.Name); err != nil || began {
			return err
		}
		_, err := Change(ctx, d, o.Name, o.Reason, o.Edit)
		return err
	})
	return began, err
}

// everBegan reports whether an apply of the cluster ever began: it is applied, or there is
// the journal of a run on a revision since the creation.
func (d Deps) everBegan(ctx context.Context, name string) (bool, error) {
	if _, err := d.Store.Applied(ctx, name); !errors.Is(err, statestore.ErrNotFound) {
		return err == nil, err
	}
	history, err := d.Store.History(ctx, name)
	if err != nil {
		return false, err
	}
	created := 0
	for _, r := range history {
		if r.Tombstone {
			created = r.Number + 1
		}
	}
	runs, err := d.Store.JournalRuns(ctx, name)
	return slices.ContainsFunc(runs, func(run string) bool { return revisionOf(run) >= created }), err
}
