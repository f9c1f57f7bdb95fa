// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Tag is a resource's tag.
type Tag struct {
	Key   string
	Value string `wire:"Value,keep"`
}

const maxTags = 50

// mergeTags returns have with more on top; keys are unique whatever their case.
func mergeTags(have, more []Tag) ([]Tag, *wire.Error) {
	out := slices.Clone(have)
	seen := map[string]bool{}
	for _, t := range more {
		k := strings.ToLower(t.Key)
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > 128:
			return nil, invalid("1 validation error detected: Value '%s' at 'tags.key' failed to satisfy constraint: Member must have length between 1 and 128", t.Key)
		case utf8.RuneCountInString(t.Value) > 256:
			return nil, invalid("1 validation error detected: Value at 'tags.value' failed to satisfy constraint: Member must have length less than or equal to 256")
		case strings.HasPrefix(k, "aws:"):
			return nil, wire.Errorf("InvalidInput", "The tag key %s is reserved: keys must not begin with aws:", t.Key)
		case seen[k]:
			return nil, wire.Errorf("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
		}
		seen[k] = true
		if i := tagIndex(out, t.Key); i >= 0 {
			out[i].Value = t.Value
		} else {
			out = append(out, t)
		}
	}
	if len(out) > maxTags {
		return nil, limitExceeded("The number of tags has reached the maximum limit: %d", maxTags)
	}
	return out, nil
}

func tagIndex(tags []Tag, name string) int {
	return slices.IndexFunc(tags, func(t Tag) bool { return strings.EqualFold(t.Key, name) })
}

// taggable is one kind of resource with tags: how operations name it, and how
// its tags are found and saved.
type taggable struct {
	kind, param string
	find        func(id string) (tags *[]Tag, save func(), err *wire.Error)
}

func (s *Service) taggables() []taggable {
	return []taggable{
		{"Role", "RoleName", func(id string) (*[]Tag, func(), *wire.Error) {
			r, err := s.role(id)
			if err != nil {
				return nil, nil, err
			}
			return &r.Tags, func() { s.roles.Put("", key(r.Name), r) }, nil
		}},
		{"User", "UserName", func(id string) (*[]Tag, func(), *wire.Error) {
			u, err := s.user(id)
			if err != nil {
				return nil, nil, err
			}
			return &u.Tags, func() { s.users.Put("", key(u.Name), u) }, nil
		}},
		{"InstanceProfile", "InstanceProfileName", func(id string) (*[]Tag, func(), *wire.Error) {
			p, err := s.profile(id)
			if err != nil {
				return nil, nil, err
			}
			return &p.Tags, func() { s.profiles.Put("", key(p.Name), p) }, nil
		}},
		{"Policy", "PolicyArn", func(id string) (*[]Tag, func(), *wire.Error) {
			p, err := s.customer(id)
			if err != nil {
				return nil, nil, err
			}
			return &p.Tags, func() { s.policies.Put("", p.ARN, p) }, nil
		}},
		{"OpenIDConnectProvider", "OpenIDConnectProviderArn", func(id string) (*[]Tag, func(), *wire.Error) {
			p, err := s.provider(id)
			if err != nil {
				return nil, nil, err
			}
			return &p.Tags, func() { s.oidc.Put("", p.ARN, p) }, nil
		}},
	}
}

type tagList struct {
	Tags []Tag
	paged
}

// tagOps are TagX, UntagX and ListXTags of every kind.
func (s *Service) tagOps() map[string]wire.Handler {
	ops := map[string]wire.Handler{}
	for _, t := range s.taggables() {
		ops["Tag"+t.kind] = t.of(func(id string) wire.Handler { return wire.Op(t.add(id)) })
		ops["Untag"+t.kind] = t.of(func(id string) wire.Handler { return wire.Op(t.remove(id)) })
		ops["List"+t.kind+"Tags"] = t.of(func(id string) wire.Handler { return wire.Op(t.list(id)) })
	}
	return ops
}

// of takes the parameter that names the resource out of the call and gives the
// rest to a handler for that resource: the parameter's name differs by kind.
func (t taggable) of(handler func(id string) wire.Handler) wire.Handler {
	return func(q *wire.QueryService, c *wire.Call) ([]byte, error) {
		id := c.Params.Get(t.param)
		if id == "" {
			return nil, wire.Errorf("MissingParameter", "The request must contain the parameter %s", t.param)
		}
		rest := *c
		rest.Params = maps.Clone(c.Params)
		rest.Params.Del(t.param)
		return handler(id)(q, &rest)
	}
}

type addTags struct {
	Tags []Tag `wire:"Tags,required"`
}

func (t taggable) add(id string) func(*wire.Call, *addTags) (*none, error) {
	return func(_ *wire.Call, in *addTags) (*none, error) {
		tags, save, err := t.find(id)
		if err != nil {
			return nil, err
		}
		merged, err := mergeTags(*tags, in.Tags)
		if err != nil {
			return nil, err
		}
		*tags = merged
		save()
		return &none{}, nil
	}
}

type removeTags struct {
	TagKeys []string `wire:"TagKeys,required"`
}

func (t taggable) remove(id string) func(*wire.Call, *removeTags) (*none, error) {
	return func(_ *wire.Call, in *removeTags) (*none, error) {
		tags, save, err := t.find(id)
		if err != nil {
			return nil, err
		}
		*tags = slices.DeleteFunc(slices.Clone(*tags), func(have Tag) bool {
			return slices.ContainsFunc(in.TagKeys, func(k string) bool { return strings.EqualFold(k, have.Key) })
		})
		save()
		return &none{}, nil
	}
}

func (t taggable) list(id string) func(*wire.Call, *paging) (*tagList, error) {
	return func(c *wire.Call, in *paging) (*tagList, error) {
		tags, _, err := t.find(id)
		if err != nil {
			return nil, err
		}
		rows, more, perr := page(c, append([]Tag{}, *tags...), *in)
		return &tagList{rows, more}, perr
	}
}
