// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// GarbageOptions tunes Collect.
type GarbageOptions struct {
	UpdateOptions
	KeepJournals int           // how many of the newest runs keep their journal
	OlderThan    time.Duration // what is younger stays
}

// leftoverAge is how old a half-written file must be to be nobody's work in progress.
const leftoverAge = time.Hour

// folders are those whose objects are named by their content and collected.
var folders = []string{"nodes/", "addons/", "assets/"}

// Collect plans the removal of the store objects of a cluster that nothing references any
// more and, with Yes, removes them: node configs, add-ons and assets that neither the
// newest nor the applied revision wants and no machine was told to read, and journals of
// runs that are settled. What it cannot tell of is not garbage.
func Collect(ctx context.Context, d Deps, o GarbageOptions) (*Result, error) {
	return d.locked(ctx, o.UpdateOptions, func(ctx context.Context, d Deps, still guard) (*Result, error) {
		c, err := Load(ctx, d, o.Name)
		if err != nil {
			return nil, err
		}
		cloud, who, err := d.open(ctx, c.Manifest)
		if err != nil {
			return nil, err
		}
		header := d.header("gc", c, who)
		header.Revision = 0 // it is about the store, not about a revision
		found := &garbage{graph: tasks.NewGraph(), now: d.now(), olderThan: o.OlderThan}
		if err := d.findObjects(ctx, c, cloud, found); err != nil {
			return nil, err
		}
		if err := d.findJournals(ctx, o, found); err != nil {
			return nil, err
		}
		plan, err := tasks.MakePlan(ctx, found.graph, tasks.PlanOptions{Workers: o.Workers, Header: header, Logger: d.Logger, Clock: d.Clock})
		if err != nil {
			return nil, err
		}
		plan.Warnings = append(plan.Warnings, found.warnings()...)
		if err := o.settle(plan); err != nil || !o.Yes {
			return &Result{Plan: plan}, err
		}
		summary, err := d.remove(ctx, plan, o.UpdateOptions, still)
		return &Result{Plan: plan, Summary: summary}, err
	})
}

// remove applies the plan without a journal: a run that dies leaves nothing half done,
// and the journal of the last run on the cloud must stay the last.
func (d Deps) remove(ctx context.Context, plan *tasks.Plan, o UpdateOptions, still guard) (tasks.Summary, error) {
	began := d.now()
	var summary tasks.Summary
	var err error
	if plan.Pending() {
		summary, err = tasks.Apply(ctx, plan, tasks.ApplyOptions{
			Workers: o.Workers, Reporter: o.Reporter, Guard: still, Logger: d.Logger, Clock: d.Clock,
		})
		unwritten := &storeJournal{store: d.Store, cluster: o.Name}
		err = errors.Join(err, d.logOperation(ctx, unwritten, plan.Header, began, summary, err))
	}
	if err != nil {
		return summary, err
	}
	swept, err := d.Store.Sweep(ctx, leftoverAge)
	if err != nil {
		return summary, fmt.Errorf("remove what killed writers left in the store: %w", err)
	}
	d.Logger.Info("removed what killed writers left in the store", "files", swept)
	return summary, nil
}

// garbage collects what is there, as tasks: removals, and what stays with its reason.
type garbage struct {
	graph     *tasks.Graph
	now       time.Time
	olderThan time.Duration
	young     int
	untold    error // why it cannot be told what machines use
}

// stays notes an object that is used.
func (g *garbage) stays(id tasks.ID, s statestore.Stored, why string) error {
	return g.graph.Add(&piece{id: id, stored: s, why: why})
}

// goes plans the removal of what nothing uses, unless it is young.
func (g *garbage) goes(id tasks.ID, s statestore.Stored, why string, remove func(context.Context) error) error {
	if g.now.Sub(s.Modified) < g.olderThan {
		g.young++
		return g.stays(id, s, fmt.Sprintf("%s, but it is younger than %s", why, g.olderThan))
	}
	return g.graph.Remove(&piece{id: id, stored: s, why: why, remove: remove})
}

func (g *garbage) warnings() []tasks.Warning {
	var out []tasks.Warning
	if g.untold != nil {
		out = append(out, tasks.Warning{Text: fmt.Sprintf("It cannot be told what the machines use, so no object is garbage: %s", g.untold)})
	}
	if g.young > 0 {
		out = append(out, tasks.Warning{Text: fmt.Sprintf("%d that nothing references are younger than %s and stay for now.", g.young, g.olderThan)})
	}
	return out
}

// piece is an object of the store, or the journal of a run.
type piece struct {
	id     tasks.ID
	stored statestore.Stored
	why    string
	remove func(context.Context) error // nil: it stays
}

// ID returns store/object/<key> or store/journal/<run>.
func (p *piece) ID() tasks.ID { return p.id }

// Deps returns none: the pieces do not know of each other.
func (p *piece) Deps() []tasks.Task { return nil }

// Observe says what a listing said.
func (p *piece) Observe(context.Context) (tasks.Change, error) {
	c := tasks.Change{Action: tasks.None, Reason: p.why}
	if p.remove != nil {
		c.Action = tasks.Delete
		c.Fields = []tasks.Field{
			{Path: "bytes", Old: tasks.V(p.stored.Size)},
			{Path: "modified", Old: tasks.V(p.stored.Modified.UTC().Format(time.RFC3339))},
		}
	}
	return c, nil
}

// Apply removes it.
func (p *piece) Apply(ctx context.Context, _ tasks.Change) error {
	err := p.remove(ctx)
	if errors.Is(err, statestore.ErrUnavailable) {
		return tasks.Retry(err)
	}
	return err
}

// findJournals notes the journals: the newest ones stay, and all that tell of a run which
// was not finished since.
func (d Deps) findJournals(ctx context.Context, o GarbageOptions, g *garbage) error {
	runs, err := d.Store.StoredJournals(ctx, o.Name)
	if err != nil {
		return err
	}
	settled := false // a later run ended well, so whatever came before it is done with
	for i := len(runs) - 1; i >= 0; i-- {
		run := runs[i]
		id := tasks.ID("store/journal/" + run.Name)
		if !settled {
			open, err := d.isUnfinished(ctx, o.Name, run.Name)
			if err != nil {
				return err
			}
			if open {
				if err := g.stays(id, run, "the run was not finished"); err != nil {
					return err
				}
				continue
			}
			settled = true
		}
		if len(runs)-i <= o.KeepJournals {
			err = g.stays(id, run, fmt.Sprintf("it is one of the last %d runs", o.KeepJournals))
		} else {
			err = g.goes(id, run, "the run is settled", func(ctx context.Context) error {
				return d.Store.DeleteJournal(ctx, o.Name, run.Name)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isUnfinished reports whether a run's journal has tasks that failed or were cut off. A
// journal that cannot be read may have.
func (d Deps) isUnfinished(ctx context.Context, name, run string) (bool, error) {
	segments, err := d.Store.Journal(ctx, name, run)
	if errors.Is(err, statestore.ErrDamaged) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	text, err := unfinished(segments)
	return err != nil || text != "", nil
}
