// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) targetOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"RegisterTargets": wire.Op(s.registerTargets), "DeregisterTargets": wire.Op(s.deregisterTargets), "DescribeTargetHealth": wire.Op(s.describeHealth),
	}
}

// targetID is how requests and answers name a target.
type targetID struct {
	Id               string `wire:"Id,required"`
	Port             *int
	AvailabilityZone string
}

type targetsIn struct {
	ofGroup
	Targets []targetID `wire:"Targets,required"`
}

func (s *Service) registerTargets(c *wire.Call, in *targetsIn) (*none, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	var fresh []target
	for _, id := range in.Targets {
		t, err := s.newTarget(c, g, id)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, t)
	}
	s.add(c, g, fresh)
	return &none{}, nil
}

// newTarget checks a target that would be registered.
func (s *Service) newTarget(c *wire.Call, g *targetGroup, id targetID) (target, *wire.Error) {
	t := target{ID: id.Id, Port: g.Port, Zone: id.AvailabilityZone, Since: c.Now.UTC()}
	if id.Port != nil {
		t.Port = *id.Port
	}
	if t.Port < 1 || t.Port > 65535 {
		return t, invalid("Target port '%d' must be in range 1-65535", t.Port)
	}
	if g.TargetType == "ip" {
		if _, err := netip.ParseAddr(t.ID); err != nil {
			return t, invalid("The IP address '%s' is not a valid IP address", t.ID)
		}
		return t, nil
	}
	vm := s.ec2.Instance(c, t.ID)
	switch {
	case vm == nil || vm.VpcId != g.VPC:
		return t, wire.Errorf("InvalidTarget", "The following targets are not in the target group's VPC or do not exist: '%s'", t.ID)
	case vm.State.Name != "running":
		return t, wire.Errorf("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", t.ID)
	}
	return t, nil
}

func (s *Service) add(c *wire.Call, g *targetGroup, fresh []target) {
	for _, t := range fresh {
		if !slices.ContainsFunc(g.Targets, func(have target) bool { return have.ID == t.ID && have.Port == t.Port }) {
			g.Targets = append(g.Targets, t)
		}
	}
	s.groups.Put(c.Region, g.ARN, g)
}

// deregisterTargets passes over targets that are not registered.
func (s *Service) deregisterTargets(c *wire.Call, in *targetsIn) (*none, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	g.Targets = slices.DeleteFunc(slices.Clone(g.Targets), func(have target) bool {
		return slices.ContainsFunc(in.Targets, func(id targetID) bool { return id.Id == have.ID && (id.Port == nil || *id.Port == have.Port) })
	})
	s.groups.Put(c.Region, g.ARN, g)
	return &none{}, nil
}

// HasTargetGroup tells whether a target group exists, for Auto Scaling.
func (s *Service) HasTargetGroup(c *wire.Call, arn string) bool {
	return s.groups.Get(c.Region, arn) != nil
}

// Register adds a scaling group's instance to a target group, at its port; an
// instance may still be pending. A group that is gone is passed over.
func (s *Service) Register(c *wire.Call, arn, instance string) {
	if g := s.groups.Get(c.Region, arn); g != nil {
		s.add(c, g, []target{{ID: instance, Port: g.Port, Since: c.Now.UTC()}})
	}
}

// Deregister takes a scaling group's instance out of a target group.
func (s *Service) Deregister(c *wire.Call, arn, instance string) {
	if g := s.groups.Get(c.Region, arn); g != nil {
		g.Targets = slices.DeleteFunc(slices.Clone(g.Targets), func(t target) bool { return t.ID == instance })
		s.groups.Put(c.Region, g.ARN, g)
	}
}

type healthView struct {
	Target          targetID
	HealthCheckPort string
	TargetHealth    struct{ State, Reason, Description string }
}

type healthOut struct {
	TargetHealthDescriptions []healthView
}

func (s *Service) describeHealth(c *wire.Call, in *struct {
	ofGroup
	Targets []targetID
	Include []string
}) (*healthOut, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	out := &healthOut{TargetHealthDescriptions: []healthView{}}
	for _, t := range s.live(c, g) {
		asked := len(in.Targets) == 0 || slices.ContainsFunc(in.Targets, func(id targetID) bool {
			return id.Id == t.ID && (id.Port == nil || *id.Port == t.Port)
		})
		if asked {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, s.health(c, g, t))
		}
	}
	for _, id := range in.Targets {
		if !slices.ContainsFunc(g.Targets, func(t target) bool { return t.ID == id.Id }) {
			v := healthView{Target: id, HealthCheckPort: strconv.Itoa(g.Port)}
			v.TargetHealth.State, v.TargetHealth.Reason = "unused", "Target.NotRegistered"
			v.TargetHealth.Description = "Target is not registered to the target group"
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, v)
		}
	}
	return out, nil
}

// live drops targets whose instance is gone: AWS deregisters them itself.
func (s *Service) live(c *wire.Call, g *targetGroup) []target {
	kept := slices.DeleteFunc(slices.Clone(g.Targets), func(t target) bool {
		if g.TargetType != "instance" {
			return false
		}
		vm := s.ec2.Instance(c, t.ID)
		return vm == nil || vm.State.Name == "terminated"
	})
	if len(kept) != len(g.Targets) {
		g.Targets = kept
		s.groups.Put(c.Region, g.ARN, g)
	}
	return kept
}

func (s *Service) health(c *wire.Call, g *targetGroup, t target) healthView {
	v := healthView{Target: targetID{Id: t.ID, Port: &t.Port, AvailabilityZone: t.Zone}, HealthCheckPort: g.Check.Port}
	if v.HealthCheckPort == "traffic-port" {
		v.HealthCheckPort = strconv.Itoa(t.Port)
	}
	h := &v.TargetHealth
	var vm *ec2.Instance
	if g.TargetType == "instance" {
		vm = s.ec2.Instance(c, t.ID)
	}
	switch {
	case len(s.balancersOf(c, g.ARN)) == 0:
		h.State, h.Reason, h.Description = "unused", "Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"
	case vm != nil && vm.State.Name != "running" && vm.State.Name != "pending":
		h.State, h.Reason, h.Description = "unused", "Target.InvalidState", "Target is in the stopped or terminating state"
	case s.delay > 0 && c.Now.Sub(t.Since) < s.delay || vm != nil && vm.State.Name == "pending":
		h.State, h.Reason, h.Description = "initial", "Elb.RegistrationInProgress", "Target registration is in progress"
	default:
		h.State = "healthy"
	}
	return v
}
