// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const (
	bigHistory = 1000
	bigGroups  = 500
)

// bigStore writes a cluster of many groups and revisions, and its node configs, past
// the driver: what counts is how they are read.
func bigStore(tb testing.TB) *Store {
	tb.Helper()
	dir := tb.TempDir()
	var spec bytes.Buffer
	for i := range bigGroups {
		fmt.Fprintf(&spec, "---\nkind: InstanceGroup\nmetadata:\n  name: nodes-%d\nspec:\n  role: Node\n  minSize: 1\n  maxSize: 9\n  machineType: m6i.large\n", i)
	}
	write := func(key string, data []byte) {
		file := filepath.Join(dir, key)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for n := range bigHistory {
		data, err := encodeDocument(header{APIVersion: apiVersion, Kind: revisionKind, Cluster: demo, Number: n + 1, Who: "alice", When: noon}, spec.Bytes())
		if err != nil {
			tb.Fatal(err)
		}
		write(revisionKey(demo, n+1), data)
	}
	for i := range bigGroups {
		write(fmt.Sprintf("%s/nodes/nodes-%d/%064d.yaml", demo, i, i), []byte("kind: NodeConfig\n"))
	}
	s, err := openFile(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// lists are what is measured: each returns how many entries it found.
func lists(ctx context.Context, s *Store) map[string]func() (int, error) {
	return map[string]func() (int, error){
		"clusters": func() (int, error) { names, err := s.Clusters(ctx); return len(names), err },
		"history":  func() (int, error) { h, err := s.History(ctx, demo); return len(h), err },
		"latest":   func() (int, error) { r, err := s.Latest(ctx, demo); return r.Number, err },
		"nodes":    func() (int, error) { l, err := s.Objects(demo).List(ctx, "nodes/"); return len(l), err },
	}
}

func BenchmarkABigStore(b *testing.B) {
	s := bigStore(b)
	for name, list := range lists(b.Context(), s) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := list(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestABigStoreIsListedWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes thousands of objects")
	}
	s := bigStore(t)
	for name, list := range lists(t.Context(), s) {
		n, err := list()
		if want := map[string]int{"clusters": 1, "history": bigHistory, "latest": bigHistory, "nodes": bigGroups}[name]; err != nil || n != want {
			t.Errorf("%s: %d of %d, %v", name, n, want, err)
		}
	}
}
