// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Diff collects the differences between an observed and a wanted object. A task
// lists its fields once; for an absent object every wanted field becomes part of
// the creation, for a present one only what differs is kept.
type Diff struct {
	exists bool
	fields []Field
	reason string
	data   bool
}

// NewDiff starts a comparison; exists says whether the object was found.
func NewDiff(exists bool) *Diff { return &Diff{exists: exists} }

// Field compares one value that can be changed in place. Both sides go through V.
func (d *Diff) Field(path string, have, want any) { d.add(path, V(have), V(want), false) }

// Fixed compares one value that cannot be changed in place: a difference makes
// the change a Replace.
func (d *Diff) Fixed(path string, have, want any) { d.add(path, V(have), V(want), true) }

// Secret compares by digest and never shows the value.
func (d *Diff) Secret(path string, have, want []byte) {
	d.add(path, digestValue(have), digestValue(want), false)
}

// Map compares two maps key by key, as path[key]: a key that is gone from want is
// a difference, as is one that is new.
func (d *Diff) Map(path string, have, want map[string]string) {
	keys := slices.Collect(maps.Keys(want))
	for k := range have {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		d.add(path+"["+k+"]", mapValue(have, k), mapValue(want, k), false)
	}
}

// mapValue keeps an empty string apart from an absent key.
func mapValue(m map[string]string, k string) Value {
	text, ok := m[k]
	if !ok {
		return Value{}
	}
	return Value{State: Known, Text: text}
}

// Because sets the reason that the plan shows.
func (d *Diff) Because(reason string) { d.reason = reason }

// HoldsData marks the object as one whose loss needs a yes by name.
func (d *Diff) HoldsData() { d.data = true }

func (d *Diff) add(path string, have, want Value, replaces bool) {
	if !d.exists {
		if want.State != Unset {
			d.fields = append(d.fields, Field{Path: path, New: want})
		}
		return
	}
	if have == want && have.State != Unknown {
		return
	}
	d.fields = append(d.fields, Field{Path: path, Old: have, New: want, Replaces: replaces})
}

// Change returns the collected result; observed is handed to Apply untouched.
func (d *Diff) Change(observed any) Change {
	c := Change{Action: None, Fields: d.fields, Reason: d.reason, Data: d.data, Observed: observed}
	switch {
	case !d.exists:
		c.Action = Create
	case slices.ContainsFunc(d.fields, func(f Field) bool { return f.Replaces }):
		c.Action = Replace
	case len(d.fields) > 0:
		c.Action = Update
	}
	return c
}

func digestValue(b []byte) Value {
	if b == nil {
		return Value{}
	}
	sum := sha256.Sum256(b)
	return Value{State: Sensitive, Text: hex.EncodeToString(sum[:8])}
}
