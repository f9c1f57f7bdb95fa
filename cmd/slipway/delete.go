// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newDelete(a *app) *cobra.Command {
	return parent("delete", "Delete a cluster, an instance group or a secret",
		newDeleteCluster(a), newDeleteGroup(a), newDeleteSecret(a))
}

func newDeleteCluster(a *app) *cobra.Command {
	f := &updateFlags{}
	var unregister, purge bool
	cmd := &cobra.Command{
		Use: "cluster [NAME]", Short: "Delete everything that a cluster owns", Args: maxArgs(1),
		Long: `Delete every cloud object that the cluster owns, found by ownership and never by name,
then its objects in the store. Shared networks lose only the marks that Slipway put on
them. The history of the spec stays in the store until --purge. Without --yes only the
plan is shown.`,
		Example:           "  slipway delete cluster demo.example.com\n  slipway delete cluster demo.example.com --yes\n  slipway delete cluster demo.example.com --purge --yes",
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
			if unregister {
				if err := a.unregister(cmd, d, name, f); err != nil || !f.yes || !purge {
					return err
				}
				return a.purge(ctx, d, name, f)
			}
			if purge {
				if gone, err := cluster.Deleted(ctx, d, name); err != nil || gone {
					return errors.Join(err, a.purge(ctx, d, name, f))
				}
			}
			var result *cluster.Result
			err = f.run(ctx, a, name, "delete cluster", func(o cluster.UpdateOptions) (*cluster.Result, error) {
				result, err = cluster.Delete(ctx, d, o)
				return result, err
			})
			if err != nil || !f.yes {
				return err
			}
			if err := a.printDeleted(name, d.Store.URL(), result); err != nil || !purge {
				return err
			}
			return a.purge(ctx, d, name, f)
		},
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the history, operations and backups of the cluster from the store")
	cmd.Flags().BoolVar(&unregister, "unregister", false, "only forget the cluster in the store; the cloud is left as it is")
	return cmd
}

func (a *app) unregister(cmd *cobra.Command, d cluster.Deps, name string, f *updateFlags) error {
	if !f.yes {
		_, err := fmt.Fprintf(a.Out, "This forgets cluster %s and its keys, and leaves its cloud objects running. To do it, add --yes.\n", name)
		return err
	}
	if err := cluster.Unregister(cmd.Context(), d, cluster.UpdateOptions{
		Name: name, LockWait: f.lockWait, Command: "slipway delete cluster " + name + " --unregister",
	}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "Forgot cluster %s.\n", name)
	return err
}

func newDeleteGroup(a *app) *cobra.Command {
	f := &updateFlags{}
	cmd := &cobra.Command{
		Use: "instancegroup GROUP", Aliases: []string{"ig"}, Short: "Delete an instance group and its machines", Args: exactArgs(1),
		Long: `Plan the cluster without one of its groups; with --yes that spec is stored as a new
revision and applied, with whatever else is pending.`,
		Example:           "  slipway delete instancegroup nodes-us-east-1a --cluster demo.example.com --yes",
		ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.deps(ctx)
			if err != nil {
				return err
			}
			name, err := a.clusterName(ctx, d, nil)
			if err != nil {
				return err
			}
			verb := "delete instancegroup " + args[0] + " --cluster"
			err = f.run(ctx, a, name, verb, func(o cluster.UpdateOptions) (*cluster.Result, error) {
				return cluster.DeleteGroup(ctx, d, args[0], o)
			})
			if err == nil && f.yes {
				_, err = fmt.Fprintf(a.Out, "Deleted instance group %s.\n", args[0])
			}
			return err
		},
	}
	a.addClusterFlag(cmd)
	f.bind(cmd)
	return cmd
}
