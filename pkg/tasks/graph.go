// SPDX-License-Identifier: Apache-2.0

package tasks

import "fmt"

// Graph holds the wanted tasks in the order in which they were added, and the
// removals that run after them.
type Graph struct {
	wanted   []Task
	removals []Task
	byID     map[ID]Task
}

// NewGraph returns an empty graph.
func NewGraph() *Graph { return &Graph{byID: map[ID]Task{}} }

// Add puts a wanted task into the graph. A second task of the same ID is an error.
func (g *Graph) Add(t Task) error { return g.add(t, &g.wanted) }

// Remove puts the removal of an unwanted object into the graph. Removals start
// when every wanted task has succeeded; among each other they follow their Deps.
func (g *Graph) Remove(t Task) error { return g.add(t, &g.removals) }

func (g *Graph) add(t Task, to *[]Task) error {
	if _, dup := g.byID[t.ID()]; dup {
		return fmt.Errorf("two tasks have the ID %s", t.ID())
	}
	g.byID[t.ID()] = t
	*to = append(*to, t)
	return nil
}

// Wanted returns the wanted tasks in the order of their addition.
func (g *Graph) Wanted() []Task { return g.wanted }

// Removals returns the removals in the order of their addition.
func (g *Graph) Removals() []Task { return g.removals }

// Task returns the task of that ID, or nil.
func (g *Graph) Task(id ID) Task { return g.byID[id] }
