// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Evaluate holds an input against every rule. It reads nothing but its input, and ends
// early when ctx does.
func (s *Set) Evaluate(ctx context.Context, in Input) (*Review, error) {
	review := &Review{}
	if len(s.rules) == 0 {
		return review, nil
	}
	vars, err := variables(in)
	if err != nil {
		return nil, err
	}
	for _, r := range s.rules {
		v, err := r.evaluate(ctx, vars)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			review.Failed = append(review.Failed, fmt.Errorf("%s: rule %s: %w", r.file, r.name, err))
		case v == nil:
		case v.Severity == Warn:
			review.Warned = append(review.Warned, *v)
		default:
			review.Denied = append(review.Denied, *v)
		}
	}
	return review, nil
}

// evaluate returns the violation of a rule, or nil when it is kept.
func (r rule) evaluate(ctx context.Context, vars map[string]any) (*Violation, error) {
	if r.when != nil {
		applies, err := eval(ctx, r.when, "when", vars)
		if err != nil {
			return nil, err
		}
		yes, ok := applies.(types.Bool)
		if !ok {
			return nil, fmt.Errorf("when gives a %s, and must give a bool", applies.Type().TypeName())
		}
		if !yes {
			return nil, nil
		}
	}
	result, err := eval(ctx, r.deny, "deny", vars)
	if err != nil {
		return nil, err
	}
	v := &Violation{File: r.file, Rule: r.name, Severity: r.severity, Message: r.message}
	switch t := result.(type) {
	case types.Bool:
		if !t {
			return nil, nil
		}
	case traits.Lister:
		if v.Matched = names(t); len(v.Matched) == 0 {
			return nil, nil
		}
	default:
		return nil, fmt.Errorf("deny gives a %s, and must give a bool or a list", result.Type().TypeName())
	}
	return v, r.tell(ctx, v, vars)
}

// tell makes the message of a rule that has an expression for it.
func (r rule) tell(ctx context.Context, v *Violation, vars map[string]any) error {
	if r.compose == nil {
		return nil
	}
	with := map[string]any{"matched": append([]string{}, v.Matched...)}
	for k, x := range vars {
		with[k] = x
	}
	text, err := eval(ctx, r.compose, "messageExpression", with)
	if err != nil {
		return err
	}
	s, ok := text.(types.String)
	if !ok {
		return fmt.Errorf("messageExpression gives a %s, and must give a string", text.Type().TypeName())
	}
	v.Message = string(s)
	return nil
}

func eval(ctx context.Context, p cel.Program, field string, vars map[string]any) (ref.Val, error) {
	out, _, err := p.ContextEval(ctx, vars)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return out, nil
}

// names says what a rule matched: items by their id, objects of a spec by kind and name,
// texts as they are.
func names(list traits.Lister) []string {
	var out []string
	for it := list.Iterator(); it.HasNext() == types.True; {
		out = append(out, nameOf(it.Next().Value()))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func nameOf(v any) string {
	switch t := v.(type) {
	case Item:
		return t.ID
	case *Item:
		return t.ID
	case string:
		return t
	case map[string]any:
		meta, _ := t["metadata"].(map[string]any)
		if name, ok := meta["name"].(string); ok {
			kind, _ := t["kind"].(string)
			return strings.TrimSpace(strings.ToLower(kind) + " " + name)
		}
	}
	if b, err := json.Marshal(v); err == nil {
		return string(b)
	}
	return fmt.Sprint(v)
}
