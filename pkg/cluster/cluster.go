// SPDX-License-Identifier: Apache-2.0

// Package cluster holds one operation a file, each read top to bottom: create, update,
// delete and the edits of a spec. The commands in cmd/slipway call it with their flags
// as options; it joins the store, the model, a cloud and the engine.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Deps is what the operations work on; the caller wires it.
type Deps struct {
	Store *statestore.Store
	// OpenCloud opens the cloud that a manifest names.
	OpenCloud func(ctx context.Context, m *api.Manifest, ledger cloudup.Ledger) (cloudup.Cloud, error)
	// NewUID returns a fresh identity for a cluster.
	NewUID func() string
	// Sealing says how a cluster's private parts are sealed and opened.
	Sealing func(m *api.Manifest) Sealing
	Clock   tasks.Clock
	Logger  *slog.Logger
	Tool    string // this program and its version
	Who     string // the person or job, for revisions and locks
	Host    string
}

// Loaded is a cluster as its newest revision has it.
type Loaded struct {
	*api.Manifest
	Revision statestore.Revision
	Warnings api.Faults
}

// Load reads the newest revision of a cluster and fills in what is derived. A stored
// spec is held to the checks that it was stored under; newer ones become warnings.
func Load(ctx context.Context, d Deps, name string) (*Loaded, error) {
	rev, err := d.Store.Latest(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := decode(rev)
	if err != nil {
		return nil, err
	}
	faults := api.ValidateStored(m)
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("cluster %s, revision %d: %w", name, rev.Number, err)
	}
	return &Loaded{Manifest: m, Revision: rev, Warnings: faults.Warnings()}, nil
}

func decode(rev statestore.Revision) (*api.Manifest, error) {
	m, err := api.Load(rev.Content, fmt.Sprintf("cluster %s, revision %d", rev.Cluster, rev.Number))
	if err != nil {
		return nil, err
	}
	if m.Cluster == nil || m.Cluster.Metadata.Name != rev.Cluster {
		return nil, fmt.Errorf("revision %d of cluster %s holds another cluster's spec; the store was altered by hand: restore that object from a copy", rev.Number, rev.Cluster)
	}
	api.Complete(m)
	return m, nil
}

// meta describes a write to the store.
func (d Deps) meta(reason string) statestore.Meta {
	return statestore.Meta{Who: d.Who, Host: d.Host, Tool: d.Tool, Reason: reason, When: d.now()}
}

func (d Deps) now() time.Time { return d.Clock.Now().UTC() }

// existing returns the number that a new first revision continues from: 0 for a name
// never used, the tombstone's number for one that was deleted.
func (d Deps) existing(ctx context.Context, name string) (int, error) {
	rev, err := d.Store.Latest(ctx, name)
	switch {
	case err == nil:
		return 0, &ExistsError{Cluster: name, Store: d.Store.URL(), Revision: rev.Number}
	case errors.Is(err, statestore.ErrNotFound):
		return d.Store.LastNumber(ctx, name)
	default:
		return 0, err
	}
}

// ExistsError says that a cluster cannot be created since it is there.
type ExistsError struct {
	Cluster, Store string
	Revision       int
}

// Error names the cluster and what to do.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("cluster %s is already in %s (revision %d): change it with `slipway edit cluster %s` or `slipway replace -f FILE`, or choose another name",
		e.Cluster, e.Store, e.Revision, e.Cluster)
}
