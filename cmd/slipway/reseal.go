// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
)

func newReseal(a *app) *cobra.Command {
	f := &keyFlags{}
	cmd := &cobra.Command{
		Use: "reseal [NAME]", Short: "Seal all keysets and secrets of a cluster for others", Args: maxArgs(1),
		Long: `Open every keyset and secret of a cluster and seal it anew: under a fresh data key, for
the key or the recipients that the flags or else the spec name, and for nobody else. The
content stays. A method or key that the flags name is stored in the spec as well.
Older versions of the objects, where the store keeps them, still open with the old keys.`,
		Example: `  slipway reseal demo.example.com --kms-key alias/slipway
  slipway reseal demo.example.com --recipient age1...`,
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.keyDeps(cmd.Context(), &f.sealFlags)
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			o := cluster.KeyOptions{Cluster: name, Command: "slipway reseal " + name, LockWait: f.lockWait}
			done, err := cluster.Reseal(cmd.Context(), d, o)
			if err != nil {
				return err
			}
			if err := a.storeSealing(cmd.Context(), d, name, f.spec()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "Sealed %d objects of cluster %s to %s.\n", len(done.Objects), name, sealedTo(done.To))
			return err
		},
	}
	f.sealFlags.bind(cmd)
	cmd.Flags().DurationVar(&f.lockWait, "lock-wait", 0, "how long to wait while another run holds the cluster's lock")
	return cmd
}

// storeSealing writes what the flags say of the sealing into the spec, so that plans hold
// what is sealed against it.
func (a *app) storeSealing(ctx context.Context, d cluster.Deps, name string, s *api.Sealing) error {
	if s == nil {
		return nil
	}
	changed, err := cluster.Change(ctx, d, name, "reseal", func(m *api.Manifest) error {
		if m.Cluster.Spec.Sealing == nil && s.Method == api.SealingAge {
			return nil // what an absent field says
		}
		m.Cluster.Spec.Sealing = s
		return nil
	})
	if err != nil {
		return fmt.Errorf("the objects are sealed anew, and spec.sealing does not say so yet: %w", err)
	}
	if changed.Written {
		fmt.Fprintf(a.Out, "Stored in the spec as revision %d. Apply it, so that the control planes' rights follow: slipway update cluster %s\n", changed.Revision, name)
	}
	return nil
}
