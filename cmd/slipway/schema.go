// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// kinds are what a spec is made of.
var kinds = []string{api.KindCluster, api.KindInstanceGroup, api.KindSSHPublicKey}

// kindOf takes a kind in any case; one that is unknown stays as it is.
func kindOf(word string) string {
	for _, kind := range kinds {
		if strings.EqualFold(kind, word) {
			return kind
		}
	}
	return word
}

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "schema [KIND]", Short: "Print the JSON Schema of the spec, for editors", Args: maxArgs(1),
		Long:      "Print the JSON Schema of one kind, or of all of them.",
		Example:   "  slipway schema > slipway.schema.json\n  slipway schema InstanceGroup",
		ValidArgs: kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			kind := ""
			if len(args) > 0 {
				kind = kindOf(args[0])
			}
			data, err := api.Schema(kind)
			if err != nil {
				return &usageError{err}
			}
			_, err = a.Out.Write(append(data, '\n'))
			return err
		},
	}
}
