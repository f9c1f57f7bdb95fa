// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func lock(t *testing.T, s *Store, command string) *Lock {
	t.Helper()
	l, err := s.Lock(t.Context(), demo, LockInfo{Command: command})
	must(t, err)
	return l
}

func TestLockRefusesASecondAndSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	l := lock(t, s, "update cluster")
	must(t, l.Check(t.Context()))
	must(t, l.Beat(t.Context()))
	_, err := New(d, options("bob")).Lock(t.Context(), demo, LockInfo{Command: "delete cluster"})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v", err)
	}
	h := locked.Holder
	if h.User != "alice" || h.Host != "laptop" || h.Command != "update cluster" || !h.Since.Equal(noon) || h.Fence != 1 || h.PID == 0 || h.LastSeen.IsZero() {
		t.Fatalf("got %+v", h)
	}
	for _, part := range []string{demo, "alice@laptop", `"update cluster"`, "since 2026-12-01T12:00:00Z", "last seen"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	must(t, l.Release(t.Context()))
	must(t, l.Release(t.Context()))
	if h, err := s.LockHolder(t.Context(), demo); h != nil || err != nil {
		t.Fatalf("after the release: %v, %v", h, err)
	}
	second := lock(t, s, "again")
	if second.Info().Fence != 2 {
		t.Fatalf("got fence %d", second.Info().Fence)
	}
}

func TestAnUnlockedHolderStops(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	bob := New(d, options("bob"))
	l := lock(t, s, "update cluster")
	fenced := l.Store()
	must(t, fenced.Objects(demo).Put(t.Context(), "nodes/a/1", []byte("x")))
	was, err := bob.Unlock(t.Context(), demo)
	must(t, err)
	if was == nil || was.User != "alice" {
		t.Fatalf("got %v", was)
	}
	next, err := bob.Lock(t.Context(), demo, LockInfo{})
	must(t, err)
	var lost *LostLockError
	if err := l.Check(t.Context()); !errors.As(err, &lost) || lost.By != "bob@laptop" || lost.Fence != 1 {
		t.Fatalf("got %v", err)
	}
	for name, write := range map[string]func() error{
		"put":     func() error { return fenced.Objects(demo).Put(t.Context(), "nodes/a/2", nil) },
		"create":  func() error { return fenced.Objects(demo).PutIfAbsent(t.Context(), "nodes/a/2", nil) },
		"delete":  func() error { return fenced.Objects(demo).Delete(t.Context(), "nodes/a/1") },
		"applied": func() error { return fenced.SetApplied(t.Context(), demo, Applied{}) },
		"append":  func() error { _, err := fenced.Append(t.Context(), demo, 0, nil, Meta{}); return err },
	} {
		if err := write(); !errors.As(err, &lost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys, err := s.keys(t.Context(), demo+"/nodes/"); err != nil || len(keys) != 1 {
		t.Fatalf("the lost holder wrote: %q, %v", keys, err)
	}
	if err := l.Release(t.Context()); !errors.As(err, &lost) {
		t.Fatalf("release: %v", err)
	}
	must(t, next.Check(t.Context()))
	must(t, next.Store().Objects("other.example.com").Put(t.Context(), "nodes/a/1", nil))
	if was, err := s.Unlock(t.Context(), "other.example.com"); was != nil || err != nil {
		t.Fatalf("unlock of a free cluster: %v, %v", was, err)
	}
}

func TestAHolderOfAClearedLockStops(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	paused := lock(t, s, "paused")
	for range 3 * lockHistory {
		_, err := s.Unlock(t.Context(), demo)
		must(t, err)
		lock(t, s, "next")
	}
	keys, err := s.keys(t.Context(), demo+"/lock/")
	must(t, err)
	if len(keys) > 2*lockHistory+1 {
		t.Fatalf("%d objects stay: %q", len(keys), keys)
	}
	var lost *LostLockError
	if err := paused.Check(t.Context()); !errors.As(err, &lost) {
		t.Fatalf("got %v", err)
	}
}

func TestOnlyAProvenDeadHolderIsCleared(t *testing.T) {
	t.Parallel()
	me := self()
	if me.boot == "" || me.space == "" || me.start == "" {
		t.Skip("this system does not identify processes")
	}
	const never = 1 << 30 // above every system's largest process number
	for name, c := range map[string]struct {
		holder LockInfo
		clear  bool
	}{
		"no such process":       {LockInfo{PID: never, Start: "5", Boot: me.boot, Space: me.space}, true},
		"its number is reused":  {LockInfo{PID: me.pid, Start: "5", Boot: me.boot, Space: me.space}, true},
		"it runs":               {LockInfo{PID: me.pid, Start: me.start, Boot: me.boot, Space: me.space}, false},
		"another boot":          {LockInfo{PID: never, Start: "5", Boot: "other", Space: me.space}, false},
		"another container":     {LockInfo{PID: never, Start: "5", Boot: me.boot, Space: "pid:[1] time:[1]"}, false},
		"its start is not told": {LockInfo{PID: never, Boot: me.boot, Space: me.space}, false},
		"nothing is told":       {LockInfo{PID: never}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t)
			_, err := s.Lock(t.Context(), demo, c.holder)
			must(t, err)
			if s.Runs(c.holder) != (name == "it runs") {
				t.Errorf("it runs: %t", s.Runs(c.holder))
			}
			l, err := s.Lock(t.Context(), demo, LockInfo{})
			if c.clear {
				must(t, err)
				if l.Info().Fence != 2 {
					t.Fatalf("got fence %d", l.Info().Fence)
				}
				return
			}
			var locked *LockedError
			if !errors.As(err, &locked) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestADamagedLockCanBeUnlocked(t *testing.T) {
	t.Parallel()
	s, d := newStore(t)
	lock(t, s, "update cluster")
	_, err := d.Put(t.Context(), lockKey(demo, 1, lockSuffix), []byte("{"))
	must(t, err)
	if _, err := s.Lock(t.Context(), demo, LockInfo{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "slipway unlock") {
		t.Fatalf("got %v", err)
	}
	was, err := s.Unlock(t.Context(), demo)
	must(t, err)
	if was == nil || was.Fence != 1 {
		t.Fatalf("got %v", was)
	}
	lock(t, s, "again")
}

func TestALockTakenByALateListingIsVoid(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for range 8 {
		l := lock(t, s, "before")
		must(t, l.Release(t.Context()))
	}
	held := lock(t, s, "held")
	// A taker whose listing missed everything tries number 1, which was cleared.
	l, err := s.take(t.Context(), demo, 1, LockInfo{})
	if l != nil || err != nil {
		t.Fatalf("got %v, %v", l, err)
	}
	must(t, held.Check(t.Context()))
	if h, err := s.LockHolder(t.Context(), demo); err != nil || h == nil || h.Fence != 9 {
		t.Fatalf("got %v, %v", h, err)
	}
}

func TestLockInfoReadsWell(t *testing.T) {
	t.Parallel()
	info := LockInfo{User: "alice", Host: "laptop", PID: 4711, Command: "update cluster", Since: noon, LastSeen: noon.Add(time.Minute)}
	want := `alice@laptop (pid 4711), running "update cluster", since 2026-12-01T12:00:00Z, last seen 2026-12-01T12:01:00Z`
	if got := info.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (LockInfo{}).String(); got != "somebody" {
		t.Errorf("got %s", got)
	}
}
