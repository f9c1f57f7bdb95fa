// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// PlanFormat is the version of the plan's JSON form that this package writes and the
// newest that it reads. docs/reference/plan-format.md describes it.
const PlanFormat = 1

// Plan is what a run would do: a value that prints, marshals to JSON and can be
// saved. Only a plan that MakePlan made in this process can be applied.
type Plan struct {
	Format   int       `json:"format"`
	Header   Header    `json:"header"`
	Items    []Item    `json:"items"` // every item stands after its dependencies; removals last
	Warnings []Warning `json:"warnings,omitempty"`

	work    []planned // beside Items, the same index
	applied bool
}

// Header says what a plan is for. A saved plan is refused when Cluster, UID, Store,
// Target, Verb or Revision are not what they were.
type Header struct {
	Verb     string    `json:"verb,omitempty"` // "update cluster", "delete cluster", ...
	Cluster  string    `json:"cluster,omitempty"`
	UID      string    `json:"uid,omitempty"`
	Revision int       `json:"revision,omitempty"`
	Store    string    `json:"store,omitempty"`
	Target   string    `json:"target,omitempty"`
	Identity string    `json:"identity,omitempty"` // who the cloud says we are
	Account  string    `json:"account,omitempty"`  // the cloud's account, project or team
	Tool     string    `json:"tool,omitempty"`     // version of the tool that made the plan
	When     time.Time `json:"when"`               // filled by MakePlan when zero
}

// Item is what a plan does with one object.
type Item struct {
	ID          ID      `json:"id"`
	Action      Action  `json:"action"`
	Description string  `json:"description,omitempty"` // one short line for people
	Reason      string  `json:"reason,omitempty"`      // why, for replace, delete and keep
	Leaves      string  `json:"leaves,omitempty"`      // what stays after the change, until when, and whose it is
	Fields      []Field `json:"fields,omitempty"`
	Deps        []ID    `json:"deps,omitempty"`    // items that come first; for a removal, removals
	Data        bool    `json:"data,omitempty"`    // the object holds data
	Exact       string  `json:"exact,omitempty"`   // digest of all that was observed of it
	Removal     bool    `json:"removal,omitempty"` // nothing wants the object any more
}

// Warning is something that a user should know before saying yes.
type Warning struct {
	Path string `json:"path,omitempty"` // in the spec, or a task's ID
	Text string `json:"text"`
}

// planned is what Apply needs of an item.
type planned struct {
	task   Task
	change Change
}

// gone reports whether the item is a removal of what is no longer there.
func (i Item) gone() bool { return i.Removal && i.Action == None }

// Pending reports whether the plan changes anything.
func (p *Plan) Pending() bool {
	for _, i := range p.Items {
		if i.Action.Pending() {
			return true
		}
	}
	return false
}

// Counts returns how many items have each action; all actions are in it. Removals of
// what is already gone are not counted.
func (p *Plan) Counts() map[Action]int {
	counts := map[Action]int{None: 0, Create: 0, Update: 0, Replace: 0, Delete: 0, Keep: 0}
	for _, i := range p.Items {
		if !i.gone() {
			counts[i.Action]++
		}
	}
	return counts
}

// planFields has Plan's fields without its methods.
type planFields Plan

type planJSON struct {
	*planFields
	Counts map[Action]int `json:"counts"`
}

// MarshalJSON writes the plan with its counts.
func (p Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(planJSON{planFields: (*planFields)(&p), Counts: p.Counts()})
}

// DecodePlan reads what MarshalJSON wrote. It refuses unknown fields, anything after
// the plan, plans that contradict themselves, and formats newer than PlanFormat.
func DecodePlan(b []byte) (*Plan, error) {
	var version struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	switch {
	case version.Format == nil || *version.Format < 1:
		return nil, errors.New("decode plan: no format version: this is not a saved plan")
	case *version.Format > PlanFormat:
		return nil, fmt.Errorf("decode plan: format %d is newer than this tool reads (%d): use the version that wrote it, or plan again",
			*version.Format, PlanFormat)
	}
	p := &Plan{}
	doc := planJSON{planFields: (*planFields)(p)}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode plan: something follows the plan")
	}
	if err := p.check(doc.Counts); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	return p, nil
}

// check finds what no MakePlan would have made.
func (p *Plan) check(counts map[Action]int) error {
	seen := make(map[ID]bool, len(p.Items))
	for n, i := range p.Items {
		switch {
		case i.ID == "":
			return fmt.Errorf("items[%d] has no id", n)
		case seen[i.ID]:
			return fmt.Errorf("items[%d]: %s stands there twice", n, i.ID)
		case !i.Action.valid():
			return fmt.Errorf("items[%d]: %s has the unknown action %q", n, i.ID, i.Action)
		}
		for _, d := range i.Deps {
			if !seen[d] {
				return fmt.Errorf("items[%d]: %s comes before its dependency %s", n, i.ID, d)
			}
		}
		for _, f := range i.Fields {
			if f.Path == "" {
				return fmt.Errorf("items[%d]: %s has a field without path", n, i.ID)
			}
		}
		seen[i.ID] = true
	}
	for a, n := range p.Counts() {
		if counts[a] != n {
			return fmt.Errorf("counts.%s is %d, the items say %d: the plan was altered or cut", a, counts[a], n)
		}
	}
	return nil
}

func (a Action) valid() bool {
	switch a {
	case None, Create, Update, Replace, Delete, Keep:
		return true
	}
	return false
}
