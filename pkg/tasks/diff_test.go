// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

func TestDiffActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		exists bool
		fill   func(*tasks.Diff)
		action tasks.Action
		fields []tasks.Field
	}{
		{"absent", false, func(d *tasks.Diff) { d.Field("a", nil, "x"); d.Field("unset", nil, "") }, tasks.Create,
			[]tasks.Field{{Path: "a", New: tasks.V("x")}}},
		{"same", true, func(d *tasks.Diff) {
			d.Field("a", "x", "x")
			d.Fixed("b", 1, "1")
			d.Secret("s", []byte("k"), []byte("k"))
		},
			tasks.None, nil},
		{"removed from the spec", true, func(d *tasks.Diff) { d.Field("maxPrice", "0.20", "") }, tasks.Update,
			[]tasks.Field{{Path: "maxPrice", Old: tasks.V("0.20")}}},
		{"empty list is unset", true, func(d *tasks.Diff) { d.Field("a", []string{}, nil) }, tasks.None, nil},
		{"zero and false are set", true, func(d *tasks.Diff) { d.Field("a", nil, 0); d.Field("b", nil, false) }, tasks.Update,
			[]tasks.Field{{Path: "a", New: tasks.V("0")}, {Path: "b", New: tasks.V("false")}}},
		{"fixed", true, func(d *tasks.Diff) { d.Fixed("zone", "a", "b"); d.Field("size", 1, 1) }, tasks.Replace,
			[]tasks.Field{{Path: "zone", Old: tasks.V("a"), New: tasks.V("b"), Replaces: true}}},
		{"unknown is never equal", true, func(d *tasks.Diff) { d.Field("a", tasks.After(), tasks.After()) }, tasks.Update,
			[]tasks.Field{{Path: "a", Old: tasks.After(), New: tasks.After()}}},
		{"map keys: absent, empty, new, gone", true, func(d *tasks.Diff) {
			d.Map("tags", map[string]string{"same": "", "gone": "x", "emptied": "x", "goneEmpty": ""},
				map[string]string{"same": "", "emptied": "", "new": "", "full": "y"})
		}, tasks.Update, []tasks.Field{
			{Path: "tags[emptied]", Old: tasks.V("x"), New: tasks.Value{State: tasks.Known}},
			{Path: "tags[full]", New: tasks.V("y")},
			{Path: "tags[gone]", Old: tasks.V("x")},
			{Path: "tags[goneEmpty]", Old: tasks.Value{State: tasks.Known}},
			{Path: "tags[new]", New: tasks.Value{State: tasks.Known}},
		}},
		{"nil map is no key", true, func(d *tasks.Diff) { d.Map("tags", nil, nil) }, tasks.None, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := tasks.NewDiff(c.exists)
			c.fill(d)
			got := d.Change("seen")
			if got.Action != c.action || got.Observed != "seen" {
				t.Errorf("change %+v", got)
			}
			if diff := cmp.Diff(c.fields, got.Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangeHas(t *testing.T) {
	t.Parallel()
	c := tasks.Change{Fields: []tasks.Field{{Path: "tags[a]"}, {Path: "spot.price"}}}
	for path, want := range map[string]bool{"tags": true, "tags[a]": true, "tag": false, "spot": true, "spot.price": true, "price": false} {
		if c.Has(path) != want {
			t.Errorf("Has(%s) = %v", path, !want)
		}
	}
}

func TestValueJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := tasks.Value{State: tasks.ValueState(rapid.IntRange(0, 3).Draw(t, "state"))}
		switch v.State {
		case tasks.Known:
			v.Text = rapid.String().Draw(t, "text")
		case tasks.Sensitive:
			v.Text = rapid.StringN(1, 20, -1).Draw(t, "digest")
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got := tasks.V("before")
		if err := json.Unmarshal(b, &got); err != nil || got != v {
			t.Fatalf("%s became %+v (%v), was %+v", b, got, err, v)
		}
	})
}
