// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// updateFlags is the flags of every verb that plans and applies.
type updateFlags struct {
	yes, detailed bool
	output        string
	allowDataLoss []string
	workers       int
	all, thorough bool
	planOut, plan string // files
	lockWait      time.Duration
	checkFlags
}

func newUpdate(a *app) *cobra.Command {
	return parent("update", "Make the cloud as the spec says", newUpdateCluster(a))
}

func newUpdateCluster(a *app) *cobra.Command {
	f, seal, tf := &updateFlags{}, &sealFlags{}, &exportFlags{}
	var files []string
	cmd := &cobra.Command{
		Use: "cluster [NAME]", Short: "Plan what the spec changes in the cloud and, with --yes, apply it", Args: maxArgs(1),
		Long: `Read the newest revision of the spec and the cloud, and show what would be created,
updated, replaced and deleted. Nothing is changed without --yes.

With -f FILE the file's spec takes the place of the newest revision; --yes stores it as
the next one. With --target terraform the same graph is written as a Terraform module:
for review, without store or credentials, or with --yes one that can be applied.`,
		Example: `  slipway update cluster demo.example.com
  slipway update cluster demo.example.com --detailed-exitcode -o json
  slipway update cluster demo.example.com --yes
  slipway update cluster -f cluster.yaml
  slipway update cluster demo.example.com --target terraform --out ./demo`,
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.keyDeps(cmd.Context(), seal)
			if err != nil {
				return err
			}
			if len(files) > 0 {
				return f.executeFile(cmd.Context(), a, d, files, args, tf)
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			o := cluster.UpdateOptions{Name: name}
			if s := seal.spec(); s != nil {
				o.Edit, o.Reason = func(m *api.Manifest) error { m.Cluster.Spec.Sealing = s; return nil }, "update cluster --sealing"
			}
			return f.executeTarget(cmd.Context(), a, d, o, nil, tf)
		},
	}
	f.bind(cmd)
	seal.bind(cmd)
	tf.bind(cmd)
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `FILE` instead of the newest revision (repeatable; - is stdin)")
	return cmd
}

// bind adds the flags of a verb that plans and applies.
func (f *updateFlags) bind(cmd *cobra.Command) {
	f.bindPlan(cmd)
	f.checkFlags.bind(cmd)
	fl := cmd.Flags()
	fl.BoolVarP(&f.yes, "yes", "y", false, "apply the plan")
	fl.StringArrayVar(&f.allowDataLoss, "allow-data-loss", nil, "`ID` of an object that holds data and may be deleted (repeatable)")
	fl.StringVar(&f.plan, "plan", "", "apply exactly the plan in `FILE`, or refuse, naming what moved")
	fl.DurationVar(&f.lockWait, "lock-wait", 0, "how long to wait while another run holds the cluster's lock")
}

// bindPlan adds the flags of a verb that only plans.
func (f *updateFlags) bindPlan(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "text", "form of the plan: text or json")
	fl.BoolVar(&f.detailed, "detailed-exitcode", false, "exit 2 when changes are pending, 0 when there are none")
	fl.StringVar(&f.planOut, "plan-out", "", "also write the plan to `FILE`, for review and --plan")
	fl.IntVar(&f.workers, "workers", 0, "calls at a time (default 16)")
	fl.BoolVar(&f.all, "all", false, "also show what is unchanged")
	fl.BoolVar(&f.thorough, "thorough", false, "read also what a plan takes from marks that were set with it, as diff does")
}

// executeFile takes the spec from files.
func (f *updateFlags) executeFile(ctx context.Context, a *app, d cluster.Deps, files, args []string, tf *exportFlags) error {
	m, err := a.readManifests(files)
	if err != nil {
		return err
	}
	if m.Cluster == nil {
		return &usageError{errors.New("update cluster -f needs a file with a Cluster; change groups alone with `slipway replace -f FILE`")}
	}
	name := m.Cluster.Metadata.Name
	if given := append(args, a.name); given[0] != "" && given[0] != name {
		return &usageError{fmt.Errorf("the file holds cluster %s, not %s", name, given[0])}
	}
	edit := func(old *api.Manifest) error {
		if m.Cluster.Metadata.UID == "" {
			m.Cluster.Metadata.UID = old.Cluster.Metadata.UID
		}
		*old = *m
		return nil
	}
	return f.executeTarget(ctx, a, d, cluster.UpdateOptions{Name: name, Edit: edit, Reason: "update cluster -f"}, m, tf)
}

// executeTarget updates the cloud, or writes files that would.
func (f *updateFlags) executeTarget(ctx context.Context, a *app, d cluster.Deps, o cluster.UpdateOptions, m *api.Manifest, tf *exportFlags) error {
	export, err := tf.asked()
	if err != nil {
		return err
	}
	if export && m != nil && (f.yes || tf.module.Imports) {
		return &usageError{errors.New("a file is exported for review alone: store it first with `slipway replace -f FILE`, then export the cluster with --yes or --with-imports")}
	}
	if export {
		o.Yes, o.Workers, o.LockWait = f.yes, f.workers, f.lockWait
		o.Command = "slipway update cluster " + o.Name + " --target terraform"
		return tf.export(ctx, a, d, cluster.ExportOptions{UpdateOptions: o, Manifest: m})
	}
	if o.Edit == nil {
		return f.execute(ctx, a, d, o.Name)
	}
	f.wanted = true
	return f.run(ctx, a, o.Name, "update cluster", func(run cluster.UpdateOptions) (*cluster.Result, error) {
		run.Edit, run.Reason = o.Edit, o.Reason
		return cluster.Update(ctx, d, run)
	})
}

func (f *updateFlags) execute(ctx context.Context, a *app, d cluster.Deps, name string) error {
	f.wanted = true
	return f.run(ctx, a, name, "update cluster", func(o cluster.UpdateOptions) (*cluster.Result, error) {
		return cluster.Update(ctx, d, o)
	})
}

// run plans with op, shows the plan and, with --yes, its apply.
func (f *updateFlags) run(ctx context.Context, a *app, name, verb string, op func(cluster.UpdateOptions) (*cluster.Result, error)) error {
	if f.output != "text" && f.output != "json" {
		return &usageError{fmt.Errorf("--output is %q; it takes text or json", f.output)}
	}
	if f.yes && f.detailed {
		return &usageError{fmt.Errorf("--detailed-exitcode is for a plan; leave out --yes")}
	}
	if f.yes {
		outliveOutput()
	}
	o := cluster.UpdateOptions{
		Name: name, Yes: f.yes, AllowDataLoss: f.allowDataLoss, Workers: f.workers, LockWait: f.lockWait,
		Show: func(p *tasks.Plan) error { return f.present(a, p) }, Reporter: a.reporter(),
		Command: "slipway " + verb + " " + name, Thorough: f.thorough,
	}
	var err error
	if o.Checks, err = f.checks(a); err != nil {
		return err
	}
	if f.plan != "" {
		saved, err := a.readPlan(f.plan)
		if err != nil {
			return err
		}
		o.Saved = saved
	}
	result, err := op(o)
	switch {
	case err != nil:
		return err
	case f.yes:
		return nil
	case f.detailed && result.Plan.Pending():
		return errChanges
	case (result.Plan.Pending() || verb == "delete cluster") && f.output == "text" && verb != "diff":
		_, err := fmt.Fprintf(a.Out, "\nNothing was changed. To apply: slipway %s %s --yes%s\n", verb, name, f.lossFlags(result.Plan))
		return err
	}
	return nil
}

// present shows a plan and, where that was asked for, saves it.
func (f *updateFlags) present(a *app, p *tasks.Plan) error {
	show := f.show
	if f.estimate != nil {
		show = f.showCost
	}
	if err := show(a, p); err != nil || f.planOut == "" {
		return err
	}
	return writePlan(f.planOut, p)
}

// lossFlags names what an apply of the plan would need besides --yes.
func (f *updateFlags) lossFlags(p *tasks.Plan) string {
	if p.Header.Verb == "delete cluster" {
		return ""
	}
	var b strings.Builder
	for _, item := range p.Items {
		if item.Data && (item.Action == tasks.Delete || item.Action == tasks.Replace) {
			b.WriteString(" --allow-data-loss " + string(item.ID))
		}
	}
	return b.String()
}

func (f *updateFlags) show(a *app, p *tasks.Plan) error {
	if f.output == "json" {
		enc := json.NewEncoder(a.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(p)
	}
	return p.Text(a.Out, tasks.TextOptions{Color: a.isTerminal(a.Out), All: f.all, Width: a.width()})
}
