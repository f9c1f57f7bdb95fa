// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// survey is what the tasks of one graph share: the cloud, and the inventory of each
// kind, read once and only when asked for.
type survey struct {
	*Cloud
	graph  *tasks.Graph
	labels map[string]string // the user's cloudLabels

	networkKinds
}

func newSurvey(c *Cloud, g *tasks.Graph) *survey {
	s := &survey{Cloud: c, graph: g}
	s.networkKinds = newNetworkKinds(s)
	return s
}

// removables lists how each kind is removed. The order among kinds stands in their
// after fields.
func (s *survey) removables() []removable {
	return s.networkRemovables()
}
