// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
)

// book is the ledger as a graph's tasks use it: read once. What AWS cannot list by tag
// is written down before it is made, so that nothing is ever lost from sight.
type book struct {
	ledger cloudup.Ledger

	mu      sync.Mutex
	read    bool
	entries []cloudup.LedgerEntry
}

// names returns the IDs of all entries of a kind.
func (b *book) names(ctx context.Context, kind string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read && b.ledger != nil {
		entries, err := b.ledger.Entries(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		b.entries = entries
	}
	b.read = true
	var out []string
	for _, e := range b.entries {
		if e.Kind == kind {
			out = append(out, e.ID)
		}
	}
	return out, nil
}

// has reports whether an entry stands in the ledger.
func (b *book) has(ctx context.Context, kind, id string) (bool, error) {
	names, err := b.names(ctx, kind)
	return slices.Contains(names, id), err
}

// record writes an entry down.
func (b *book) record(ctx context.Context, kind, id, note string) error {
	if b.ledger == nil {
		return errors.New("there is no ledger to write down what AWS cannot tag")
	}
	if err := b.ledger.Record(ctx, cloudup.LedgerEntry{Kind: kind, ID: id, Note: note}); err != nil {
		return fmt.Errorf("write %s %s down in the ledger: %w", kind, id, err)
	}
	return nil
}

// forget strikes an entry.
func (b *book) forget(ctx context.Context, kind, id string) error {
	if b.ledger == nil {
		return nil
	}
	if err := b.ledger.Forget(ctx, kind, id); err != nil {
		return fmt.Errorf("strike %s %s from the ledger: %w", kind, id, err)
	}
	return nil
}
