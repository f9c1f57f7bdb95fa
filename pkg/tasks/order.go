// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// vertex is a task with its dependencies looked up once.
type vertex struct {
	task Task
	id   ID
	deps []*vertex // each once, in the order in which the task names them
}

// arrange looks up the dependencies of tasks and returns them in an order in which
// every task stands after its dependencies, otherwise as given. Dependencies on
// tasks in earlier are allowed and left out. All faults come in one error.
func arrange(tasks []Task, earlier map[ID]*vertex) ([]*vertex, error) {
	all := make([]*vertex, 0, len(tasks))
	byID := make(map[ID]*vertex, len(tasks))
	var faults []error
	for _, t := range tasks {
		v := &vertex{task: t, id: t.ID()}
		if v.id == "" {
			faults = append(faults, fmt.Errorf("task %d of the graph has no ID", len(all)+1))
		}
		all = append(all, v)
		byID[v.id] = v
	}
	for _, v := range all {
		faults = append(faults, v.link(byID, earlier)...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if cycles := findCycles(all); len(cycles) > 0 {
		for _, c := range cycles {
			faults = append(faults, c)
		}
		return nil, errors.Join(faults...)
	}
	return postOrder(all), nil
}

func (v *vertex) link(byID, earlier map[ID]*vertex) []error {
	var faults []error
	for _, dep := range v.task.Deps() {
		if dep == nil {
			faults = append(faults, fmt.Errorf("%s names a nil dependency", v.id))
			continue
		}
		id := dep.ID()
		d, ok := byID[id]
		switch {
		case ok && !slices.Contains(v.deps, d):
			v.deps = append(v.deps, d)
		case !ok && earlier[id] == nil:
			faults = append(faults, fmt.Errorf("%s depends on %s, which is not in the graph", v.id, id))
		}
	}
	return faults
}

// postOrder walks depth first in the given order; the graph has no cycle.
func postOrder(all []*vertex) []*vertex {
	order := make([]*vertex, 0, len(all))
	seen := make(map[*vertex]bool, len(all))
	var visit func(*vertex)
	visit = func(v *vertex) {
		if seen[v] {
			return
		}
		seen[v] = true
		for _, d := range v.deps {
			visit(d)
		}
		order = append(order, v)
	}
	for _, v := range all {
		visit(v)
	}
	return order
}

// CycleError names tasks that depend on each other in a circle.
type CycleError struct {
	Path []ID // from the task with the least ID, each depending on the next, back to the first
	Tied []ID // further tasks that are part of other circles with these
}

// Error returns the circle in full.
func (e *CycleError) Error() string {
	text := "tasks depend on each other in a circle: " + joinIDs(e.Path, " -> ")
	if len(e.Tied) > 0 {
		text += " (also tied into it: " + joinIDs(e.Tied, ", ") + ")"
	}
	return text
}

func joinIDs(ids []ID, sep string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, sep)
}

// findCycles returns one error for each group of tasks that cannot be ordered,
// sorted by the first task of its path.
func findCycles(all []*vertex) []*CycleError {
	var found []*CycleError
	for _, group := range components(all) {
		first := group[0]
		if len(group) == 1 && !slices.Contains(first.deps, first) {
			continue
		}
		slices.SortFunc(group, func(a, b *vertex) int { return strings.Compare(string(a.id), string(b.id)) })
		path := shortestCircle(group)
		e := &CycleError{Path: path}
		for _, v := range group {
			if !slices.Contains(path, v.id) {
				e.Tied = append(e.Tied, v.id)
			}
		}
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b *CycleError) int { return strings.Compare(string(a.Path[0]), string(b.Path[0])) })
	return found
}

// components returns the strongly connected components (Tarjan's algorithm).
func components(all []*vertex) [][]*vertex {
	var (
		groups  [][]*vertex
		stack   []*vertex
		onStack = map[*vertex]bool{}
		number  = map[*vertex]int{}
		low     = map[*vertex]int{}
		visit   func(*vertex)
	)
	visit = func(v *vertex) {
		number[v] = len(number) + 1
		low[v] = number[v]
		stack = append(stack, v)
		onStack[v] = true
		for _, d := range v.deps {
			if number[d] == 0 {
				visit(d)
				low[v] = min(low[v], low[d])
			} else if onStack[d] {
				low[v] = min(low[v], number[d])
			}
		}
		if low[v] != number[v] {
			return
		}
		at := slices.Index(stack, v)
		group := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, m := range group {
			delete(onStack, m)
		}
		groups = append(groups, group)
	}
	for _, v := range all {
		if number[v] == 0 {
			visit(v)
		}
	}
	return groups
}

// shortestCircle returns the shortest way from the first of a component's vertices
// back to itself, both ends included.
func shortestCircle(group []*vertex) []ID {
	start := group[0]
	from := map[*vertex]*vertex{}
	queue := []*vertex{start}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, d := range v.deps {
			if d == start {
				path := []ID{start.id}
				for at := v; at != start; at = from[at] {
					path = append(path, at.id)
				}
				path = append(path, start.id)
				slices.Reverse(path)
				return path
			}
			if from[d] == nil && slices.Contains(group, d) {
				from[d] = v
				queue = append(queue, d)
			}
		}
	}
	return []ID{start.id}
}
