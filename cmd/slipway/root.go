// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot builds the command tree: one line a verb.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "slipway",
		Short: "Kubernetes clusters from a spec in a state store",
		Long: `Slipway compiles a short cluster spec into cloud objects, shows the plan, and
applies it. A name and zones give a highly available cluster that is closed by
default; everything else has a field.`,
		Example: `  slipway create cluster demo.example.com --zones us-east-1a,us-east-1b,us-east-1c
  slipway update cluster demo.example.com
  slipway update cluster demo.example.com --yes`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.readConfig(); err != nil {
				return err
			}
			return a.applyFlagDefaults(cmd)
		},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.state, "state", "", "state store: s3://BUCKET[/PREFIX], file:///DIR (SLIPWAY_STATE_STORE; default: a folder of your own)")
	flags.StringVar(&a.name, "name", "", "cluster name (SLIPWAY_CLUSTER)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to stderr")
	flags.StringVar(&a.name, "cluster", "", "another spelling of --name")
	for _, name := range []string{"name", "cluster"} {
		if err := root.RegisterFlagCompletionFunc(name, a.completeClusters); err != nil {
			panic(err) // both flags are defined above
		}
	}
	if err := flags.MarkHidden("cluster"); err != nil {
		panic(err) // the flag is defined above
	}
	root.AddCommand(
		newCreate(a), newGet(a), newEdit(a), newReplace(a), newSet(a), newUnset(a),
		newUpdate(a), newDelete(a), newUnlock(a), newGC(a),
		newDiff(a), newRollback(a), newShow(a),
		newPromote(a), newTrust(a), newDistrust(a), newReseal(a),
		newSim(a), newSchema(a), newToolbox(a), newVersion(a),
	)
	completeFlags(a, root)
	return root
}

// parent makes a command that only groups others; a wrong word below it is an error
// with a suggestion, not a help page.
func parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				msg += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return &usageError{fmt.Errorf("%s", msg)}
		},
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(children...)
	return cmd
}

// addClusterFlag gives a group verb its --cluster, another spelling of --name.
func (a *app) addClusterFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.name, "cluster", "", "cluster name (SLIPWAY_CLUSTER)")
	if err := cmd.RegisterFlagCompletionFunc("cluster", a.completeClusters); err != nil {
		panic(err) // the flag is defined above
	}
}

// maxArgs is cobra's check with our error class.
func maxArgs(n int) cobra.PositionalArgs { return usage(cobra.MaximumNArgs(n)) }

// exactArgs is cobra's check with our error class.
func exactArgs(n int) cobra.PositionalArgs { return usage(cobra.ExactArgs(n)) }

func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
		}
		return nil
	}
}
