// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Tag is a key's tag.
type Tag struct {
	TagKey   string `wire:",required"`
	TagValue string `wire:",keep"`
}

func (s *Service) tagOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"TagResource": wire.JSONOp(s.tagResource), "UntagResource": wire.JSONOp(s.untagResource), "ListResourceTags": wire.JSONOp(s.listTags),
	}
}

const maxTags = 50

func badTag(format string, args ...any) *wire.Error {
	return wire.Errorf("TagException", format, args...)
}

// mergeTags returns have with more on top.
func mergeTags(have, more []Tag) ([]Tag, *wire.Error) {
	out := slices.Clone(have)
	seen := map[string]bool{}
	for _, t := range more {
		switch {
		case t.TagKey == "" || utf8.RuneCountInString(t.TagKey) > 128:
			return nil, badTag("A tag key has between 1 and 128 characters, %q has not", t.TagKey)
		case utf8.RuneCountInString(t.TagValue) > 256:
			return nil, badTag("The value of tag %s has more than 256 characters", t.TagKey)
		case strings.HasPrefix(strings.ToLower(t.TagKey), "aws:"):
			return nil, badTag("The tag key %s is reserved: keys must not begin with aws:", t.TagKey)
		case seen[t.TagKey]:
			return nil, badTag("Duplicate tag key %s", t.TagKey)
		}
		seen[t.TagKey] = true
		if i := slices.IndexFunc(out, func(o Tag) bool { return o.TagKey == t.TagKey }); i >= 0 {
			out[i] = t
		} else {
			out = append(out, t)
		}
	}
	if len(out) > maxTags {
		return nil, wire.Errorf("LimitExceededException", "A key takes %d tags at most", maxTags)
	}
	return out, nil
}

func (s *Service) tagResource(c *wire.Call, in *struct {
	KeyId string `wire:",required"`
	Tags  []Tag  `wire:",required"`
}) (*struct{}, error) {
	k, err := s.alive(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	tags, err := mergeTags(k.Tags, in.Tags)
	if err != nil {
		return nil, err
	}
	k.Tags = tags
	s.keys.Put(c.Region, k.ID, k)
	return nil, nil
}

func (s *Service) untagResource(c *wire.Call, in *struct {
	KeyId   string   `wire:",required"`
	TagKeys []string `wire:",required"`
}) (*struct{}, error) {
	k, err := s.alive(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	k.Tags = slices.DeleteFunc(k.Tags, func(t Tag) bool { return slices.Contains(in.TagKeys, t.TagKey) })
	s.keys.Put(c.Region, k.ID, k)
	return nil, nil
}

type tagsOut struct {
	paged
	Tags []Tag
}

func (s *Service) listTags(c *wire.Call, in *struct {
	KeyId  string `wire:",required"`
	Limit  int
	Marker string
}) (*tagsOut, error) {
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	tags, p, err := page(c, k.Tags, paging{in.Limit, in.Marker}, 50, 50)
	if err != nil {
		return nil, err
	}
	return &tagsOut{p, tags}, nil
}
