// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) memberOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"AttachInstances": wire.Op(s.attachInstances), "DetachInstances": wire.Op(s.detachInstances),
		"TerminateInstanceInAutoScalingGroup": wire.Op(s.terminateInstance), "SetInstanceProtection": wire.Op(s.setProtection),
		"SetInstanceHealth": wire.Op(s.setHealth), "EnterStandby": wire.Op(s.enterStandby), "ExitStandby": wire.Op(s.exitStandby),
	}
}

// ofMembers is the parameters of operations on some of a group's instances.
type ofMembers struct {
	ofGroup
	InstanceIds []string
}

// members finds them, all or none.
func (s *Service) members(c *wire.Call, in ofMembers) (*group, []*member, *wire.Error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, nil, err
	}
	if len(in.InstanceIds) == 0 || len(in.InstanceIds) > 20 {
		return nil, nil, invalid("Between 1 and 20 instance ids must be given")
	}
	var out []*member
	for _, id := range in.InstanceIds {
		m := g.member(id)
		if m == nil {
			return nil, nil, invalid("The instance %s is not part of Auto Scaling group %s.", id, g.Name)
		}
		out = append(out, m)
	}
	return g, out, nil
}

func (s *Service) attachInstances(c *wire.Call, in *ofMembers) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if len(in.InstanceIds) == 0 || len(in.InstanceIds) > 20 {
		return nil, invalid("Between 1 and 20 instance ids must be given")
	}
	if g.Desired+len(in.InstanceIds) > g.Max {
		return nil, invalid("AutoScalingGroup %s has min-size=%d, max-size=%d, and desired-size=%d. To attach %d more instance, please update the AutoScalingGroup sizes appropriately.", g.Name, g.Min, g.Max, g.Desired, len(in.InstanceIds))
	}
	var fresh []member
	for _, id := range in.InstanceIds {
		m, err := s.newcomer(c, g, id)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, m)
	}
	for i := range fresh {
		m := &fresh[i]
		m.Activity = s.record(c, g, activity{Description: "Attaching an existing EC2 instance: " + m.ID,
			Cause: fmt.Sprintf("At %s an instance was attached in response to a user request.", stamp(c))}, m)
		s.enter(c, g, m)
		s.ec2.Mark(c, m.ID, groupTag, g.Name)
	}
	g.Members = append(g.Members, fresh...)
	g.Desired += len(fresh)
	s.put(c, g)
	return &none{}, nil
}

// newcomer judges an instance that would join a group.
func (s *Service) newcomer(c *wire.Call, g *group, id string) (member, *wire.Error) {
	vm := s.ec2.Instance(c, id)
	if vm == nil || vm.State.Name != "running" {
		return member{}, invalid("Invalid Instance ID(s): [%s] specified: it must exist and be running", id)
	}
	for _, other := range s.groups.All(c.Region) {
		if other.member(id) != nil {
			return member{}, invalid("Instance %s is already part of AutoScalingGroup:%s", id, other.Name)
		}
	}
	if !strings.Contains(","+strings.Join(g.Zones, ",")+",", ","+vm.Placement.AvailabilityZone+",") {
		return member{}, invalid("The availability zone %s of instance %s is not one of the group's", vm.Placement.AvailabilityZone, id)
	}
	return member{ID: id, Type: vm.InstanceType, Zone: vm.Placement.AvailabilityZone, State: inService, Protected: g.NewProtected, Launched: vm.LaunchTime}, nil
}

type activityOut struct{ Activity activityView }

// detachInstances lets instances out of a group; they run on.
func (s *Service) detachInstances(c *wire.Call, in *struct {
	ofMembers
	ShouldDecrementDesiredCapacity *bool `wire:"ShouldDecrementDesiredCapacity,required"`
}) (*activitiesOut, error) {
	g, list, err := s.members(c, in.ofMembers)
	if err != nil {
		return nil, err
	}
	if *in.ShouldDecrementDesiredCapacity && g.Desired-len(list) < g.Min {
		return nil, invalid("AutoScalingGroup %s has min-size=%d, max-size=%d, and desired-size=%d. To detach %d more instance, please update the AutoScalingGroup sizes appropriately.", g.Name, g.Min, g.Max, g.Desired, len(list))
	}
	out := &activitiesOut{}
	leaving := map[string]bool{}
	for _, m := range list {
		if m.State != inService && m.State != standby {
			return nil, invalid("The instance %s is not in InService or Standby.", m.ID)
		}
		leaving[m.ID] = true
	}
	for _, m := range list {
		s.leave(c, g, m)
		m.Activity = s.record(c, g, activity{Description: "Detaching EC2 instance: " + m.ID, Cause: "At " + stamp(c) + " instance " + m.ID + " was detached in response to a user request."}, m)
		out.Activities = append(out.Activities, s.viewOf(c, g, m.Activity))
		s.finish(c, g, m)
		s.ec2.Untag(c, m.ID, groupTag)
	}
	var kept []member
	for _, m := range g.Members {
		if !leaving[m.ID] {
			kept = append(kept, m)
		}
	}
	g.Members = kept
	if *in.ShouldDecrementDesiredCapacity {
		g.Desired -= len(list)
	}
	s.put(c, g)
	s.reconcile(c, g)
	return out, nil
}

func (s *Service) terminateInstance(c *wire.Call, in *struct {
	InstanceId                     string `wire:"InstanceId,required"`
	ShouldDecrementDesiredCapacity *bool  `wire:"ShouldDecrementDesiredCapacity,required"`
}) (*activityOut, error) {
	for _, g := range s.groups.All(c.Region) {
		m := g.member(in.InstanceId)
		if m == nil || m.State == terminating {
			continue
		}
		if *in.ShouldDecrementDesiredCapacity {
			if g.Desired-1 < g.Min {
				return nil, invalid("Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.", g.Min)
			}
			g.Desired--
		}
		id := s.retire(c, g, m, "instance "+m.ID+" was taken out of service in response to a user request")
		out := &activityOut{s.viewOf(c, g, id)}
		s.put(c, g)
		s.reconcile(c, g)
		return out, nil
	}
	return nil, invalid("Instance Id not found - No managed instance found for instance ID: %s", in.InstanceId)
}

func (s *Service) setProtection(c *wire.Call, in *struct {
	ofMembers
	ProtectedFromScaleIn *bool `wire:"ProtectedFromScaleIn,required"`
}) (*none, error) {
	g, list, err := s.members(c, in.ofMembers)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.State != inService && m.State != pending && m.State != standby {
			return nil, invalid("The instance %s is not in InService or EnteringStandby or Standby.", m.ID)
		}
	}
	for _, m := range list {
		m.Protected = *in.ProtectedFromScaleIn
	}
	s.put(c, g)
	return &none{}, nil
}

func (s *Service) setHealth(c *wire.Call, in *struct {
	InstanceId               string `wire:"InstanceId,required"`
	HealthStatus             string `wire:"HealthStatus,required"`
	ShouldRespectGracePeriod bool
}) (*none, error) {
	if in.HealthStatus != "Healthy" && in.HealthStatus != "Unhealthy" {
		return nil, invalid("Invalid health status: %s", strconv.Quote(in.HealthStatus))
	}
	for _, g := range s.groups.All(c.Region) {
		if m := g.member(in.InstanceId); m != nil {
			m.Unhealthy = in.HealthStatus == "Unhealthy"
			s.put(c, g)
			s.reconcile(c, g)
			return &none{}, nil
		}
	}
	return nil, invalid("Instance Id not found - No managed instance found for instance ID %s", in.InstanceId)
}

// enterStandby takes instances out of service without ending them.
func (s *Service) enterStandby(c *wire.Call, in *struct {
	ofMembers
	ShouldDecrementDesiredCapacity *bool `wire:"ShouldDecrementDesiredCapacity,required"`
}) (*activitiesOut, error) {
	g, list, err := s.members(c, in.ofMembers)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.State != inService {
			return nil, invalid("The instance %s is not in InService.", m.ID)
		}
	}
	if *in.ShouldDecrementDesiredCapacity && g.Desired-len(list) < g.Min {
		return nil, invalid("AutoScalingGroup %s has min-size=%d, max-size=%d, and desired-size=%d. To place into standby %d more instance, please update the AutoScalingGroup sizes appropriately.", g.Name, g.Min, g.Max, g.Desired, len(list))
	}
	out := &activitiesOut{}
	for _, m := range list {
		s.leave(c, g, m)
		m.State = standby
		id := s.record(c, g, activity{Description: "Moving EC2 instance to Standby: " + m.ID, Cause: "At " + stamp(c) + " instance " + m.ID + " was moved to standby in response to a user request."}, m)
		out.Activities = append(out.Activities, s.viewOf(c, g, id))
		m.Activity = id
		s.finish(c, g, m)
	}
	if *in.ShouldDecrementDesiredCapacity {
		g.Desired -= len(list)
	}
	s.put(c, g)
	s.reconcile(c, g)
	return out, nil
}

func (s *Service) exitStandby(c *wire.Call, in *ofMembers) (*activitiesOut, error) {
	g, list, err := s.members(c, *in)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.State != standby {
			return nil, invalid("The instance %s is not in Standby.", m.ID)
		}
	}
	if g.Desired+len(list) > g.Max {
		return nil, invalid("AutoScalingGroup %s has min-size=%d, max-size=%d, and desired-size=%d. To move %d more instance out of standby, please update the AutoScalingGroup sizes appropriately.", g.Name, g.Min, g.Max, g.Desired, len(list))
	}
	out := &activitiesOut{}
	for _, m := range list {
		m.Activity = s.record(c, g, activity{Description: "Moving EC2 instance out of Standby: " + m.ID, Cause: "At " + stamp(c) + " instance " + m.ID + " was moved out of standby in response to a user request."}, m)
		out.Activities = append(out.Activities, s.viewOf(c, g, m.Activity))
		s.enter(c, g, m)
	}
	g.Desired += len(list)
	s.put(c, g)
	s.reconcile(c, g)
	return out, nil
}
