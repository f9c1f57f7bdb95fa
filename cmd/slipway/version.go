// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build; a build from a checkout says its commit.
var version = "dev"

func toolVersion() string { return "slipway " + version }

func newVersion(a *app) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactArgs(0),
		RunE: func(*cobra.Command, []string) error {
			if short {
				_, err := fmt.Fprintln(a.Out, version)
				return err
			}
			commit := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						commit = s.Value
					}
				}
			}
			_, err := fmt.Fprintf(a.Out, "slipway %s (commit %s, %s, %s/%s)\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "only the version")
	return cmd
}
