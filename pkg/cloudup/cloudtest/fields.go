// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// OptionalFields lists the optional fields of the cluster's and the groups' spec by
// their path: "cluster.spec.api.access". A list of objects is "[]"; an object is listed
// by its own fields alone, unless it has none.
func OptionalFields() []string {
	var out []string
	walk("cluster.spec", reflect.TypeFor[api.ClusterSpec](), &out)
	walk("instanceGroup.spec", reflect.TypeFor[api.InstanceGroupSpec](), &out)
	slices.Sort(out)
	return out
}

func walk(path string, t reflect.Type, out *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && deref(t.Elem()).Kind() == reflect.Struct {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := deref(f.Type)
		if inner.Kind() == reflect.Slice {
			inner = deref(inner.Elem())
		}
		if inner.Kind() == reflect.Struct && inner.NumField() > 0 {
			walk(path+"."+name, f.Type, out)
		} else if strings.Contains(opts, "omitempty") {
			*out = append(*out, path+"."+name)
		}
	}
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// runFields: for every optional field that reaches the cloud, set it, apply, take it
// away, and the plan shows both; after each apply the plan is empty. A field that is in
// neither list of the harness fails the test.
func runFields(t *testing.T, h Harness) {
	if h.Fields == nil {
		t.Skip("the harness has no fields")
	}
	for _, path := range OptionalFields() {
		_, fields := h.Fields[path]
		_, silent := h.Silent[path]
		if fields == silent {
			t.Errorf("%s must be in exactly one of the harness's Fields and Silent", path)
		}
	}
	known := OptionalFields()
	for _, path := range slices.Concat(slices.Collect(maps.Keys(h.Fields)), slices.Collect(maps.Keys(h.Silent))) {
		if !slices.Contains(known, path) {
			t.Errorf("%s is no optional field of the spec", path)
		}
	}
	const shards = 4
	for shard := range shards {
		t.Run(string(rune('a'+shard)), func(t *testing.T) {
			t.Parallel()
			r := NewRig(t, h)
			o := HAPrivate(t, h, r.World)
			o.Zones = h.Zones[:1]
			r.Create(o)
			r.Apply(o.Name)
			for i, path := range slices.Sorted(maps.Keys(h.Fields)) {
				if i%shards == shard {
					t.Run(path, func(t *testing.T) { checkField(t, r, o.Name, h.Fields[path]) })
				}
			}
		})
	}
}

func checkField(t *testing.T, r *Rig, name string, f Field) {
	plain, err := r.Deps().Store.Latest(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	outer := r.T
	r.T = t
	defer func() { r.T = outer }()
	r.Change(name, func(m *api.Manifest) error { f.Set(m); return nil })
	show := func(when, shown string) {
		t.Helper()
		p := r.Plan(name)
		if changes := Changes(p); !p.Pending() || !strings.Contains(changes, shown) {
			t.Fatalf("%s: the plan does not show %q:\n%s", when, shown, changes)
		}
		r.Apply(name)
		r.Settled(name)
	}
	show("set", f.Shown)
	r.Change(name, func(m *api.Manifest) error {
		old, err := api.Load(plain.Content, "before")
		if err == nil {
			*m = *old
		}
		return err
	})
	show("unset", f.back())
}

// back is what a plan shows that takes the field away: a change of a value, the other way.
func (f Field) back() string {
	path, change, ok := strings.Cut(f.Shown, ": ")
	was, is, ok2 := strings.Cut(change, " -> ")
	if !ok || !ok2 {
		return f.Shown
	}
	return path + ": " + is + " -> " + was
}
