// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Applied says which revision the cloud was last brought to, and by whom.
type Applied struct {
	Revision int       `json:"revision"`
	UID      string    `json:"uid"`    // the cluster's
	Target   string    `json:"target"` // "direct" or "terraform": who owns the cloud's objects
	When     time.Time `json:"when"`
	Who      string    `json:"who,omitempty"`
	Tool     string    `json:"tool,omitempty"`
}

const appliedKind = "Applied"

func appliedKey(cluster string) string { return cluster + "/applied.json" }

// Applied returns what was last applied; ErrNotFound when nothing ever was.
func (s *Store) Applied(ctx context.Context, cluster string) (Applied, error) {
	if err := checkName(cluster); err != nil {
		return Applied{}, err
	}
	var a Applied
	_, err := s.readRecord(ctx, appliedKey(cluster), appliedKind, &a)
	return a, err
}

// SetApplied notes what was applied. The caller holds the cluster's lock.
func (s *Store) SetApplied(ctx context.Context, cluster string, a Applied) error {
	if err := checkName(cluster); err != nil {
		return err
	}
	if a.When.IsZero() {
		a.When = s.o.Clock()
	}
	a.When = a.When.UTC()
	data, err := encodeRecord(appliedKind, a)
	if err != nil {
		return err
	}
	_, err = s.d.Put(ctx, appliedKey(cluster), data)
	return err
}

// Ledger names the objects of a cluster that cannot carry its UID themselves.
type Ledger struct {
	Entries []LedgerEntry `json:"entries"`
}

// LedgerEntry is one such object.
type LedgerEntry struct {
	Kind string `json:"kind"`           // as in a task's ID: "iam-role"
	ID   string `json:"id"`             // the cloud's identity of it
	Name string `json:"name,omitempty"` // for people
	Note string `json:"note,omitempty"` // why it is here
}

const (
	ledgerKind = "Ledger"
	// ledgerTries bounds the compare-and-swap loop; the tasks of one run share a ledger.
	ledgerTries = 1000
)

func ledgerKey(cluster string) string { return cluster + "/ledger.json" }

// Ledger returns a cluster's ledger; one that was never written has no entries.
func (s *Store) Ledger(ctx context.Context, cluster string) (Ledger, error) {
	if err := checkName(cluster); err != nil {
		return Ledger{}, err
	}
	var l Ledger
	_, err := s.readRecord(ctx, ledgerKey(cluster), ledgerKind, &l)
	if errors.Is(err, ErrNotFound) {
		return Ledger{}, nil
	}
	return l, err
}

// UpdateLedger changes a cluster's ledger. change may run more than once, each time on
// the newest ledger; its error is returned and nothing is written. The caller holds
// the cluster's lock, and may call it from many goroutines.
func (s *Store) UpdateLedger(ctx context.Context, cluster string, change func(*Ledger) error) error {
	if err := checkName(cluster); err != nil {
		return err
	}
	key := ledgerKey(cluster)
	for range ledgerTries {
		var l Ledger
		version, err := s.readRecord(ctx, key, ledgerKind, &l)
		absent := errors.Is(err, ErrNotFound)
		if err != nil && !absent {
			return err
		}
		before, err := encodeRecord(ledgerKind, l)
		if err != nil {
			return err
		}
		if err := change(&l); err != nil {
			return err
		}
		data, err := encodeRecord(ledgerKind, l)
		if err != nil {
			return err
		}
		switch {
		case string(data) == string(before):
			return nil
		case absent:
			_, err = s.d.PutIfAbsent(ctx, key, data)
		default:
			_, err = s.d.PutIfMatch(ctx, key, data, version)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("update %s: %w: it changed %d times meanwhile", s.name(key), ErrConflict, ledgerTries)
}

// readRecord reads one of the store's JSON objects into body and returns its version.
func (s *Store) readRecord(ctx context.Context, key, kind string, body any) (string, error) {
	o, err := s.d.Get(ctx, key)
	if err != nil {
		return "", err
	}
	if err := decodeRecord(o.Data, kind, body); err != nil {
		return "", s.damaged(key, err.Error())
	}
	return o.Version, nil
}
