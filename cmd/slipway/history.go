// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

func newGetHistory(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "history [NAME]", Short: "List the revisions of a cluster's spec", Args: maxArgs(1),
		Example: "  slipway get history demo.example.com", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			history, err := d.Store.History(cmd.Context(), name)
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(history)
			}
			applied, _ := d.Store.Applied(cmd.Context(), name) // none yet is no fault here
			var rows [][]string
			for _, r := range history {
				mark := ""
				if r.Number == applied.Revision {
					mark = "applied"
				}
				rows = append(rows, []string{strconv.Itoa(r.Number), r.Meta.When.Local().Format(time.DateTime), r.Meta.Who + "@" + r.Meta.Host,
					r.Meta.Tool, mark, r.Meta.Reason})
			}
			return table(a.Out, []string{"REVISION", "WHEN", "WHO", "TOOL", "APPLIED", "REASON"}, rows)
		},
	}
	cmd.Flags().StringVarP(&form, "output", "o", "table", "table or json")
	return cmd
}

func newGetRevision(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revision N", Short: "Print one revision of a cluster's spec", Args: exactArgs(1),
		Example: "  slipway get revision 3 --cluster demo.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return &usageError{fmt.Errorf("%q is no revision number", args[0])}
			}
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, nil)
			if err != nil {
				return err
			}
			text, err := cluster.RevisionText(cmd.Context(), d, name, n)
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
	a.addClusterFlag(cmd)
	return cmd
}

func newGetOperations(a *app) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "operations [NAME]", Short: "List what was applied to a cluster, by whom and with which result", Args: maxArgs(1),
		Example: "  slipway get operations demo.example.com", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			ops, err := d.Store.Operations(cmd.Context(), name)
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(ops)
			}
			var rows [][]string
			for _, op := range ops {
				rows = append(rows, []string{op.When.Local().Format(time.DateTime), op.Who + "@" + op.Host, op.Command, strconv.Itoa(op.Revision), op.Result, op.Detail})
			}
			return table(a.Out, []string{"WHEN", "WHO", "WHAT", "REVISION", "RESULT", "DETAIL"}, rows)
		},
	}
	cmd.Flags().StringVarP(&form, "output", "o", "table", "table or json")
	return cmd
}

func newRollback(a *app) *cobra.Command {
	var to int
	cmd := &cobra.Command{
		Use: "rollback [NAME] --to N", Short: "Make an earlier revision of the spec the newest one", Args: maxArgs(1),
		Long:    "Store an earlier revision's spec as a new revision. Nothing changes in the cloud until it is applied.",
		Example: "  slipway rollback demo.example.com --to 3", ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to < 1 {
				return &usageError{errors.New("give the revision with --to N; `slipway get history` lists them")}
			}
			d, err := a.deps(cmd.Context())
			if err != nil {
				return err
			}
			name, err := a.clusterName(cmd.Context(), d, args)
			if err != nil {
				return err
			}
			changed, err := cluster.Rollback(cmd.Context(), d, name, to)
			if err != nil {
				return err
			}
			return a.printChanged(name, changed)
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "the revision")
	return cmd
}

func newDiff(a *app) *cobra.Command {
	f := &updateFlags{}
	var from, to int
	cmd := &cobra.Command{
		Use: "diff [NAME]", Short: "Compare the cloud with what was last applied, or two revisions", Args: maxArgs(1),
		Long: `Without --from, show what drifted: objects of the cloud that were changed, are missing
or are extra, against the revision that was last applied. With --from and --to, show
the difference between two revisions of the spec.`,
		Example:           "  slipway diff demo.example.com --detailed-exitcode\n  slipway diff demo.example.com --from 3 --to 5",
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 0 || to < 0 {
				return &usageError{errors.New("--from and --to take the numbers of revisions; `slipway get history` lists them")}
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
			if from == 0 && to == 0 {
				return f.run(ctx, a, name, "diff", func(o cluster.UpdateOptions) (*cluster.Result, error) { return cluster.Drift(ctx, d, o) })
			}
			text, err := cluster.DiffRevisions(ctx, d, name, from, to)
			if err != nil {
				return err
			}
			if _, err := a.Out.Write(text); err != nil {
				return err
			}
			if f.detailed && len(text) > 0 {
				return errChanges
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&from, "from", 0, "older revision")
	fl.IntVar(&to, "to", 0, "newer revision")
	f.bindPlan(cmd)
	return cmd
}

func newShow(a *app) *cobra.Command {
	f := &updateFlags{output: "text"}
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Print a saved plan", Args: exactArgs(1),
		Example: "  slipway update cluster demo.example.com --plan-out plan.json\n  slipway show plan.json",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.readPlan(args[0])
			if err != nil {
				return err
			}
			return f.show(a, p)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "also show what is unchanged")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

// readPlan reads a saved plan.
func (a *app) readPlan(path string) (*tasks.Plan, error) {
	data, err := a.readFile(path)
	if err != nil {
		return nil, err
	}
	p, err := tasks.DecodePlan(data)
	if err != nil {
		return nil, &usageError{fmt.Errorf("plan %s: %w", path, err)}
	}
	return p, nil
}

func (a *app) json(x any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(x)
}
