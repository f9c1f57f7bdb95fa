// SPDX-License-Identifier: Apache-2.0

package api

import (
	"reflect"
	"strings"
	"sync"
)

// field is one key of a struct as a manifest spells it.
type field struct {
	name     string
	index    int
	typ      reflect.Type
	required bool   // not omitempty
	number   bool   // a string that may be written as a number
	doc      string // key into the descriptions, "Type.Field"
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf returns the keys of struct t in the order of the type; an inlined struct's
// keys stand in its place.
func fieldsOf(t reflect.Type) []field {
	if got, ok := fieldCache.Load(t); ok {
		return got.([]field)
	}
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			// Only TypeMeta is inlined and it is always first, so that its own
			// fields are found through fieldByName.
			continue
		}
		out = append(out, field{
			name: name, index: i, typ: f.Type,
			required: !strings.Contains(opts, "omitempty"),
			number:   f.Tag.Get("slipway") == "number",
			doc:      t.Name() + "." + f.Name,
		})
	}
	fieldCache.Store(t, out)
	return out
}

// fieldByName returns the field that a manifest spells so.
func fieldByName(t reflect.Type, name string) (field, bool) {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// fieldNames returns the keys of a struct.
func fieldNames(t reflect.Type) []string {
	fields := fieldsOf(t)
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// emptyStruct is the type of choices that hold nothing, such as cni.routes.
var emptyStruct = reflect.TypeFor[struct{}]()
