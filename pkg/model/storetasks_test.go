// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// objects is a little store with a call log.
type objects struct {
	mu          sync.Mutex
	data        map[string][]byte
	lists, puts int
	nextErr     error
}

func (o *objects) List(_ context.Context, prefix string) (map[string]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lists++
	if err := o.nextErr; err != nil {
		o.nextErr = nil
		return nil, err
	}
	out := map[string]int64{}
	for k, v := range o.data {
		if strings.HasPrefix(k, prefix) {
			out[k] = int64(len(v))
		}
	}
	return out, nil
}

func (o *objects) Put(_ context.Context, key string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.puts++
	if o.data == nil {
		o.data = map[string][]byte{}
	}
	o.data[key] = data
	return nil
}

func storeGraph(t *testing.T, b *Blueprint, o *objects) *tasks.Graph {
	t.Helper()
	g := tasks.NewGraph()
	if err := StoreTasks(b, o, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// observe returns the actions by ID and applies them when asked.
func observe(t *testing.T, g *tasks.Graph, apply bool) map[tasks.ID]tasks.Action {
	t.Helper()
	out := map[tasks.ID]tasks.Action{}
	for _, task := range g.Wanted() {
		c, err := task.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out[task.ID()] = c.Action
		if apply {
			if err := task.Apply(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func TestStoreTasks(t *testing.T) {
	t.Parallel()
	b, o := built(t, haPublic()), &objects{}
	for id, action := range observe(t, storeGraph(t, b, o), true) {
		if action != tasks.Create || !strings.HasPrefix(string(id), "store/object/nodes/") {
			t.Errorf("%s: %s", id, action)
		}
	}
	if o.lists != 1 || o.puts != len(b.Objects) {
		t.Errorf("%d listings and %d writes for %d objects", o.lists, o.puts, len(b.Objects))
	}
	for id, action := range observe(t, storeGraph(t, b, o), true) {
		if action != tasks.None {
			t.Errorf("again: %s: %s", id, action)
		}
	}
	if o.puts != len(b.Objects) {
		t.Error("the second run wrote")
	}

	cut := b.Objects[0].Key
	whole := maps.Clone(o.data)
	o.data[cut] = o.data[cut][:10]
	for id, action := range observe(t, storeGraph(t, b, o), true) {
		want := tasks.None
		if id == StoreTaskID(cut) {
			want = tasks.Update
		}
		if action != want {
			t.Errorf("truncated: %s: %s, want %s", id, action, want)
		}
	}
	if string(o.data[cut]) != string(whole[cut]) {
		t.Error("the truncated object was not made whole")
	}
}

func TestStoreTasksReadAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	o := &objects{nextErr: &driver.Error{Op: "list", Name: "s3://b", Kind: driver.ErrUnavailable}}
	task := storeGraph(t, built(t, minimal()), o).Wanted()[0]
	_, err := task.Observe(t.Context())
	if err == nil || tasks.Classify(err) != tasks.Retryable || !strings.Contains(err.Error(), "below nodes/") {
		t.Errorf("got %v", err)
	}
	if c, err := task.Observe(t.Context()); err != nil || c.Action != tasks.Create {
		t.Errorf("the retry: %v, %v", c.Action, err)
	}
	o.nextErr = &driver.Error{Op: "list", Name: "s3://b", Kind: driver.ErrDenied}
	task = storeGraph(t, built(t, minimal()), o).Wanted()[0]
	if _, err := task.Observe(t.Context()); err == nil || tasks.Classify(err) != tasks.Permanent {
		t.Errorf("denied: %v", err)
	}
}
