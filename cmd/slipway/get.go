// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

func newGet(a *app) *cobra.Command {
	return parent("get", "List clusters, instance groups, keys and history",
		newGetClusters(a), newGetGroups(a), newGetAll(a), newGetHistory(a), newGetRevision(a), newGetOperations(a),
		newGetKeypairs(a), newGetSecrets(a), newGetSSHKeys(a))
}

func bindForm(cmd *cobra.Command, form *string) {
	cmd.Flags().StringVarP(form, "output", "o", "table", "table, yaml or json")
}

func newGetClusters(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "clusters [NAME]", Aliases: []string{"cluster"}, Short: "List the clusters of the store", Args: maxArgs(1),
		Example: "  slipway get clusters\n  slipway get cluster demo.example.com -o yaml", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			names := args
			if len(names) == 0 && a.name != "" {
				names = []string{a.name}
			}
			if len(names) == 0 {
				if names, err = d.Store.Clusters(cmd.Context()); err != nil {
					return err
				}
			}
			return a.getClusters(cmd.Context(), d, names, form)
		},
	}
	bindForm(cmd, &form)
	return cmd
}

// getClusters prints what it can read; one damaged cluster hides no other.
func (a *app) getClusters(ctx context.Context, d cluster.Deps, names []string, form string) error {
	var loaded []*cluster.Loaded
	var broken []error
	for _, name := range names {
		c, err := cluster.Load(ctx, d, name)
		if ctx.Err() != nil || errors.Is(err, statestore.ErrUnavailable) {
			return err // it is not about this cluster alone
		}
		if err != nil {
			broken = append(broken, err)
			continue
		}
		loaded = append(loaded, c)
	}
	if len(loaded) == 0 && len(broken) > 0 {
		return errors.Join(broken...)
	}
	return errors.Join(append(broken, a.printClusters(d, loaded, form))...)
}

func (a *app) printClusters(d cluster.Deps, loaded []*cluster.Loaded, form string) error {
	var documents []byte
	var rows [][]string
	for _, c := range loaded {
		if form != "table" {
			data, err := api.Marshal(clusterDocument(c.Manifest))
			if err != nil {
				return err
			}
			documents = append(append(documents, data...), "\n---\n"...)
			continue
		}
		rows = append(rows, []string{c.Cluster.Metadata.Name, cloudName(c.Cluster), strings.Join(zones(c.Manifest), ","),
			c.Cluster.Spec.KubernetesVersion, fmt.Sprint(len(c.Groups)), fmt.Sprint(c.Revision.Number)})
	}
	if form != "table" {
		return printDocuments(a.Out, documents, form)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(a.Err, "No clusters in %s.\n", d.Store.URL())
		return err
	}
	return table(a.Out, []string{"NAME", "CLOUD", "ZONES", "KUBERNETES", "GROUPS", "REVISION"}, rows)
}

func newGetGroups(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "instancegroups [GROUP]", Aliases: []string{"instancegroup", "ig"}, Short: "List the instance groups of a cluster", Args: maxArgs(1),
		Example: "  slipway get instancegroups --cluster demo.example.com", ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, c, err := a.load(cmd.Context(), nil)
			if err != nil {
				return err
			}
			groups := c.Groups
			if len(args) == 1 {
				g := c.Group(args[0])
				if g == nil {
					return &cluster.GroupNotFoundError{Group: args[0], Cluster: c.Cluster.Metadata.Name, Known: cluster.GroupNames(c.Manifest)}
				}
				groups = []*api.InstanceGroup{g}
			}
			if form != "table" {
				return printManifest(a.Out, &api.Manifest{Groups: groups}, form)
			}
			return table(a.Out, groupColumns, groupRows(groups))
		},
	}
	a.addClusterFlag(cmd)
	bindForm(cmd, &form)
	return cmd
}

func newGetAll(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "all [NAME]", Short: "Show a cluster with its instance groups", Args: maxArgs(1),
		Example: "  slipway get all demo.example.com -o yaml", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, c, err := a.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			if form != "table" {
				return printManifest(a.Out, c.Manifest, form)
			}
			if err := a.getClusters(cmd.Context(), d, []string{c.Cluster.Metadata.Name}, form); err != nil {
				return err
			}
			fmt.Fprintln(a.Out)
			return table(a.Out, groupColumns, groupRows(c.Groups))
		},
	}
	bindForm(cmd, &form)
	return cmd
}

// load opens the store and reads the cluster that a command is about.
func (a *app) load(ctx context.Context, args []string) (cluster.Deps, *cluster.Loaded, error) {
	d, err := a.deps(ctx)
	if err != nil {
		return d, nil, err
	}
	name, err := a.clusterName(ctx, d, args)
	if err != nil {
		return d, nil, err
	}
	c, err := cluster.Load(ctx, d, name)
	return d, c, err
}

var groupColumns = []string{"NAME", "ROLE", "MACHINETYPE", "MIN", "MAX", "SUBNETS"}

func groupRows(groups []*api.InstanceGroup) [][]string {
	var rows [][]string
	for _, g := range groups {
		rows = append(rows, []string{g.Metadata.Name, string(g.Spec.Role), g.Spec.MachineType,
			count(g.Spec.MinSize), count(g.Spec.MaxSize), strings.Join(g.Spec.Subnets, ",")})
	}
	return rows
}

func count(n *int32) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func cloudName(c *api.Cluster) string { return c.Spec.CloudProvider.Name() }

func zones(m *api.Manifest) []string {
	var out []string
	for _, s := range m.Cluster.Spec.Networking.Subnets {
		if s.Zone != "" && !slices.Contains(out, s.Zone) {
			out = append(out, s.Zone)
		}
	}
	return out
}

func table(w io.Writer, columns []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{columns}, rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}
