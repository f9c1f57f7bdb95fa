// SPDX-License-Identifier: Apache-2.0

package cloudup

import (
	"context"

	"github.com/slipway-k8s/slipway/pkg/cost"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Pricer is the optional side of a Cloud that knows what of a plan costs money.
type Pricer interface {
	// Priced returns what the objects of a graph use, now and when its plan was applied,
	// in the order of the graph. The graph was lowered by this cloud and observed by
	// MakePlan.
	Priced(ctx context.Context, g *tasks.Graph) ([]cost.Object, error)
}

// Referencer is the optional side of a Cloud that knows which objects of the store its
// machines were told to read.
type Referencer interface {
	// InUse returns the keys, relative to the cluster, that stand in the user data of all
	// launch template versions that exist and of all instances that run or can be started
	// again. When it cannot be told of one of them it is an error: what is then missing
	// from the list would be taken for garbage.
	InUse(ctx context.Context) ([]string, error)
}
