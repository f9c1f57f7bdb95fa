// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// keyFlags are those of every verb that changes keys or secrets.
type keyFlags struct {
	sealFlags
	lockWait time.Duration
}

func (f *keyFlags) bind(a *app, cmd *cobra.Command) {
	a.addClusterFlag(cmd)
	cmd.Flags().DurationVar(&f.lockWait, "lock-wait", 0, "how long to wait while another run holds the cluster's lock")
}

// open opens the store and names the cluster and the command.
func (f *keyFlags) open(a *app, cmd *cobra.Command, args ...string) (cluster.Deps, cluster.KeyOptions, error) {
	d, err := a.keyDeps(cmd.Context(), &f.sealFlags)
	if err != nil {
		return d, cluster.KeyOptions{}, err
	}
	name, err := a.clusterName(cmd.Context(), d, nil)
	command := "slipway " + commandPath(cmd)
	for _, arg := range args {
		command += " " + arg
	}
	return d, cluster.KeyOptions{Cluster: name, Command: command + " --cluster " + name, LockWait: f.lockWait}, err
}

func newCreateKeypair(a *app) *cobra.Command {
	f := &keyFlags{}
	var cert, key string
	var primary bool
	cmd := &cobra.Command{
		Use: "keypair KEYSET", Short: "Add a key pair to a keyset, fresh or your own", Args: exactArgs(1),
		Long: `Add a key pair to a keyset. The first one of a keyset signs at once; a later one is
trusted, and signs when it is promoted. With --cert and --key the pair is your own: a
CA's certificate and key for a CA keyset, --key alone for the service-account keyset.
To run a cluster on your own CA, give it before the first "update cluster --yes".`,
		Example: `  slipway create keypair kubernetes-ca --cluster demo.example.com
  slipway create keypair kubernetes-ca --cluster demo.example.com --cert ca.crt --key ca.key --primary`,
		ValidArgsFunction: completeKeysets,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, o, err := f.open(a, cmd, args...)
			if err != nil {
				return err
			}
			options := cluster.KeypairOptions{KeyOptions: o, Keyset: args[0], Primary: primary}
			if cert != "" {
				if options.Certificate, err = a.readFile(cert); err != nil {
					return err
				}
			}
			if key != "" {
				if options.Private, err = a.readFile(key); err != nil {
					return err
				}
			}
			done, err := cluster.CreateKeypair(cmd.Context(), d, options)
			if err != nil {
				return err
			}
			item, err := done.Keyset.Item(done.ID)
			if err != nil {
				return err
			}
			if item.State == pki.Primary {
				_, err = fmt.Fprintf(a.Out, "Created key pair %s of keyset %s. It signs.\n", item.ID, args[0])
				return err
			}
			_, err = fmt.Fprintf(a.Out, `Created key pair %[1]s of keyset %[2]s. It is trusted and does not sign yet.
Next: slipway update cluster %[3]s --yes, let all machines be replaced, then
  slipway promote keypair %[2]s %[1]s --cluster %[3]s
`, item.ID, args[0], o.Cluster)
			return err
		},
	}
	f.bind(a, cmd)
	f.sealFlags.bind(cmd)
	cmd.Flags().StringVar(&cert, "cert", "", "`FILE` with your CA's certificate (PEM)")
	cmd.Flags().StringVar(&key, "key", "", "`FILE` with its private key (PEM; - is stdin)")
	cmd.Flags().BoolVar(&primary, "primary", false, "fail unless the pair signs at once, which only the first one of a keyset can")
	return cmd
}

// completeKeysets offers the names of the keysets to the shell.
func completeKeysets(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return pki.Names(), cobra.ShellCompDirectiveNoFileComp
}
