// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// survey is what the tasks of one graph share: the cloud, and the inventory of each
// kind, read once and only when asked for.
type survey struct {
	*Cloud
	graph  *tasks.Graph
	begun  time.Time
	labels map[string]string // the user's cloudLabels

	networkKinds
	*machineKinds
}

func newSurvey(c *Cloud, g *tasks.Graph) *survey {
	s := &survey{Cloud: c, graph: g, begun: c.now()}
	s.networkKinds = newNetworkKinds(s)
	s.machineKinds = newMachineKinds(s)
	return s
}

// token is the client token of a task's creation: the same for every attempt of one
// run, so that a repeated call makes no second object, and new for the next run, so that
// an object that was deleted since is not answered again.
func (s *survey) token(r *resource) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", s.uid, r.ID(), s.begun.UnixNano()))
	return hex.EncodeToString(sum[:16])
}

// removables lists how each kind is removed. The order among kinds stands in their
// after fields.
func (s *survey) removables() []removable {
	return append(s.machineRemovables(), s.networkRemovables()...)
}
