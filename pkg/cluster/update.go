// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// UpdateOptions tunes Update.
type UpdateOptions struct {
	Name string
	// Yes applies the plan; without it the plan is all.
	Yes bool
	// AllowDataLoss lists, by task ID, the data-holding objects that may be deleted.
	AllowDataLoss []string
	// Agent is where machines get their agent from, by architecture.
	Agent map[string]nodeconfig.Asset
	// Show is given the plan before anything is applied; its error stops.
	Show func(*tasks.Plan) error
	// Saved is a plan that was reviewed: only exactly that is applied.
	Saved    *tasks.Plan
	Checks   Checks
	Reporter tasks.Reporter
	Workers  int
	LockWait time.Duration // how long to wait for another run's lock
	Command  string        // for the lock and the log of operations

	// Edit changes the spec before it is planned. With Yes the edited spec is stored as
	// a new revision before it is applied; without, nothing is written.
	Edit   func(*api.Manifest) error
	Reason string // of the new revision, and the plan's verb

	// Thorough reads also what a plan takes from a mark, as Drift does.
	Thorough bool
}

// Result is what an operation planned and, with Yes, did.
type Result struct {
	Plan    *tasks.Plan
	Summary tasks.Summary // zero without Yes
}

// Update makes the cloud as the newest revision wants it: spec, blueprint, graph, plan
// and, with Yes, apply. This is the whole of `slipway update cluster`.
func Update(ctx context.Context, d Deps, o UpdateOptions) (*Result, error) {
	return d.locked(ctx, o, func(ctx context.Context, d Deps, still guard) (*Result, error) {
		if o.Thorough {
			ctx = tasks.WithThorough(ctx)
		}
		// The spec, newest revision, with what is derived.
		c, err := d.wanted(ctx, o)
		if err != nil {
			return nil, err
		}
		// The plan: a value, shown before anything is done.
		plan, err := planCluster(ctx, d, c, o)
		if err != nil {
			return nil, err
		}
		if err := d.tellLastRun(ctx, plan, o); err != nil {
			return nil, err
		}
		if err := d.review(ctx, plan, c.Manifest, o); err != nil || !o.Yes {
			return &Result{Plan: plan}, err
		}
		if err := refuseDataLoss(plan, o.AllowDataLoss); err != nil {
			return &Result{Plan: plan}, err
		}
		if err := d.storeEdited(ctx, c, o); err != nil {
			return &Result{Plan: plan}, err
		}
		// The apply: each task gets its own change.
		summary, err := d.apply(ctx, c, plan, o, still)
		return &Result{Plan: plan, Summary: summary}, err
	})
}

// planCluster compares the cloud with what a loaded spec wants.
func planCluster(ctx context.Context, d Deps, c *Loaded, o UpdateOptions) (*tasks.Plan, error) {
	// The cloud that the spec names, and what it would refuse.
	cloud, who, err := d.open(ctx, c.Manifest)
	if err != nil {
		return nil, err
	}
	faults, err := d.check(ctx, cloud, c)
	if err != nil {
		return nil, err
	}
	// What the cluster needs of any cloud, as plain data.
	blueprint, err := model.Build(c.Manifest, model.Options{Store: d.Store.URL(), Agent: o.Agent})
	if err != nil {
		return nil, err
	}
	// The graph: store objects, keysets and the cloud's own tasks.
	graph := tasks.NewGraph()
	objects := d.Store.Objects(o.Name)
	if err := model.StoreTasks(blueprint, objects, graph); err != nil {
		return nil, err
	}
	keysets, err := d.keysetTasks(graph, cloud, blueprint, c, o.Yes || tasks.Thorough(ctx))
	if err != nil {
		return nil, err
	}
	if err := cloud.Lower(blueprint, graph); err != nil {
		return nil, err
	}
	plan, err := tasks.MakePlan(ctx, graph, tasks.PlanOptions{
		Workers: o.Workers, Header: d.header(o.verb("update cluster"), c, who), Removals: cloud.Removals, Logger: d.Logger, Clock: d.Clock,
	})
	if err != nil {
		return nil, err
	}
	warn(plan, append(c.Warnings, faults.Warnings()...))
	if err := keysets.judge(plan, c.Manifest); err != nil {
		return nil, err
	}
	return plan, d.price(ctx, cloud, who.Region, c.Manifest, graph, o)
}

// keysetTasks adds the keysets, after the key that they are sealed with where that is the
// cluster's own.
func (d Deps) keysetTasks(g *tasks.Graph, cloud cloudup.Cloud, b *model.Blueprint, c *Loaded, whole bool) (Keysets, error) {
	key, err := cloud.SealingKey(b, g)
	if err != nil {
		return nil, err
	}
	return KeysetTasks(g, KeysetOptions{
		Objects: d.Store.Objects(b.Name), ClusterUID: b.UID, Sealing: d.Sealing(c.Manifest), Key: key, Clock: d.Clock, Whole: whole,
	})
}

// wanted returns the newest revision, edited if that was asked for.
func (d Deps) wanted(ctx context.Context, o UpdateOptions) (*Loaded, error) {
	c, err := Load(ctx, d, o.Name)
	if err != nil || o.Edit == nil {
		return c, err
	}
	m, err := decode(c.Revision)
	if err != nil {
		return nil, err
	}
	if err := o.Edit(m); err != nil {
		return nil, err
	}
	c.Warnings, err = d.complete(ctx, m, c.Manifest, true)
	c.Manifest = m
	return c, err
}

// storeEdited appends the edited spec as the revision that is then applied.
func (d Deps) storeEdited(ctx context.Context, c *Loaded, o UpdateOptions) error {
	if o.Edit == nil {
		return nil
	}
	content, err := api.Marshal(c.Manifest)
	if err != nil {
		return err
	}
	if bytes.Equal(content, c.Revision.Content) {
		return nil
	}
	c.Revision, err = d.Store.Append(ctx, o.Name, c.Revision.Number, content, d.meta(o.Reason))
	return err
}

// settle shows a plan and holds it against the saved one that is to be applied.
func (o UpdateOptions) settle(p *tasks.Plan) error {
	if o.Show != nil {
		if err := o.Show(p); err != nil {
			return err
		}
	}
	if o.Saved == nil {
		return nil
	}
	return sameAsSaved(o.Saved, p)
}

// verb is what the plan's header says is done.
func (o UpdateOptions) verb(otherwise string) string {
	if o.Reason != "" {
		return o.Reason
	}
	return otherwise
}

// apply runs a plan under the lock and moves the applied revision when all of it
// succeeded.
func (d Deps) apply(ctx context.Context, c *Loaded, plan *tasks.Plan, o UpdateOptions, still guard) (tasks.Summary, error) {
	name := c.Cluster.Metadata.Name
	if !plan.Pending() && d.isApplied(ctx, c) {
		return tasks.Summary{}, nil
	}
	summary, err := d.run(ctx, name, plan, o, still)
	if err != nil {
		return summary, err
	}
	if err := still(ctx); err != nil {
		return summary, err
	}
	return summary, d.Store.SetApplied(ctx, name, statestore.Applied{
		Revision: c.Revision.Number, UID: c.Cluster.Metadata.UID, Target: "direct",
		When: d.now(), Who: d.Who, Tool: d.Tool,
	})
}

// run applies a plan, journalled, and logs the operation with its result.
func (d Deps) run(ctx context.Context, name string, plan *tasks.Plan, o UpdateOptions, still guard) (tasks.Summary, error) {
	began := d.now()
	journal, err := newJournal(ctx, d, name, plan.Header)
	if err != nil {
		return tasks.Summary{}, err
	}
	summary, err := tasks.Apply(ctx, plan, tasks.ApplyOptions{
		Workers: o.Workers, Reporter: o.Reporter, Guard: still,
		Journal: journal, Logger: d.Logger, Clock: d.Clock,
	})
	return summary, errors.Join(err, d.logOperation(ctx, journal, plan.Header, began, summary, err))
}

// check asks the cloud what it would refuse. A revision that is applied was taken by it:
// that spares a no-op plan several reads.
func (d Deps) check(ctx context.Context, cloud cloudup.Cloud, c *Loaded) (api.Faults, error) {
	if d.isApplied(ctx, c) {
		return nil, nil
	}
	faults, err := cloud.Check(ctx, c.Manifest)
	if err != nil {
		return nil, fmt.Errorf("check cluster %s against the cloud: %w", c.Cluster.Metadata.Name, err)
	}
	return faults, faults.Err()
}

func (d Deps) isApplied(ctx context.Context, c *Loaded) bool {
	a, err := d.Store.Applied(ctx, c.Cluster.Metadata.Name)
	return err == nil && a.Revision == c.Revision.Number && a.UID == c.Cluster.Metadata.UID
}

// open opens the cloud of a manifest and asks who the calls are made as.
func (d Deps) open(ctx context.Context, m *api.Manifest) (cloudup.Cloud, cloudup.Identity, error) {
	cloud, err := d.OpenCloud(ctx, m, d.ledger(m.Cluster.Metadata.Name))
	if err != nil {
		return nil, cloudup.Identity{}, err
	}
	who, err := cloud.Whoami(ctx)
	return cloud, who, err
}

func (d Deps) header(verb string, c *Loaded, who cloudup.Identity) tasks.Header {
	return tasks.Header{
		Cluster: c.Cluster.Metadata.Name, UID: c.Cluster.Metadata.UID, Revision: c.Revision.Number,
		Store: d.Store.URL(), Target: "direct", Tool: d.Tool,
		Identity: who.String(), Account: who.Account, Verb: verb, When: d.now(),
	}
}

func warn(p *tasks.Plan, faults api.Faults) {
	for _, f := range faults {
		p.Warnings = append(p.Warnings, tasks.Warning{Path: f.Path, Text: f.Message})
	}
}
