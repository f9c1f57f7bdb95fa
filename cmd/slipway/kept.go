// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

// printDeleted says that a cluster is gone, and of everything that is not, why.
func (a *app) printDeleted(name, store string, r *cluster.Result) error {
	fmt.Fprintf(a.Out, "Deleted cluster %s.\n\nKept:\n", name)
	if r != nil && r.Plan != nil {
		for _, k := range r.Plan.Kept() {
			fmt.Fprintf(a.Out, "  %s: %s\n", k.ID, k.Why)
		}
	}
	_, err := fmt.Fprintf(a.Out, "  %s/%s: the history of the spec, operations and backups, until `slipway delete cluster %s --purge --yes`\n", store, name, name)
	return err
}

// purge removes what a deleted cluster left in the store.
func (a *app) purge(ctx context.Context, d cluster.Deps, name string, f *updateFlags) error {
	if !f.yes {
		_, err := fmt.Fprintf(a.Out, "Cluster %s is deleted. This removes its history, operations and backups from %s for good. To do it, add --yes.\n", name, d.Store.URL())
		return err
	}
	o := cluster.UpdateOptions{Name: name, LockWait: f.lockWait, Command: "slipway delete cluster " + name + " --purge"}
	if err := cluster.Purge(ctx, d, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "Purged what was left of cluster %s.\n", name)
	return err
}
