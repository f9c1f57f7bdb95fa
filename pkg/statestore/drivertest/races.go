// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

const racers = 16

// race runs try in many goroutines at once and returns the indexes that succeeded;
// every other one must have got a conflict.
func race(t *testing.T, try func(i int) error) []int {
	t.Helper()
	errs := make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = try(i)
		})
	}
	close(start)
	wg.Wait()
	var won []int
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
			continue
		}
		want(t, "a loser", err, driver.ErrConflict)
	}
	return won
}

func testRaceToCreate(t *testing.T, h Harness) {
	s := h.New(t)
	for round := range h.Rounds {
		key := fmt.Sprintf("race/%d", round)
		won := race(t, func(i int) error {
			_, err := s.PutIfAbsent(t.Context(), key, fmt.Appendf(nil, "racer %d", i))
			return err
		})
		if len(won) != 1 {
			t.Fatalf("round %d: %d creators won", round, len(won))
		}
		if got := string(get(t, s, key).Data); got != fmt.Sprintf("racer %d", won[0]) {
			t.Fatalf("round %d: %d won, the object is of %q", round, won[0], got)
		}
	}
}

func testRaceToReplace(t *testing.T, h Harness) {
	s := h.New(t)
	v := create(t, s, "k", "start")
	for round := range h.Rounds {
		versions := make([]string, racers)
		won := race(t, func(i int) error {
			var err error
			versions[i], err = s.PutIfMatch(t.Context(), "k", fmt.Appendf(nil, "round %d racer %d", round, i), v)
			return err
		})
		if len(won) != 1 {
			t.Fatalf("round %d: %d replacers won", round, len(won))
		}
		v = versions[won[0]]
		if o := get(t, s, "k"); o.Version != v {
			t.Fatalf("round %d: version %q won, the object has %q", round, v, o.Version)
		}
	}
}

// testNeverHalfWritten reads while writers overwrite and re-create one object: every
// read must be the whole of one writer's content.
func testNeverHalfWritten(t *testing.T, h Harness) {
	s := h.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 40_000+i) }
	whole := func(data []byte) bool {
		return len(data) > 0 && bytes.Equal(data, content(int(data[0]-'a')))
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range h.Rounds {
				if _, err := s.Put(ctx, "f/k", content(i)); err != nil {
					t.Errorf("put: %v", err)
				}
				if i == 0 {
					if err := s.Delete(ctx, "f/k"); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for ctx.Err() == nil {
			o, err := s.Get(ctx, "f/k")
			if err == nil && !whole(o.Data) {
				t.Errorf("read a mixture of %d bytes", len(o.Data))
			}
			if err != nil && !errors.Is(err, driver.ErrNotFound) && ctx.Err() == nil {
				t.Errorf("read: %v", err)
			}
			p, err := s.List(ctx, "f/", driver.ListOptions{})
			if err == nil && (len(p.Objects) > 1 || len(p.Objects) == 1 && p.Objects[0].Size < 40_000) {
				t.Errorf("a listing shows half-written objects: %+v", p.Objects)
			}
		}
	})
	writers.Wait()
	cancel()
	reader.Wait()
}

func testCancelled(t *testing.T, h Harness) {
	s := h.New(t)
	create(t, s, "k", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"get":     func() error { _, err := s.Get(ctx, "k"); return err },
		"put":     func() error { _, err := s.Put(ctx, "k", []byte("y")); return err },
		"create":  func() error { _, err := s.PutIfAbsent(ctx, "new", nil); return err },
		"replace": func() error { _, err := s.PutIfMatch(ctx, "k", nil, "1"); return err },
		"delete":  func() error { return s.Delete(ctx, "k") },
		"list":    func() error { _, err := s.List(ctx, "", driver.ListOptions{}); return err },
	}
	for name, call := range calls {
		want(t, name, call(), context.Canceled)
	}
	if o := get(t, s, "k"); string(o.Data) != "x" {
		t.Fatalf("a cancelled call wrote %q", o.Data)
	}
}

func testDenied(t *testing.T, h Harness) {
	if h.Deny == nil {
		t.Skip("this driver's harness cannot take rights away")
	}
	s := h.New(t)
	v := create(t, s, "demo/k", "x")
	// What a driver proves at its first write is proven before the rights go.
	v, err := s.PutIfMatch(t.Context(), "demo/k", []byte("y"), v)
	must(t, "replace", err)
	h.Deny(t, s)
	calls := map[string]func() error{
		"get":     func() error { _, err := s.Get(t.Context(), "demo/k"); return err },
		"put":     func() error { _, err := s.Put(t.Context(), "demo/k", nil); return err },
		"create":  func() error { _, err := s.PutIfAbsent(t.Context(), "demo/new", nil); return err },
		"replace": func() error { _, err := s.PutIfMatch(t.Context(), "demo/k", nil, v); return err },
		"delete":  func() error { return s.Delete(t.Context(), "demo/k") },
		"list":    func() error { _, err := s.List(t.Context(), "demo/", driver.ListOptions{}); return err },
	}
	for name, call := range calls {
		err := call()
		want(t, name, err, driver.ErrDenied)
		if !strings.Contains(err.Error(), "demo") {
			t.Fatalf("%s: the error does not say where: %v", name, err)
		}
	}
}

func testReopened(t *testing.T, h Harness) {
	if h.Reopen == nil {
		t.Skip("a store of this driver cannot be opened twice")
	}
	s := h.New(t)
	v := create(t, s, "k", "one")
	other := h.Reopen(t, s)
	if other.URL() != s.URL() {
		t.Fatalf("reopened as %s, was %s", other.URL(), s.URL())
	}
	if o := get(t, other, "k"); string(o.Data) != "one" || o.Version != v {
		t.Fatalf("the second handle reads %q of version %q", o.Data, o.Version)
	}
	_, err := other.PutIfAbsent(t.Context(), "k", []byte("two"))
	want(t, "create through the second handle", err, driver.ErrConflict)
	_, err = other.PutIfMatch(t.Context(), "k", []byte("two"), v)
	must(t, "replace through the second handle", err)
	_, err = s.PutIfMatch(t.Context(), "k", []byte("three"), v)
	want(t, "replace of an old version", err, driver.ErrConflict)
}

func testURL(t *testing.T, h Harness) {
	url := h.New(t).URL()
	if !strings.Contains(url, "://") || strings.ContainsAny(url, "@") {
		t.Fatalf("URL is %q", url)
	}
}
