// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Input is what a plan is reviewed with.
type Input struct {
	Plan *tasks.Plan
	// Spec is what the plan makes; Applied what was applied last, nil when nothing was.
	Spec, Applied *api.Manifest
	Who           string    // the person or job that asks
	Now           time.Time // the time of the request
}

// The types below are what expressions see. Their fields are named by the json tags, and
// a name that is not there is an error when a policy is loaded.

// Plan is the plan that is reviewed: the document that `-o json` prints, with every
// field present.
type Plan struct {
	Header   Header           `json:"header"`
	Items    []Item           `json:"items"`
	Warnings []string         `json:"warnings"`
	Counts   map[string]int64 `json:"counts"` // items by action; each action is there
}

// Header says what the plan is for.
type Header struct {
	Verb     string `json:"verb"`
	Cluster  string `json:"cluster"`
	UID      string `json:"uid"`
	Revision int64  `json:"revision"`
	Store    string `json:"store"`
	Target   string `json:"target"`
	Identity string `json:"identity"`
	Account  string `json:"account"`
	Tool     string `json:"tool"`
}

// Item is what the plan does with one object.
type Item struct {
	ID          string           `json:"id"`   // "aws/volume/main/a"
	Area        string           `json:"area"` // "aws"
	Kind        string           `json:"kind"` // "volume"
	Name        string           `json:"name"` // "main/a"
	Action      string           `json:"action"`
	Description string           `json:"description"`
	Reason      string           `json:"reason"`
	Fields      map[string]Field `json:"fields"` // by path: what differs, or is set at creation
	Deps        []string         `json:"deps"`
	Data        bool             `json:"data"`    // delete and replace lose data
	Removal     bool             `json:"removal"` // nothing wants the object any more
}

// Field is one difference. A side is null (not set), a string, or a map with "unknown"
// or "sensitiveDigest", as in the plan's JSON.
type Field struct {
	Old      any  `json:"old"`
	New      any  `json:"new"`
	Replaces bool `json:"replaces"`
}

// Request says who asks for what, and when.
type Request struct {
	Verb string    `json:"verb"`
	Who  string    `json:"who"`
	Now  time.Time `json:"now"`
}

// variables turns an input into what expressions are evaluated with.
func variables(in Input) (map[string]any, error) {
	plan := planOf(in.Plan)
	cluster, groups, err := specOf(in.Spec)
	if err != nil {
		return nil, err
	}
	applied := map[string]any{"cluster": nil, "spec": nil, "groups": []any{}}
	if in.Applied != nil {
		was, wasGroups, err := specOf(in.Applied)
		if err != nil {
			return nil, err
		}
		applied = map[string]any{"cluster": was, "spec": was["spec"], "groups": wasGroups}
	}
	return map[string]any{
		"plan": plan, "items": plan.Items,
		"cluster": cluster, "spec": cluster["spec"], "groups": groups, "applied": applied,
		"request": &Request{Verb: plan.Header.Verb, Who: in.Who, Now: in.Now},
	}, nil
}

func planOf(p *tasks.Plan) *Plan {
	h := p.Header
	out := &Plan{
		Header: Header{
			Verb: h.Verb, Cluster: h.Cluster, UID: h.UID, Revision: int64(h.Revision),
			Store: h.Store, Target: h.Target, Identity: h.Identity, Account: h.Account, Tool: h.Tool,
		},
		Items: []Item{}, Warnings: []string{}, Counts: map[string]int64{},
	}
	for _, i := range p.Items {
		out.Items = append(out.Items, itemOf(i))
	}
	for _, w := range p.Warnings {
		out.Warnings = append(out.Warnings, w.Text)
	}
	for action, n := range p.Counts() {
		out.Counts[string(action)] = int64(n)
	}
	return out
}

func itemOf(i tasks.Item) Item {
	out := Item{
		ID: string(i.ID), Action: string(i.Action), Description: i.Description, Reason: i.Reason,
		Fields: map[string]Field{}, Deps: []string{}, Data: i.Data, Removal: i.Removal,
	}
	parts := strings.SplitN(out.ID, "/", 3)
	for n, into := range []*string{&out.Area, &out.Kind, &out.Name} {
		if n < len(parts) {
			*into = parts[n]
		}
	}
	for _, f := range i.Fields {
		out.Fields[f.Path] = Field{Old: sideOf(f.Old), New: sideOf(f.New), Replaces: f.Replaces}
	}
	for _, d := range i.Deps {
		out.Deps = append(out.Deps, string(d))
	}
	return out
}

// sideOf is a value as the plan's JSON has it.
func sideOf(v tasks.Value) any {
	switch v.State {
	case tasks.Known:
		return v.Text
	case tasks.Unknown:
		return map[string]any{"unknown": true}
	case tasks.Sensitive:
		return map[string]any{"sensitiveDigest": v.Text}
	default:
		return nil
	}
}

// specOf returns the cluster and its groups as the JSON that a user writes.
func specOf(m *api.Manifest) (cluster map[string]any, groups []any, err error) {
	if m == nil || m.Cluster == nil {
		return nil, nil, fmt.Errorf("review the plan: there is no spec")
	}
	if cluster, err = object(m.Cluster); err != nil {
		return nil, nil, err
	}
	groups = []any{}
	for _, g := range m.Groups {
		group, err := object(g)
		if err != nil {
			return nil, nil, err
		}
		groups = append(groups, group)
	}
	return cluster, groups, nil
}

// object turns a typed object into maps and lists; whole numbers stay whole.
func object(typed any) (map[string]any, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("review the plan: %w", err)
	}
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("review the plan: %w", err)
	}
	return numbers(tree).(map[string]any), nil
}

func numbers(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			t[k] = numbers(e)
		}
	case []any:
		for i, e := range t {
			t[i] = numbers(e)
		}
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n
		}
		f, err := t.Float64()
		if err != nil {
			return t.String()
		}
		return f
	}
	return v
}
