// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// refresh is a row of the table of instance refreshes: each instance that was
// there at its start is replaced, one at a time.
type refresh struct {
	ID, Group, Strategy, Status, Reason string
	Started, Ended                      time.Time
	Todo                                []string // instances still to be replaced
	Total                               int
	Preferences                         *preferences
	Wanted                              *wantedConfig
}

type preferences struct {
	MinHealthyPercentage, InstanceWarmup, CheckpointDelay *int
	CheckpointPercentages                                 []int `wire:"CheckpointPercentages,omitempty"`
	SkipMatching, AutoRollback                            *bool
	ScaleInProtectedInstances, StandbyInstances           string
	MaxHealthyPercentage, BakeTime                        *int
}

type wantedConfig struct {
	LaunchTemplate       *templateSpec
	MixedInstancesPolicy *mixedPolicy
}

func (r *refresh) open() bool {
	return r.Status == "Pending" || r.Status == "InProgress" || r.Status == "Cancelling"
}

// current is a group's refresh that has not ended.
func (s *Service) current(c *wire.Call, g *group) *refresh {
	all := s.refreshes.All(scope(c, g.Name))
	if len(all) == 0 || !all[len(all)-1].open() {
		return nil
	}
	return all[len(all)-1]
}

// advanceRefresh replaces the next instance once the group is whole again.
func (s *Service) advanceRefresh(c *wire.Call, g *group) bool {
	r := s.current(c, g)
	if r == nil || g.suspended("InstanceRefresh") {
		return false
	}
	where := scope(c, g.Name)
	defer func() { s.refreshes.Put(where, r.ID, r) }()
	r.Todo = slices.DeleteFunc(r.Todo, func(id string) bool { m := g.member(id); return m == nil || !m.counted() })
	whole := !slices.ContainsFunc(g.Members, func(m member) bool { return !m.warm() && m.State != inService && m.State != standby }) && g.capacity() >= g.Desired
	switch {
	case g.deleting() || r.Status == "Cancelling" && whole:
		r.Status, r.Ended, r.Reason = "Cancelled", c.Now.UTC(), "Cancelled due to user request."
		return false
	case !whole:
		return false
	case len(r.Todo) == 0:
		r.Status, r.Ended = "Successful", c.Now.UTC()
		return false
	}
	r.Status = "InProgress"
	m := g.member(r.Todo[0])
	r.Todo = r.Todo[1:]
	s.retire(c, g, m, "an instance was taken out of service in response to an instance refresh")
	return true
}

func (s *Service) refreshOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"StartInstanceRefresh": wire.Op(s.startRefresh), "DescribeInstanceRefreshes": wire.Op(s.describeRefreshes), "CancelInstanceRefresh": wire.Op(s.cancelRefresh),
	}
}

type refreshOut struct{ InstanceRefreshId string }

func (s *Service) startRefresh(c *wire.Call, in *struct {
	ofGroup
	Strategy             string
	DesiredConfiguration *wantedConfig
	Preferences          *preferences
}) (*refreshOut, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if s.current(c, g) != nil {
		return nil, wire.Errorf("InstanceRefreshInProgress", "An Instance Refresh is already in progress and blocks the execution of this Instance Refresh.")
	}
	if in.Strategy != "" && in.Strategy != "Rolling" {
		return nil, invalid("The simulator has instance refreshes with the strategy Rolling only: %s", in.Strategy)
	}
	if d := in.DesiredConfiguration; d != nil {
		if err := s.change(c, g, &settings{LaunchTemplate: d.LaunchTemplate, MixedInstancesPolicy: d.MixedInstancesPolicy, DesiredCapacity: &g.Desired}); err != nil {
			return nil, err
		}
	}
	r := &refresh{ID: s.newID(), Group: g.Name, Strategy: "Rolling", Status: "Pending", Started: c.Now.UTC().Truncate(time.Millisecond), Preferences: in.Preferences, Wanted: in.DesiredConfiguration}
	for i := range g.Members {
		m := &g.Members[i]
		protected := m.Protected && (in.Preferences == nil || in.Preferences.ScaleInProtectedInstances != "Refresh")
		if m.counted() && !protected {
			r.Todo = append(r.Todo, m.ID)
		}
	}
	r.Total = len(r.Todo)
	s.refreshes.Put(scope(c, g.Name), r.ID, r)
	s.put(c, g)
	return &refreshOut{r.ID}, nil
}

func (s *Service) cancelRefresh(c *wire.Call, in *ofGroup) (*refreshOut, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	r := s.current(c, g)
	if r == nil {
		return nil, wire.Errorf("ActiveInstanceRefreshNotFound", "No in progress or pending Instance Refresh found for Auto Scaling group %s", g.Name)
	}
	r.Status = "Cancelling"
	s.refreshes.Put(scope(c, g.Name), r.ID, r)
	return &refreshOut{r.ID}, nil
}

type refreshView struct {
	InstanceRefreshId, AutoScalingGroupName, Status, StatusReason string
	StartTime, EndTime                                            time.Time
	PercentageComplete, InstancesToUpdate                         int
	Preferences                                                   *preferences
	DesiredConfiguration                                          *wantedConfig
	Strategy                                                      string
}

func (s *Service) describeRefreshes(c *wire.Call, in *struct {
	ofGroup
	InstanceRefreshIds []string
	paging
}) (*struct {
	InstanceRefreshes []refreshView
	NextToken         string
}, error) {
	g, gerr := s.group(c, in.AutoScalingGroupName)
	if gerr != nil {
		return nil, gerr
	}
	rows := []refreshView{}
	for _, r := range slices.Backward(s.refreshes.All(scope(c, g.Name))) {
		if len(in.InstanceRefreshIds) > 0 && !slices.Contains(in.InstanceRefreshIds, r.ID) {
			continue
		}
		done := 100
		if r.Total > 0 {
			done = 100 * (r.Total - len(r.Todo)) / r.Total
		}
		rows = append(rows, refreshView{r.ID, r.Group, r.Status, r.Reason, r.Started, r.Ended, done, len(r.Todo), r.Preferences, r.Wanted, r.Strategy})
	}
	rows, next, err := page(c, rows, in.paging, 50, 100)
	return &struct {
		InstanceRefreshes []refreshView
		NextToken         string
	}{rows, next}, err
}
