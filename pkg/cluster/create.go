// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
)

// Created is the result of a creation.
type Created struct {
	Manifest *api.Manifest
	Revision int // 0 with DryRun
	Warnings api.Faults
}

// CreateOptions tunes Create.
type CreateOptions struct {
	// DryRun resolves and checks, and writes nothing. Without credentials it leaves
	// unresolved what only the cloud knows.
	DryRun bool
	Reason string
}

// Create completes, checks and stores a new cluster as its first revision.
func Create(ctx context.Context, d Deps, m *api.Manifest, o CreateOptions) (*Created, error) {
	if m.Cluster == nil {
		return nil, &api.InvalidError{Faults: api.Faults{{Path: "kind", Message: "a Cluster is needed; this holds none"}}}
	}
	name := m.Cluster.Metadata.Name
	base, err := d.existing(ctx, name)
	if err != nil && !o.DryRun {
		return nil, err
	}
	if uid := m.Cluster.Metadata.UID; uid != "" {
		return nil, &api.InvalidError{Faults: api.Faults{{Path: "metadata.uid", Value: uid, Message: "is set by creation; remove it"}}}
	}
	m.Cluster.Metadata.UID = d.NewUID()
	if m.Cluster.Spec.Sealing == nil {
		m.Cluster.Spec.Sealing = d.defaultSealing(m)
	}

	warnings, err := d.complete(ctx, m, nil, o.DryRun)
	if err != nil {
		return nil, err
	}
	out := &Created{Manifest: m, Warnings: warnings}
	if o.DryRun {
		m.Cluster.Metadata.UID = ""
		return out, nil
	}
	content, err := api.Marshal(m)
	if err != nil {
		return nil, err
	}
	rev, err := d.Store.Append(ctx, name, base, content, d.meta(reasonOr(o.Reason, "create cluster")))
	if err != nil {
		return nil, err
	}
	out.Revision = rev.Number
	return out, nil
}

// complete fills in and checks a manifest that is to be stored: defaults, what the
// cloud knows, all faults of both in one report. old is nil at creation; offline lets
// it go on without credentials.
func (d Deps) complete(ctx context.Context, m, old *api.Manifest, offline bool) (api.Faults, error) {
	validate := func() api.Faults {
		if old == nil {
			return api.Validate(m)
		}
		return api.ValidateUpdate(old, m)
	}
	api.Complete(m)
	faults := validate()
	if err := faults.Err(); err != nil {
		return nil, err // a spec that is wrong in itself is not shown to a cloud
	}
	cloud, err := d.OpenCloud(ctx, m, d.ledger(m.Cluster.Metadata.Name))
	if err == nil {
		err = cloud.Resolve(ctx, m)
	}
	var more api.Faults
	if err == nil {
		api.Complete(m) // what was resolved may decide further defaults
		more, err = cloud.Check(ctx, m)
	}
	switch {
	case errors.Is(err, cloudup.ErrNoCredentials) && offline:
		return append(faults, api.Fault{Path: "spec", Warning: true,
			Message: "no credentials: what only the cloud knows is neither filled in nor checked"}), nil
	case err != nil:
		return nil, fmt.Errorf("check cluster %s against the cloud: %w", m.Cluster.Metadata.Name, err)
	}
	faults = append(validate(), more...)
	return faults.Warnings(), faults.Err()
}

func reasonOr(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}
