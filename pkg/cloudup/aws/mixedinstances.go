// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// What Auto Scaling does where a policy says nothing.
const (
	defaultOnDemand  = "prioritized"
	defaultSpot      = "lowest-price"
	defaultSpotPools = 2
	defaultAboveBase = 100
)

// mixedPolicy spreads a group over machine types, and over spot and on demand, in the
// words of a plan: what is not said stands as the default that it means.
type mixedPolicy struct {
	wanted          bool
	machines        []string
	onDemand, spot  string
	base, aboveBase int32
	pools           int32 // only with lowest-price
	maxPrice        string
}

// mixedWanted takes a group's policy. The price of spot machines belongs to it, not to
// the launch template: AWS refuses both together.
func mixedWanted(g *api.InstanceGroup, machine string) mixedPolicy {
	m := g.Spec.MixedInstances
	if m == nil {
		return mixedPolicy{}
	}
	p := mixedPolicy{
		wanted: true, machines: m.Instances,
		onDemand: orText(m.OnDemandAllocationStrategy, defaultOnDemand), spot: orText(m.SpotAllocationStrategy, defaultSpot),
		base: orNumber(m.OnDemandBase, 0), aboveBase: orNumber(m.OnDemandAboveBase, defaultAboveBase),
		maxPrice: price(g.Spec.MaxPrice),
	}
	if len(p.machines) == 0 {
		p.machines = []string{machine}
	}
	if p.spot == defaultSpot {
		p.pools = orNumber(m.SpotInstancePools, defaultSpotPools)
	}
	return p
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func orNumber(n *int32, otherwise int32) int32 {
	if n == nil {
		return otherwise
	}
	return *n
}

// mixedOf brings what Auto Scaling shows into the form of a plan.
func mixedOf(have asgtypes.AutoScalingGroup) mixedPolicy {
	m := have.MixedInstancesPolicy
	if m == nil {
		return mixedPolicy{}
	}
	p := mixedPolicy{wanted: true, onDemand: defaultOnDemand, spot: defaultSpot, aboveBase: defaultAboveBase}
	if m.LaunchTemplate != nil {
		for _, o := range m.LaunchTemplate.Overrides {
			p.machines = append(p.machines, aws.ToString(o.InstanceType))
		}
	}
	var pools *int32
	if d := m.InstancesDistribution; d != nil {
		p.onDemand = orText(aws.ToString(d.OnDemandAllocationStrategy), defaultOnDemand)
		p.spot = orText(aws.ToString(d.SpotAllocationStrategy), defaultSpot)
		p.base = orNumber(d.OnDemandBaseCapacity, 0)
		p.aboveBase = orNumber(d.OnDemandPercentageAboveBaseCapacity, defaultAboveBase)
		p.maxPrice, pools = price(aws.ToString(d.SpotMaxPrice)), d.SpotInstancePools
	}
	if p.spot == defaultSpot {
		p.pools = orNumber(pools, defaultSpotPools)
	}
	return p
}

func (p mixedPolicy) diff(d *tasks.Diff, have mixedPolicy) {
	d.Field("mixedInstances.machineTypes", have.machines, p.machines)
	d.Field("mixedInstances.onDemandAllocation", have.onDemand, p.onDemand)
	d.Field("mixedInstances.onDemandBase", set(have.wanted, have.base), set(p.wanted, p.base))
	d.Field("mixedInstances.onDemandAboveBase", set(have.wanted, have.aboveBase), set(p.wanted, p.aboveBase))
	d.Field("mixedInstances.spotAllocation", have.spot, p.spot)
	d.Field("mixedInstances.spotPools", some(have.pools), some(p.pools))
	d.Field("mixedInstances.maxPrice", have.maxPrice, p.maxPrice)
}

// request is the form in which Auto Scaling takes the policy. An empty price is sent on
// purpose: left out, the old one would stay.
func (p mixedPolicy) request(spec *asgtypes.LaunchTemplateSpecification) *asgtypes.MixedInstancesPolicy {
	out := &asgtypes.MixedInstancesPolicy{
		LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: spec},
		InstancesDistribution: &asgtypes.InstancesDistribution{
			OnDemandAllocationStrategy: &p.onDemand, OnDemandBaseCapacity: &p.base,
			OnDemandPercentageAboveBaseCapacity: &p.aboveBase,
			SpotAllocationStrategy:              &p.spot, SpotMaxPrice: &p.maxPrice,
		},
	}
	if p.pools > 0 {
		out.InstancesDistribution.SpotInstancePools = &p.pools
	}
	for _, m := range p.machines {
		out.LaunchTemplate.Overrides = append(out.LaunchTemplate.Overrides, asgtypes.LaunchTemplateOverrides{InstanceType: aws.String(m)})
	}
	return out
}
