// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

func testListPages(t *testing.T, h Harness) {
	s := h.New(t)
	const n = 1500 // more than one page of every server
	var keys []string
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		key := fmt.Sprintf("many/%05d", i)
		keys = append(keys, key)
		g.Go(func() error {
			_, err := s.Put(t.Context(), key, []byte("x"))
			return err
		})
	}
	must(t, "fill", g.Wait())
	create(t, s, "manyother", "x")
	create(t, s, "before", "x")
	for _, o := range []struct {
		driver.ListOptions
		pages int
	}{
		{driver.ListOptions{}, 2},
		{driver.ListOptions{Limit: 5000}, 2},
		{driver.ListOptions{Limit: 100}, 15},
		{driver.ListOptions{Limit: 100, Shallow: true}, 15},
	} {
		got, _, pages, err := all(t.Context(), s, "many/", o.ListOptions)
		must(t, "list", err)
		if !slices.Equal(got, keys) {
			t.Fatalf("%+v: got %d keys, want %d in order", o, len(got), n)
		}
		if pages < o.pages {
			t.Fatalf("%+v: %d pages, want at least %d", o, pages, o.pages)
		}
	}
	got, _, _, err := all(t.Context(), s, "many/0012", driver.ListOptions{})
	must(t, "list by a part of a name", err)
	if len(got) != 10 || got[0] != "many/00120" {
		t.Fatalf("list by a part of a name: %q", got)
	}
}

// fillClusters makes 25 folders of two objects each, and one object beside them.
func fillClusters(t *testing.T, s driver.Store) []string {
	t.Helper()
	var clusters []string
	for i := range 25 {
		name := fmt.Sprintf("c%02d.example.com/", i)
		clusters = append(clusters, name)
		create(t, s, name+"revisions/00000001.yaml", "x")
		create(t, s, name+"nodes/a/b.yaml", "x")
	}
	create(t, s, "readme", "x")
	return clusters
}

func testListPrefixPages(t *testing.T, h Harness) {
	s := h.New(t)
	clusters := fillClusters(t, s)
	for _, limit := range []int{1, 7, 25} {
		keys, prefixes, pages, err := all(t.Context(), s, "", driver.ListOptions{Shallow: true, Limit: limit})
		must(t, "list", err)
		if !slices.Equal(prefixes, clusters) || !slices.Equal(keys, []string{"readme"}) {
			t.Fatalf("limit %d: got %q and %q", limit, prefixes, keys)
		}
		if pages < 26/limit {
			t.Fatalf("limit %d: %d pages", limit, pages)
		}
	}
}

func testListPrefixes(t *testing.T, h Harness) {
	s := h.New(t)
	clusters := fillClusters(t, s)
	keys, prefixes, _, err := all(t.Context(), s, "", driver.ListOptions{Shallow: true})
	must(t, "list", err)
	if !slices.Equal(prefixes, clusters) || !slices.Equal(keys, []string{"readme"}) {
		t.Fatalf("got %q and %q", prefixes, keys)
	}
	keys, prefixes, _, err = all(t.Context(), s, "c07.example.com/", driver.ListOptions{Shallow: true})
	must(t, "list", err)
	if !slices.Equal(prefixes, []string{"c07.example.com/nodes/", "c07.example.com/revisions/"}) || len(keys) != 0 {
		t.Fatalf("got %q and %q", prefixes, keys)
	}
	_, prefixes, _, err = all(t.Context(), s, "c1", driver.ListOptions{Shallow: true})
	must(t, "list by a part of a folder's name", err)
	if !slices.Equal(prefixes, clusters[10:20]) {
		t.Fatalf("list by a part of a folder's name: %q", prefixes)
	}
}

func testListOrder(t *testing.T, h Harness) {
	s := h.New(t)
	keys := []string{"a-b", "a.b/x", "a/x", "a/y/z", "a0", "ab/c", "b"}
	slices.Sort(keys)
	for _, key := range slices.Backward(keys) {
		create(t, s, key, "x")
	}
	for _, limit := range []int{0, 1, 2, 3} {
		got, _, _, err := all(t.Context(), s, "", driver.ListOptions{Limit: limit})
		must(t, "list", err)
		if !slices.Equal(got, keys) {
			t.Fatalf("limit %d: got %q, want %q", limit, got, keys)
		}
	}
}

func testReadsWriteNothing(t *testing.T, h Harness) {
	s := h.New(t)
	before, err := s.List(t.Context(), "", driver.ListOptions{})
	must(t, "list", err)
	if _, err := s.Get(t.Context(), "demo/applied.json"); err == nil {
		t.Fatal("an empty store has an object")
	}
	_, err = s.List(t.Context(), "demo/", driver.ListOptions{Shallow: true})
	must(t, "list", err)
	after, err := s.List(t.Context(), "", driver.ListOptions{})
	must(t, "list", err)
	if len(before.Objects)+len(after.Objects) != 0 {
		t.Fatalf("reading wrote: %+v, then %+v", before.Objects, after.Objects)
	}
}
