// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// RevisionText returns one revision's spec as it was stored.
func RevisionText(ctx context.Context, d Deps, name string, n int) ([]byte, error) {
	rev, err := d.Store.Revision(ctx, name, n)
	if err != nil {
		return nil, err
	}
	return rev.Content, nil
}

// DiffRevisions returns a line diff between two revisions; empty when they are equal.
func DiffRevisions(ctx context.Context, d Deps, name string, from, to int) ([]byte, error) {
	old, err := RevisionText(ctx, d, name, from)
	if err != nil {
		return nil, err
	}
	text, err := RevisionText(ctx, d, name, to)
	if err != nil {
		return nil, err
	}
	return diff.Diff(fmt.Sprintf("%s revision %d", name, from), old, fmt.Sprintf("%s revision %d", name, to), text), nil
}

// Rollback stores an earlier revision's spec as a new revision: history only grows.
func Rollback(ctx context.Context, d Deps, name string, to int) (*Changed, error) {
	rev, err := d.Store.Revision(ctx, name, to)
	if err != nil {
		return nil, err
	}
	if rev.Tombstone {
		return nil, &api.InvalidError{Faults: api.Faults{{Path: "--to", Value: fmt.Sprint(to),
			Message: "is the deletion of an earlier cluster of that name, not a spec"}}}
	}
	m, err := decode(rev)
	if err != nil {
		return nil, err
	}
	return Replace(ctx, d, m, 0, fmt.Sprintf("rollback --to %d", to))
}

// Drift compares the cloud with the revision that was last applied, whatever the spec
// says by now. It reads also what a plan takes from a mark.
func Drift(ctx context.Context, d Deps, o UpdateOptions) (*Result, error) {
	applied, err := d.Store.Applied(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	rev, err := d.Store.Revision(ctx, o.Name, applied.Revision)
	if err != nil {
		return nil, err
	}
	m, err := decode(rev)
	if err != nil {
		return nil, err
	}
	o.Reason = "diff"
	plan, err := planCluster(tasks.WithThorough(ctx), d, &Loaded{Manifest: m, Revision: rev}, o)
	if err != nil {
		return nil, err
	}
	return &Result{Plan: plan}, o.settle(plan)
}
