// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

const maxTags = 50

// tagIn is how requests spell a tag.
type tagIn struct {
	ResourceId, ResourceType string
	Key                      string `wire:"Key,required"`
	Value                    string
	PropagateAtLaunch        *bool
}

type tagView struct {
	ResourceId, ResourceType, Key string
	Value                         string `wire:"Value,keep"`
	PropagateAtLaunch             bool
}

func (g *group) tagView(t tag) tagView {
	return tagView{g.Name, "auto-scaling-group", t.Key, t.Value, t.AtLaunch}
}

// mergeTags returns have with more on top, of the group called name.
func mergeTags(have []tag, more []tagIn, name string) ([]tag, *wire.Error) {
	out := slices.Clone(have)
	seen := map[string]bool{}
	for _, t := range more {
		switch {
		case t.ResourceId != "" && t.ResourceId != name:
			return nil, invalid("The tag's ResourceId %s is not the group's name %s", t.ResourceId, name)
		case t.ResourceType != "" && t.ResourceType != "auto-scaling-group":
			return nil, invalid("Invalid tag resource type: %s. It must be auto-scaling-group", t.ResourceType)
		case t.Key == "" || utf8.RuneCountInString(t.Key) > 128 || utf8.RuneCountInString(t.Value) > 256:
			return nil, invalid("A tag has a key of 1 to 128 characters and a value of at most 256: '%s'", t.Key)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return nil, invalid("Tag keys beginning with aws: are reserved: '%s'", t.Key)
		case seen[t.Key]:
			return nil, invalid("Duplicate tag key: '%s'", t.Key)
		}
		seen[t.Key] = true
		fresh := tag{t.Key, t.Value, t.PropagateAtLaunch == nil || *t.PropagateAtLaunch}
		if i := slices.IndexFunc(out, func(o tag) bool { return o.Key == t.Key }); i >= 0 {
			out[i] = fresh
		} else {
			out = append(out, fresh)
		}
	}
	if len(out) > maxTags {
		return nil, wire.Errorf("LimitExceeded", "The group %s would have %d tags; the limit is %d", name, len(out), maxTags)
	}
	return out, nil
}

func (s *Service) tagOps() map[string]wire.Handler {
	return map[string]wire.Handler{"CreateOrUpdateTags": wire.Op(s.createTags), "DeleteTags": wire.Op(s.deleteTags), "DescribeTags": wire.Op(s.describeTags)}
}

type tagsIn struct {
	Tags []tagIn `wire:"Tags,required"`
}

// byGroup sorts tags under the groups that they name.
func (s *Service) byGroup(c *wire.Call, tags []tagIn) (map[*group][]tagIn, *wire.Error) {
	out := map[*group][]tagIn{}
	for _, t := range tags {
		if t.ResourceId == "" || t.ResourceType == "" {
			return nil, invalid("Tags must have ResourceId and ResourceType")
		}
		g, err := s.living(c, t.ResourceId)
		if err != nil {
			return nil, err
		}
		out[g] = append(out[g], t)
	}
	return out, nil
}

func (s *Service) createTags(c *wire.Call, in *tagsIn) (*none, error) {
	groups, err := s.byGroup(c, in.Tags)
	if err != nil {
		return nil, err
	}
	merged := map[*group][]tag{}
	for g, tags := range groups {
		if merged[g], err = mergeTags(g.Tags, tags, g.Name); err != nil {
			return nil, err
		}
	}
	for g, tags := range merged {
		g.Tags = tags
		s.put(c, g)
	}
	return &none{}, nil
}

func (s *Service) deleteTags(c *wire.Call, in *tagsIn) (*none, error) {
	groups, err := s.byGroup(c, in.Tags)
	if err != nil {
		return nil, err
	}
	for g, tags := range groups {
		g.Tags = slices.DeleteFunc(slices.Clone(g.Tags), func(have tag) bool {
			return slices.ContainsFunc(tags, func(t tagIn) bool { return t.Key == have.Key && (t.Value == "" || t.Value == have.Value) })
		})
		s.put(c, g)
	}
	return &none{}, nil
}

type tagsOut struct {
	Tags      []tagView
	NextToken string
}

func (s *Service) describeTags(c *wire.Call, in *struct {
	Filters []filter
	paging
}) (*tagsOut, error) {
	rows := []tagView{}
	for _, g := range s.groups.Visible(c.Region) {
		for _, t := range g.Tags {
			rows = append(rows, g.tagView(t))
		}
	}
	for _, f := range in.Filters {
		value, err := tagField(f.Name)
		if err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(t tagView) bool { return !slices.Contains(f.Values, value(t)) })
	}
	rows, next, err := page(c, rows, in.paging, 50, 100)
	return &tagsOut{rows, next}, err
}

func tagField(name string) (func(tagView) string, error) {
	switch name {
	case "auto-scaling-group":
		return func(t tagView) string { return t.ResourceId }, nil
	case "key":
		return func(t tagView) string { return t.Key }, nil
	case "value":
		return func(t tagView) string { return t.Value }, nil
	case "propagate-at-launch":
		return func(t tagView) string { return strconv.FormatBool(t.PropagateAtLaunch) }, nil
	}
	return nil, error(invalid("%s", fmt.Sprintf("Filter type %s is not correct. Allowed Filter types are: auto-scaling-group key value propagate-at-launch", name)))
}
