// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"time"
)

// group is a row of the table of groups, whose id is the name.
type group struct {
	Name, ARN                string
	Created                  time.Time
	Min, Max, Desired        int
	Cooldown                 int // seconds
	Zones                    []string
	Subnets                  []groupSubnet
	Template                 *templateSpec
	Mixed                    *mixedPolicy
	HealthCheck              string
	Grace                    int // seconds
	TargetGroups             []string
	Placement, Role, Context string
	Termination              []string
	NewProtected             bool
	MaxLifetime              *int // seconds
	Rebalance                bool
	DesiredType              string
	Warmup                   *int
	Maintenance              *maintenance
	Suspended, Metrics       []string
	Tags                     []tag
	Members                  []member
	Hooks                    []hook
	Pool                     *pool
	Going                    time.Time // when deletion may end; zero while the group lives
	Retry                    time.Time // not before this is another launch tried
	Cause                    string    // of the launches to come
}

type groupSubnet struct{ ID, Zone, VPC string }

// tag is a group's tag.
type tag struct {
	Key, Value string
	AtLaunch   bool
}

type maintenance struct{ MinHealthyPercentage, MaxHealthyPercentage *int }

// States of members, as AWS names them.
const (
	pending          = "Pending"
	pendingWait      = "Pending:Wait"
	inService        = "InService"
	terminating      = "Terminating"
	terminatingWait  = "Terminating:Wait"
	standby          = "Standby"
	warmedPending    = "Warmed:Pending"
	warmedStopped    = "Warmed:Stopped"
	warmedRunning    = "Warmed:Running"
	warmedHibernated = "Warmed:Hibernated"
)

// member is one instance of a group.
type member struct {
	ID, Type, Zone, State string
	Unhealthy, Protected  bool
	Spot                  bool
	Template              templateSpec // with the version's number
	Weight                int
	Launched              time.Time
	Waits                 []wait // hooks that are not done
	Hooked                bool   // hooks of this state were started
	Activity              string // id of the activity that brings or takes it
}

// wait is a hook that a member waits for.
type wait struct {
	Hook, Token string
	Due, Limit  time.Time
}

func (g *group) deleting() bool { return !g.Going.IsZero() }

func (g *group) suspended(process string) bool { return slices.Contains(g.Suspended, process) }

// warm tells whether a member waits in the warm pool.
func (m *member) warm() bool { return len(m.State) > 7 && m.State[:7] == "Warmed:" }

// counted tells whether a member counts towards the desired capacity.
func (m *member) counted() bool {
	return m.State == pending || m.State == pendingWait || m.State == inService
}

func (m *member) weight() int { return max(m.Weight, 1) }

// capacity is the sum of the weights that count.
func (g *group) capacity() int {
	n := 0
	for i := range g.Members {
		if g.Members[i].counted() {
			n += g.Members[i].weight()
		}
	}
	return n
}

func (g *group) member(id string) *member {
	for i := range g.Members {
		if g.Members[i].ID == id {
			return &g.Members[i]
		}
	}
	return nil
}

type groupView struct {
	AutoScalingGroupName, AutoScalingGroupARN string
	LaunchTemplate                            *templateSpec
	MixedInstancesPolicy                      *mixedPolicy
	MinSize, MaxSize, DesiredCapacity         int
	DefaultCooldown                           int
	AvailabilityZones                         []string
	LoadBalancerNames                         []string
	TargetGroupARNs                           []string
	HealthCheckType                           string
	HealthCheckGracePeriod                    int
	Instances                                 []instanceView
	CreatedTime                               time.Time
	SuspendedProcesses                        []processView
	PlacementGroup                            string
	VPCZoneIdentifier                         string
	EnabledMetrics                            []metricView
	Status                                    string
	Tags                                      []tagView
	TerminationPolicies                       []string
	NewInstancesProtectedFromScaleIn          bool
	ServiceLinkedRoleARN                      string
	MaxInstanceLifetime                       *int
	CapacityRebalance                         bool
	WarmPoolConfiguration                     *poolView
	WarmPoolSize                              *int
	Context                                   string
	DesiredCapacityType                       string
	DefaultInstanceWarmup                     *int
	TrafficSources                            []trafficSource
	InstanceMaintenancePolicy                 *maintenance
}

type processView struct{ ProcessName, SuspensionReason string }

type metricView struct{ Metric, Granularity string }

type instanceView struct {
	InstanceId, InstanceType, AvailabilityZone string
	LifecycleState, HealthStatus               string
	LaunchTemplate                             *templateSpec
	ProtectedFromScaleIn                       bool
	WeightedCapacity                           string
}

// view shows a group; its warm instances are shown by DescribeWarmPool.
func (g *group) view() groupView {
	v := groupView{AutoScalingGroupName: g.Name, AutoScalingGroupARN: g.ARN, LaunchTemplate: g.Template, MixedInstancesPolicy: g.Mixed,
		MinSize: g.Min, MaxSize: g.Max, DesiredCapacity: g.Desired, DefaultCooldown: g.Cooldown, AvailabilityZones: g.Zones, TargetGroupARNs: g.TargetGroups,
		HealthCheckType: g.HealthCheck, HealthCheckGracePeriod: g.Grace, CreatedTime: g.Created, PlacementGroup: g.Placement, VPCZoneIdentifier: g.subnetList(),
		TerminationPolicies: g.Termination, NewInstancesProtectedFromScaleIn: g.NewProtected, ServiceLinkedRoleARN: g.Role, MaxInstanceLifetime: g.MaxLifetime,
		CapacityRebalance: g.Rebalance, Context: g.Context, DesiredCapacityType: g.DesiredType, DefaultInstanceWarmup: g.Warmup, InstanceMaintenancePolicy: g.Maintenance}
	for i := range g.Members {
		if !g.Members[i].warm() {
			v.Instances = append(v.Instances, g.Members[i].view())
		}
	}
	for _, p := range g.Suspended {
		v.SuspendedProcesses = append(v.SuspendedProcesses, processView{p, "User suspended"})
	}
	for _, m := range g.Metrics {
		v.EnabledMetrics = append(v.EnabledMetrics, metricView{m, "1Minute"})
	}
	for _, t := range g.Tags {
		v.Tags = append(v.Tags, g.tagView(t))
	}
	for _, arn := range g.TargetGroups {
		v.TrafficSources = append(v.TrafficSources, trafficSource{arn, "elbv2"})
	}
	if g.Pool != nil {
		n := len(g.warmMembers())
		v.WarmPoolConfiguration, v.WarmPoolSize = g.Pool.view(), &n
	}
	if g.deleting() {
		v.Status = "Delete in progress"
	}
	return v
}

func (m *member) view() instanceView {
	v := instanceView{InstanceId: m.ID, InstanceType: m.Type, AvailabilityZone: m.Zone, LifecycleState: m.State, HealthStatus: m.health(),
		LaunchTemplate: &m.Template, ProtectedFromScaleIn: m.Protected}
	if m.Weight > 0 {
		v.WeightedCapacity = itoa(m.Weight)
	}
	return v
}

func (m *member) health() string {
	if m.Unhealthy {
		return "Unhealthy"
	}
	return "Healthy"
}
