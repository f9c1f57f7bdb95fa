// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"cmp"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// pool is a group's warm pool: instances that wait, stopped or running.
type pool struct {
	Prepared *int // most instances in pool and group together; nil for the group's max
	Min      int
	State    string
	Reuse    *reusePolicy
}

type reusePolicy struct{ ReuseOnScaleIn *bool }

type poolView struct {
	MaxGroupPreparedCapacity *int
	MinSize                  int
	PoolState                string
	Status                   string
	InstanceReusePolicy      *reusePolicy
}

func (p *pool) view() *poolView { return &poolView{p.Prepared, p.Min, p.State, "", p.Reuse} }

func (g *group) poolState() string {
	if g.Pool == nil {
		return "Running"
	}
	return g.Pool.State
}

// warmMembers are the members in the pool, the longest there first.
func (g *group) warmMembers() []*member {
	var out []*member
	for i := range g.Members {
		if g.Members[i].warm() {
			out = append(out, &g.Members[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *member) int { return a.Launched.Compare(b.Launched) })
	return out
}

// poolSize is how many instances a pool should hold.
func (g *group) poolSize() int {
	if g.Pool == nil || g.deleting() {
		return 0
	}
	most := g.Max
	if g.Pool.Prepared != nil && *g.Pool.Prepared >= 0 {
		most = *g.Pool.Prepared
	}
	return max(most-g.Desired, g.Pool.Min, 0)
}

// fillPool launches or ends warm instances until their count is right.
func (s *Service) fillPool(c *wire.Call, g *group) (changed bool) {
	want := g.poolSize()
	for len(g.warmMembers()) < want && !g.suspended("Launch") && !c.Now.Before(g.Retry) {
		changed = true
		if !s.launch(c, g, true) {
			g.Retry = c.Now.Add(retryAfter)
			return true
		}
	}
	for _, m := range g.warmMembers() {
		if len(g.warmMembers()) <= want || g.suspended("Terminate") {
			break
		}
		s.retire(c, g, m, "an instance was taken out of the warm pool in response to a difference between its desired and actual size")
		changed = true
	}
	return changed
}

// fromPool takes a warm instance that is ready into the group.
func (s *Service) fromPool(c *wire.Call, g *group) bool {
	for _, m := range g.warmMembers() {
		vm := s.ec2.Instance(c, m.ID)
		if m.State == warmedPending || vm == nil || vm.State.Name == "stopping" {
			continue
		}
		m.State, m.Hooked, m.Protected = pending, false, g.NewProtected
		m.Activity = s.record(c, g, activity{Description: "Launching a new EC2 instance from warm pool: " + m.ID,
			Cause: "At " + stamp(c) + " " + cmp.Or(g.Cause, "an instance was started in response to a difference between desired and actual capacity") + "."}, m)
		g.Cause = ""
		s.ec2.Start(c, vm)
		return true
	}
	return false
}

// toPool takes a member out of service into the pool, where the pool's policy
// is to reuse instances and there is room.
func (s *Service) toPool(c *wire.Call, g *group, m *member) bool {
	if g.Pool == nil || g.Pool.Reuse == nil || g.Pool.Reuse.ReuseOnScaleIn == nil || !*g.Pool.Reuse.ReuseOnScaleIn || len(g.warmMembers()) >= g.poolSize() {
		return false
	}
	s.leave(c, g, m)
	m.State, m.Protected = warmedPending, false
	m.Activity = s.record(c, g, activity{Description: "Returning EC2 instance to warm pool: " + m.ID, Cause: "At " + stamp(c) + " an instance was returned to the warm pool in response to a scale-in."}, m)
	return true
}

func (s *Service) warmOps() map[string]wire.Handler {
	return map[string]wire.Handler{"PutWarmPool": wire.Op(s.putPool), "DescribeWarmPool": wire.Op(s.describePool), "DeleteWarmPool": wire.Op(s.deletePool)}
}

func (s *Service) putPool(c *wire.Call, in *struct {
	ofGroup
	MaxGroupPreparedCapacity *int
	MinSize                  *int
	PoolState                string
	InstanceReusePolicy      *reusePolicy
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	p := pool{State: cmp.Or(in.PoolState, "Stopped"), Reuse: in.InstanceReusePolicy}
	set(&p.Min, in.MinSize)
	if n := in.MaxGroupPreparedCapacity; n != nil && *n != -1 {
		p.Prepared = n
	}
	switch {
	case !slices.Contains([]string{"Stopped", "Running", "Hibernated"}, p.State):
		return nil, invalid("1 validation error detected: Value '%s' at 'poolState' failed to satisfy constraint: Member must satisfy enum value set: [Stopped, Running, Hibernated]", p.State)
	case p.Min < 0:
		return nil, invalid("MinSize must not be negative")
	case p.Prepared != nil && *p.Prepared < 0:
		return nil, invalid("MaxGroupPreparedCapacity must be -1 or more")
	case g.Mixed != nil:
		return nil, invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances policy.")
	}
	if _, v, err := s.ec2.TemplateVersion(c, g.Template.ref()); err == nil && v.LaunchTemplateData.InstanceMarketOptions != nil {
		return nil, invalid("You can't add a warm pool to an Auto Scaling group that requests Spot Instances.")
	}
	g.Pool = &p
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

type poolOut struct {
	WarmPoolConfiguration *poolView
	Instances             []instanceView
	NextToken             string
}

func (s *Service) describePool(c *wire.Call, in *struct {
	ofGroup
	paging
}) (*poolOut, error) {
	g, gerr := s.group(c, in.AutoScalingGroupName)
	if gerr != nil {
		return nil, gerr
	}
	out := &poolOut{Instances: []instanceView{}}
	if g.Pool == nil {
		return out, nil
	}
	out.WarmPoolConfiguration = g.Pool.view()
	for _, m := range g.warmMembers() {
		out.Instances = append(out.Instances, m.view())
	}
	var err error
	out.Instances, out.NextToken, err = page(c, out.Instances, in.paging, 50, 50)
	return out, err
}

func (s *Service) deletePool(c *wire.Call, in *struct {
	ofGroup
	ForceDelete bool
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if g.Pool == nil {
		return nil, invalid("No warm pool found for Auto Scaling group: %s", g.Name)
	}
	if len(g.warmMembers()) > 0 && !in.ForceDelete {
		return nil, wire.Errorf("ResourceInUse", "You cannot delete a warm pool while there are instances in it. Use the force option, or set its size to zero first.")
	}
	g.Pool = nil
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}
