// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// config is the user's file of defaults: ~/.config/slipway/config.yaml.
type config struct {
	State   string `json:"state,omitempty"`   // the state store
	Cluster string `json:"cluster,omitempty"` // the current cluster
	// Policy lists files of rules that every plan must keep; Prices is the file for --cost.
	// Relative paths start at the config file's folder.
	Policy []string `json:"policy,omitempty"`
	Prices string   `json:"prices,omitempty"`
	// Flags are defaults of flags, by command: {"create cluster": {"node-size": "m7i.large"}}.
	Flags map[string]map[string]string `json:"flags,omitempty"`
}

// configPath is SLIPWAY_CONFIG, or config.yaml in the user's config folder.
func (a *app) configPath() string {
	if path := a.env("SLIPWAY_CONFIG"); path != "" {
		return path
	}
	dir := a.env("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(a.home(), ".config")
	}
	return filepath.Join(dir, "slipway", "config.yaml")
}

// readConfig loads the file; one that is absent is empty.
func (a *app) readConfig() error {
	data, err := os.ReadFile(a.configPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the config file: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, &a.config); err != nil {
		return &usageError{fmt.Errorf("config file %s: %s", a.configPath(), plainYAML(err))}
	}
	return nil
}

// plainYAML leaves out how the decoder works inside.
func plainYAML(err error) string {
	return strings.NewReplacer("error unmarshaling JSON: while decoding JSON: ", "", "error converting YAML to JSON: yaml: ", "", "json: ", "").Replace(err.Error())
}

// applyFlagDefaults gives a command the file's values for flags that were not given.
func (a *app) applyFlagDefaults(cmd *cobra.Command) error {
	path := commandPath(cmd)
	for name, value := range a.config.Flags[path] {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			return &usageError{fmt.Errorf("config file %s: flags of %q: no flag --%s", a.configPath(), path, name)}
		}
		if f.Changed {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return &usageError{fmt.Errorf("config file %s: flags of %q: --%s: %w", a.configPath(), path, name, err)}
		}
	}
	return nil
}

// commandPath is a command's words after the program's name: "create cluster".
func commandPath(cmd *cobra.Command) string {
	path := cmd.Name()
	for c := cmd.Parent(); c != nil && c.HasParent(); c = c.Parent() {
		path = c.Name() + " " + path
	}
	return path
}
