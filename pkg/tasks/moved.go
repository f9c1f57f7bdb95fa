// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"fmt"
	"slices"
	"strconv"
)

// Movement is one difference between a saved plan and a fresh one.
type Movement struct {
	ID      ID     // the item; empty for the plan's header
	What    string // "action", "field cidr", "observed state", "spec revision", ...
	Planned string // what the saved plan says
	Now     string // what the fresh one says
}

// String returns the movement as one line.
func (m Movement) String() string {
	subject := m.What
	if m.ID != "" {
		subject = string(m.ID) + ": " + m.What
	}
	return fmt.Sprintf("%s: planned %s, now %s", subject, m.Planned, m.Now)
}

// Moved compares a saved plan with one made now. It names every difference that means
// that the saved plan no longer says what would happen; none means that applying now
// does exactly what was planned. Who asks, with which version of the tool, and when
// may differ.
func (p *Plan) Moved(now *Plan) []Movement {
	moved := p.Header.moved(now.Header)
	current := make(map[ID]Item, len(now.Items))
	for _, i := range now.Items {
		current[i.ID] = i
	}
	saved := make(map[ID]bool, len(p.Items))
	for _, was := range p.Items {
		saved[was.ID] = true
		is, ok := current[was.ID]
		switch {
		case ok:
			moved = append(moved, was.moved(is)...)
		case !was.gone():
			moved = append(moved, Movement{was.ID, "action", string(was.Action), "not in the plan"})
		}
	}
	for _, is := range now.Items {
		if !saved[is.ID] && !is.gone() {
			moved = append(moved, Movement{is.ID, "action", "not in the plan", string(is.Action)})
		}
	}
	return moved
}

func (h Header) moved(now Header) []Movement {
	var m movements
	m.text("verb", h.Verb, now.Verb)
	m.text("cluster", h.Cluster, now.Cluster)
	m.text("cluster UID", h.UID, now.UID)
	m.text("spec revision", strconv.Itoa(h.Revision), strconv.Itoa(now.Revision))
	m.text("store", h.Store, now.Store)
	m.text("target", h.Target, now.Target)
	m.text("account", h.Account, now.Account)
	return m.list
}

func (i Item) moved(now Item) []Movement {
	m := movements{id: i.ID}
	m.text("action", string(i.Action), string(now.Action))
	m.fields(i.Fields, now.Fields)
	// Digests say nothing to a reader, but must not differ: the object has changed in
	// a place that is not ours.
	if i.Exact != now.Exact && len(m.list) == 0 {
		m.list = append(m.list, Movement{i.ID, "observed state", short(i.Exact), short(now.Exact)})
	}
	m.flag("holding data", i.Data, now.Data)
	m.flag("no longer wanted", i.Removal, now.Removal)
	if !slices.Equal(i.Deps, now.Deps) {
		m.text("dependencies", joinIDs(i.Deps, ", "), joinIDs(now.Deps, ", "))
	}
	return m.list
}

func short(digest string) string {
	if digest == "" {
		return "(none)"
	}
	return digest[:min(len(digest), 12)]
}

// movements collects the differences of one item or of the header.
type movements struct {
	id   ID
	list []Movement
}

func (m *movements) text(what, was, is string) {
	if was != is {
		m.list = append(m.list, Movement{m.id, what, quoted(was), quoted(is)})
	}
}

func (m *movements) flag(what string, was, is bool) {
	if was != is {
		m.list = append(m.list, Movement{m.id, what, strconv.FormatBool(was), strconv.FormatBool(is)})
	}
}

func quoted(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// fields compares by path; a path may stand twice, then by its turn.
func (m *movements) fields(was, is []Field) {
	type key struct {
		path string
		turn int
	}
	index := func(fields []Field) ([]key, map[key]Field) {
		turns := map[string]int{}
		keys, byKey := make([]key, 0, len(fields)), make(map[key]Field, len(fields))
		for _, f := range fields {
			k := key{f.Path, turns[f.Path]}
			turns[f.Path]++
			keys, byKey[k] = append(keys, k), f
		}
		return keys, byKey
	}
	wasKeys, wasField := index(was)
	isKeys, isField := index(is)
	for _, k := range wasKeys {
		now, ok := isField[k]
		switch f := wasField[k]; {
		case !ok:
			m.field(k.path, f.arrow(), "as wanted")
		case f != now:
			m.field(k.path, f.arrow(), now.arrow())
		}
	}
	for _, k := range isKeys {
		if _, ok := wasField[k]; !ok {
			m.field(k.path, "as wanted", isField[k].arrow())
		}
	}
}

func (m *movements) field(path, was, is string) {
	m.list = append(m.list, Movement{m.id, "field " + path, was, is})
}

// arrow returns both sides, cut to what fits in a message; digests tell sensitive
// values apart.
func (f Field) arrow() string {
	text := brief(f.Old) + " -> " + brief(f.New)
	if f.Replaces {
		text += " (replaces)"
	}
	return text
}

func brief(v Value) string {
	if v.State == Sensitive {
		return "(sensitive " + v.Text + ")"
	}
	text := []rune(printable(v))
	if len(text) > 60 {
		return string(text[:57]) + "..."
	}
	return string(text)
}
