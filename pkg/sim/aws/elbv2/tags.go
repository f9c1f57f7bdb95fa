// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Tag is a resource's tag.
type Tag struct {
	Key   string `wire:"Key,required"`
	Value string `wire:"Value,keep"`
}

// Limits on tags, and on the resources of one call about them.
const (
	maxTags   = 50
	maxTagged = 20
)

// mergeTags returns have with more on top.
func mergeTags(have, more []Tag) ([]Tag, *wire.Error) {
	out := slices.Clone(have)
	seen := map[string]bool{}
	for _, t := range more {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > 128 || utf8.RuneCountInString(t.Value) > 256:
			return nil, invalid("A tag has a key of 1 to 128 characters and a value of at most 256: '%s'", t.Key)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return nil, invalid("Tag keys beginning with 'aws:' are reserved: '%s'", t.Key)
		case seen[t.Key]:
			return nil, wire.Errorf("DuplicateTagKeys", "Tag keys must be unique: '%s'", t.Key)
		}
		seen[t.Key] = true
		if i := slices.IndexFunc(out, func(o Tag) bool { return o.Key == t.Key }); i >= 0 {
			out[i].Value = t.Value
		} else {
			out = append(out, t)
		}
	}
	if len(out) > maxTags {
		return nil, wire.Errorf("TooManyTags", "The maximum number of tags (%d) has been exceeded", maxTags)
	}
	return out, nil
}

// tagged finds a resource's tags, and how to save them.
func (s *Service) tagged(c *wire.Call, arn string) (*[]Tag, func(), *wire.Error) {
	switch {
	case strings.Contains(arn, ":loadbalancer/"):
		b, err := s.balancer(c, arn)
		if err != nil {
			return nil, nil, err
		}
		return &b.Tags, func() { s.balancers.Put(c.Region, arn, b) }, nil
	case strings.Contains(arn, ":targetgroup/"):
		g, err := s.group(c, arn)
		if err != nil {
			return nil, nil, err
		}
		return &g.Tags, func() { s.groups.Put(c.Region, arn, g) }, nil
	case strings.Contains(arn, ":listener/"):
		l, err := s.listener(c, arn)
		if err != nil {
			return nil, nil, err
		}
		return &l.Tags, func() { s.listeners.Put(c.Region, arn, l) }, nil
	}
	return nil, nil, invalid("'%s' is not a valid load balancer, target group or listener ARN", arn)
}

func (s *Service) tagOps() map[string]wire.Handler {
	return map[string]wire.Handler{"AddTags": wire.Op(s.addTags), "RemoveTags": wire.Op(s.removeTags), "DescribeTags": wire.Op(s.describeTags)}
}

type ofMany struct {
	ResourceArns []string `wire:"ResourceArns,required"`
}

// all finds the tags of several resources, all or none.
func (s *Service) all(c *wire.Call, arns []string) ([]*[]Tag, []func(), *wire.Error) {
	if len(arns) == 0 || len(arns) > maxTagged {
		return nil, nil, invalid("The number of resource ARNs must be between 1 and %d", maxTagged)
	}
	var tags []*[]Tag
	var saves []func()
	for _, arn := range arns {
		t, save, err := s.tagged(c, arn)
		if err != nil {
			return nil, nil, err
		}
		tags, saves = append(tags, t), append(saves, save)
	}
	return tags, saves, nil
}

func (s *Service) addTags(c *wire.Call, in *struct {
	ofMany
	Tags []Tag `wire:"Tags,required"`
}) (*none, error) {
	tags, saves, err := s.all(c, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	merged := make([][]Tag, len(tags))
	for i, t := range tags {
		if merged[i], err = mergeTags(*t, in.Tags); err != nil {
			return nil, err
		}
	}
	for i, t := range tags {
		*t = merged[i]
		saves[i]()
	}
	return &none{}, nil
}

func (s *Service) removeTags(c *wire.Call, in *struct {
	ofMany
	TagKeys []string `wire:"TagKeys,required"`
}) (*none, error) {
	tags, saves, err := s.all(c, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	for i, t := range tags {
		*t = slices.DeleteFunc(slices.Clone(*t), func(have Tag) bool { return slices.Contains(in.TagKeys, have.Key) })
		saves[i]()
	}
	return &none{}, nil
}

type tagView struct {
	ResourceArn string
	Tags        []Tag
}

type tagsOut struct{ TagDescriptions []tagView }

func (s *Service) describeTags(c *wire.Call, in *ofMany) (*tagsOut, error) {
	tags, _, err := s.all(c, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	out := &tagsOut{}
	for i, t := range tags {
		out.TagDescriptions = append(out.TagDescriptions, tagView{in.ResourceArns[i], *t})
	}
	return out, nil
}
