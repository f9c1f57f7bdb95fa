// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// runDrifts: what was changed by hand is shown and repaired, and an object that carries
// the cluster's ownership without being wanted is planned for removal.
func runDrifts(t *testing.T, h Harness) {
	if len(h.Drifts) == 0 {
		t.Skip("the harness has no drifts")
	}
	const shards = 3 // worlds, each for a part of the list
	for shard := range shards {
		t.Run(string(rune('a'+shard)), func(t *testing.T) {
			t.Parallel()
			r := NewRig(t, h)
			o := HAPrivate(t, h, r.World)
			m := r.Create(o)
			uid := m.Cluster.Metadata.UID
			r.Apply(o.Name)
			wanted := Canonical(r.Snapshot(), h.Volatile)
			for i, d := range h.Drifts {
				if i%shards == shard {
					t.Run(d.Name, func(t *testing.T) { checkDrift(t, r, d, o.Name, uid, wanted) })
				}
			}
			if shard == 0 && h.Stray != nil {
				h.Stray(t, r.World, o.Name, uid)
				if p := r.Plan(o.Name); p.Counts()[tasks.Delete] != 1 {
					t.Errorf("a stray object of the cluster's is not planned for removal:\n%s", Changes(p))
				}
				r.Apply(o.Name)
				r.Settled(o.Name)
			}
		})
	}
}

func checkDrift(t *testing.T, r *Rig, d Drift, name, uid string, wanted []string) {
	t.Helper()
	outer := r.T
	r.T = t
	defer func() { r.T = outer }()
	d.Make(t, r.World, name, uid)
	p := r.Plan(name)
	if changes := Changes(p); !p.Pending() || !strings.Contains(changes, d.Shown) {
		t.Fatalf("the plan does not show %q:\n%s", d.Shown, changes)
	}
	r.Apply(name)
	r.Settled(name)
	if !d.Renews {
		SameLines(t, "after the repair", wanted, Canonical(r.Snapshot(), r.Harness.Volatile))
	}
}

// SameLines compares two canonical worlds.
func SameLines(t testing.TB, what string, want, got []string) {
	t.Helper()
	have := map[string]int{}
	for _, line := range want {
		have[line]++
	}
	for _, line := range got {
		have[line]--
	}
	n := 0
	for line, left := range have {
		if left == 0 {
			continue
		}
		if n++; n > 6 {
			break
		}
		line = line[:min(len(line), 1200)]
		if left > 0 {
			t.Errorf("%s lacks %s", what, line)
		} else {
			t.Errorf("%s has too much: %s", what, line)
		}
	}
}
