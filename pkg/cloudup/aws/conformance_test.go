// SPDX-License-Identifier: Apache-2.0

package aws_test

import (
	"testing"

	"github.com/slipway-k8s/slipway/pkg/cloudup/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
)

// TestConformance runs the suite of all clouds on the simulated AWS.
func TestConformance(t *testing.T) { cloudtest.Run(t, awstest.Harness()) }
