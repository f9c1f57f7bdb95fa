// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// keypairView is what `get keypairs -o json` says of a key pair.
type keypairView struct {
	Keyset      string     `json:"keyset"`
	ID          string     `json:"id"`
	State       pki.State  `json:"state"`
	Created     time.Time  `json:"created"`
	Since       time.Time  `json:"since"`
	NotAfter    *time.Time `json:"notAfter,omitempty"`
	Fingerprint string     `json:"fingerprint"` // SHA-256 of certificate or public key
	Certificate string     `json:"certificate,omitempty"`
	PublicKey   string     `json:"publicKey,omitempty"`
	SealedTo    []string   `json:"sealedTo"`
}

func newGetKeypairs(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "keypairs [KEYSET]", Aliases: []string{"keypair"}, Short: "List the key pairs of a cluster", Args: maxArgs(1),
		Long: "List the key pairs of a cluster's keysets, with their ends. Nothing is opened; private keys are never shown.",
		Example: `  slipway get keypairs --cluster demo.example.com
  slipway get keypairs kubernetes-ca --cluster demo.example.com -o json`,
		ValidArgsFunction: completeKeysets,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, nil)
			if err != nil {
				return err
			}
			only := ""
			if len(args) == 1 {
				only = args[0]
			}
			sealed, err := cluster.Keypairs(cmd.Context(), d, name, only)
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(keypairViews(sealed))
			}
			var keysets []pki.Keyset
			for _, s := range sealed {
				keysets = append(keysets, s.Keyset)
			}
			return table(a.Out, keypairColumns, keypairRows(keysets))
		},
	}
	a.addClusterFlag(cmd)
	cmd.Flags().StringVarP(&form, "output", "o", "table", "table or json")
	return cmd
}

func keypairViews(sealed []*pki.Sealed) []keypairView {
	out := []keypairView{}
	for _, s := range sealed {
		for _, i := range s.Items {
			v := keypairView{Keyset: s.Name, ID: i.ID, State: i.State, Created: i.Created, Since: i.Since, Fingerprint: i.Fingerprint(),
				Certificate: i.Certificate, PublicKey: i.PublicKey, SealedTo: s.Sealing.Wrappers()}
			if end := i.NotAfter(); !end.IsZero() {
				v.NotAfter = &end
			}
			out = append(out, v)
		}
	}
	return out
}

func newGetSecrets(a *app) *cobra.Command {
	f := &sealFlags{}
	var show bool
	cmd := &cobra.Command{
		Use: "secrets [NAME]", Aliases: []string{"secret"}, Short: "List the secrets of a cluster", Args: maxArgs(1),
		Long: "List the secrets of a cluster. The content of one is only printed with --show.",
		Example: `  slipway get secrets --cluster demo.example.com
  slipway get secret registry-credentials --cluster demo.example.com --show`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.keyDeps(cmd.Context(), f)
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, nil)
			if err != nil {
				return err
			}
			if show {
				if err := exactArgs(1)(cmd, args); err != nil {
					return err
				}
				content, err := cluster.RevealSecret(cmd.Context(), d, name, args[0])
				if err != nil {
					return err
				}
				_, err = a.Out.Write([]byte(content))
				return err
			}
			only := ""
			if len(args) == 1 {
				only = args[0]
			}
			secrets, err := cluster.Secrets(cmd.Context(), d, name, only)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, s := range secrets {
				rows = append(rows, []string{s.Name, s.Created.Format(time.RFC3339), sealedTo(s.Sealing.Wrappers())})
			}
			return table(a.Out, []string{"NAME", "CREATED", "SEALED TO"}, rows)
		},
	}
	a.addClusterFlag(cmd)
	f.bindOpen(cmd)
	cmd.Flags().BoolVar(&show, "show", false, "print the content of the secret, and nothing else")
	return cmd
}

func newGetSSHKeys(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sshpublickeys", Aliases: []string{"sshpublickey"}, Short: "List the SSH public keys of the machines", Args: exactArgs(0),
		Example: "  slipway get sshpublickeys --cluster demo.example.com",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := a.load(cmd.Context(), nil)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, k := range c.SSHKeys {
				rows = append(rows, []string{k.Metadata.Name, k.Spec.PublicKey})
			}
			return table(a.Out, []string{"NAME", "PUBLIC KEY"}, rows)
		},
	}
	a.addClusterFlag(cmd)
	return cmd
}
