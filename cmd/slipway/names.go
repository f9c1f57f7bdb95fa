// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

// clusterName returns the cluster that a command is about: its argument, --name,
// SLIPWAY_CLUSTER, the config file's cluster, or the kubeconfig's current context where
// the store has a cluster of that name.
func (a *app) clusterName(ctx context.Context, d cluster.Deps, args []string) (string, error) {
	if len(args) > 0 && a.name != "" && args[0] != a.name {
		return "", &usageError{fmt.Errorf("two cluster names: %s as argument and %s by --name", args[0], a.name)}
	}
	candidates := []string{a.name, a.env("SLIPWAY_CLUSTER"), a.config.Cluster}
	if len(args) > 0 {
		candidates = slices.Insert(candidates, 0, args[0])
	}
	for _, name := range candidates {
		if name != "" {
			return name, nil
		}
	}
	known, err := d.Store.Clusters(ctx)
	if err != nil {
		return "", err
	}
	if current := a.currentContext(); current != "" && slices.Contains(known, current) {
		return current, nil
	}
	return "", &usageError{errors.New("which cluster? Give its name as argument, with --name, in SLIPWAY_CLUSTER, or as `cluster:` in " + a.configPath())}
}

// currentContext reads the current context of the kubeconfig, or "".
func (a *app) currentContext() string {
	path := a.env("KUBECONFIG")
	if list := filepath.SplitList(path); len(list) > 0 {
		path = list[0]
	}
	if path == "" {
		path = filepath.Join(a.home(), ".kube", "config")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var file struct {
		CurrentContext string `json:"current-context"`
	}
	if yaml.Unmarshal(data, &file) != nil {
		return ""
	}
	return file.CurrentContext
}

// completeClusters offers the store's cluster names to the shell.
func (a *app) completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := a.deps(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := d.Store.Clusters(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeGroups offers the group names of the cluster that --cluster names.
func (a *app) completeGroups(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := a.meant(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cluster.GroupNames(c.Manifest), cobra.ShellCompDirectiveNoFileComp
}

// meant loads the cluster that --cluster names, for completion.
func (a *app) meant(ctx context.Context) (*cluster.Loaded, error) {
	d, err := a.deps(ctx)
	if err != nil {
		return nil, err
	}
	name, err := a.clusterName(ctx, d, nil)
	if err != nil {
		return nil, err
	}
	return cluster.Load(ctx, d, name)
}
