// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Tag is a resource's tag, in requests and in answers.
type Tag struct {
	Key   string
	Value string `wire:"Value,keep"`
}

// TagSpecification asks for tags at creation.
type TagSpecification struct {
	ResourceType string
	Tags         []Tag `wire:"Tag|tagSet"`
}

// EC2's limits on tags (user guide, "Tag restrictions").
const (
	maxTags      = 50
	maxTagKey    = 128
	maxTagValue  = 256
	reservedTag  = "aws:"
	maxTaggedIDs = 1000
)

func (s *Service) tagOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateTags": op(s.createTags), "DeleteTags": op(s.deleteTags), "DescribeTags": op(s.describeTags),
	}
}

// tagsFor checks the tag specifications of a call that creates one kind of
// resource and returns that kind's tags; also lists more kinds that the call takes.
func tagsFor(specs []TagSpecification, resource string, also ...string) ([]Tag, error) {
	tags := []Tag{}
	for _, spec := range specs {
		allowed := spec.ResourceType == resource
		for _, a := range also {
			allowed = allowed || a == spec.ResourceType
		}
		if !allowed {
			return nil, wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", spec.ResourceType)
		}
		if err := checkTags(spec.Tags); err != nil {
			return nil, err
		}
		if spec.ResourceType == resource {
			merged, err := mergeTags(tags, spec.Tags)
			if err != nil {
				return nil, err
			}
			tags = merged
		}
	}
	return tags, nil
}

func checkTags(tags []Tag) *wire.Error {
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "":
			return wire.Errorf("InvalidParameterValue", "Tag key cannot be null or empty")
		case strings.HasPrefix(strings.ToLower(t.Key), reservedTag):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case utf8.RuneCountInString(t.Key) > maxTagKey:
			return wire.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of %d characters", maxTagKey)
		case utf8.RuneCountInString(t.Value) > maxTagValue:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of %d characters", maxTagValue)
		case seen[t.Key]:
			return wire.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", t.Key)
		}
		seen[t.Key] = true
	}
	return nil
}

// mergeTags returns have with more on top, within the limit.
func mergeTags(have, more []Tag) ([]Tag, *wire.Error) {
	out := append([]Tag{}, have...)
next:
	for _, t := range more {
		for i := range out {
			if out[i].Key == t.Key {
				out[i].Value = t.Value
				continue next
			}
		}
		out = append(out, t)
	}
	count := 0
	for _, t := range out {
		if !strings.HasPrefix(t.Key, reservedTag) {
			count++
		}
	}
	if count > maxTags {
		return nil, wire.Errorf("TagLimitExceeded", "You have reached the maximum number of tags (%d) allowed for this resource.", maxTags)
	}
	return out, nil
}

// kindOf finds the kind of a resource by its id.
func (s *Service) kindOf(id string) (tagged, *wire.Error) {
	for i := len(id) - 1; i > 0; i-- {
		if id[i] == '-' {
			if k := s.kinds[id[:i+1]]; k != nil {
				return k, nil
			}
		}
	}
	return nil, wire.Errorf("InvalidID", "The ID '%s' is not valid", id)
}

func (s *Service) createTags(c *wire.Call, in *struct {
	Resources []string `wire:"ResourceId,required"`
	Tags      []Tag    `wire:"Tag,required"`
}) (*done, error) {
	if len(in.Resources) > maxTaggedIDs {
		return nil, wire.Errorf("InvalidParameterValue", "At most %d resources can be tagged in one call", maxTaggedIDs)
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	merged := make([][]Tag, len(in.Resources))
	for i, id := range in.Resources {
		tags, _, err := s.tagsOf(c, id)
		if err != nil {
			return nil, err
		}
		if merged[i], err = mergeTags(*tags, in.Tags); err != nil {
			return nil, err
		}
	}
	for i, id := range in.Resources {
		tags, k, err := s.tagsOf(c, id)
		if err != nil {
			return nil, err
		}
		*tags = merged[i]
		k.save(c, id)
	}
	return ok()
}

func (s *Service) tagsOf(c *wire.Call, id string) (*[]Tag, tagged, *wire.Error) {
	k, err := s.kindOf(id)
	if err != nil {
		return nil, nil, err
	}
	tags, err := k.find(c, id)
	return tags, k, err
}

// deletion names a tag to delete: without a value, whatever it is.
type deletion struct {
	Key   string `wire:"Key,required"`
	Value *string
}

func (s *Service) deleteTags(c *wire.Call, in *struct {
	Resources []string   `wire:"ResourceId,required"`
	Tags      []deletion `wire:"Tag"`
}) (*done, error) {
	for _, d := range in.Tags {
		if strings.HasPrefix(strings.ToLower(d.Key), reservedTag) {
			return nil, wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	for _, id := range in.Resources {
		tags, k, err := s.tagsOf(c, id)
		if err != nil {
			return nil, err
		}
		kept := []Tag{}
		for _, t := range *tags {
			gone := len(in.Tags) == 0 && !strings.HasPrefix(t.Key, reservedTag)
			for _, d := range in.Tags {
				gone = gone || d.Key == t.Key && (d.Value == nil || *d.Value == t.Value)
			}
			if !gone {
				kept = append(kept, t)
			}
		}
		*tags = kept
		k.save(c, id)
	}
	return ok()
}

// tagRow is a line of DescribeTags.
type tagRow struct {
	ResourceId   string
	ResourceType string
	Key          string
	Value        string `wire:"Value,keep"`
}

type describeTagsOut struct {
	NextToken string
	Tags      []tagRow `wire:"tagSet"`
}

var tagFilters = map[string]func(*tagRow) []string{
	"key":           one(func(t *tagRow) string { return t.Key }),
	"resource-id":   one(func(t *tagRow) string { return t.ResourceId }),
	"resource-type": one(func(t *tagRow) string { return t.ResourceType }),
	"value":         func(t *tagRow) []string { return []string{t.Value} },
}

func (s *Service) describeTags(c *wire.Call, in *describe) (*describeTagsOut, error) {
	var rows []*tagRow
	for _, prefix := range slices.Sorted(maps.Keys(s.kinds)) {
		k := s.kinds[prefix]
		k.each(c, func(id string, tags []Tag) {
			for _, t := range tags {
				rows = append(rows, &tagRow{id, k.resourceType(), t.Key, t.Value})
			}
		})
	}
	rows, err := filter(rows, in.Filters, tagFilters, func(t *tagRow) *[]Tag { return &[]Tag{{t.Key, t.Value}} })
	if err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, wire.Bounds{Min: 5, Max: 1000, Default: 1000})
	if err != nil {
		return nil, err
	}
	out := &describeTagsOut{NextToken: next}
	for _, t := range page {
		out.Tags = append(out.Tags, *t)
	}
	return out, nil
}
