// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// ExportOptions tunes Export.
type ExportOptions struct {
	UpdateOptions
	Module terraform.Options
	// Manifest is exported instead of the newest revision, for a review only.
	Manifest *api.Manifest
}

// Export writes the graph of Update as a Terraform module. Without Yes it is for review:
// nothing is called or written, and what only the cloud or the store knows is a
// placeholder. With Yes the files can be applied: what belongs into the store is put
// there first, under the lock. With imports of a running cluster it is looked up, too.
func Export(ctx context.Context, d Deps, o ExportOptions) (*terraform.Module, error) {
	o.Module.Review = !o.Yes && !o.Module.Imports
	o.Module.Deploy = o.Yes
	if o.Manifest != nil && !o.Module.Review {
		return nil, fmt.Errorf("export %s: a manifest that is not stored can be exported for review alone", o.Name)
	}
	module := terraform.New(o.Module)
	_, err := d.locked(ctx, o.UpdateOptions, func(ctx context.Context, d Deps, still guard) (*Result, error) {
		c, err := d.exported(ctx, o)
		if err != nil {
			return nil, err
		}
		if o.Yes {
			if err := d.storeObjects(ctx, c, o, still); err != nil {
				return nil, err
			}
		}
		cloud, graph, err := d.exportGraph(ctx, c, o)
		if err != nil {
			return nil, err
		}
		cloud.Provide(module)
		if err := terraform.Graph(ctx, module, graph, inStore); err != nil {
			return nil, err
		}
		module.Output("cluster_name", "The cluster.", terraform.Text(o.Name))
		return nil, nil
	})
	return module, err
}

// inStore reports whether a task keeps an object of the state store, which no Terraform
// needs to know of.
func inStore(id tasks.ID) bool { return strings.HasPrefix(string(id), "store/") }

// uidOfReview stands for the UID of a cluster that is not in the store yet.
const uidOfReview = "00000000000000000000000000000000"

func (d Deps) exported(ctx context.Context, o ExportOptions) (*Loaded, error) {
	if o.Manifest == nil {
		return Load(ctx, d, o.Name)
	}
	if o.Manifest.Cluster.Metadata.UID == "" {
		o.Manifest.Cluster.Metadata.UID = uidOfReview
	}
	api.Complete(o.Manifest)
	faults := api.Validate(o.Manifest)
	return &Loaded{Manifest: o.Manifest, Warnings: faults.Warnings()}, faults.Err()
}

// exportGraph lowers a spec and, unless it is for review, observes what is there.
func (d Deps) exportGraph(ctx context.Context, c *Loaded, o ExportOptions) (cloudup.Cloud, *tasks.Graph, error) {
	blueprint, err := model.Build(c.Manifest, model.Options{Store: d.Store.URL(), Agent: o.Agent})
	if err != nil {
		return nil, nil, err
	}
	cloud, err := d.OpenCloud(ctx, c.Manifest, d.ledger(o.Name))
	if err != nil {
		return nil, nil, err
	}
	graph := tasks.NewGraph()
	if _, err := d.keysetTasks(graph, cloud, blueprint, c, o.Yes); err != nil {
		return nil, nil, err
	}
	if err := cloud.Lower(blueprint, graph); err != nil || o.Module.Review {
		return cloud, graph, err
	}
	if _, err := d.check(ctx, cloud, c); err != nil {
		return nil, nil, err
	}
	_, err = tasks.MakePlan(ctx, graph, tasks.PlanOptions{Workers: o.Workers, Logger: d.Logger, Clock: d.Clock})
	return cloud, graph, err
}

// storeObjects makes the keysets and node configs that machines of an export read.
func (d Deps) storeObjects(ctx context.Context, c *Loaded, o ExportOptions, still guard) error {
	blueprint, err := model.Build(c.Manifest, model.Options{Store: d.Store.URL(), Agent: o.Agent})
	if err != nil {
		return err
	}
	graph, objects := tasks.NewGraph(), d.Store.Objects(o.Name)
	if err := model.StoreTasks(blueprint, objects, graph); err != nil {
		return err
	}
	_, err = KeysetTasks(graph, KeysetOptions{Objects: objects, ClusterUID: blueprint.UID, Sealing: d.Sealing(c.Manifest), Clock: d.Clock, Whole: true})
	if err != nil {
		return err
	}
	header := d.header("export cluster", c, cloudup.Identity{Name: d.Who})
	header.Target = "terraform"
	plan, err := tasks.MakePlan(ctx, graph, tasks.PlanOptions{Workers: o.Workers, Header: header, Logger: d.Logger, Clock: d.Clock})
	if err != nil || !plan.Pending() {
		return err
	}
	_, err = d.run(ctx, o.Name, plan, o.UpdateOptions, still)
	return err
}
