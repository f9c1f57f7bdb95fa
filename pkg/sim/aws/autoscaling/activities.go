// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// activity is a row of the table of activities.
type activity struct {
	ID, Group, GroupARN, Description, Cause string
	Status, Message, Details                string
	Progress                                int
	Started, Ended                          time.Time
}

// Passing says that an activity is bookkeeping.
func (*activity) Passing() bool { return true }

// keepActivities is how many activities of a group are kept.
const keepActivities = 100

// record adds an activity to a group's history and returns its id; about is
// the member that it brings or takes, whose place its details tell.
func (s *Service) record(c *wire.Call, g *group, a activity, about *member) string {
	where := scope(c, g.Name)
	a.ID, a.Group, a.GroupARN, a.Started = s.newID(), g.Name, g.ARN, c.Now.UTC().Truncate(time.Millisecond)
	if a.Status == "" {
		a.Status = "InProgress"
	}
	if a.Details == "" && about != nil {
		subnet := ""
		for _, n := range g.Subnets {
			if n.Zone == about.Zone {
				subnet = n.ID
			}
		}
		a.Details = details(groupSubnet{ID: subnet, Zone: about.Zone})
	}
	s.activities.Put(where, a.ID, &a)
	if all := s.activities.All(where); len(all) > keepActivities {
		s.activities.Delete(where, all[0].ID)
	}
	return a.ID
}

// finish ends the activity that a member is in.
func (s *Service) finish(c *wire.Call, g *group, m *member) {
	where := scope(c, g.Name)
	if a := s.activities.Get(where, m.Activity); a != nil && a.Status == "InProgress" {
		a.Status, a.Progress, a.Ended = "Successful", 100, c.Now.UTC().Truncate(time.Millisecond)
		s.activities.Put(where, a.ID, a)
	}
	m.Activity = ""
}

type activityView struct {
	ActivityId, AutoScalingGroupName string
	Description, Cause               string
	StartTime, EndTime               time.Time
	StatusCode, StatusMessage        string
	Progress                         int
	Details                          string
	AutoScalingGroupARN              string
}

func (a *activity) view() activityView {
	return activityView{a.ID, a.Group, a.Description, a.Cause, a.Started, a.Ended, a.Status, a.Message, a.Progress, a.Details, a.GroupARN}
}

// viewOf shows an activity of a group by its id.
func (s *Service) viewOf(c *wire.Call, g *group, id string) activityView {
	if a := s.activities.Get(scope(c, g.Name), id); a != nil {
		return a.view()
	}
	return activityView{ActivityId: id, AutoScalingGroupName: g.Name, StatusCode: "Successful", Cause: "At " + stamp(c), StartTime: c.Now.UTC()}
}

type activitiesOut struct {
	Activities []activityView
	NextToken  string
}

func (s *Service) describeActivities(c *wire.Call, in *struct {
	ActivityIds          []string
	AutoScalingGroupName string
	IncludeDeletedGroups bool
	paging
	Filters []filter
}) (*activitiesOut, error) {
	if len(in.Filters) > 0 {
		return nil, invalid("Filters of scaling activities are not implemented")
	}
	var names []string
	if in.AutoScalingGroupName != "" {
		if _, err := s.group(c, in.AutoScalingGroupName); err != nil {
			return nil, err
		}
		names = []string{in.AutoScalingGroupName}
	} else {
		for _, g := range s.groups.Visible(c.Region) {
			names = append(names, g.Name)
		}
	}
	var rows []*activity
	for _, name := range names {
		for _, a := range s.activities.Visible(scope(c, name)) {
			if len(in.ActivityIds) == 0 || slices.Contains(in.ActivityIds, a.ID) {
				rows = append(rows, a)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *activity) int { return b.Started.Compare(a.Started) })
	rows, next, err := page(c, rows, in.paging, 100, 100)
	out := &activitiesOut{Activities: []activityView{}, NextToken: next}
	for _, a := range rows {
		out.Activities = append(out.Activities, a.view())
	}
	return out, err
}
