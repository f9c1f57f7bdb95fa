// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// templateSpec names a launch template, as requests and answers do.
type templateSpec struct {
	LaunchTemplateId, LaunchTemplateName, Version string
}

// mixedPolicy spreads a group over instance types and markets.
type mixedPolicy struct {
	LaunchTemplate        *mixedTemplate
	InstancesDistribution *distribution
}

type mixedTemplate struct {
	LaunchTemplateSpecification *templateSpec
	Overrides                   []override `wire:"Overrides,omitempty"`
}

type override struct {
	InstanceType, WeightedCapacity string
	LaunchTemplateSpecification    *templateSpec
	InstanceRequirements           *requirements
	ImageId                        string
}

type distribution struct {
	OnDemandAllocationStrategy          string
	OnDemandBaseCapacity                *int
	OnDemandPercentageAboveBaseCapacity *int
	SpotAllocationStrategy              string
	SpotInstancePools                   *int
	SpotMaxPrice                        string
}

type intRange struct{ Min, Max *int }

type floatRange struct{ Min, Max *float64 }

// requirements choose instance types by what they have.
type requirements struct {
	VCpuCount                                      *intRange
	MemoryMiB                                      *intRange
	CpuManufacturers                               []string `wire:"CpuManufacturers,omitempty"`
	MemoryGiBPerVCpu                               *floatRange
	ExcludedInstanceTypes                          []string `wire:"ExcludedInstanceTypes,omitempty"`
	InstanceGenerations                            []string `wire:"InstanceGenerations,omitempty"`
	SpotMaxPricePercentageOverLowestPrice          *int
	MaxSpotPriceAsPercentageOfOptimalOnDemandPrice *int
	OnDemandMaxPricePercentageOverLowestPrice      *int
	BareMetal, BurstablePerformance                string
	RequireHibernateSupport                        *bool
	NetworkInterfaceCount                          *intRange
	LocalStorage                                   string
	LocalStorageTypes                              []string `wire:"LocalStorageTypes,omitempty"`
	TotalLocalStorageGB                            *floatRange
	BaselineEbsBandwidthMbps                       *intRange
	AcceleratorTypes                               []string `wire:"AcceleratorTypes,omitempty"`
	AcceleratorCount                               *intRange
	AcceleratorManufacturers                       []string `wire:"AcceleratorManufacturers,omitempty"`
	AcceleratorNames                               []string `wire:"AcceleratorNames,omitempty"`
	AcceleratorTotalMemoryMiB                      *intRange
	NetworkBandwidthGbps                           *floatRange
	AllowedInstanceTypes                           []string `wire:"AllowedInstanceTypes,omitempty"`
}

func (r *intRange) holds(n int) bool {
	return r == nil || (r.Min == nil || n >= *r.Min) && (r.Max == nil || n <= *r.Max)
}

func (r *floatRange) holds(n float64) bool {
	return r == nil || (r.Min == nil || n >= *r.Min) && (r.Max == nil || n <= *r.Max)
}

// fits judges a type by what the simulator knows of types.
func (r *requirements) fits(t ec2.TypeFact) bool {
	burst := strings.HasPrefix(t.Name, "t")
	return r.VCpuCount.holds(t.VCPUs) && r.MemoryMiB.holds(t.Memory) && r.MemoryGiBPerVCpu.holds(float64(t.Memory)/1024/float64(t.VCPUs)) &&
		choice(r.BareMetal, t.Bare) && choice(r.BurstablePerformance, burst) && (r.AcceleratorCount == nil && t.GPUs == 0 || r.AcceleratorCount != nil && r.AcceleratorCount.holds(t.GPUs)) &&
		(r.LocalStorage != "required" || t.Disks > 0) && (r.LocalStorage != "excluded" || t.Disks == 0) &&
		(len(r.InstanceGenerations) == 0 || slices.Contains(r.InstanceGenerations, generation(t.Old))) &&
		!matchesAny(r.ExcludedInstanceTypes, t.Name) && (len(r.AllowedInstanceTypes) == 0 || matchesAny(r.AllowedInstanceTypes, t.Name))
}

// choice reads included, excluded (the default) or required.
func choice(wish string, has bool) bool {
	return wish == "included" || has == (wish == "required")
}

func generation(old bool) string {
	if old {
		return "previous"
	}
	return "current"
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		before, after, star := strings.Cut(p, "*")
		return p == name || star && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	})
}

// ref names a resolved template to EC2, which takes an id or a name.
func (t templateSpec) ref() ec2.TemplateRef {
	return ec2.TemplateRef{LaunchTemplateId: t.LaunchTemplateId, Version: t.Version}
}

// resolve completes a template's name and id, and checks its version.
func (s *Service) resolve(c *wire.Call, spec *templateSpec) *wire.Error {
	t, _, err := s.ec2.TemplateVersion(c, ec2.TemplateRef(*spec))
	if err != nil {
		return invalid("You must use a valid fully-formed launch template. %s", err.Message)
	}
	spec.LaunchTemplateId, spec.LaunchTemplateName = t.LaunchTemplateId, t.LaunchTemplateName
	if spec.Version == "" {
		spec.Version = "$Default"
	}
	return nil
}

// checkTemplate refuses what Auto Scaling finds out before it stores a group:
// a template without image or type, or with ones that do not exist, or with
// security groups of another network.
func (s *Service) checkTemplate(c *wire.Call, g *group, spec *templateSpec, overridden bool) *wire.Error {
	if err := s.resolve(c, spec); err != nil {
		return err
	}
	_, v, err := s.ec2.TemplateVersion(c, spec.ref())
	if err != nil {
		return invalid("You must use a valid fully-formed launch template. %s", err.Message)
	}
	d := v.LaunchTemplateData
	bad := func(format string, args ...any) *wire.Error {
		return invalid("You must use a valid fully-formed launch template. "+format, args...)
	}
	if d.ImageId == "" {
		return bad("The request must contain the parameter ImageId")
	}
	if _, err := s.ec2.Image(c, d.ImageId); err != nil {
		return bad("%s", err.Message)
	}
	if _, _, _, known := ec2.TypeFacts(d.InstanceType); d.InstanceType != "" && !known {
		return bad("Invalid value '%s' for InstanceType.", d.InstanceType)
	}
	if d.InstanceType == "" && d.InstanceRequirements == nil && !overridden {
		return bad("The launch template must specify an instance type, or the group must override it")
	}
	groups := d.SecurityGroupIds
	for _, card := range d.NetworkInterfaces {
		if card.SubnetId != "" {
			return invalid("The network interfaces of a launch template for Auto Scaling must not name a subnet")
		}
		groups = append(groups, card.Groups...)
	}
	if len(g.Subnets) > 0 {
		if err := s.ec2.CheckGroups(c, g.Subnets[0].VPC, groups); err != nil {
			return bad("%s", err.Message)
		}
	}
	if g.Mixed != nil && d.InstanceMarketOptions != nil {
		return invalid("Incompatible launch template: The launch template must not contain instance market options when it is used with a mixed instances policy")
	}
	return nil
}

var (
	onDemandStrategies = []string{"prioritized", "lowest-price"}
	spotStrategies     = []string{"lowest-price", "capacity-optimized", "capacity-optimized-prioritized", "price-capacity-optimized"}
)

// checkMixed completes a policy with the defaults that answers show, and checks it.
func (s *Service) checkMixed(c *wire.Call, g *group) *wire.Error {
	m := g.Mixed
	if m.LaunchTemplate == nil || m.LaunchTemplate.LaunchTemplateSpecification == nil {
		return invalid("A mixed instances policy must have a launch template specification")
	}
	list := m.LaunchTemplate.Overrides
	if len(list) > 40 {
		return invalid("A mixed instances policy can have at most 40 overrides")
	}
	byType, byNeeds := 0, 0
	for i := range list {
		o := &list[i]
		if o.InstanceRequirements != nil {
			byNeeds++
			if r := o.InstanceRequirements; r.VCpuCount == nil || r.VCpuCount.Min == nil || r.MemoryMiB == nil || r.MemoryMiB.Min == nil {
				return invalid("InstanceRequirements must have VCpuCount.Min and MemoryMiB.Min")
			}
			if o.InstanceType != "" {
				return invalid("An override must not have both InstanceType and InstanceRequirements")
			}
		} else if o.InstanceType != "" {
			byType++
			if _, _, _, known := ec2.TypeFacts(o.InstanceType); !known {
				return invalid("The instance type '%s' does not exist", o.InstanceType)
			}
			if slices.ContainsFunc(list[:i], func(p override) bool { return p.InstanceType == o.InstanceType && o.LaunchTemplateSpecification == nil }) {
				return invalid("The instance type '%s' is listed more than once", o.InstanceType)
			}
		}
		if w := o.WeightedCapacity; w != "" {
			if n, err := strconv.Atoi(w); err != nil || n < 1 || n > 999 {
				return invalid("WeightedCapacity must be between 1 and 999: '%s'", w)
			}
		}
		if o.LaunchTemplateSpecification != nil {
			if err := s.checkTemplate(c, g, o.LaunchTemplateSpecification, true); err != nil {
				return err
			}
		}
	}
	if byNeeds > 0 && byType > 0 {
		return invalid("Overrides must either all have InstanceType or all have InstanceRequirements")
	}
	if err := s.checkTemplate(c, g, m.LaunchTemplate.LaunchTemplateSpecification, byType+byNeeds > 0); err != nil {
		return err
	}
	if m.InstancesDistribution == nil {
		m.InstancesDistribution = &distribution{}
	}
	return m.InstancesDistribution.check(byNeeds > 0)
}

func (d *distribution) check(byNeeds bool) *wire.Error {
	def := func(p *string, value string) {
		if *p == "" {
			*p = value
		}
	}
	defInt := func(p **int, value int) {
		if *p == nil {
			*p = &value
		}
	}
	usual := "prioritized"
	if byNeeds {
		usual = "lowest-price"
	}
	def(&d.OnDemandAllocationStrategy, usual)
	def(&d.SpotAllocationStrategy, "lowest-price")
	defInt(&d.OnDemandBaseCapacity, 0)
	defInt(&d.OnDemandPercentageAboveBaseCapacity, 100)
	switch {
	case !slices.Contains(onDemandStrategies, d.OnDemandAllocationStrategy):
		return invalid("Invalid OnDemandAllocationStrategy: %s", d.OnDemandAllocationStrategy)
	case byNeeds && d.OnDemandAllocationStrategy == "prioritized":
		return invalid("The prioritized strategy cannot be used with InstanceRequirements")
	case !slices.Contains(spotStrategies, d.SpotAllocationStrategy):
		return invalid("Invalid SpotAllocationStrategy: %s", d.SpotAllocationStrategy)
	case *d.OnDemandBaseCapacity < 0:
		return invalid("OnDemandBaseCapacity must not be negative")
	case *d.OnDemandPercentageAboveBaseCapacity < 0 || *d.OnDemandPercentageAboveBaseCapacity > 100:
		return invalid("OnDemandPercentageAboveBaseCapacity must be between 0 and 100")
	case d.SpotInstancePools != nil && d.SpotAllocationStrategy != "lowest-price":
		return invalid("SpotInstancePools option is only available with the lowest-price allocation strategy.")
	case d.SpotInstancePools != nil && (*d.SpotInstancePools < 1 || *d.SpotInstancePools > 20):
		return invalid("SpotInstancePools must be between 1 and 20")
	}
	if d.SpotAllocationStrategy == "lowest-price" {
		defInt(&d.SpotInstancePools, 2)
	}
	if d.SpotMaxPrice != "" {
		if p, err := strconv.ParseFloat(d.SpotMaxPrice, 64); err != nil || p <= 0 {
			return invalid("SpotMaxPrice must be a price: '%s'", d.SpotMaxPrice)
		}
	}
	return nil
}
