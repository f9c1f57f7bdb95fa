// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// rotationWait is how long machines are given, by default, between two stages.
const rotationWait = 24 * time.Hour

func newPromote(a *app) *cobra.Command {
	return parent("promote", "Let another key pair sign", newRotation(a, rotation{
		verb: "promote", short: "Make a trusted key pair the one that signs", op: cluster.PromoteKeypair, gated: true,
		long: `Make a trusted key pair the one that signs; the old one stays trusted. It is refused
until the pair was trusted for --wait, so that machines which do not know it yet are not
locked out. When every machine was replaced since it was made, --confirmed says so.
Without an ID the newest trusted pair is meant.`,
		done: "It signs from the next \"slipway update cluster %[3]s --yes\" on. When all machines are replaced: slipway distrust keypair %[2]s --cluster %[3]s",
	}))
}

func newTrust(a *app) *cobra.Command {
	return parent("trust", "Trust a distrusted key pair again", newRotation(a, rotation{
		verb: "trust", short: "Make a distrusted key pair trusted again", op: cluster.TrustKeypair,
		long: "Make a distrusted key pair trusted again: the way back from a distrust.",
		done: "Next: slipway update cluster %[3]s --yes, and let all machines be replaced.",
	}))
}

func newDistrust(a *app) *cobra.Command {
	return parent("distrust", "Stop trusting a key pair", newRotation(a, rotation{
		verb: "distrust", short: "Take a key pair out of what machines trust", op: cluster.DistrustKeypair, gated: true,
		long: `Take a key pair out of what machines trust. It is refused for the pair that signs, and
until that one has signed for --wait, since certificates of the old one may be in use.
When every machine was replaced since the promotion, --confirmed says so. Without an ID
the only trusted pair that does not sign is meant.`,
		done: "Next: slipway update cluster %[3]s --yes, and let all machines be replaced.",
	}))
}

// rotation is one stage as a command.
type rotation struct {
	verb, short, long, done string
	gated                   bool
	op                      func(context.Context, cluster.Deps, cluster.KeypairOptions) (*cluster.Rotated, error)
}

func newRotation(a *app, r rotation) *cobra.Command {
	f := &keyFlags{}
	var wait time.Duration
	var confirmed bool
	cmd := &cobra.Command{
		Use: "keypair KEYSET [ID]", Short: r.short, Long: r.long, Args: usage(cobra.RangeArgs(1, 2)),
		Example:           "  slipway " + r.verb + " keypair kubernetes-ca --cluster demo.example.com",
		ValidArgsFunction: completeKeysets,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, o, err := f.open(a, cmd, args...)
			if err != nil {
				return err
			}
			options := cluster.KeypairOptions{KeyOptions: o, Keyset: args[0], Wait: wait, Confirmed: confirmed}
			if len(args) == 2 {
				options.ID = args[1]
			}
			done, err := r.op(cmd.Context(), d, options)
			if err != nil {
				return err
			}
			if err := table(a.Out, keypairColumns, keypairRows([]pki.Keyset{done.Keyset})); err != nil {
				return err
			}
			if !done.Changed {
				_, err = fmt.Fprintf(a.Out, "\nKeyset %s is already so.\n", args[0])
				return err
			}
			_, err = fmt.Fprintf(a.Out, "\n"+r.done+"\n", "", args[0], o.Cluster)
			return err
		},
	}
	f.bind(a, cmd)
	f.bindOpen(cmd)
	if r.gated {
		cmd.Flags().DurationVar(&wait, "wait", rotationWait, "how long ago the stage before must be")
		cmd.Flags().BoolVar(&confirmed, "confirmed", false, "every machine was replaced since the stage before: do not wait")
	}
	return cmd
}

var keypairColumns = []string{"KEYSET", "ID", "STATE", "SINCE", "EXPIRES"}

func keypairRows(keysets []pki.Keyset) [][]string {
	var rows [][]string
	for _, k := range keysets {
		for _, i := range k.Items {
			end := "-"
			if t := i.NotAfter(); !t.IsZero() {
				end = t.Format(time.DateOnly)
			}
			rows = append(rows, []string{k.Name, i.ID, string(i.State), i.Since.Format(time.RFC3339), end})
		}
	}
	return rows
}
