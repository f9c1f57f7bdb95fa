// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// storeLedger is the store's ledger of one cluster, as a cloud sees it. It is read once:
// under the cluster's lock nobody else writes it.
type storeLedger struct {
	store   *statestore.Store
	cluster string

	mu      sync.Mutex
	read    bool
	entries []cloudup.LedgerEntry
}

var _ cloudup.Ledger = (*storeLedger)(nil)

func (d Deps) ledger(cluster string) cloudup.Ledger {
	return &storeLedger{store: d.Store, cluster: cluster}
}

// Entries returns all entries of the cluster.
func (l *storeLedger) Entries(ctx context.Context) ([]cloudup.LedgerEntry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		all, err := l.store.Ledger(ctx, l.cluster)
		if err != nil {
			return nil, err
		}
		l.keep(all)
	}
	return slices.Clone(l.entries), nil
}

// keep takes what the store holds; l.mu is held.
func (l *storeLedger) keep(all statestore.Ledger) {
	l.read, l.entries = true, nil
	for _, e := range all.Entries {
		l.entries = append(l.entries, cloudup.LedgerEntry{Kind: e.Kind, ID: e.ID, Name: e.Name, Note: e.Note})
	}
}

// update changes the ledger in the store.
func (l *storeLedger) update(ctx context.Context, change func(*statestore.Ledger)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now statestore.Ledger
	err := l.store.UpdateLedger(ctx, l.cluster, func(all *statestore.Ledger) error {
		change(all)
		now = *all
		return nil
	})
	l.read = false
	if err == nil {
		l.keep(now)
	}
	return err
}

// Record adds or replaces an entry.
func (l *storeLedger) Record(ctx context.Context, e cloudup.LedgerEntry) error {
	entry := statestore.LedgerEntry{Kind: e.Kind, ID: e.ID, Name: e.Name, Note: e.Note}
	return l.update(ctx, func(all *statestore.Ledger) {
		at := slices.IndexFunc(all.Entries, same(e.Kind, e.ID))
		if at < 0 {
			all.Entries = append(all.Entries, entry)
		} else {
			all.Entries[at] = entry
		}
	})
}

// Forget removes an entry.
func (l *storeLedger) Forget(ctx context.Context, kind, id string) error {
	return l.update(ctx, func(all *statestore.Ledger) {
		all.Entries = slices.DeleteFunc(all.Entries, same(kind, id))
	})
}

func same(kind, id string) func(statestore.LedgerEntry) bool {
	return func(e statestore.LedgerEntry) bool { return e.Kind == kind && e.ID == id }
}
