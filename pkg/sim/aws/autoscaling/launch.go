// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// groupTag is the tag that tells an instance's group.
const groupTag = "aws:autoscaling:groupName"

// wish is one way to launch an instance: template, type and market.
type wish struct {
	template templateSpec
	typeName string
	weight   int
	image    string
	needs    *requirements
	spot     bool
	price    string
}

// launch brings one more instance, or records why it could not. Zones are
// tried from the emptiest on, and wishes in their order in each.
func (s *Service) launch(c *wire.Call, g *group, warm bool) bool {
	var last *wire.Error
	var place groupSubnet
	for _, n := range g.subnetsByNeed() {
		place = n
		for _, w := range s.wishes(c, g, n.Zone) {
			m, err := s.try(c, g, n, w, warm)
			if err == nil {
				s.welcome(c, g, m, n)
				return true
			}
			last = err
		}
	}
	if last == nil {
		last = invalid("No instance type meets the requirements")
	}
	cause := g.Cause
	if cause == "" {
		cause = "an instance was started in response to a difference between desired and actual capacity"
	}
	text := last.Message + " Launching EC2 instance failed."
	s.record(c, g, activity{Description: "Launching a new EC2 instance.  Status Reason: " + text, Cause: "At " + stamp(c) + " " + cause + ".",
		Status: "Failed", Message: text, Ended: c.Now.UTC(), Progress: 100, Details: details(place)}, nil)
	return false
}

// welcome takes a launched instance in.
func (s *Service) welcome(c *wire.Call, g *group, m *member, n groupSubnet) {
	before := g.capacity()
	cause := fmt.Sprintf("an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d", before, before+m.weight())
	if g.Cause != "" {
		cause = g.Cause + ".  At " + stamp(c) + " " + cause
	}
	g.Cause = ""
	m.Activity = s.record(c, g, activity{Description: "Launching a new EC2 instance: " + m.ID, Cause: "At " + stamp(c) + " " + cause + ".", Details: details(n)}, m)
	g.Members = append(g.Members, *m)
}

func details(n groupSubnet) string {
	return fmt.Sprintf(`{"Subnet ID":%q,"Availability Zone":%q}`, n.ID, n.Zone)
}

// subnetsByNeed orders a group's subnets by how few members their zone has.
func (g *group) subnetsByNeed() []groupSubnet {
	perZone := map[string]int{}
	for i := range g.Members {
		if m := &g.Members[i]; m.counted() || m.warm() {
			perZone[m.Zone]++
		}
	}
	out := slices.Clone(g.Subnets)
	slices.SortStableFunc(out, func(a, b groupSubnet) int {
		return cmp.Or(perZone[a.Zone]-perZone[b.Zone], cmp.Compare(a.Zone, b.Zone))
	})
	return out
}

// wishes are the ways to launch the next instance, the best first.
func (s *Service) wishes(c *wire.Call, g *group, zone string) []wish {
	if g.Mixed == nil {
		return s.expand(c, zone, []wish{{template: *g.Template}})
	}
	base := *g.Mixed.LaunchTemplate.LaunchTemplateSpecification
	var list []wish
	for _, o := range g.Mixed.LaunchTemplate.Overrides {
		w := wish{template: base, typeName: o.InstanceType, image: o.ImageId, needs: o.InstanceRequirements}
		if o.LaunchTemplateSpecification != nil {
			w.template = *o.LaunchTemplateSpecification
		}
		w.weight, _ = strconv.Atoi(o.WeightedCapacity) // "" is no weight; others were checked
		list = append(list, w)
	}
	if len(list) == 0 {
		list = []wish{{template: base}}
	}
	d := g.Mixed.InstancesDistribution
	for i := range list {
		list[i].spot, list[i].price = g.nextIsSpot(), d.SpotMaxPrice
	}
	return s.expand(c, zone, list)
}

// nextIsSpot tells which market the next instance is of: the base on demand,
// above it the share that the distribution says.
func (g *group) nextIsSpot() bool {
	d := g.Mixed.InstancesDistribution
	have, n := 0, g.capacity()
	for i := range g.Members {
		if m := &g.Members[i]; m.counted() && !m.Spot {
			have += m.weight()
		}
	}
	if n < *d.OnDemandBaseCapacity {
		return false
	}
	above := n + 1 - *d.OnDemandBaseCapacity
	wanted := *d.OnDemandBaseCapacity + (above**d.OnDemandPercentageAboveBaseCapacity+99)/100
	return have >= wanted
}

// expand turns requirements, the wish's or its template's, into types.
func (s *Service) expand(c *wire.Call, zone string, list []wish) []wish {
	var out []wish
	for _, w := range list {
		_, v, err := s.ec2.TemplateVersion(c, w.template.ref())
		if err != nil || w.typeName != "" || w.needs == nil && v.LaunchTemplateData.InstanceRequirements == nil {
			out = append(out, w)
			continue
		}
		needs := w.needs
		if needs == nil {
			needs = fromTemplate(v.LaunchTemplateData.InstanceRequirements)
		}
		arch := "x86_64"
		if image, err := s.ec2.Image(c, cmp.Or(w.image, v.LaunchTemplateData.ImageId)); err == nil {
			arch = image.Architecture
		}
		for _, t := range ec2.OfferedTypes(c.Region, zone) {
			if t.Arch == arch && needs.fits(t) {
				w.typeName = t.Name
				out = append(out, w)
				break
			}
		}
	}
	return out
}

// fromTemplate reads the requirements that a launch template can have.
func fromTemplate(r *ec2.Requirements) *requirements {
	out := &requirements{ExcludedInstanceTypes: r.ExcludedInstanceTypes, AllowedInstanceTypes: r.AllowedInstanceTypes, InstanceGenerations: r.InstanceGenerations,
		BareMetal: r.BareMetal, BurstablePerformance: r.BurstablePerformance, LocalStorage: r.LocalStorage}
	if r.VCpuCount != nil {
		out.VCpuCount = &intRange{r.VCpuCount.Min, r.VCpuCount.Max}
	}
	if r.MemoryMiB != nil {
		out.MemoryMiB = &intRange{r.MemoryMiB.Min, r.MemoryMiB.Max}
	}
	return out
}

// try launches one instance as wished.
func (s *Service) try(c *wire.Call, g *group, n groupSubnet, w wish, warm bool) (*member, *wire.Error) {
	_, v, err := s.ec2.TemplateVersion(c, w.template.ref())
	if err != nil {
		return nil, err
	}
	r, err := s.ec2.FromTemplate(c, w.template.ref())
	if err != nil {
		return nil, err
	}
	r.SubnetId = n.ID
	r.Tags = append(r.Tags, ec2.Tag{Key: groupTag, Value: g.Name})
	for _, t := range g.Tags {
		if t.AtLaunch {
			r.Tags = append(r.Tags, ec2.Tag{Key: t.Key, Value: t.Value})
		}
	}
	if w.typeName != "" {
		r.Data.InstanceType, r.Data.InstanceRequirements = w.typeName, nil
	}
	if w.image != "" {
		r.Data.ImageId = w.image
	}
	if w.spot {
		r.Data.InstanceMarketOptions = &ec2.MarketOptions{MarketType: "spot", SpotOptions: &ec2.SpotOptions{MaxPrice: w.price}}
	}
	list, err := s.ec2.Launch(c, r)
	if err != nil {
		return nil, err
	}
	vm := list[0]
	m := &member{ID: vm.InstanceId, Type: vm.InstanceType, Zone: vm.Placement.AvailabilityZone, State: pending, Protected: g.NewProtected, Weight: w.weight,
		Launched: c.Now.UTC(), Spot: vm.InstanceLifecycle == "spot",
		Template: templateSpec{w.template.LaunchTemplateId, w.template.LaunchTemplateName, strconv.FormatInt(v.VersionNumber, 10)}}
	if warm {
		m.State, m.Protected = warmedPending, false
	}
	return m, nil
}
