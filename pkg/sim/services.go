// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
)

// addServices is the one list of the simulated AWS services.
func addServices(cloud *aws.Cloud, opts Options) error {
	compute, err := ec2.New(cloud.World, ec2.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return err
	}
	cloud.Register(compute)
	return nil
}
