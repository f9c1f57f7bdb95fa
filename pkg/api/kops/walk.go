// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rule says what becomes of a field.
type rule struct {
	to    string                                      // our path, [] for the indexes of the field's own
	value func(v any) (out any, problem string)       // nil: as it is
	left  string                                      // why it is left out, with a warning
	no    string                                      // why it is refused, and what to do
	do    func(w *walk, path string, v any, at []int) // something of its own
}

// rules are by pattern: a path with [] for list indexes; one that ends in ".**" is for all
// that lies below.
type rules struct {
	by     map[string]rule
	finish []func(w *walk, spec map[string]any)
}

// find returns the rule of a path, or of the nearest folder above it.
func (r rules) find(path string) (rule, bool) {
	if found, ok := r.by[path]; ok {
		return found, true
	}
	for at := path; at != ""; {
		i := strings.LastIndex(at, ".")
		at = at[:max(i, 0)]
		if found, ok := r.by[at+".**"]; ok && at != "" {
			return found, true
		}
	}
	return rule{}, false
}

// below reports whether some rule is for what lies below a path: an empty map there says
// nothing.
func (r rules) below(path string) bool {
	for pattern := range r.by {
		if strings.HasPrefix(pattern, path+".") || strings.HasPrefix(pattern, path+"[]") {
			return true
		}
	}
	return false
}

// walk goes over one spec.
type walk struct {
	*converter
	rules rules
	where string
	out   map[string]any
}

// node converts what lies at a path. pattern is the path with [] for indexes.
func (w *walk) node(pattern string, v any, at []int) {
	if pattern != "" {
		if r, ok := w.rules.find(pattern); ok {
			w.apply(r, pattern, v, at)
			return
		}
	}
	switch t := v.(type) {
	case map[string]any:
		if len(t) == 0 && pattern != "" && !w.rules.below(pattern) {
			w.unknown(pattern, v, at)
		}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			w.node(strings.TrimPrefix(pattern+"."+k, "."), t[k], at)
		}
	case []any:
		for i, e := range t {
			w.node(pattern+"[]", e, append(slices.Clone(at), i))
		}
	case nil: // a key without a value says nothing
	default:
		w.unknown(pattern, v, at)
	}
}

func (w *walk) unknown(pattern string, v any, at []int) {
	w.fault(w.where+indexed(pattern, at), v, "is not supported; remove it, or see docs/migrating-from-kops.md for what takes its place")
}

func (w *walk) apply(r rule, pattern string, v any, at []int) {
	path := w.where + indexed(pattern, at)
	switch {
	case r.do != nil:
		r.do(w, path, v, at)
	case r.no != "":
		w.fault(path, v, "%s", r.no)
	case r.left != "":
		w.warn(path, r.left)
	default:
		if r.value != nil {
			out, problem := r.value(v)
			if problem != "" {
				w.fault(path, v, "%s", problem)
				return
			}
			v = out
		}
		w.set(indexed(r.to, at), v)
	}
}

// indexed writes the indexes into a pattern.
func indexed(pattern string, at []int) string {
	for _, i := range at {
		pattern = strings.Replace(pattern, "[]", fmt.Sprintf("[%d]", i), 1)
	}
	return pattern
}

// set puts a value at one of our paths.
func (w *walk) set(path string, v any) {
	if path == "-" {
		return // checked, and what holds anyway
	}
	put(w.out, strings.Split(path, "."), v)
}

func put(in map[string]any, path []string, v any) {
	name, index, listed := cut(path[0])
	if !listed {
		if len(path) == 1 {
			in[name] = v
			return
		}
		next, ok := in[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[name] = next
		}
		put(next, path[1:], v)
		return
	}
	list, _ := in[name].([]any)
	for len(list) <= index {
		list = append(list, map[string]any{})
	}
	if len(path) == 1 {
		list[index] = v
	} else {
		put(list[index].(map[string]any), path[1:], v)
	}
	in[name] = list
}

// cut takes "subnets[3]" apart.
func cut(part string) (name string, index int, listed bool) {
	name, rest, listed := strings.Cut(part, "[")
	if listed {
		if _, err := fmt.Sscanf(rest, "%d]", &index); err != nil {
			return part, 0, false
		}
	}
	return name, index, listed
}

// get reads one of our paths of maps.
func (w *walk) get(path string) any {
	var at any = w.out
	for part := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[part]
	}
	return at
}
