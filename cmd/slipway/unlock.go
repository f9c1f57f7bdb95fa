// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newUnlock(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "unlock [NAME]", Short: "Remove the lock of a cluster whose holder no longer runs", Args: maxArgs(1),
		Long: `Remove a cluster's lock. A holder that still runs notices and stops before its next
calls; those that it has begun it finishes, so wait for its end before the next apply.`,
		Example:           "  slipway unlock demo.example.com",
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.deps(ctx)
			if err != nil {
				return err
			}
			name, err := a.clusterName(ctx, d, args)
			if err != nil {
				return err
			}
			if last, err := d.Store.LastNumber(ctx, name); err != nil {
				return err
			} else if last == 0 {
				_, err = cluster.Load(ctx, d, name) // says what is there
				return err
			}
			was, err := d.Store.Unlock(ctx, name)
			if err != nil {
				return err
			}
			if was == nil {
				_, err = fmt.Fprintf(a.Out, "Cluster %s was not locked.\n", name)
				return err
			}
			if _, err = fmt.Fprintf(a.Out, "Removed the lock of cluster %s, held by %s.\n", name, was); err == nil && d.Store.Runs(*was) {
				_, err = fmt.Fprintf(a.Err, "warning: process %d still runs on this machine. It finishes the calls that it has begun: let it end before you apply, or objects may be made twice.\n", was.PID)
			}
			return err
		},
	}
}
