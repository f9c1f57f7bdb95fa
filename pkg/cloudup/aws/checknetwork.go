// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// resolveNetwork takes the range of an existing VPC into the spec.
func (c *Cloud) resolveNetwork(ctx context.Context, m *api.Manifest) error {
	n := &m.Cluster.Spec.Networking
	if n.NetworkID == "" || n.NetworkCIDR != "" {
		return nil
	}
	vpc, err := c.sharedVPC(ctx, n.NetworkID)
	if err != nil {
		return err
	}
	n.NetworkCIDR = *vpc.CidrBlock
	return nil
}

// checkNetwork verifies that an existing VPC is there.
func (c *Cloud) checkNetwork(ctx context.Context, m *api.Manifest) (api.Faults, error) {
	n := m.Cluster.Spec.Networking
	if n.NetworkID == "" {
		return nil, nil
	}
	_, err := c.sharedVPC(ctx, n.NetworkID)
	return nil, err
}
