// SPDX-License-Identifier: Apache-2.0

package statestore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
)

// TestStored: listings give size and age without reading.
func TestStored(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	s := statestore.New(mem.New("stored", func() time.Time { now = now.Add(time.Minute); return now }), statestore.Options{})
	o := s.Objects("demo.example.com")
	for _, key := range []string{"nodes/a/2.yaml", "nodes/a/1.yaml", "assets/x"} {
		if err := o.Put(t.Context(), key, []byte("four")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := o.Stored(t.Context(), "nodes/")
	if err != nil || len(got) != 2 || got[0].Name != "nodes/a/1.yaml" || got[0].Size != 4 || got[0].Modified.Sub(got[1].Modified) != time.Minute {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := o.Stored(t.Context(), "revisions/"); !errors.Is(err, statestore.ErrInvalid) {
		t.Errorf("other folders: got %v", err)
	}
	for run := range 3 {
		for n := range run + 1 {
			if err := s.AppendJournal(t.Context(), "demo.example.com", fmt.Sprintf("run-%d", run), n+1, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err = s.StoredJournals(t.Context(), "demo.example.com")
	if err != nil || len(got) != 3 || got[0].Name != "run-0" || got[2].Parts != 3 || got[2].Size <= got[0].Size || !got[2].Modified.Equal(now) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := s.StoredJournals(t.Context(), "other.example.com"); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
}
