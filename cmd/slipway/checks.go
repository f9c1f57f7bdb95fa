// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/cost"
	"github.com/slipway-k8s/slipway/pkg/policy"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// checkFlags is the flags by which a plan is held against rules and prices.
type checkFlags struct {
	wanted   bool // the verb applies plans, so the rules for everybody hold
	policies []string
	cost     bool
	prices   string // file

	estimate *cost.Estimate // of the plan that is shown; nil without --cost
}

func (f *checkFlags) bind(cmd *cobra.Command) {
	f.wanted = true
	fl := cmd.Flags()
	fl.StringArrayVar(&f.policies, "policy", nil, "`FILE` of rules that the plan must keep (repeatable; besides those of SLIPWAY_POLICY and the config file)")
	fl.BoolVar(&f.cost, "cost", false, "also show what the plan changes of a month's bill")
	fl.StringVar(&f.prices, "prices", "", "`FILE` of prices for --cost (SLIPWAY_PRICES)")
}

// checks loads the files that the flags, the environment and the config file name.
func (f *checkFlags) checks(a *app) (cluster.Checks, error) {
	var c cluster.Checks
	if !f.wanted {
		return c, nil
	}
	set := &policy.Set{}
	for _, path := range append(a.policyFiles(), f.policies...) {
		data, err := a.readFile(path)
		if err != nil {
			return c, &usageError{fmt.Errorf("policy: %w", err)}
		}
		more, err := policy.Load(path, data)
		if err != nil {
			return c, &usageError{err}
		}
		set.Add(more)
	}
	if set.Len() > 0 {
		c.Policy = set
	}
	if !f.cost {
		return c, nil
	}
	path := f.prices
	for _, otherwise := range []string{a.env("SLIPWAY_PRICES"), a.fromConfig(a.config.Prices)} {
		if path == "" {
			path = otherwise
		}
	}
	if path == "" {
		return c, &usageError{errors.New("--cost needs --prices FILE; docs/reference/price-file.md describes the file")}
	}
	data, err := a.readFile(path)
	if err != nil {
		return c, &usageError{fmt.Errorf("prices: %w", err)}
	}
	if c.Prices, err = cost.Load(path, data); err != nil {
		return c, &usageError{err}
	}
	c.Priced = func(e *cost.Estimate) { f.estimate = e }
	return c, nil
}

// policyFiles are the policies for everybody: of the environment, then of the config file.
func (a *app) policyFiles() []string {
	var files []string
	for _, path := range filepath.SplitList(a.env("SLIPWAY_POLICY")) {
		if path != "" {
			files = append(files, path)
		}
	}
	for _, path := range a.config.Policy {
		files = append(files, a.fromConfig(path))
	}
	return files
}

// fromConfig takes a path of the config file, relative to that file's folder.
func (a *app) fromConfig(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(a.configPath()), path)
}

// costShown is the document of `-o json` with --cost.
type costShown struct {
	Plan *tasks.Plan    `json:"plan"`
	Cost *cost.Estimate `json:"cost"`
}

// showCost writes the estimate below the plan, or with it as one document.
func (f *updateFlags) showCost(a *app, p *tasks.Plan) error {
	if f.output == "json" {
		return a.json(costShown{p, f.estimate})
	}
	if err := f.show(a, p); err != nil {
		return err
	}
	return f.estimate.Text(a.Out, f.all)
}

// writePlan saves a plan for review and --plan.
func writePlan(path string, p *tasks.Plan) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}
