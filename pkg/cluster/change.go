// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// Changed is the result of a change of a spec.
type Changed struct {
	Manifest *api.Manifest
	Revision int  // the newest revision: a new one, or the old one without changes
	Written  bool // false when the spec was already so
	Warnings api.Faults
}

// Change loads the newest revision, lets edit change it, checks the whole and appends
// it as a new revision. A revision written meanwhile is a conflict, and nothing is
// written.
func Change(ctx context.Context, d Deps, name, reason string, edit func(m *api.Manifest) error) (*Changed, error) {
	old, err := Load(ctx, d, name)
	if err != nil {
		return nil, err
	}
	m, err := decode(old.Revision)
	if err != nil {
		return nil, err
	}
	if err := edit(m); err != nil {
		return nil, err
	}
	return d.store(ctx, old, m, reason)
}

// Preview does what Change does, and writes nothing: the manifest is complete and checked.
func Preview(ctx context.Context, d Deps, name string, edit func(m *api.Manifest) error) (*api.Manifest, error) {
	old, err := Load(ctx, d, name)
	if err != nil {
		return nil, err
	}
	m, err := decode(old.Revision)
	if err != nil {
		return nil, err
	}
	if err := edit(m); err != nil {
		return nil, err
	}
	_, err = d.complete(ctx, m, old.Manifest, true)
	return m, err
}

// Replace stores a whole manifest as the next revision after base; base 0 means the
// newest one.
func Replace(ctx context.Context, d Deps, m *api.Manifest, base int, reason string) (*Changed, error) {
	old, err := Load(ctx, d, m.Cluster.Metadata.Name)
	if err != nil {
		return nil, err
	}
	if base != 0 {
		old.Revision.Number = base // Append reports what came since
	}
	if m.Cluster.Metadata.UID == "" {
		m.Cluster.Metadata.UID = old.Cluster.Metadata.UID
	}
	return d.store(ctx, old, m, reason)
}

func (d Deps) store(ctx context.Context, old *Loaded, m *api.Manifest, reason string) (*Changed, error) {
	name := old.Cluster.Metadata.Name
	warnings, err := d.complete(ctx, m, old.Manifest, true)
	if err != nil {
		return nil, err
	}
	content, err := api.Marshal(m)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(content, old.Revision.Content) {
		return &Changed{Manifest: m, Revision: old.Revision.Number, Warnings: warnings}, nil
	}
	rev, err := d.Store.Append(ctx, name, old.Revision.Number, content, d.meta(reason))
	if err != nil {
		return nil, err
	}
	return &Changed{Manifest: m, Revision: rev.Number, Written: true, Warnings: warnings}, nil
}
