// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newDeleteSecret(a *app) *cobra.Command {
	f := &keyFlags{}
	cmd := &cobra.Command{
		Use: "secret NAME", Short: "Delete a secret of a cluster from the store", Args: exactArgs(1),
		Example: "  slipway delete secret registry-credentials --cluster demo.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, o, err := f.open(a, cmd, args...)
			if err != nil {
				return err
			}
			if err := cluster.DeleteSecret(cmd.Context(), d, args[0], o); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "Deleted secret %s of cluster %s.\n", args[0], o.Cluster)
			return err
		},
	}
	f.bind(a, cmd)
	return cmd
}
