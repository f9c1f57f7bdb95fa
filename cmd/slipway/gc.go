// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
)

// The defaults of `slipway gc`.
const (
	keptJournals = 10
	garbageAge   = time.Hour
)

func newGC(a *app) *cobra.Command {
	f := &updateFlags{}
	var o cluster.GarbageOptions
	cmd := &cobra.Command{
		Use: "gc [NAME]", Short: "Remove what nothing in a cluster's store references any more", Args: maxArgs(1),
		Long: `Plan and, with --yes, remove node configs, add-ons and assets that neither the newest
nor the applied revision wants and that no launch template and no machine names, and
journals of runs that are settled. What it cannot tell of stays. Nothing in the cloud is
touched; history, keys, secrets and backups stay.`,
		Example:           "  slipway gc demo.example.com\n  slipway gc demo.example.com --keep-journals 3 --older-than 24h --yes",
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.KeepJournals < 0 || o.OlderThan < 0 {
				return &usageError{errors.New("--keep-journals and --older-than cannot be below 0")}
			}
			ctx := cmd.Context()
			d, err := a.deps(ctx)
			if err != nil {
				return err
			}
			name, err := a.clusterName(ctx, d, args)
			if err != nil {
				return err
			}
			return f.run(ctx, a, name, "gc", func(u cluster.UpdateOptions) (*cluster.Result, error) {
				o.UpdateOptions = u
				return cluster.Collect(ctx, d, o)
			})
		},
	}
	f.bindPlan(cmd)
	fl := cmd.Flags()
	fl.BoolVarP(&f.yes, "yes", "y", false, "remove it")
	fl.DurationVar(&f.lockWait, "lock-wait", 0, "how long to wait while another run holds the cluster's lock")
	fl.IntVar(&o.KeepJournals, "keep-journals", keptJournals, "how many of the newest runs keep their journal")
	fl.DurationVar(&o.OlderThan, "older-than", garbageAge, "leave what is younger")
	return cmd
}
