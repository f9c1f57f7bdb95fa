// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// targets are where an update can go.
var targets = []string{"direct", "terraform"}

// exportFlags is the flags of an export.
type exportFlags struct {
	target, out string
	module      terraform.Options
}

func (f *exportFlags) bind(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.target, "target", "direct", "direct, or terraform to write files instead of changing the cloud")
	fl.StringVar(&f.out, "out", "", "folder of the Terraform files")
	fl.BoolVar(&f.module.Imports, "with-imports", false, "also write import blocks for what is in the cloud")
	fl.BoolVar(&f.module.Child, "module", false, "write a module without a provider block, for another one to call")
	fl.StringVar(&f.module.CallAs, "module-name", "cluster", "`NAME` by which the root module calls it, for --with-imports")
	fl.StringVar(&f.module.Provider, "provider-version", "", "version constraint of the provider")
	fl.StringVar(&f.module.Terraform, "terraform-version", "", "version constraint of Terraform (default \""+terraform.DefaultTerraform+"\")")
}

// asked reports whether an export is wanted, or what is wrong with the flags.
func (f *exportFlags) asked() (bool, error) {
	switch {
	case f.target == "direct" && f.out != "":
		return false, &usageError{errors.New("--out is for --target terraform")}
	case f.target == "direct" && (f.module.Imports || f.module.Child):
		return false, &usageError{errors.New("--with-imports and --module are for --target terraform")}
	case f.target == "direct":
		return false, nil
	case f.target != "terraform":
		return false, &usageError{fmt.Errorf("--target is %q; it takes %s", f.target, strings.Join(targets, " or "))}
	case f.out == "":
		return false, &usageError{errors.New("--target terraform needs the folder to write to: --out DIR")}
	}
	return true, nil
}

// export writes the files and says what they are.
func (f *exportFlags) export(ctx context.Context, a *app, d cluster.Deps, o cluster.ExportOptions) error {
	o.Module = f.module
	module, err := cluster.Export(ctx, d, o)
	if err != nil {
		return err
	}
	written, err := terraform.WriteDir(f.out, module.Files())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Wrote %d resources to %s: %s.\n", len(module.Resources()), f.out, strings.Join(written.Files, ", "))
	if len(written.Removed) > 0 {
		fmt.Fprintf(a.Out, "Removed what an earlier export wrote: %s.\n", strings.Join(written.Removed, ", "))
	}
	if module.Review {
		fmt.Fprintf(a.Out, "They are for review: what is marked as a placeholder is looked up with --yes, which also puts keys and node configs into the store.\n")
		return nil
	}
	_, err = fmt.Fprintf(a.Out, "\nNext: terraform -chdir=%s init && terraform -chdir=%s plan\n", f.out, f.out)
	return err
}
