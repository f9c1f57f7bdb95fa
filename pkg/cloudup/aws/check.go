// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// Resolve fills in what only AWS knows and what creation must store. It changes only
// fields that are not set.
func (c *Cloud) Resolve(ctx context.Context, m *api.Manifest) error {
	for _, resolve := range []func(context.Context, *api.Manifest) error{
		c.resolveNetwork,  // ranges of an existing VPC, zones and ranges of subnets in it
		c.resolveMachines, // machine types and images
		c.resolveZone,     // the hosted zone of the cluster's names
		c.resolveKey,      // the key that keysets are sealed with
	} {
		if err := resolve(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Check reports what AWS would refuse. It reads only; all faults come in one answer.
func (c *Cloud) Check(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	var all api.Faults
	for _, check := range []func(context.Context, *api.Manifest) (api.Faults, error){
		c.checkNetwork,  // names, ids, ranges, room for tags, another cluster of the same name
		c.checkMachines, // machine types in their zones, images, architectures
	} {
		faults, err := check(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, faults...)
	}
	return all, nil
}
