// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Graph exports the tasks of a graph, each after those that it depends on. skip names
// tasks whose objects are not Terraform's: they are made before its files are used.
func Graph(ctx context.Context, m *Module, g *tasks.Graph, skip func(tasks.ID) bool) error {
	done := map[tasks.ID]bool{}
	var visit func(t tasks.Task) error
	visit = func(t tasks.Task) error {
		if done[t.ID()] {
			return nil
		}
		done[t.ID()] = true
		for _, d := range t.Deps() {
			if err := visit(d); err != nil {
				return err
			}
		}
		if skip(t.ID()) {
			return nil
		}
		e, ok := t.(Exporter)
		if !ok {
			return fmt.Errorf("export %s: it has no form in Terraform", t.ID())
		}
		if err := e.Export(ctx, m); err != nil {
			return fmt.Errorf("export %s: %w", t.ID(), err)
		}
		return nil
	}
	for _, t := range g.Wanted() {
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}
