// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
)

func faultyStore(t *testing.T) (*Store, *drivertest.Faulty) {
	t.Helper()
	f := &drivertest.Faulty{Store: mem.New("test", nil)}
	return New(f, options("alice")), f
}

// operations are all that writes, each on a store with one revision.
var operations = map[string]func(ctx context.Context, s *Store) error{
	"append": func(ctx context.Context, s *Store) error {
		_, err := s.Append(ctx, demo, 1, []byte("two"), Meta{})
		return err
	},
	"delete":  func(ctx context.Context, s *Store) error { return s.Tombstone(ctx, demo, 1, Meta{}) },
	"applied": func(ctx context.Context, s *Store) error { return s.SetApplied(ctx, demo, Applied{Revision: 1}) },
	"ledger": func(ctx context.Context, s *Store) error {
		return s.UpdateLedger(ctx, demo, func(l *Ledger) error { l.Entries = []LedgerEntry{{Kind: "a", ID: "b"}}; return nil })
	},
	"journal":   func(ctx context.Context, s *Store) error { return s.AppendJournal(ctx, demo, "run", 1, []byte("x")) },
	"operation": func(ctx context.Context, s *Store) error { return s.LogOperation(ctx, demo, Operation{Command: "x"}) },
	"object":    func(ctx context.Context, s *Store) error { return s.Objects(demo).Put(ctx, "nodes/x", nil) },
	"managed":   func(ctx context.Context, s *Store) error { return s.DeleteManaged(ctx, demo) },
	"lock": func(ctx context.Context, s *Store) error {
		l, err := s.Lock(ctx, demo, LockInfo{})
		if err != nil {
			return err
		}
		return l.Release(ctx)
	},
}

func TestEveryFaultIsReportedAndPassedByARepeat(t *testing.T) {
	t.Parallel()
	for name, op := range operations {
		for _, kind := range []error{ErrDenied, ErrUnavailable} {
			t.Run(fmt.Sprintf("%s/%v", name, kind), func(t *testing.T) {
				t.Parallel()
				for at := 0; ; at++ {
					s, f := faultyStore(t)
					appendRev(t, s, demo, 0, "one")
					n := 0
					f.Calls()
					f.Decide = func(drivertest.Call) (fault drivertest.Fault) {
						if n == at {
							fault.Err = kind
						}
						n++
						return fault
					}
					err := op(t.Context(), s)
					if n <= at {
						must(t, err)
						return // every call was made to fail once
					}
					if err != nil && !errors.Is(err, kind) {
						t.Fatalf("call %d fails: %v", at, err)
					}
					if err != nil && !strings.Contains(err.Error(), demo) {
						t.Fatalf("call %d: the error does not say where: %v", at, err)
					}
					f.Decide = nil
					if name == "lock" {
						_, err := s.Unlock(t.Context(), demo)
						must(t, err)
					}
					if err != nil {
						must(t, op(t.Context(), s))
					}
				}
			})
		}
	}
}

// TestLostAnswers: a write that happened and whose answer was lost is a success where
// it can be told, and never a conflict with oneself.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"append", "delete", "journal", "lock"} {
		s, f := faultyStore(t)
		appendRev(t, s, demo, 0, "one")
		f.Decide = func(c drivertest.Call) (fault drivertest.Fault) {
			if c.Writes() {
				fault.Err, fault.Late = ErrUnavailable, true
			}
			return fault
		}
		if err := operations[name](t.Context(), s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadsAreBoundedByKindsNotByHistory(t *testing.T) {
	t.Parallel()
	s, f := faultyStore(t)
	for n := range 50 {
		appendRev(t, s, demo, n, "x")
	}
	f.Calls()
	_, err := s.Latest(t.Context(), demo)
	must(t, err)
	if calls := f.Calls(); len(calls) != 2 {
		t.Errorf("Latest made %d calls: %v", len(calls), calls)
	}
	_, err = s.Clusters(t.Context())
	must(t, err)
	if calls := f.Calls(); len(calls) != 3 {
		t.Errorf("Clusters made %d calls for one cluster: %v", len(calls), calls)
	}
	l := lock(t, s, "x")
	calls := f.Calls()
	if len(calls) != 3 {
		t.Errorf("Lock made %d calls: %v", len(calls), calls)
	}
	must(t, l.Check(t.Context()))
	if calls := f.Calls(); len(calls) != 2 || slices.ContainsFunc(calls, drivertest.Call.Writes) {
		t.Errorf("Check made %v", calls)
	}
}

func TestADamagedClusterDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	appendRev(t, s, demo, 0, "one")
	appendRev(t, s, "other.example.com", 0, "one")
	_, err := d.Put(t.Context(), revisionKey(demo, 1), nil)
	must(t, err)
	names, err := s.Clusters(t.Context())
	if err != nil || !slices.Equal(names, []string{demo, "other.example.com"}) {
		t.Fatalf("got %q, %v", names, err)
	}
	if _, err := s.Latest(t.Context(), demo); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it is empty") {
		t.Fatalf("got %v", err)
	}
}

func TestAMovedRevisionIsDamaged(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	appendRev(t, s, demo, 0, "one")
	o, err := d.Get(t.Context(), revisionKey(demo, 1))
	must(t, err)
	for _, key := range []string{revisionKey(demo, 2), revisionKey("other.example.com", 1)} {
		_, err := d.Put(t.Context(), key, o.Data)
		must(t, err)
	}
	for _, name := range []string{demo, "other.example.com"} {
		if _, err := s.Latest(t.Context(), name); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it is revision 1 of cluster "+demo) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAGapInAJournalIsDamaged(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	for n := range 3 {
		must(t, s.AppendJournal(t.Context(), demo, "run-1", n+1, fmt.Append(nil, n)))
	}
	if err := s.AppendJournal(t.Context(), demo, "run-1", 2, []byte("another")); !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v", err)
	}
	segments, err := s.Journal(t.Context(), demo, "run-1")
	must(t, err)
	if len(segments) != 3 || string(segments[2].Content) != "2" {
		t.Fatalf("got %v", segments)
	}
	runs, err := s.JournalRuns(t.Context(), demo)
	if err != nil || !slices.Equal(runs, []string{"run-1"}) {
		t.Fatalf("got %q, %v", runs, err)
	}
	must(t, d.Delete(t.Context(), segmentKey(demo, "run-1", 2)))
	if _, err := s.Journal(t.Context(), demo, "run-1"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "00000002.yaml") {
		t.Fatalf("got %v", err)
	}
	must(t, s.DeleteJournal(t.Context(), demo, "run-1"))
	if segments, err := s.Journal(t.Context(), demo, "run-1"); err != nil || len(segments) != 0 {
		t.Fatalf("got %v, %v", segments, err)
	}
	if err := s.AppendJournal(t.Context(), demo, "../run", 1, nil); !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v", err)
	}
}

func TestOperationsAreInOrder(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for i := range 5 {
		must(t, s.LogOperation(t.Context(), demo, Operation{Command: fmt.Sprint(i), When: noon.Add(time.Duration(i) * time.Hour)}))
	}
	ops, err := s.Operations(t.Context(), demo)
	must(t, err)
	for i, op := range ops {
		if op.Command != fmt.Sprint(i) || op.Who != "alice" || op.ID == "" {
			t.Fatalf("got %+v", ops)
		}
	}
}

func TestTextIsFitForFilesAndTerminals(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	reason := "two\nlines \x1b[31mred\x7f \ufeff \xff \"quoted\" ünï: # --- 'x'"
	_, err := s.Append(t.Context(), demo, 0, []byte("---\n---\nx"), Meta{Reason: reason})
	must(t, err)
	rev, err := s.Latest(t.Context(), demo)
	must(t, err)
	if want := "two lines  [31mred  ? ? \"quoted\" ünï: # --- 'x'"; rev.Meta.Reason != want {
		t.Errorf("got %q, want %q", rev.Meta.Reason, want)
	}
	if string(rev.Content) != "---\n---\nx" {
		t.Errorf("got %q", rev.Content)
	}
	o, err := d.Get(t.Context(), revisionKey(demo, 1))
	must(t, err)
	if !bytes.HasPrefix(o.Data, []byte("apiVersion: \"slipway.dev/store/v1\"\nkind: \"Revision\"\ncluster: \"demo.example.com\"\nnumber: 1\n")) {
		t.Errorf("the file begins %q", o.Data)
	}
}

func FuzzRevision(f *testing.F) {
	whole, err := encodeDocument(header{APIVersion: apiVersion, Kind: revisionKind, Cluster: demo, Number: 1, UID: "u", Who: "w", When: noon}, []byte("content"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:40])
	f.Add([]byte(""))
	f.Add([]byte("sha256: \"\"\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, content, err := decodeDocument(data, revisionKind)
		if err != nil {
			return
		}
		again, err := encodeDocument(h, content)
		if err != nil {
			t.Fatal(err)
		}
		h2, content2, err := decodeDocument(again, revisionKind)
		if err != nil || h2.Number != h.Number || !bytes.Equal(content, content2) {
			t.Fatalf("%+v became %+v, %v", h, h2, err)
		}
	})
}

func FuzzRevisionContent(f *testing.F) {
	f.Add([]byte("kind: Cluster\n"), "reason", 7)
	f.Add([]byte("---\n"), "a\nb: c", 0)
	f.Fuzz(func(t *testing.T, content []byte, reason string, number int) {
		s := New(mem.New("fuzz", nil), options("alice"))
		m := s.complete(Meta{Reason: reason})
		data, err := encodeDocument(header{APIVersion: apiVersion, Kind: revisionKind, Cluster: demo, Number: number, Reason: m.Reason, When: m.When}, content)
		if err != nil {
			t.Fatal(err)
		}
		h, got, err := decodeDocument(data, revisionKind)
		if err != nil || !bytes.Equal(got, content) || h.Reason != m.Reason || h.Number != number {
			t.Fatalf("got %+v %q, %v", h, got, err)
		}
		if len(data) > 0 {
			if _, _, err := decodeDocument(data[:len(data)-1], revisionKind); err == nil {
				t.Fatal("a cut file was taken")
			}
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"slipway.dev/store/v1","kind":"Ledger","sha256":"","body":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l Ledger
		if err := decodeRecord(data, ledgerKind, &l); err == nil {
			if _, err := encodeRecord(ledgerKind, l); err != nil {
				t.Fatal(err)
			}
		}
	})
}

var _ driver.Store = (*drivertest.Faulty)(nil)
