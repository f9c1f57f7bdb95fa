// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Action is what a plan wants to do to an object. The set is closed.
type Action string

// The actions, each with the rune that plans print in front of it.
const (
	None    Action = "none"    // '=' as wanted
	Create  Action = "create"  // '+'
	Update  Action = "update"  // '~'
	Replace Action = "replace" // '±' a new object takes the old one's place
	Delete  Action = "delete"  // '-'
	Keep    Action = "keep"    // '!' shared or protected: verified and left alone
)

// Symbol returns the rune that stands before an action in plan text.
func (a Action) Symbol() rune {
	switch a {
	case Create:
		return '+'
	case Update:
		return '~'
	case Replace:
		return '±'
	case Delete:
		return '-'
	case Keep:
		return '!'
	default:
		return '='
	}
}

// Pending reports whether the action changes anything.
func (a Action) Pending() bool { return a != None && a != Keep && a != "" }

// ValueState says how much of a value is known.
type ValueState uint8

// The states of a Value.
const (
	Unset     ValueState = iota // not set at all: a value of its own
	Known                       // Text holds it
	Unknown                     // known after apply
	Sensitive                   // known, compared by digest, never shown
)

// Value is one side of a field in a plan. The zero Value is "unset".
type Value struct {
	State ValueState
	Text  string // Known: the text; Sensitive: a digest of it, never the text
}

// V makes a known Value from a string, number, bool, fmt.Stringer or a list of
// strings (which is shown comma-separated). An empty string or list is Unset.
func V(x any) Value {
	var text string
	switch t := x.(type) {
	case nil:
		return Value{}
	case string:
		text = t
	case []string:
		text = strings.Join(t, ",")
	case Value:
		return t
	default:
		text = fmt.Sprint(t)
	}
	if text == "" {
		return Value{}
	}
	return Value{State: Known, Text: text}
}

// After is the Value of something that only an earlier task's apply can tell.
func After() Value { return Value{State: Unknown} }

// String returns the value as plan text shows it.
func (v Value) String() string {
	switch v.State {
	case Known:
		return v.Text
	case Unknown:
		return "(known after apply)"
	case Sensitive:
		return "(sensitive)"
	default:
		return "(none)"
	}
}

type valueJSON struct {
	Unknown   bool   `json:"unknown,omitempty"`
	Sensitive string `json:"sensitiveDigest,omitempty"`
}

// MarshalJSON writes null, a string, {"unknown":true} or {"sensitiveDigest":"..."}.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.State {
	case Known:
		return json.Marshal(v.Text)
	case Unknown:
		return json.Marshal(valueJSON{Unknown: true})
	case Sensitive:
		return json.Marshal(valueJSON{Sensitive: v.Text})
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes, and nothing else.
func (v *Value) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err == nil {
		*v = Value{}
		if text != nil {
			*v = Value{State: Known, Text: *text}
		}
		return nil
	}
	var j valueJSON
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil {
		return fmt.Errorf("decode plan value: %w", err)
	}
	switch {
	case j.Unknown == (j.Sensitive != ""):
		return errors.New("decode plan value: an object has either unknown or sensitiveDigest")
	case j.Unknown:
		*v = After()
	default:
		*v = Value{State: Sensitive, Text: j.Sensitive}
	}
	return nil
}

// Field is one difference: a path within the object and its two sides.
type Field struct {
	Path     string `json:"path"`
	Old      Value  `json:"old"`
	New      Value  `json:"new"`
	Replaces bool   `json:"replaces,omitempty"` // this difference forces a new object
}

// Change is what Observe found and Apply has to make.
type Change struct {
	Action Action
	Fields []Field
	Reason string // why, for replace, delete and keep
	Leaves string // what stays of the object after the change, until when, and whose it is
	Data   bool   // the object holds data: deleting or replacing it needs a yes by name
	Exact  string // digest of everything observed of the object, fields that are not ours included

	// Observed hands what Observe read to Apply, so that nothing is read twice.
	Observed any
}

// Has reports whether a field with that path, or one below it, differs.
func (c Change) Has(path string) bool {
	return slices.ContainsFunc(c.Fields, func(f Field) bool {
		return f.Path == path || strings.HasPrefix(f.Path, path+".") || strings.HasPrefix(f.Path, path+"[")
	})
}
