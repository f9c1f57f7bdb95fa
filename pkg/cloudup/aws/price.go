// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cost"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

var _ cloudup.Pricer = (*Cloud)(nil)

// balancerType is how price files call our load balancers.
const balancerType = "network"

// Priced returns what the cluster's machines, disks, gateways, load balancers and public
// addresses are now and will be. A group counts with its size, and with the machines
// that its template makes: those that run change one by one when they are rolled.
func (c *Cloud) Priced(ctx context.Context, g *tasks.Graph) ([]cost.Object, error) {
	s := c.surveyOf(g)
	going := map[string]bool{} // ids of objects whose removal is planned: they count there
	for _, t := range g.Removals() {
		if r, ok := t.(*Removal); ok {
			going[r.left.ID] = true
		}
	}
	var out []cost.Object
	for _, t := range g.Wanted() {
		o, err := s.wantedUses(ctx, t, going)
		if err != nil {
			return nil, fmt.Errorf("price %s: %w", t.ID(), err)
		}
		if len(o.Old)+len(o.New) > 0 {
			out = append(out, o)
		}
	}
	for _, t := range g.Removals() {
		r, ok := t.(*Removal)
		if !ok {
			continue
		}
		old, err := s.usesOf(ctx, r.left.Value)
		if err != nil {
			return nil, fmt.Errorf("price %s: %w", t.ID(), err)
		}
		if len(old) > 0 {
			out = append(out, cost.Object{ID: t.ID(), Old: old})
		}
	}
	return out, nil
}

// wantedUses returns both sides of a wanted task.
func (s *survey) wantedUses(ctx context.Context, t tasks.Task, going map[string]bool) (cost.Object, error) {
	o := cost.Object{ID: t.ID()}
	var err error
	switch t := t.(type) {
	case *AutoScalingGroup:
		o.Old, err = usesNow(ctx, s, s.scalingGroups, t.key, going)
		if err == nil {
			o.New, err = t.uses(ctx)
		}
	case *EBSVolume:
		o.Old, err = usesNow(ctx, s, s.volumes, t.key, going)
		if err == nil {
			o.New, err = t.uses(ctx)
		}
	case *NATGateway:
		o.Old, err = usesNow(ctx, s, s.nats, t.key, going)
		o.New = []cost.Use{{Thing: cost.NATGateway, Count: 1}}
	case *Address:
		o.Old, err = usesNow(ctx, s, s.addresses, t.key, going)
		o.New = []cost.Use{{Thing: cost.Address, Count: 1}}
	case *LoadBalancer:
		o.Old, err = usesNow(ctx, s, s.balancers, t.key, going)
		o.New = balancerUses(t.endpoint.Public, len(t.subnets))
	}
	return o, err
}

// usesNow is what the object of a key uses, unless its removal says so.
func usesNow[T any](ctx context.Context, s *survey, i *inventory[T], key string, going map[string]bool) ([]cost.Use, error) {
	o, exists, err := i.find(ctx, key)
	if err != nil || !exists || going[o.ID] {
		return nil, err
	}
	return s.usesOf(ctx, o.Value)
}

// usesOf is what an object that exists uses.
func (s *survey) usesOf(ctx context.Context, value any) ([]cost.Use, error) {
	switch v := value.(type) {
	case asgtypes.AutoScalingGroup:
		data, err := s.templateDataOf(ctx, specOf(v))
		if err != nil {
			return nil, err
		}
		return machineUses(int(aws.ToInt32(v.DesiredCapacity)), data, mixedOf(v)), nil
	case ec2types.Volume:
		return diskUses(1, string(v.VolumeType), aws.ToInt32(v.Size), aws.ToInt32(v.Iops), aws.ToInt32(v.Throughput)), nil
	case ec2types.NatGateway:
		return []cost.Use{{Thing: cost.NATGateway, Count: 1}}, nil
	case ec2types.Address:
		return []cost.Use{{Thing: cost.Address, Count: 1}}, nil
	case elbtypes.LoadBalancer:
		return balancerUses(v.Scheme == elbtypes.LoadBalancerSchemeEnumInternetFacing, len(v.AvailabilityZones)), nil
	}
	return nil, nil
}

// uses is what the group will be: its size stays within the bounds.
func (g *AutoScalingGroup) uses(ctx context.Context) ([]cost.Use, error) {
	size := g.pool.Min
	o, exists, err := g.s.scalingGroups.find(ctx, g.key)
	if err != nil {
		return nil, err
	}
	if exists {
		size = min(max(aws.ToInt32(o.Value.DesiredCapacity), g.pool.Min), g.pool.Max)
	}
	return machineUses(int(size), g.template.want, g.mixed), nil
}

// uses is what the volume will be: it never shrinks.
func (v *EBSVolume) uses(ctx context.Context) ([]cost.Use, error) {
	size := v.volume.SizeGiB
	o, exists, err := v.s.volumes.find(ctx, v.key)
	if err != nil {
		return nil, err
	}
	if exists && aws.ToString(o.Value.AvailabilityZone) == v.volume.Zone {
		size = max(size, aws.ToInt32(o.Value.Size))
	}
	return diskUses(1, v.volume.Type, size, v.volume.IOPS, v.volume.Throughput), nil
}

// machineUses is a number of machines with their boot disks and public addresses. With a
// mixed policy the first ones, and a part of the others, are on demand, the rest spot.
func machineUses(n int, data launchData, policy mixedPolicy) []cost.Use {
	if n == 0 {
		return nil
	}
	var out []cost.Use
	add := func(count int, types []string, spot bool, limit string) {
		if count > 0 {
			most, _ := strconv.ParseFloat(limit, 64) // without a limit 0, as Use has it
			out = append(out, cost.Use{Thing: cost.Machine, Types: types, Count: count, Spot: spot, Limit: most})
		}
	}
	if policy.wanted {
		types := policy.machines
		if len(types) == 0 {
			types = []string{data.Machine}
		}
		base := min(n, int(policy.base))
		onDemand := base + ((n-base)*int(policy.aboveBase)+99)/100
		add(onDemand, types, false, "")
		add(n-onDemand, types, true, policy.maxPrice)
	} else {
		add(n, []string{data.Machine}, data.Spot, data.MaxPrice)
	}
	if data.RootGiB > 0 {
		out = append(out, diskUses(n, data.RootType, data.RootGiB, data.RootIOPS, data.Throughput)...)
	}
	if data.PublicIP {
		out = append(out, cost.Use{Thing: cost.Address, Count: n})
	}
	return out
}

func diskUses(n int, kind string, gib, iops, throughput int32) []cost.Use {
	iops, throughput = speeds(kind, iops, throughput)
	return []cost.Use{{Thing: cost.Volume, Types: []string{kind}, Count: n, GiB: gib, IOPS: iops, Throughput: throughput}}
}

// balancerUses is a load balancer; a public one has an address in each zone.
func balancerUses(public bool, zones int) []cost.Use {
	out := []cost.Use{{Thing: cost.LoadBalancer, Types: []string{balancerType}, Count: 1}}
	if public {
		out = append(out, cost.Use{Thing: cost.Address, Count: zones})
	}
	return out
}

// templateDataOf returns the content of the template version that a group uses. It is
// nearly always the latest, which is known; another one is read.
func (s *survey) templateDataOf(ctx context.Context, spec asgtypes.LaunchTemplateSpecification) (launchData, error) {
	all, err := s.templates.all(ctx)
	if err != nil {
		return launchData{}, err
	}
	id, version := aws.ToString(spec.LaunchTemplateId), aws.ToString(spec.Version)
	for _, t := range all {
		latest := strconv.FormatInt(aws.ToInt64(t.Value.Latest.VersionNumber), 10)
		if t.ID == id && (version == latest || version == "$Latest") {
			return launchDataOf(t.Value.Latest.LaunchTemplateData), nil
		}
	}
	if id == "" {
		return launchData{}, nil
	}
	if version == "" {
		version = "$Default"
	}
	out, err := s.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &id, Versions: []string{version},
	})
	switch {
	case gone(err), err == nil && len(out.LaunchTemplateVersions) == 0:
		return launchData{}, nil // its price is unknown, as it has no type
	case err != nil:
		return launchData{}, fmt.Errorf("read version %s of launch template %s: %w", version, id, err)
	}
	return launchDataOf(out.LaunchTemplateVersions[0].LaunchTemplateData), nil
}
