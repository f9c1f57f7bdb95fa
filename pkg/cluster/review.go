// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cost"
	"github.com/slipway-k8s/slipway/pkg/policy"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Checks are what a plan is held against besides the cloud. The zero value asks nothing.
type Checks struct {
	// Policy is the rules that a plan must keep; what it denies is shown and not applied.
	Policy *policy.Set
	// Prices are what a plan is priced with; Priced is given the result before the plan is
	// shown.
	Prices *cost.Prices
	Priced func(*cost.Estimate)
}

// review holds a plan against the policy, shows it with the policy's warnings, and
// returns what the policy denies.
func (d Deps) review(ctx context.Context, p *tasks.Plan, m *api.Manifest, o UpdateOptions) error {
	if o.Checks.Policy == nil {
		return o.settle(p)
	}
	applied, err := d.appliedManifest(ctx, o.Name)
	if err != nil {
		return err
	}
	result, err := o.Checks.Policy.Evaluate(ctx, policy.Input{Plan: p, Spec: m, Applied: applied, Who: d.Who, Now: d.now()})
	if err != nil {
		return err
	}
	for _, v := range result.Warned {
		p.Warnings = append(p.Warnings, tasks.Warning{Text: "policy " + v.String()})
	}
	if err := o.settle(p); err != nil {
		return err
	}
	return result.Err()
}

// appliedManifest is the spec that was applied last, or nil when none was.
func (d Deps) appliedManifest(ctx context.Context, name string) (*api.Manifest, error) {
	applied, err := d.Store.Applied(ctx, name)
	if errors.Is(err, statestore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rev, err := d.Store.Revision(ctx, name, applied.Revision)
	if err != nil {
		return nil, err
	}
	return decode(rev)
}

// price says what the plan of an observed graph changes of a month's bill.
func (d Deps) price(ctx context.Context, cloud cloudup.Cloud, region string, m *api.Manifest, g *tasks.Graph, o UpdateOptions) error {
	if o.Checks.Prices == nil {
		return nil
	}
	name := m.Cluster.Spec.CloudProvider.Name()
	pricer, ok := cloud.(cloudup.Pricer)
	if !ok {
		return fmt.Errorf("price the plan of cluster %s: it is not known yet what a plan uses on %s; leave out --cost", o.Name, name)
	}
	objects, err := pricer.Priced(ctx, g)
	if err != nil {
		return fmt.Errorf("price the plan of cluster %s: %w", o.Name, err)
	}
	o.Checks.Priced(o.Checks.Prices.Estimate(name, region, objects))
	return nil
}
