// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) groupOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateAutoScalingGroup": wire.Op(s.createGroup), "UpdateAutoScalingGroup": wire.Op(s.updateGroup),
		"DeleteAutoScalingGroup": wire.Op(s.deleteGroup), "SetDesiredCapacity": wire.Op(s.setDesired),
	}
}

// settings are what creation and change of a group share; nil means not given.
type settings struct {
	MinSize, MaxSize, DesiredCapacity *int
	LaunchTemplate                    *templateSpec
	MixedInstancesPolicy              *mixedPolicy
	DefaultCooldown                   *int
	AvailabilityZones                 []string
	VPCZoneIdentifier                 *string
	HealthCheckType                   *string
	HealthCheckGracePeriod            *int
	PlacementGroup                    *string
	TerminationPolicies               []string
	NewInstancesProtectedFromScaleIn  *bool
	ServiceLinkedRoleARN              *string
	MaxInstanceLifetime               *int
	CapacityRebalance                 *bool
	Context                           *string
	DesiredCapacityType               *string
	DefaultInstanceWarmup             *int
	InstanceMaintenancePolicy         *maintenance
}

type createGroupIn struct {
	ofGroup
	settings
	Tags                           []tagIn
	TargetGroupARNs                []string
	TrafficSources                 []trafficSource
	LifecycleHookSpecificationList []hookIn
}

const defaultGroupQuota = 500

func (s *Service) createGroup(c *wire.Call, in *createGroupIn) (*none, error) {
	name := in.AutoScalingGroupName
	if err := checkName(name); err != nil {
		return nil, err
	}
	if g := s.groups.Get(c.Region, name); g != nil {
		if g.deleting() {
			return nil, wire.Errorf("AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name %s is pending delete", name)
		}
		return nil, wire.Errorf("AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name %s already exists", name)
	}
	if most := c.Quota("auto-scaling-groups", defaultGroupQuota); len(s.groups.All(c.Region)) >= most {
		return nil, wire.Errorf("LimitExceeded", "You have reached the limit of %d Auto Scaling groups", most)
	}
	switch {
	case in.MinSize == nil || in.MaxSize == nil:
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameters MinSize and MaxSize")
	case in.LaunchTemplate == nil && in.MixedInstancesPolicy == nil:
		return nil, invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.")
	}
	g := &group{Name: name, Created: c.Now.UTC().Truncate(time.Millisecond), Cooldown: 300, HealthCheck: "EC2", Termination: []string{"Default"},
		ARN:  "arn:aws:autoscaling:" + c.Region + ":" + s.account + ":autoScalingGroup:" + s.newID() + ":autoScalingGroupName/" + name,
		Role: "arn:aws:iam::" + s.account + ":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"}
	if in.DesiredCapacity == nil {
		in.DesiredCapacity = in.MinSize
	}
	if err := s.change(c, g, &in.settings); err != nil {
		return nil, err
	}
	if err := s.fillNew(c, g, in); err != nil {
		return nil, err
	}
	g.Cause = fmt.Sprintf("a user request created an AutoScalingGroup changing the desired capacity from 0 to %d", g.Desired)
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

// fillNew adds what only creation takes.
func (s *Service) fillNew(c *wire.Call, g *group, in *createGroupIn) *wire.Error {
	var err *wire.Error
	if g.Tags, err = mergeTags(nil, in.Tags, g.Name); err != nil {
		return err
	}
	arns := slices.Clone(in.TargetGroupARNs)
	more, err := targetGroups(in.TrafficSources)
	if err != nil {
		return err
	}
	if g.TargetGroups, err = s.joinTargets(c, nil, append(arns, more...)); err != nil {
		return err
	}
	for _, h := range in.LifecycleHookSpecificationList {
		if err := g.putHook(h); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string) *wire.Error {
	if len(name) < 1 || len(name) > 255 {
		return invalid("1 validation error detected: Value at 'autoScalingGroupName' failed to satisfy constraint: Member must have length between 1 and 255")
	}
	for _, r := range name {
		if r == ':' || r < ' ' || r > '~' {
			return invalid("1 validation error detected: Value '%s' at 'autoScalingGroupName' failed to satisfy constraint: Member must not contain colons or unprintable characters", name)
		}
	}
	return nil
}

// change applies settings to a group if the whole then holds; else nothing changes.
func (s *Service) change(c *wire.Call, g *group, in *settings) *wire.Error {
	next := *g
	if in.LaunchTemplate != nil && in.MixedInstancesPolicy != nil {
		return invalid("Only one of LaunchTemplate, MixedInstancesPolicy can be specified")
	}
	if err := next.take(in); err != nil {
		return err
	}
	if err := s.place(c, &next, in); err != nil {
		return err
	}
	switch {
	case in.LaunchTemplate != nil:
		next.Template, next.Mixed = in.LaunchTemplate, nil
		if err := s.checkTemplate(c, &next, next.Template, false); err != nil {
			return err
		}
	case in.MixedInstancesPolicy != nil:
		next.Template, next.Mixed = nil, in.MixedInstancesPolicy
		if err := next.Mixed.inherit(g.Mixed); err != nil {
			return err
		}
		if err := s.checkMixed(c, &next); err != nil {
			return err
		}
	}
	*g = next
	return nil
}

// inherit takes the template of the policy before when an update names none.
func (m *mixedPolicy) inherit(before *mixedPolicy) *wire.Error {
	if m.LaunchTemplate == nil && before != nil {
		m.LaunchTemplate = before.LaunchTemplate
	}
	return nil
}

func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

var terminationPolicies = []string{"Default", "OldestInstance", "NewestInstance", "OldestLaunchConfiguration", "OldestLaunchTemplate", "ClosestToNextInstanceHour", "AllocationStrategy"}

// take copies the plain settings and checks their ranges.
func (g *group) take(in *settings) *wire.Error {
	set(&g.Min, in.MinSize)
	set(&g.Max, in.MaxSize)
	set(&g.Cooldown, in.DefaultCooldown)
	set(&g.HealthCheck, in.HealthCheckType)
	set(&g.Grace, in.HealthCheckGracePeriod)
	set(&g.Placement, in.PlacementGroup)
	set(&g.NewProtected, in.NewInstancesProtectedFromScaleIn)
	set(&g.Role, in.ServiceLinkedRoleARN)
	set(&g.Rebalance, in.CapacityRebalance)
	set(&g.Context, in.Context)
	set(&g.DesiredType, in.DesiredCapacityType)
	if in.TerminationPolicies != nil {
		g.Termination = in.TerminationPolicies
	}
	if in.InstanceMaintenancePolicy != nil {
		g.Maintenance = in.InstanceMaintenancePolicy
	}
	if in.DefaultInstanceWarmup != nil {
		g.Warmup = in.DefaultInstanceWarmup
		if *g.Warmup == -1 {
			g.Warmup = nil
		}
	}
	if in.MaxInstanceLifetime != nil {
		g.MaxLifetime = in.MaxInstanceLifetime
		if *g.MaxLifetime == 0 {
			g.MaxLifetime = nil
		}
	}
	if in.DesiredCapacity != nil {
		g.Desired = *in.DesiredCapacity
	} else {
		g.Desired = min(max(g.Desired, g.Min), g.Max)
	}
	return g.checkRanges()
}

func (g *group) checkRanges() *wire.Error {
	switch {
	case g.Min < 0 || g.Max < 0:
		return invalid("1 validation error detected: sizes must not be negative")
	case g.Min > g.Max:
		return invalid("Max bound, %d, must be greater than or equal to min bound, %d", g.Max, g.Min)
	case g.Desired < g.Min || g.Desired > g.Max:
		return invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d", g.Desired, g.Min, g.Max)
	case g.Cooldown < 0 || g.Grace < 0:
		return invalid("Cooldown and grace period must not be negative")
	case g.MaxLifetime != nil && (*g.MaxLifetime < 86400 || *g.MaxLifetime > 31536000):
		return invalid("The value for MaxInstanceLifetime must be between 86400 and 31536000 seconds")
	case g.DesiredType != "" && !slices.Contains([]string{"units", "vcpu", "memory-mib"}, g.DesiredType):
		return invalid("DesiredCapacityType must be units, vcpu or memory-mib: '%s'", g.DesiredType)
	}
	for _, kind := range strings.Split(g.HealthCheck, ",") {
		if !slices.Contains([]string{"EC2", "ELB", "EBS", "VPC_LATTICE"}, kind) {
			return invalid("1 validation error detected: Value '%s' at 'healthCheckType' failed to satisfy constraint: Member must satisfy enum value set: [EC2, ELB, EBS, VPC_LATTICE]", g.HealthCheck)
		}
	}
	for _, p := range g.Termination {
		if !slices.Contains(terminationPolicies, p) {
			return invalid("Termination policy %s is not a valid policy", p)
		}
	}
	return nil
}

// place settles subnets and zones.
func (s *Service) place(c *wire.Call, g *group, in *settings) *wire.Error {
	if in.VPCZoneIdentifier != nil {
		g.Subnets, g.Zones = nil, nil
		for _, id := range strings.Split(*in.VPCZoneIdentifier, ",") {
			id = strings.TrimSpace(id)
			if id == "" {
				continue
			}
			n, err := s.ec2.Subnet(c, id)
			if err != nil {
				return invalid("The subnet ID '%s' does not exist", id)
			}
			if len(g.Subnets) > 0 && g.Subnets[0].VPC != n.VpcId {
				return invalid("The subnets must all be in the same VPC")
			}
			g.Subnets = append(g.Subnets, groupSubnet{n.SubnetId, n.AvailabilityZone, n.VpcId})
			if !slices.Contains(g.Zones, n.AvailabilityZone) {
				g.Zones = append(g.Zones, n.AvailabilityZone)
			}
		}
		slices.Sort(g.Zones)
	}
	if len(g.Subnets) == 0 {
		if len(in.AvailabilityZones) > 0 {
			return invalid("No default VPC for this user: the group needs VPCZoneIdentifier")
		}
		return invalid("At least one Availability Zone or VPC Subnet is required.")
	}
	if in.AvailabilityZones != nil {
		wanted := slices.Sorted(slices.Values(in.AvailabilityZones))
		if !slices.Equal(slices.Compact(wanted), g.Zones) {
			return invalid("The availability zones of the specified subnets and the Auto Scaling group do not match")
		}
	}
	return nil
}

func (g *group) subnetList() string {
	var ids []string
	for _, n := range g.Subnets {
		ids = append(ids, n.ID)
	}
	return strings.Join(ids, ",")
}

func (s *Service) updateGroup(c *wire.Call, in *struct {
	ofGroup
	settings
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	before := g.Desired
	if err := s.change(c, g, &in.settings); err != nil {
		return nil, err
	}
	if g.Desired != before {
		g.Cause = fmt.Sprintf("a user request updated of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d", g.Min, g.Max, g.Desired, before, g.Desired)
	}
	g.Retry = time.Time{}
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

func (s *Service) setDesired(c *wire.Call, in *struct {
	ofGroup
	DesiredCapacity *int `wire:"DesiredCapacity,required"`
	HonorCooldown   bool
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	n := *in.DesiredCapacity
	if n > g.Max {
		return nil, invalid("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", n, g.Max)
	}
	if n < g.Min {
		return nil, invalid("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", n, g.Min)
	}
	g.Cause = fmt.Sprintf("a user request explicitly set group desired capacity changing the desired capacity from %d to %d", g.Desired, n)
	g.Desired, g.Retry = n, time.Time{}
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

func (s *Service) deleteGroup(c *wire.Call, in *struct {
	ofGroup
	ForceDelete bool
}) (*none, error) {
	g, err := s.group(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if g.deleting() {
		return nil, wire.Errorf("ScalingActivityInProgress", "AutoScalingGroup by name %s is pending delete", g.Name)
	}
	if !in.ForceDelete {
		if len(g.Members) > 0 {
			return nil, wire.Errorf("ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.")
		}
		if g.Pool != nil {
			return nil, wire.Errorf("ResourceInUse", "You cannot delete an AutoScalingGroup while there is a warm pool in the group.")
		}
	}
	g.Going = c.Now.UTC()
	if s.delay > 0 {
		g.Going = g.Going.Add(s.delay)
	}
	g.Min, g.Max, g.Desired, g.Pool = 0, 0, 0, nil
	g.Cause = "a user request force deleted AutoScalingGroup"
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}
