// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Table holds rows of one type by scope (a region, or "" for global rows) and
// id. Its methods are called inside World.Do only. Rows are handed out by
// pointer: whoever changes one calls Put, so that the change reaches the disk.
type Table[T any] struct {
	world *World
	index int
	title string
	rows  map[string]*entry[T]
	order map[string][]*entry[T] // by scope, oldest first
}

type entry[T any] struct {
	id   string
	seq  uint64
	born time.Time
	row  *T
}

// NewTable makes the table called name, with the rows that the disk has of it.
func NewTable[T any](w *World, name string) (*Table[T], error) {
	t := &Table[T]{world: w, title: name}
	t.clear()
	index, err := w.add(t)
	if err != nil {
		return nil, err
	}
	t.index = index
	for _, list := range t.order {
		slices.SortFunc(list, func(a, b *entry[T]) int { return int(int64(a.seq) - int64(b.seq)) })
	}
	return t, nil
}

// Get returns a row, or nil.
func (t *Table[T]) Get(scope, id string) *T {
	if e := t.rows[scope+"\x00"+id]; e != nil {
		return e.row
	}
	return nil
}

// Find is Get as a describe call sees it: rows too young are not there yet.
func (t *Table[T]) Find(scope, id string) *T {
	if e := t.rows[scope+"\x00"+id]; e != nil && t.seen(e) {
		return e.row
	}
	return nil
}

// Put adds a row or records that it changed.
func (t *Table[T]) Put(scope, id string, row *T) {
	key := scope + "\x00" + id
	if e := t.rows[key]; e != nil {
		e.row = row
	} else {
		t.world.seq++
		e = &entry[T]{id: id, seq: t.world.seq, born: t.world.now(), row: row}
		t.rows[key] = e
		t.order[scope] = append(t.order[scope], e)
	}
	t.world.dirty[dirtyKey{t.index, key}] = struct{}{}
}

// Delete removes a row; an absent one is no fault.
func (t *Table[T]) Delete(scope, id string) {
	key := scope + "\x00" + id
	e := t.rows[key]
	if e == nil {
		return
	}
	delete(t.rows, key)
	list := t.order[scope]
	if i, ok := slices.BinarySearchFunc(list, e.seq, func(x *entry[T], seq uint64) int {
		return int(int64(x.seq) - int64(seq))
	}); ok {
		t.order[scope] = slices.Delete(list, i, i+1)
	}
	t.world.dirty[dirtyKey{t.index, key}] = struct{}{}
}

// All returns a scope's rows, oldest first.
func (t *Table[T]) All(scope string) []*T {
	list := t.order[scope]
	rows := make([]*T, len(list))
	for i, e := range list {
		rows[i] = e.row
	}
	return rows
}

// Visible is All without the rows that a describe call does not see yet.
func (t *Table[T]) Visible(scope string) []*T {
	if t.world.delay == 0 {
		return t.All(scope)
	}
	var rows []*T
	for _, e := range t.order[scope] {
		if t.seen(e) {
			rows = append(rows, e.row)
		}
	}
	return rows
}

// Scopes returns the scopes that have rows, sorted.
func (t *Table[T]) Scopes() []string {
	var scopes []string
	for s, list := range t.order {
		if len(list) > 0 {
			scopes = append(scopes, s)
		}
	}
	slices.Sort(scopes)
	return scopes
}

func (t *Table[T]) seen(e *entry[T]) bool {
	return t.world.delay == 0 || t.world.now().Sub(e.born) >= t.world.delay
}

func (t *Table[T]) name() string { return t.title }

// Passing is a row that is no object of the cloud, or no longer one: bookkeeping, and
// what is deleted but still answered for a while. Counts leaves it out.
type Passing interface{ Passing() bool }

func (t *Table[T]) count() int {
	n := 0
	for _, e := range t.rows {
		if p, ok := any(e.row).(Passing); !ok || !p.Passing() {
			n++
		}
	}
	return n
}

func (t *Table[T]) clear() {
	t.rows = map[string]*entry[T]{}
	t.order = map[string][]*entry[T]{}
}

func (t *Table[T]) load(key, value []byte) (uint64, error) {
	var r record
	if err := json.Unmarshal(value, &r); err != nil {
		return 0, err
	}
	scope, id, ok := strings.Cut(string(key), "\x00")
	if !ok {
		return 0, fmt.Errorf("its key has no scope")
	}
	row := new(T)
	if err := json.Unmarshal(r.Row, row); err != nil {
		return 0, err
	}
	e := &entry[T]{id: id, seq: r.Seq, born: r.Born, row: row}
	t.rows[string(key)] = e
	t.order[scope] = append(t.order[scope], e)
	return r.Seq, nil
}

func (t *Table[T]) encode(key string) ([]byte, bool, error) {
	e := t.rows[key]
	if e == nil {
		return nil, false, nil
	}
	row, err := json.Marshal(e.row)
	if err != nil {
		return nil, false, err
	}
	value, err := json.Marshal(record{Seq: e.seq, Born: e.born, Row: row})
	return value, true, err
}
