// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// PlacementGroup is a wish about where instances stand to each other.
type PlacementGroup struct {
	GroupName      string
	GroupId        string
	GroupArn       string
	State          string
	Strategy       string
	PartitionCount int `wire:"partitionCount,omitempty"`
	SpreadLevel    string
	Tags           []Tag `wire:"tagSet"`
}

func newPlacementKind(s *Service, w *world.World) (*kind[PlacementGroup], error) {
	return newKind(s, w, kind[PlacementGroup]{
		resource: "placement-group", prefix: "pg-", notFound: "InvalidPlacementGroup.Unknown", word: "Placement Group",
		id:   func(p *PlacementGroup) string { return p.GroupId },
		tags: func(p *PlacementGroup) *[]Tag { return &p.Tags },
		filters: map[string]func(*PlacementGroup) []string{
			"group-name": one(func(p *PlacementGroup) string { return p.GroupName }), "state": one(func(p *PlacementGroup) string { return p.State }),
			"strategy": one(func(p *PlacementGroup) string { return p.Strategy }),
		},
	})
}

func (s *Service) placementOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreatePlacementGroup": op(s.createPlacement), "DescribePlacementGroups": op(s.describePlacements), "DeletePlacementGroup": op(s.deletePlacement),
	}
}

func (s *Service) placementByName(c *wire.Call, name string) *PlacementGroup {
	return s.placements.first(c, func(p *PlacementGroup) bool { return p.GroupName == name })
}

type createPlacementIn struct {
	GroupName         string `wire:"GroupName,required"`
	Strategy          string
	PartitionCount    int
	SpreadLevel       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type placementOut struct{ PlacementGroup PlacementGroup }

func (s *Service) createPlacement(c *wire.Call, in *createPlacementIn) (*placementOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "placement-group")
	if tagErr != nil {
		return nil, tagErr
	}
	if s.placementByName(c, in.GroupName) != nil {
		return nil, wire.Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", in.GroupName)
	}
	p := &PlacementGroup{GroupName: in.GroupName, GroupId: s.newID("pg-"), State: "available", Strategy: in.Strategy, PartitionCount: in.PartitionCount, SpreadLevel: in.SpreadLevel, Tags: tags}
	if p.Strategy == "" {
		p.Strategy = "cluster"
	}
	if !slices.Contains([]string{"cluster", "spread", "partition"}, p.Strategy) {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter strategy is invalid.", in.Strategy)
	}
	p.GroupArn = s.arn(c, "placement-group", p.GroupName)
	s.placements.put(c, p)
	return &placementOut{*p}, nil
}

type describePlacementsOut struct {
	Groups []*PlacementGroup `wire:"placementGroupSet"`
}

func (s *Service) describePlacements(c *wire.Call, in *struct {
	Ids     []string `wire:"GroupId"`
	Names   []string `wire:"GroupName"`
	Filters []Filter `wire:"Filter"`
}) (*describePlacementsOut, error) {
	rows, err := s.placements.pick(c, in.Ids)
	if err != nil {
		return nil, err
	}
	if len(in.Names) > 0 {
		rows = nil
		for _, name := range in.Names {
			p := s.placementByName(c, name)
			if p == nil {
				return nil, s.placements.missing(name)
			}
			rows = append(rows, p)
		}
	}
	if rows, err = filter(rows, in.Filters, s.placements.filters, s.placements.tags); err != nil {
		return nil, err
	}
	return &describePlacementsOut{rows}, nil
}

func (s *Service) deletePlacement(c *wire.Call, in *struct {
	GroupName string `wire:"GroupName,required"`
}) (*done, error) {
	p := s.placementByName(c, in.GroupName)
	if p == nil {
		return nil, s.placements.missing(in.GroupName)
	}
	if s.instances.first(c, func(vm *Instance) bool { return vm.Alive() && vm.Placement.GroupName == p.GroupName }) != nil {
		return nil, wire.Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", p.GroupName)
	}
	s.placements.remove(c, p)
	return ok()
}
