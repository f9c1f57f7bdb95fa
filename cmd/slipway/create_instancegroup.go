// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

// groupFlags is the flags of `create instancegroup`.
type groupFlags struct {
	role, machineType, image string
	subnets, sets            []string
	min, max                 int32
	edit, dryRun             bool
	output                   string
}

func newCreateGroup(a *app) *cobra.Command {
	f := &groupFlags{}
	cmd := &cobra.Command{
		Use: "instancegroup GROUP", Aliases: []string{"ig"}, Short: "Add an instance group to a cluster", Args: exactArgs(1),
		Example: `  slipway create instancegroup big --cluster demo.example.com --subnet us-east-1a --machine-type m7i.4xlarge
  slipway create instancegroup big --subnet us-east-1a --role Node --set rootVolume.size=200`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, a, args[0]) },
	}
	a.addClusterFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.role, "role", string(api.RoleNode), "Node, ControlPlane or Bastion")
	fl.StringSliceVar(&f.subnets, "subnet", nil, "subnets, by name (default: all that fit the role)")
	fl.StringVar(&f.machineType, "machine-type", "", "machine type (default: by the number of nodes)")
	fl.StringVar(&f.image, "image", "", "image: OWNER/NAME or id (default: newest Ubuntu LTS)")
	fl.Int32Var(&f.min, "min-size", 1, "smallest number of machines")
	fl.Int32Var(&f.max, "max-size", 1, "largest number of machines")
	fl.StringArrayVar(&f.sets, "set", nil, "set any field: `PATH=VALUE` (repeatable)")
	fl.BoolVar(&f.edit, "edit", false, "open the new group in an editor first")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the group and write nothing")
	fl.StringVarP(&f.output, "output", "o", "yaml", "form of --dry-run: yaml or json")
	return cmd
}

func (f *groupFlags) run(cmd *cobra.Command, a *app, group string) error {
	ctx := cmd.Context()
	d, err := a.deps(ctx)
	if err != nil {
		return err
	}
	name, err := a.clusterName(ctx, d, nil)
	if err != nil {
		return err
	}
	c, err := cluster.Load(ctx, d, name)
	if err != nil {
		return err
	}
	g, err := f.group(c.Manifest, group, cmd.Flags().Changed("max-size"))
	if err != nil {
		return err
	}
	add := func(m *api.Manifest) error {
		if err := cluster.AddGroup(m, g); err != nil {
			return err
		}
		for _, set := range f.sets {
			if err := setPath(m, group, set); err != nil {
				return err
			}
		}
		return nil
	}
	if f.dryRun {
		m, err := cluster.Preview(ctx, d, name, add)
		if err != nil {
			return err
		}
		return printManifest(a.Out, groupDocument(group)(m), f.output)
	}
	if f.edit {
		return a.editManifest(ctx, d, c, "create instancegroup "+group, groupDocument(group), add)
	}
	changed, err := cluster.Change(ctx, d, name, "create instancegroup "+group, add)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Created instance group %s.\n", group)
	return a.printChanged(name, changed)
}

// group makes the new group; without --subnet it spans what fits its role.
func (f *groupFlags) group(m *api.Manifest, name string, maxGiven bool) (*api.InstanceGroup, error) {
	role, err := parseRole(f.role)
	if err != nil {
		return nil, err
	}
	if len(f.subnets) == 0 {
		for _, s := range m.Cluster.Spec.Networking.Subnets {
			if (s.Type == api.SubnetUtility) == (role == api.RoleBastion && m.Cluster.Spec.Networking.Topology == api.TopologyPrivate) {
				f.subnets = append(f.subnets, s.Name)
			}
		}
	}
	if !maxGiven {
		f.max = max(f.max, f.min)
	}
	g := &api.InstanceGroup{
		TypeMeta: api.TypeMeta{APIVersion: api.Version, Kind: api.KindInstanceGroup},
		Metadata: api.ObjectMeta{Name: name},
		Spec: api.InstanceGroupSpec{Role: role, Subnets: f.subnets, MinSize: &f.min, MaxSize: &f.max,
			MachineType: f.machineType, Image: f.image},
	}
	return g, nil
}

// parseRole reads a role in any case.
func parseRole(s string) (api.Role, error) {
	for _, role := range []api.Role{api.RoleNode, api.RoleControlPlane, api.RoleBastion} {
		if strings.EqualFold(strings.ReplaceAll(s, "-", ""), string(role)) {
			return role, nil
		}
	}
	return "", &usageError{fmt.Errorf("--role is %q; it takes Node, ControlPlane or Bastion", s)}
}
