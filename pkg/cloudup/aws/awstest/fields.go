// SPDX-License-Identifier: Apache-2.0

package awstest

import "github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"

var fields map[string]cloudtest.Field

var silent map[string]string
