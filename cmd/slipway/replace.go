// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

func newReplace(a *app) *cobra.Command {
	var files []string
	var force bool
	cmd := &cobra.Command{
		Use: "replace -f FILE", Short: "Replace a cluster's spec by a file's", Args: exactArgs(0),
		Long: `Replace the whole spec of a cluster, or only the instance groups and keys that a file
without a Cluster holds. A faulty file changes nothing.`,
		Example: "  slipway replace -f cluster.yaml\n  slipway get all demo.example.com -o yaml | sed s/t3.medium/m7i.large/ | slipway replace -f -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return &usageError{errors.New("give a manifest with -f FILE")}
			}
			return a.replace(cmd, files, force)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `FILE` (repeatable; - is stdin)")
	cmd.Flags().BoolVar(&force, "force", false, "create the cluster if it is not there")
	return cmd
}

func (a *app) replace(cmd *cobra.Command, files []string, force bool) error {
	ctx := cmd.Context()
	m, err := a.readManifests(files)
	if err != nil {
		return err
	}
	d, err := a.deps(ctx)
	if err != nil {
		return err
	}
	if m.Cluster == nil {
		return a.replaceParts(cmd, d, m)
	}
	name := m.Cluster.Metadata.Name
	changed, err := cluster.Replace(ctx, d, m, 0, "replace -f")
	if errors.Is(err, statestore.ErrNotFound) && force {
		return a.createFiles(ctx, files)
	}
	if err != nil {
		return err
	}
	return a.printChanged(name, changed)
}

// replaceParts replaces the groups and keys of a file in the cluster that they name.
func (a *app) replaceParts(cmd *cobra.Command, d cluster.Deps, m *api.Manifest) error {
	ctx := cmd.Context()
	name, err := a.clusterName(ctx, d, labelled(m))
	if err != nil {
		return err
	}
	changed, err := cluster.Change(ctx, d, name, "replace -f", func(old *api.Manifest) error {
		return cluster.ReplaceParts(old, m)
	})
	if err != nil {
		return err
	}
	return a.printChanged(name, changed)
}
