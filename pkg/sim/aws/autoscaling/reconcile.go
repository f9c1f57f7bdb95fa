// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// retryAfter is the pause after a launch that failed.
const retryAfter = 30 * time.Second

// reconcile moves a group towards what it should be: members follow their
// instances, lost ones are replaced, the count is brought to the desired one.
// It writes the group only when something changed.
func (s *Service) reconcile(c *wire.Call, g *group) {
	changed := s.follow(c, g)
	if s.replaceOld(c, g) {
		changed = true
	}
	if s.balance(c, g) {
		changed = true
	}
	if s.fillPool(c, g) {
		changed = true
	}
	if s.advanceRefresh(c, g) {
		changed = true
	}
	if g.deleting() && len(g.Members) == 0 && !c.Now.Before(g.Going) {
		s.forget(c, g)
		return
	}
	if changed {
		s.put(c, g)
	}
}

// forget removes a group with its history.
func (s *Service) forget(c *wire.Call, g *group) {
	where := scope(c, g.Name)
	for _, a := range slices.Clone(s.activities.All(where)) {
		s.activities.Delete(where, a.ID)
	}
	for _, r := range slices.Clone(s.refreshes.All(where)) {
		s.refreshes.Delete(where, r.ID)
	}
	s.groups.Delete(c.Region, g.Name)
}

// follow moves members on with their instances and hooks.
func (s *Service) follow(c *wire.Call, g *group) (changed bool) {
	var kept []member
	for i := range g.Members {
		m := &g.Members[i]
		moved, gone := s.followOne(c, g, m)
		changed = changed || moved || gone
		if !gone {
			kept = append(kept, *m)
		}
	}
	if len(kept) != len(g.Members) {
		g.Members = kept
	}
	return changed
}

func (s *Service) followOne(c *wire.Call, g *group, m *member) (moved, gone bool) {
	vm := s.ec2.Instance(c, m.ID)
	alive := vm != nil && vm.Alive()
	if !alive && m.State != terminating {
		if m.State != terminatingWait && !g.suspended("HealthCheck") || m.State == terminatingWait {
			s.leave(c, g, m)
			if m.State != terminatingWait {
				m.Activity = s.record(c, g, activity{Description: "Terminating EC2 instance: " + m.ID,
					Cause: fmt.Sprintf("At %s an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped.", stamp(c))}, m)
			}
			m.State, m.Waits = terminating, nil
			moved = true
		}
	}
	switch m.State {
	case terminating:
		if vm == nil || vm.State.Name == "terminated" || g.deleting() {
			s.finish(c, g, m)
			return true, true
		}
	case pending, warmedPending:
		return s.arrive(c, g, m, vm) || moved, false
	case pendingWait, terminatingWait:
		return s.expire(c, g, m) || moved, false
	case inService, standby:
		if m.State == inService && vm != nil && vm.State.Name == "stopped" && !g.suspended("HealthCheck") && !m.Unhealthy {
			m.Unhealthy, moved = true, true
		}
		if m.Unhealthy && m.State == inService && !g.suspended("ReplaceUnhealthy") {
			s.retire(c, g, m, "an instance was taken out of service in response to an EC2 instance status checks failure")
			moved = true
		}
	}
	return moved, false
}

// arrive takes a launched instance on: through its hooks, into service or into
// the warm pool.
func (s *Service) arrive(c *wire.Call, g *group, m *member, vm *ec2.Instance) bool {
	if vm == nil || vm.State.Name != "running" {
		return false
	}
	if m.State == warmedPending {
		m.State = warmedRunning
		switch g.poolState() {
		case "Stopped":
			m.State = warmedStopped
			s.ec2.Stop(c, vm)
		case "Hibernated":
			m.State = warmedHibernated
			s.ec2.Stop(c, vm)
		}
		s.finish(c, g, m)
		return true
	}
	if !m.Hooked && g.startHooks(c, m, launching, s.newID) {
		m.State = pendingWait
		return true
	}
	s.enter(c, g, m)
	return true
}

// enter puts a member into service.
func (s *Service) enter(c *wire.Call, g *group, m *member) {
	m.State, m.Hooked = inService, false
	if !g.suspended("AddToLoadBalancer") {
		for _, arn := range g.TargetGroups {
			s.targets.Register(c, arn, m.ID)
		}
	}
	s.finish(c, g, m)
}

// leave takes a member out of its load balancers.
func (s *Service) leave(c *wire.Call, g *group, m *member) {
	for _, arn := range g.TargetGroups {
		s.targets.Deregister(c, arn, m.ID)
	}
}

// retire begins a member's end: out of the load balancers, through its hooks,
// then its instance is terminated.
func (s *Service) retire(c *wire.Call, g *group, m *member, cause string) string {
	s.leave(c, g, m)
	m.Activity = s.record(c, g, activity{Description: "Terminating EC2 instance: " + m.ID, Cause: "At " + stamp(c) + " " + cause + "."}, m)
	m.Waits, m.Hooked = nil, false
	if !g.deleting() && !m.warm() && g.startHooks(c, m, terminatingHook, s.newID) {
		m.State = terminatingWait
		return m.Activity
	}
	s.end(c, m)
	return m.Activity
}

// end terminates a member's instance.
func (s *Service) end(c *wire.Call, m *member) {
	m.State, m.Waits = terminating, nil
	if vm := s.ec2.Instance(c, m.ID); vm != nil {
		s.ec2.Terminate(c, vm, "Server.ScheduledStop", "Server.ScheduledStop: Terminated by Auto Scaling")
	}
}

// replaceOld retires one member that outlived the group's limit.
func (s *Service) replaceOld(c *wire.Call, g *group) bool {
	if g.MaxLifetime == nil || g.deleting() {
		return false
	}
	for i := range g.Members {
		m := &g.Members[i]
		if m.State != inService {
			if !m.warm() {
				return false // one at a time
			}
			continue
		}
		if c.Now.Sub(m.Launched) > time.Duration(*g.MaxLifetime)*time.Second {
			s.retire(c, g, m, "an instance was taken out of service because it exceeded the maximum instance lifetime")
			return true
		}
	}
	return false
}

// balance launches or terminates until the count is the desired one.
func (s *Service) balance(c *wire.Call, g *group) (changed bool) {
	for !g.deleting() && g.capacity() < g.Desired && !g.suspended("Launch") && !c.Now.Before(g.Retry) {
		changed = true
		if s.fromPool(c, g) {
			continue
		}
		if !s.launch(c, g, false) {
			g.Retry = c.Now.Add(retryAfter)
			break
		}
	}
	for g.capacity() > g.Desired && !g.suspended("Terminate") {
		m := g.victim()
		if m == nil {
			break
		}
		changed = true
		if s.toPool(c, g, m) {
			continue
		}
		s.retire(c, g, m, fmt.Sprintf("an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from %d to %d", g.capacity(), g.capacity()-m.weight()))
	}
	if g.deleting() {
		for i := range g.Members {
			if m := &g.Members[i]; m.State != terminating {
				s.retire(c, g, m, g.Cause)
				changed = true
			}
		}
	}
	return changed
}

// victim picks whom a scale-in takes: not a protected one, from the zone with
// most members, of the oldest template version, the oldest; NewestInstance
// turns the age round.
func (g *group) victim() *member {
	perZone := map[string]int{}
	var list []*member
	for i := range g.Members {
		m := &g.Members[i]
		if m.counted() {
			perZone[m.Zone]++
			if !m.Protected || g.deleting() {
				list = append(list, m)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	newest := slices.Contains(g.Termination, "NewestInstance")
	return slices.MinFunc(list, func(a, b *member) int {
		byAge := a.Launched.Compare(b.Launched)
		if newest {
			byAge = -byAge
		}
		return cmp.Or(perZone[b.Zone]-perZone[a.Zone], byVersion(a, b), byAge, cmp.Compare(a.ID, b.ID))
	})
}

// byVersion puts members of an older template version first.
func byVersion(a, b *member) int {
	if a.Template.LaunchTemplateId != b.Template.LaunchTemplateId || len(a.Template.Version) != len(b.Template.Version) {
		return len(a.Template.Version) - len(b.Template.Version)
	}
	return cmp.Compare(a.Template.Version, b.Template.Version)
}

func stamp(c *wire.Call) string { return c.Now.UTC().Format("2006-01-02T15:04:05Z") }
