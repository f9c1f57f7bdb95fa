// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

func testRoundTrip(t *testing.T, h Harness) {
	s := h.New(t)
	v := create(t, s, "demo/revisions/00000001.yaml", "kind: Cluster\n")
	o := get(t, s, "demo/revisions/00000001.yaml")
	if string(o.Data) != "kind: Cluster\n" || o.Version != v || v == "" {
		t.Fatalf("got %q of version %q, want what was written as %q", o.Data, o.Version, v)
	}
	if age := time.Since(o.Modified); age < -time.Minute || age > time.Hour {
		t.Fatalf("modified %s, want about now", o.Modified)
	}
	keys, _, _, err := all(t.Context(), s, "", driver.ListOptions{})
	must(t, "list", err)
	if !slices.Equal(keys, []string{"demo/revisions/00000001.yaml"}) {
		t.Fatalf("list: got %q", keys)
	}
}

func testAbsent(t *testing.T, h Harness) {
	s := h.New(t)
	_, err := s.Get(t.Context(), "demo/applied.json")
	want(t, "get of an absent object", err, driver.ErrNotFound)
	if !strings.Contains(err.Error(), "demo/applied.json") {
		t.Fatalf("error does not name the object: %v", err)
	}
	create(t, s, "demo/a/b", "x")
	_, err = s.Get(t.Context(), "demo/a")
	want(t, "get of a folder", err, driver.ErrNotFound)
	keys, prefixes, _, err := all(t.Context(), s, "other/", driver.ListOptions{Shallow: true})
	must(t, "list of nothing", err)
	if len(keys)+len(prefixes) != 0 {
		t.Fatalf("list of nothing: got %q %q", keys, prefixes)
	}
}

func testCreateOnlyOnce(t *testing.T, h Harness) {
	s := h.New(t)
	v := create(t, s, "k", "first")
	_, err := s.PutIfAbsent(t.Context(), "k", []byte("second"))
	want(t, "second create", err, driver.ErrConflict)
	_, err = s.PutIfAbsent(t.Context(), "k", []byte("first"))
	want(t, "second create of the same content", err, driver.ErrConflict)
	if o := get(t, s, "k"); string(o.Data) != "first" || o.Version != v {
		t.Fatalf("the loser changed the object: %q", o.Data)
	}
}

func testReplace(t *testing.T, h Harness) {
	s := h.New(t)
	_, err := s.PutIfMatch(t.Context(), "k", []byte("x"), "0123")
	want(t, "replace of an absent object", err, driver.ErrConflict)
	v1 := create(t, s, "k", "one")
	v2, err := s.PutIfMatch(t.Context(), "k", []byte("two"), v1)
	must(t, "replace", err)
	if v2 == v1 {
		t.Fatal("a replaced object has the old version")
	}
	_, err = s.PutIfMatch(t.Context(), "k", []byte("three"), v1)
	want(t, "replace of an old version", err, driver.ErrConflict)
	if o := get(t, s, "k"); string(o.Data) != "two" || o.Version != v2 {
		t.Fatalf("got %q of version %q, want two of %q", o.Data, o.Version, v2)
	}
	must(t, "delete", s.Delete(t.Context(), "k"))
	_, err = s.PutIfMatch(t.Context(), "k", []byte("four"), v2)
	want(t, "replace of a deleted object", err, driver.ErrConflict)
}

func testCreateAfterDelete(t *testing.T, h Harness) {
	s := h.New(t)
	create(t, s, "a/b/k", "first")
	must(t, "delete", s.Delete(t.Context(), "a/b/k"))
	_, err := s.Get(t.Context(), "a/b/k")
	want(t, "get of a deleted object", err, driver.ErrNotFound)
	create(t, s, "a/b/k", "second")
	if o := get(t, s, "a/b/k"); string(o.Data) != "second" {
		t.Fatalf("got %q", o.Data)
	}
}

func testDelete(t *testing.T, h Harness) {
	s := h.New(t)
	must(t, "delete in an empty store", s.Delete(t.Context(), "a/k"))
	create(t, s, "a/k", "x")
	create(t, s, "a/other", "y")
	must(t, "delete", s.Delete(t.Context(), "a/k"))
	must(t, "second delete", s.Delete(t.Context(), "a/k"))
	keys, _, _, err := all(t.Context(), s, "", driver.ListOptions{})
	must(t, "list", err)
	if !slices.Equal(keys, []string{"a/other"}) {
		t.Fatalf("after the delete: %q", keys)
	}
}

func testDeleteIfMatch(t *testing.T, h Harness) {
	s := h.New(t)
	deleter, ok := driver.As[driver.ConditionalDeleter](s)
	if !ok {
		t.Skip("this driver deletes without conditions only")
	}
	must(t, "delete of an absent object", deleter.DeleteIfMatch(t.Context(), "a/k", "1"))
	v1 := create(t, s, "a/k", "one")
	v2, err := s.Put(t.Context(), "a/k", []byte("two"))
	must(t, "put", err)
	for _, stale := range []string{v1, "0", "no version"} {
		want(t, "delete of version "+stale, deleter.DeleteIfMatch(t.Context(), "a/k", stale), driver.ErrConflict)
	}
	if o := get(t, s, "a/k"); string(o.Data) != "two" {
		t.Fatalf("a stale delete changed the object: %q", o.Data)
	}
	must(t, "delete", deleter.DeleteIfMatch(t.Context(), "a/k", v2))
	_, err = s.Get(t.Context(), "a/k")
	want(t, "get of a deleted object", err, driver.ErrNotFound)
	must(t, "second delete", deleter.DeleteIfMatch(t.Context(), "a/k", v2))
}

func testOverwrite(t *testing.T, h Harness) {
	s := h.New(t)
	var last string
	for _, data := range []string{"one", "two, longer", "3"} {
		v, err := s.Put(t.Context(), "k", []byte(data))
		must(t, "put", err)
		if o := get(t, s, "k"); string(o.Data) != data || o.Version != v || v == last {
			t.Fatalf("got %q of version %q, want %q of %q", o.Data, o.Version, data, v)
		}
		last = v
	}
}

func testEmpty(t *testing.T, h Harness) {
	s := h.New(t)
	create(t, s, "empty", "")
	if o := get(t, s, "empty"); len(o.Data) != 0 || o.Version == "" {
		t.Fatalf("got %q of version %q", o.Data, o.Version)
	}
	_, err := s.PutIfAbsent(t.Context(), "empty", nil)
	want(t, "create over an empty object", err, driver.ErrConflict)
}

func testBig(t *testing.T, h Harness) {
	s := h.New(t)
	data := make([]byte, 16<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	_, err := s.Put(t.Context(), "big", data)
	must(t, "put 16 MiB", err)
	if o := get(t, s, "big"); !bytes.Equal(o.Data, data) {
		t.Fatalf("16 MiB came back as %d other bytes", len(o.Data))
	}
	p, err := s.List(t.Context(), "big", driver.ListOptions{})
	must(t, "list", err)
	if len(p.Objects) != 1 || p.Objects[0].Size != int64(len(data)) {
		t.Fatalf("list: %+v", p)
	}
}

func testHead(t *testing.T, h Harness) {
	s := h.New(t)
	heads, ok := driver.As[driver.HeadGetter](s)
	if !ok {
		t.Skip("this driver reads whole objects only")
	}
	_, err := heads.GetHead(t.Context(), "k", 3)
	want(t, "head of an absent object", err, driver.ErrNotFound)
	for _, data := range []string{"", "ab", "abc", "abcdef"} {
		_, err := s.Put(t.Context(), "k", []byte(data))
		must(t, "put", err)
		head, err := heads.GetHead(t.Context(), "k", 3)
		must(t, "head", err)
		if string(head) != data[:min(3, len(data))] {
			t.Fatalf("the first 3 bytes of %q are %q", data, head)
		}
	}
}

// oddNames are legal keys that have broken a store somewhere.
var oddNames = []string{
	"with space", " leading and trailing ", "a+b", "100%", "%2F", "%25", "a%zz", "a&b=c?d#e",
	"ünïcödé-Ω-日本", "emoji-⛵", `back\slash`, `quote"'`, "*", "~", "$HOME", "<tag>", "semi;colon",
	".hidden", ".lock", "..three", "...", ".tmp-x", "-rf", "nul", "dot.", "a:b", "@at", "!(x)", "[1]", "{2}", "|", "`",
	strings.Repeat("long-", 40), strings.Repeat("%", 80),
}

func testOddNames(t *testing.T, h Harness) {
	s := h.New(t)
	var keys []string
	for _, name := range oddNames {
		keys = append(keys, "odd/"+name, "odd2/"+name+"/leaf")
	}
	for _, key := range keys {
		create(t, s, key, "content of "+key)
	}
	for _, key := range keys {
		if o := get(t, s, key); string(o.Data) != "content of "+key {
			t.Fatalf("%q holds %q", key, o.Data)
		}
	}
	listed, _, _, err := all(t.Context(), s, "odd", driver.ListOptions{})
	must(t, "list", err)
	slices.Sort(keys)
	if !slices.Equal(listed, keys) {
		t.Fatalf("list:\n got %q\nwant %q", listed, keys)
	}
	_, folders, _, err := all(t.Context(), s, "odd2/", driver.ListOptions{Shallow: true})
	must(t, "shallow list", err)
	if len(folders) != len(oddNames) {
		t.Fatalf("shallow list: %d folders, want %d: %q", len(folders), len(oddNames), folders)
	}
	for _, key := range keys {
		must(t, "delete", s.Delete(t.Context(), key))
	}
	if left, _, _, _ := all(t.Context(), s, "", driver.ListOptions{}); len(left) != 0 {
		t.Fatalf("after the deletes: %q", left)
	}
}

func testBadNames(t *testing.T, h Harness) {
	s := h.New(t)
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../../etc/passwd", "a/./b", "a\x00b", "a\nb", "\xff", strings.Repeat("x", 201), strings.Repeat("x/", 500) + "x"} {
		_, err := s.Get(t.Context(), key)
		want(t, "get", err, driver.ErrInvalid)
		_, err = s.Put(t.Context(), key, nil)
		want(t, "put", err, driver.ErrInvalid)
		_, err = s.PutIfAbsent(t.Context(), key, nil)
		want(t, "create", err, driver.ErrInvalid)
		_, err = s.PutIfMatch(t.Context(), key, nil, "1")
		want(t, "replace", err, driver.ErrInvalid)
		want(t, "delete", s.Delete(t.Context(), key), driver.ErrInvalid)
	}
}

func testCopies(t *testing.T, h Harness) {
	s := h.New(t)
	data := []byte("mine")
	_, err := s.Put(t.Context(), "k", data)
	must(t, "put", err)
	data[0] = 'X'
	o := get(t, s, "k")
	if string(o.Data) != "mine" {
		t.Fatalf("the store kept the caller's slice: %q", o.Data)
	}
	o.Data[0] = 'Y'
	if again := get(t, s, "k"); string(again.Data) != "mine" {
		t.Fatalf("the store gave its own slice away: %q", again.Data)
	}
}
