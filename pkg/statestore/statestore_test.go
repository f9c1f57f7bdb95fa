// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/file"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
)

const demo = "demo.example.com"

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func options(user string) Options {
	return Options{Clock: func() time.Time { return noon }, Host: "laptop", User: user, Tool: "slipway test"}
}

// newStore returns a store of alice's in memory and its driver.
func newStore(t *testing.T) (*Store, *mem.Store) {
	t.Helper()
	d := mem.New("test", nil)
	return New(d, options("alice")), d
}

func fileStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := openFile(dir)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendRev(t *testing.T, s *Store, cluster string, base int, content string) Revision {
	t.Helper()
	rev, err := s.Append(t.Context(), cluster, base, []byte(content), Meta{Reason: "test"})
	must(t, err)
	return rev
}

func TestRevisionsAreHistory(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for n := range 3 {
		rev := appendRev(t, s, demo, n, fmt.Sprintf("kind: Cluster\n---\nversion: %d\n", n+1))
		if rev.Number != n+1 {
			t.Fatalf("got revision %d, want %d", rev.Number, n+1)
		}
	}
	latest, err := s.Latest(t.Context(), demo)
	must(t, err)
	if latest.Number != 3 || string(latest.Content) != "kind: Cluster\n---\nversion: 3\n" || latest.Cluster != demo {
		t.Fatalf("got %+v", latest)
	}
	first, err := s.Revision(t.Context(), demo, 1)
	must(t, err)
	want := Meta{Who: "alice", Host: "laptop", Tool: "slipway test", Reason: "test", When: noon}
	if string(first.Content) != "kind: Cluster\n---\nversion: 1\n" || first.Meta != want {
		t.Fatalf("got %+v", first)
	}
	history, err := s.History(t.Context(), demo)
	must(t, err)
	if len(history) != 3 || history[2].Number != 3 || history[0].Meta != want || history[1].Size != len(first.Content) {
		t.Fatalf("got %+v", history)
	}
	var missing *NotFoundError
	if _, err := s.Revision(t.Context(), demo, 9); !errors.As(err, &missing) || missing.Revision != 9 {
		t.Fatalf("got %v", err)
	}
}

func TestAppendFromAnOldRevisionConflicts(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	appendRev(t, s, demo, 0, "one")
	bob := New(d, options("bob"))
	_, err := bob.Append(t.Context(), demo, 1, []byte("two"), Meta{Reason: "edit"})
	must(t, err)
	_, err = s.Append(t.Context(), demo, 1, []byte("mine"), Meta{})
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v", err)
	}
	if conflict.Base != 1 || conflict.Latest != 2 || conflict.Who != "bob@laptop" || !conflict.When.Equal(noon) || conflict.Cluster != demo {
		t.Fatalf("got %+v", conflict)
	}
	for _, part := range []string{demo, "revision 1", "revision 2", "bob@laptop", "(edit)", "nothing was written"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if latest, err := s.Latest(t.Context(), demo); err != nil || string(latest.Content) != "two" {
		t.Fatalf("got %q, %v", latest.Content, err)
	}
	if _, err := s.Append(t.Context(), demo, 7, nil, Meta{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a base that is not there: %v", err)
	}
	if _, err := s.Append(t.Context(), demo, -1, nil, Meta{}); err == nil {
		t.Error("base -1 was taken")
	}
}

func TestTombstoneEndsAClusterAndItsNumbersGoOn(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	appendRev(t, s, demo, 0, "one")
	appendRev(t, s, "other.example.com", 0, "one")
	must(t, s.Tombstone(t.Context(), demo, 1, Meta{Reason: "delete cluster"}))
	names, err := s.Clusters(t.Context())
	must(t, err)
	if !slices.Equal(names, []string{"other.example.com"}) {
		t.Fatalf("got %q", names)
	}
	var missing *NotFoundError
	_, err = s.Latest(t.Context(), demo)
	if !errors.As(err, &missing) || !errors.Is(err, ErrNotFound) || missing.Deleted == nil || !strings.Contains(err.Error(), "deleted by alice@laptop") {
		t.Fatalf("got %v", err)
	}
	var conflict *ConflictError
	if _, err := s.Append(t.Context(), demo, 1, nil, Meta{}); !errors.As(err, &conflict) || !conflict.Deleted {
		t.Fatalf("an edit from before the deletion: %v", err)
	}
	n, err := s.LastNumber(t.Context(), demo)
	must(t, err)
	if rev := appendRev(t, s, demo, n, "again"); rev.Number != 3 {
		t.Fatalf("got revision %d", rev.Number)
	}
	history, err := s.History(t.Context(), demo)
	must(t, err)
	if len(history) != 3 || !history[1].Tombstone {
		t.Fatalf("got %+v", history)
	}
}

func TestUnknownClusterNamesWhatIsNear(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	appendRev(t, s, demo, 0, "one")
	appendRev(t, s, "unrelated.test", 0, "one")
	_, err := s.Latest(t.Context(), "dmo.example.com")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "did you mean demo.example.com?") || !strings.Contains(err.Error(), "mem://test") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Latest(t.Context(), "x.y"); !strings.Contains(err.Error(), "slipway get clusters") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.LastNumber(t.Context(), "never.example.com"); err != nil {
		t.Fatalf("got %v", err)
	}
}

func TestNamesThatLeadElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a_b", "a..b", "-a", "a-", ".slipway", strings.Repeat("a", 300)} {
		_, err := s.Latest(t.Context(), name)
		errs := []error{err}
		_, err = s.Append(t.Context(), name, 0, nil, Meta{})
		errs = append(errs, err, s.Tombstone(t.Context(), name, 0, Meta{}), s.Objects(name).Put(t.Context(), "nodes/x", nil))
		_, err = s.Lock(t.Context(), name, LockInfo{})
		errs = append(errs, err, s.DeleteManaged(t.Context(), name), s.SetApplied(t.Context(), name, Applied{}))
		for i, err := range errs {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("name %q, call %d: %v", name, i, err)
			}
		}
	}
}

func TestDamagedObjectsAreErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	ctx := t.Context()
	appendRev(t, s, demo, 0, "kind: Cluster\nname: demo\n")
	must(t, s.SetApplied(ctx, demo, Applied{Revision: 1}))
	must(t, s.UpdateLedger(ctx, demo, func(l *Ledger) error { l.Entries = append(l.Entries, LedgerEntry{Kind: "k"}); return nil }))
	must(t, s.AppendJournal(ctx, demo, "run", 1, []byte(`{"a":1}`)))
	must(t, s.LogOperation(ctx, demo, Operation{Command: "update"}))
	_, err := s.Lock(ctx, demo, LockInfo{})
	must(t, err)
	reads := map[string]func() error{
		"revisions/":  func() error { _, err := s.Latest(ctx, demo); return err },
		"applied":     func() error { _, err := s.Applied(ctx, demo); return err },
		"ledger":      func() error { _, err := s.Ledger(ctx, demo); return err },
		"journal/":    func() error { _, err := s.Journal(ctx, demo, "run"); return err },
		"operations/": func() error { _, err := s.Operations(ctx, demo); return err },
		"lock/":       func() error { _, err := s.LockHolder(ctx, demo); return err },
	}
	page, err := d.List(ctx, demo+"/", driver.ListOptions{})
	must(t, err)
	if len(page.Objects) != len(reads) {
		t.Fatalf("%d objects for %d reads: %+v", len(page.Objects), len(reads), page.Objects)
	}
	for _, info := range page.Objects {
		whole, err := d.Get(ctx, info.Key)
		must(t, err)
		var read func() error
		for part, r := range reads {
			if strings.HasPrefix(info.Key, demo+"/"+part) {
				read = r
			}
		}
		must(t, read())
		for cut := range len(whole.Data) - 1 { // without its last byte, a new line, JSON is whole
			_, err := d.Put(ctx, info.Key, whole.Data[:cut])
			must(t, err)
			if err := read(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), info.Key) {
				t.Fatalf("%s cut to %d bytes: %v", info.Key, cut, err)
			}
		}
		for at := range whole.Data {
			altered := slices.Clone(whole.Data)
			altered[at] ^= 1
			_, err := d.Put(ctx, info.Key, altered)
			must(t, err)
			if err := read(); err != nil && !errors.Is(err, ErrDamaged) || err == nil && strings.TrimSpace(string(whole.Data[at:at+1])) != "" {
				t.Fatalf("%s with byte %d (%q) altered: %v", info.Key, at, whole.Data[at], err)
			}
		}
		_, err = d.Put(ctx, info.Key, whole.Data)
		must(t, err)
		must(t, read())
	}
}

func TestObjectsStayInTheirFolders(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	o := s.Objects(demo)
	must(t, o.Put(t.Context(), "nodes/a/1.yaml", []byte("abc")))
	must(t, o.PutIfAbsent(t.Context(), "nodes/b/2.yaml", []byte("de")))
	if err := o.PutIfAbsent(t.Context(), "nodes/b/2.yaml", nil); !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v", err)
	}
	sizes, err := o.List(t.Context(), "nodes/")
	must(t, err)
	if len(sizes) != 2 || sizes["nodes/a/1.yaml"] != 3 || sizes["nodes/b/2.yaml"] != 2 {
		t.Fatalf("got %v", sizes)
	}
	data, err := o.Get(t.Context(), "nodes/a/1.yaml")
	if err != nil || string(data) != "abc" {
		t.Fatalf("got %q, %v", data, err)
	}
	must(t, o.Delete(t.Context(), "nodes/a/1.yaml"))
	if _, err := o.Get(t.Context(), "nodes/a/1.yaml"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for _, key := range []string{"", "nodes", "nodes/", "revisions/00000009.yaml", "lock/1.json", "applied.json", "../other/nodes/x", "nodes/../../other/x"} {
		if err := o.Put(t.Context(), key, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if got := o.URL("nodes/x"); got != "mem://test/demo.example.com/nodes/x" {
		t.Errorf("got %s", got)
	}
}

func TestDeleteManagedKeepsHistoryAndPurgeDoesNot(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	ctx := t.Context()
	appendRev(t, s, demo, 0, "one")
	appendRev(t, s, "demo.example.com.au", 0, "a neighbour")
	for _, key := range []string{"nodes/a/1", "addons/1/m.yaml", "assets/1", "values/v", "pki/ca.yaml", "secrets/s", "backups/etcd/1"} {
		must(t, s.Objects(demo).Put(ctx, key, []byte("x")))
		must(t, s.Objects("demo.example.com.au").Put(ctx, key, []byte("x")))
	}
	must(t, s.SetApplied(ctx, demo, Applied{Revision: 1}))
	must(t, s.AppendJournal(ctx, demo, "run", 1, nil))
	must(t, s.LogOperation(ctx, demo, Operation{Command: "update"}))
	if err := s.Purge(ctx, demo); !errors.Is(err, ErrInvalid) {
		t.Fatalf("purge of a live cluster: %v", err)
	}
	must(t, s.DeleteManaged(ctx, demo))
	must(t, s.DeleteManaged(ctx, demo))
	left := func(cluster string) []string {
		keys, err := s.keys(ctx, cluster+"/")
		must(t, err)
		for i := range keys {
			keys[i], _, _ = strings.Cut(strings.TrimPrefix(keys[i], cluster+"/"), "/")
		}
		return keys
	}
	if got := left(demo); !slices.Equal(got, []string{"backups", "journal", "operations", "revisions"}) {
		t.Fatalf("after DeleteManaged: %q", got)
	}
	must(t, s.Tombstone(ctx, demo, 1, Meta{}))
	must(t, s.Purge(ctx, demo))
	if got := left(demo); len(got) != 0 {
		t.Fatalf("after Purge: %q", got)
	}
	if got := left("demo.example.com.au"); len(got) != 8 {
		t.Fatalf("the neighbour lost something: %q", got)
	}
	if _, err := d.Get(ctx, "demo.example.com.au/pki/ca.yaml"); err != nil {
		t.Fatal(err)
	}
}

func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "absent")
	s := fileStore(t, dir)
	ctx := t.Context()
	if names, err := s.Clusters(ctx); err != nil || len(names) != 0 {
		t.Fatalf("got %q, %v", names, err)
	}
	for _, read := range []func() error{
		func() error { _, err := s.Latest(ctx, demo); return err },
		func() error { _, err := s.History(ctx, demo); return err },
		func() error { _, err := s.Applied(ctx, demo); return err },
	} {
		if err := read(); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
	if l, err := s.Ledger(ctx, demo); err != nil || len(l.Entries) != 0 {
		t.Errorf("got %v, %v", l, err)
	}
	if h, err := s.LockHolder(ctx, demo); h != nil || err != nil {
		t.Errorf("got %v, %v", h, err)
	}
	if found, _ := filepath.Glob(dir + "*"); len(found) != 0 {
		t.Errorf("reading made %q", found)
	}
}

func TestACancelledContextIsReported(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, demo, 0, nil, Meta{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Clusters(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func openFile(dir string) (*Store, error) {
	d, err := file.New(dir)
	if err != nil {
		return nil, err
	}
	return New(d, options("alice")), nil
}
