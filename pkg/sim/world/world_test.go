// SPDX-License-Identifier: Apache-2.0

package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

type row struct{ Name string }

func open(t *testing.T, path string, now func() time.Time) (*world.World, *world.Table[row]) {
	t.Helper()
	w, err := world.Open(path, now)
	if err != nil {
		t.Fatal(err)
	}
	table, err := world.NewTable[row](w, "rows")
	if err != nil {
		t.Fatal(err)
	}
	return w, table
}

func do(t *testing.T, w *world.World, fn func()) {
	t.Helper()
	if err := w.Do(fn); err != nil {
		t.Fatal(err)
	}
}

func names(rows []*row) string {
	s := ""
	for _, r := range rows {
		s += r.Name
	}
	return s
}

func TestRowsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	w, table := open(t, path, time.Now)
	do(t, w, func() {
		for _, n := range []string{"c", "a", "b", "d"} {
			table.Put("r", n, &row{n})
		}
		table.Put("other", "x", &row{"x"})
	})
	do(t, w, func() {
		table.Delete("r", "a")
		table.Get("r", "c").Name = "C"
		table.Put("r", "c", table.Get("r", "c"))
	})
	// A copy of the file, taken without closing, is what a killed process leaves.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "w.db")
	if err := os.WriteFile(killed, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, killed} {
		w, table := open(t, p, time.Now)
		do(t, w, func() {
			if got := names(table.All("r")); got != "Cbd" {
				t.Errorf("rows %q, want Cbd", got)
			}
			table.Put("r", "e", &row{"e"})
			if got := names(table.All("r")); got != "Cbde" {
				t.Errorf("rows %q, want Cbde", got)
			}
		})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDelayAndReset(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w, table := open(t, filepath.Join(t.TempDir(), "w.db"), func() time.Time { return now })
	w.SetDelay(time.Minute)
	do(t, w, func() {
		table.Put("r", "a", &row{"a"})
		if table.Find("r", "a") != nil || table.Get("r", "a") == nil || len(table.Visible("r")) != 0 {
			t.Error("a young row must be there for writers and hidden from readers")
		}
		now = now.Add(time.Minute)
		if table.Find("r", "a") == nil || len(table.Visible("r")) != 1 {
			t.Error("after its time a row must be seen")
		}
	})
	if err := w.Reset(); err != nil {
		t.Fatal(err)
	}
	if len(w.Counts()) != 0 {
		t.Error("reset left rows")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedRowIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	if err := os.WriteFile(path, []byte("not a database, though long enough to look like one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := world.Open(path, time.Now); err == nil {
		t.Errorf("a damaged file was taken as an empty world (%v)", w.Close())
	}
}

func BenchmarkPut(b *testing.B) {
	w, err := world.Open(filepath.Join(b.TempDir(), "w.db"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	table, err := world.NewTable[row](w, "rows")
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if err := w.Do(func() { table.Put("r", fmt.Sprint(i), &row{"x"}) }); err != nil {
			b.Fatal(err)
		}
	}
}
