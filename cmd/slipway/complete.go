// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// flagValues are the words that flags of one meaning take everywhere.
var flagValues = map[string][]string{
	"api-loadbalancer":      {"public", "internal", "none"},
	"cloud":                 {"aws"},
	"control-plane-tenancy": {"default", "dedicated", "host"},
	"dns":                   {"public", "private", "none"},
	"networking":            {"routes", "flannel", "cilium", "calico", "external"},
	"node-tenancy":          {"default", "dedicated", "host"},
	"role":                  {string(api.RoleNode), string(api.RoleControlPlane), string(api.RoleBastion)},
	"target":                {"direct", "terraform"},
	"topology":              {"public", "private"},
}

// outputForms are what --output takes, by its default.
var outputForms = map[string][]string{
	"table": {"table", "yaml", "json"},
	"text":  {"text", "json"},
	"yaml":  {"yaml", "json"},
}

// completeFlags teaches the shell the values of every command's flags. A flag that takes
// no file and no known word completes to nothing rather than to file names.
func completeFlags(a *app, cmd *cobra.Command) {
	register := func(name string, f cobra.CompletionFunc) {
		if cmd.LocalFlags().Lookup(name) == nil {
			return
		}
		if _, taken := cmd.GetFlagCompletionFunc(name); taken {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
			panic(err) // the flag was looked up above
		}
	}
	for name, values := range flagValues {
		register(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	if f := cmd.LocalFlags().Lookup("output"); f != nil {
		register("output", cobra.FixedCompletions(outputForms[f.DefValue], cobra.ShellCompDirectiveNoFileComp))
	}
	register("subnet", a.completeSubnets)
	for _, name := range []string{"zones", "control-plane-zones", "set", "unset", "image", "machine-type", "dns-zone"} {
		register(name, cobra.NoFileCompletions)
	}
	for _, child := range cmd.Commands() {
		completeFlags(a, child)
	}
}

// completeSubnets offers the subnets of the cluster that --cluster names, after those
// that are typed already.
func (a *app) completeSubnets(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	c, err := a.meant(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	var names []string
	for _, s := range c.Cluster.Spec.Networking.Subnets {
		names = append(names, before+s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
