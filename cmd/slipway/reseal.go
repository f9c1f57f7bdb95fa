// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newReseal(a *app) *cobra.Command {
	f := &keyFlags{}
	cmd := &cobra.Command{
		Use: "reseal [NAME]", Short: "Seal all keysets and secrets of a cluster for others", Args: maxArgs(1),
		Long: `Open every keyset and secret of a cluster and seal it anew: under a fresh data key, for
the key or the recipients that the flags name and for nobody else. The content stays.
Older versions of the objects, where the store keeps them, still open with the old keys.`,
		Example: `  slipway reseal demo.example.com --kms-key alias/slipway
  slipway reseal demo.example.com --recipient age1...`,
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.keyDeps(cmd.Context(), &f.sealFlags)
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			done, err := cluster.Reseal(cmd.Context(), d, cluster.KeyOptions{Cluster: name, Command: "slipway reseal " + name, LockWait: f.lockWait})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "Sealed %d objects of cluster %s to %s.\n", len(done.Objects), name, sealedTo(done.To))
			return err
		},
	}
	f.sealFlags.bind(cmd)
	cmd.Flags().DurationVar(&f.lockWait, "lock-wait", 0, "how long to wait while another run holds the cluster's lock")
	return cmd
}
