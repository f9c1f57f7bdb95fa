// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newCreateSecret(a *app) *cobra.Command {
	f := &keyFlags{}
	var file string
	var force bool
	cmd := parent("secret NAME", "Add a secret or an SSH public key to a cluster", newCreateSSHKey(a))
	cmd.Long = `Seal a file and keep it in the cluster's store as a secret. One that exists is only
replaced with --force.`
	cmd.Example = "  slipway create secret registry-credentials --cluster demo.example.com -f config.json"
	other := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return other(cmd, args)
		}
		if err := exactArgs(1)(cmd, args); err != nil {
			return err
		}
		content, err := a.readFile(file)
		if err != nil {
			return err
		}
		d, o, err := f.open(a, cmd, args...)
		if err != nil {
			return err
		}
		if err := cluster.CreateSecret(cmd.Context(), d, args[0], content, force, o); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "Created secret %s of cluster %s.\n", args[0], o.Cluster)
		return err
	}
	f.bind(a, cmd)
	f.sealFlags.bind(cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "`FILE` with the content (- is stdin)")
	cmd.Flags().BoolVar(&force, "force", false, "replace a secret that exists")
	return cmd
}

func newCreateSSHKey(a *app) *cobra.Command {
	var file, keyName string
	cmd := &cobra.Command{
		Use: "sshpublickey", Short: "Set the SSH public key of the machines", Args: exactArgs(0),
		Example: "  slipway create secret sshpublickey --cluster demo.example.com -i ~/.ssh/id_ed25519.pub",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			key, err := a.readFile(file)
			if err != nil {
				return err
			}
			d, err := a.deps(ctx)
			if err != nil {
				return err
			}
			name, err := a.clusterName(ctx, d, nil)
			if err != nil {
				return err
			}
			changed, err := cluster.Change(ctx, d, name, "create secret sshpublickey", func(m *api.Manifest) error {
				cluster.SetSSHKey(m, keyName, string(key))
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Set SSH public key %s.\n", keyName)
			return a.printChanged(name, changed)
		},
	}
	a.addClusterFlag(cmd)
	cmd.Flags().StringVarP(&file, "public-key", "i", "", "public key `FILE` (- is stdin)")
	cmd.Flags().StringVar(&keyName, "key-name", "admin", "the key's name")
	if err := cmd.MarkFlagRequired("public-key"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}
