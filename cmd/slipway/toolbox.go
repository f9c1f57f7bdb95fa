// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/api/kops"
)

func newToolbox(a *app) *cobra.Command {
	return parent("toolbox", "Work on manifests, without a store or a cloud", newConvert(a))
}

func newConvert(a *app) *cobra.Command {
	var files []string
	var form string
	cmd := &cobra.Command{
		Use: "convert -f FILE", Short: "Turn kops manifests into Slipway's", Args: exactArgs(0),
		Long: `Read manifests of kops.k8s.io/v1alpha2 or v1alpha3 and print what they are here. What is
not needed is named on stderr; a field that has no place here is refused with its path.
Every command that reads a file reads them, too.`,
		Example: "  slipway toolbox convert -f kops.yaml > cluster.yaml",
		RunE: func(*cobra.Command, []string) error {
			if len(files) == 0 {
				return &usageError{errors.New("give a manifest with -f FILE")}
			}
			m, err := a.readManifests(files)
			if err != nil {
				return err
			}
			api.Complete(m)
			return printManifest(a.Out, m, form)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `FILE` (repeatable; - is stdin)")
	cmd.Flags().StringVarP(&form, "output", "o", "yaml", "yaml or json")
	return cmd
}

// converted turns a file of kops's into ours, and says what it leaves out; another file
// stays as it is.
func (a *app) converted(data []byte, file string) ([]byte, error) {
	if !kops.Is(data) {
		return data, nil
	}
	out, faults, err := kops.Convert(data, file)
	if err != nil {
		return nil, err
	}
	a.warnAll(faults.Warnings())
	return out, nil
}
