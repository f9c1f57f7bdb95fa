// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newSet(a *app) *cobra.Command {
	return parent("set", "Set fields of a spec by path",
		newSetCluster(a, "cluster [NAME] PATH=VALUE...", "Set fields of a cluster", "  slipway set cluster demo.example.com api.access=203.0.113.0/24", setPath),
		newSetGroup(a, "instancegroup GROUP PATH=VALUE...", "Set fields of an instance group", "  slipway set instancegroup nodes-us-east-1a --cluster demo.example.com maxSize=5", setPath))
}

func newUnset(a *app) *cobra.Command {
	return parent("unset", "Remove fields of a spec by path",
		newSetCluster(a, "cluster [NAME] PATH...", "Remove fields of a cluster", "  slipway unset cluster demo.example.com api.access", api.Unset),
		newSetGroup(a, "instancegroup GROUP PATH...", "Remove fields of an instance group", "  slipway unset instancegroup nodes-us-east-1a --cluster demo.example.com maxPrice", api.Unset))
}

// pathEdit changes one field of an object ("cluster", or a group's name).
type pathEdit func(m *api.Manifest, object, expr string) error

// setPath applies one PATH=VALUE.
func setPath(m *api.Manifest, object, expr string) error {
	path, value, ok := strings.Cut(expr, "=")
	if !ok {
		return &usageError{fmt.Errorf("%q is not PATH=VALUE", expr)}
	}
	return api.Set(m, object, path, value)
}

func newSetCluster(a *app, use, short, example string, edit pathEdit) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: usage(cobra.MinimumNArgs(1)), ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			values := strings.HasSuffix(use, "VALUE...")
			if len(args) == 1 && values && !strings.Contains(args[0], "=") {
				return &usageError{fmt.Errorf("nothing to set: give PATH=VALUE, such as api.access=203.0.113.0/24; see `%s --help`", cmd.CommandPath())}
			}
			name, exprs := splitName(args, values)
			return a.editPaths(cmd, name, "cluster", exprs, edit)
		},
	}
}

func newSetGroup(a *app, use, short, example string, edit pathEdit) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Aliases: []string{"ig"}, Short: short, Example: example, Args: usage(cobra.MinimumNArgs(2)), ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.editPaths(cmd, nil, args[0], args[1:], edit)
		},
	}
	a.addClusterFlag(cmd)
	return cmd
}

// splitName takes the cluster's name off the arguments: the first one, unless it is a
// PATH=VALUE or the only one.
func splitName(args []string, values bool) (name, exprs []string) {
	if len(args) == 1 || values && strings.Contains(args[0], "=") {
		return nil, args
	}
	return args[:1], args[1:]
}

func (a *app) editPaths(cmd *cobra.Command, nameArg []string, object string, exprs []string, edit pathEdit) error {
	ctx := cmd.Context()
	d, err := a.deps(ctx)
	if err != nil {
		return err
	}
	name, err := a.clusterName(ctx, d, nameArg)
	if err != nil {
		return err
	}
	reason := commandPath(cmd) + " " + strings.Join(exprs, " ")
	changed, err := cluster.Change(ctx, d, name, reason, func(m *api.Manifest) error {
		if object != "cluster" && m.Group(object) == nil {
			return &cluster.GroupNotFoundError{Group: object, Cluster: name, Known: cluster.GroupNames(m)}
		}
		for _, expr := range exprs {
			if err := edit(m, object, expr); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.printChanged(name, changed)
}
