// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// storeLedger is the store's ledger of one cluster, as a cloud sees it.
type storeLedger struct {
	store   *statestore.Store
	cluster string
}

var _ cloudup.Ledger = storeLedger{}

func (d Deps) ledger(cluster string) cloudup.Ledger { return storeLedger{d.Store, cluster} }

// Entries returns all entries of the cluster.
func (l storeLedger) Entries(ctx context.Context) ([]cloudup.LedgerEntry, error) {
	all, err := l.store.Ledger(ctx, l.cluster)
	if err != nil {
		return nil, err
	}
	var out []cloudup.LedgerEntry
	for _, e := range all.Entries {
		out = append(out, cloudup.LedgerEntry{Kind: e.Kind, ID: e.ID, Name: e.Name, Note: e.Note})
	}
	return out, nil
}

// Record adds or replaces an entry.
func (l storeLedger) Record(ctx context.Context, e cloudup.LedgerEntry) error {
	entry := statestore.LedgerEntry{Kind: e.Kind, ID: e.ID, Name: e.Name, Note: e.Note}
	return l.store.UpdateLedger(ctx, l.cluster, func(all *statestore.Ledger) error {
		at := slices.IndexFunc(all.Entries, same(e.Kind, e.ID))
		if at < 0 {
			all.Entries = append(all.Entries, entry)
		} else {
			all.Entries[at] = entry
		}
		return nil
	})
}

// Forget removes an entry.
func (l storeLedger) Forget(ctx context.Context, kind, id string) error {
	return l.store.UpdateLedger(ctx, l.cluster, func(all *statestore.Ledger) error {
		all.Entries = slices.DeleteFunc(all.Entries, same(kind, id))
		return nil
	})
}

func same(kind, id string) func(statestore.LedgerEntry) bool {
	return func(e statestore.LedgerEntry) bool { return e.Kind == kind && e.ID == id }
}
