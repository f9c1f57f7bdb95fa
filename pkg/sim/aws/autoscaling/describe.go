// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) describeOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"DescribeAutoScalingGroups": wire.Op(s.describeGroups), "DescribeAutoScalingInstances": wire.Op(s.describeInstances),
		"DescribeScalingActivities": wire.Op(s.describeActivities), "DescribeAccountLimits": wire.Op(s.describeLimits),
	}
}

// filter is a filter of a describe call: any of the values.
type filter struct {
	Name   string
	Values []string
}

type groupsOut struct {
	AutoScalingGroups []groupView
	NextToken         string
}

// describeGroups passes over names that do not exist, as AWS does.
func (s *Service) describeGroups(c *wire.Call, in *struct {
	AutoScalingGroupNames []string
	paging
	Filters []filter
}) (*groupsOut, error) {
	most := 50
	if in.MaxRecords > 0 {
		most = in.MaxRecords
	}
	if len(in.AutoScalingGroupNames) > most {
		return nil, invalid("The number of Auto Scaling group names that may be passed in is limited to %d", most)
	}
	rows := slices.Clone(s.groups.Visible(c.Region))
	if len(in.AutoScalingGroupNames) > 0 {
		rows = slices.DeleteFunc(rows, func(g *group) bool { return !slices.Contains(in.AutoScalingGroupNames, g.Name) })
	}
	for _, f := range in.Filters {
		if f.Name != "tag-key" && f.Name != "tag-value" && !strings.HasPrefix(f.Name, "tag:") {
			return nil, invalid("Filter type %s is not correct. Allowed Filter types are: tag:<key>, tag-key, tag-value", f.Name)
		}
		if len(f.Values) == 0 {
			return nil, invalid("Filter %s must have values", f.Name)
		}
		rows = slices.DeleteFunc(rows, func(g *group) bool { return !slices.ContainsFunc(g.Tags, f.meets) })
	}
	rows, next, err := page(c, rows, in.paging, 50, 100)
	out := &groupsOut{AutoScalingGroups: []groupView{}, NextToken: next}
	for _, g := range rows {
		out.AutoScalingGroups = append(out.AutoScalingGroups, g.view())
	}
	return out, err
}

func (f filter) meets(t tag) bool {
	switch f.Name {
	case "tag-key":
		return slices.Contains(f.Values, t.Key)
	case "tag-value":
		return slices.Contains(f.Values, t.Value)
	}
	return "tag:"+t.Key == f.Name && slices.Contains(f.Values, t.Value)
}

type memberView struct {
	InstanceId, InstanceType, AutoScalingGroupName, AvailabilityZone string
	LifecycleState, HealthStatus                                     string
	LaunchTemplate                                                   *templateSpec
	ProtectedFromScaleIn                                             bool
	WeightedCapacity                                                 string
}

func (s *Service) describeInstances(c *wire.Call, in *struct {
	InstanceIds []string
	paging
}) (*struct {
	AutoScalingInstances []memberView
	NextToken            string
}, error) {
	if len(in.InstanceIds) > 50 {
		return nil, invalid("The number of instance ids that may be passed in is limited to 50")
	}
	rows := []memberView{}
	for _, g := range s.groups.Visible(c.Region) {
		for i := range g.Members {
			m := &g.Members[i]
			if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, m.ID) {
				continue
			}
			v := m.view()
			rows = append(rows, memberView{m.ID, m.Type, g.Name, m.Zone, m.State, strings.ToUpper(m.health()), v.LaunchTemplate, m.Protected, v.WeightedCapacity})
		}
	}
	rows, next, err := page(c, rows, in.paging, 50, 50)
	return &struct {
		AutoScalingInstances []memberView
		NextToken            string
	}{rows, next}, err
}

type limitsOut struct {
	MaxNumberOfAutoScalingGroups, MaxNumberOfLaunchConfigurations int
	NumberOfAutoScalingGroups, NumberOfLaunchConfigurations       int
}

func (s *Service) describeLimits(c *wire.Call, _ *none) (*limitsOut, error) {
	return &limitsOut{c.Quota("auto-scaling-groups", defaultGroupQuota), 200, len(s.groups.All(c.Region)), 0}, nil
}
