// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type tag struct{ Key, Value string }

// Limits on tags of a zone.
const (
	maxTags        = 50
	maxTagsPerCall = 10
)

// tagged finds the zone that a tag operation is about. Health checks can carry
// tags too, but the simulator has none.
func (s *Service) tagged(kind, id string) (*zone, *wire.Error) {
	switch kind {
	case "hostedzone":
		return s.zone(id)
	case "healthcheck":
		return nil, refuse(http.StatusNotFound, "NoSuchHealthCheck", "No health check exists with the specified ID: %s", id)
	}
	return nil, invalidInput("1 validation error detected: Value '%s' at 'resourceType' failed to satisfy constraint: Member must satisfy enum value set: [healthcheck, hostedzone]", kind)
}

type changeTagsIn struct {
	XMLName       xml.Name `xml:"ChangeTagsForResourceRequest"`
	AddTags       *tagSet
	RemoveTagKeys *struct{ Key []string }
}

type tagSet struct{ Tag []tag }

type changeTagsOut struct {
	XMLName xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ChangeTagsForResourceResponse"`
}

func (s *Service) changeTags(r *request) (any, error) {
	var in changeTagsIn
	if err := r.decode(&in, "ChangeTagsForResourceRequest"); err != nil {
		return nil, err
	}
	z, err := s.tagged(r.kind, r.id)
	if err != nil {
		return nil, err
	}
	tags := slices.Clone(z.Tags)
	if in.RemoveTagKeys != nil {
		if len(in.RemoveTagKeys.Key) > maxTagsPerCall {
			return nil, invalidInput("At most %d tag keys can be removed in one call", maxTagsPerCall)
		}
		tags = slices.DeleteFunc(tags, func(t tag) bool { return slices.Contains(in.RemoveTagKeys.Key, t.Key) })
	}
	if in.AddTags != nil {
		if len(in.AddTags.Tag) > maxTagsPerCall {
			return nil, invalidInput("At most %d tags can be added in one call", maxTagsPerCall)
		}
		for _, t := range in.AddTags.Tag {
			if t.Key == "" || utf8.RuneCountInString(t.Key) > 128 || utf8.RuneCountInString(t.Value) > 256 {
				return nil, invalidInput("A tag has a key of 1 to 128 characters and a value of at most 256")
			}
			if i := slices.IndexFunc(tags, func(have tag) bool { return have.Key == t.Key }); i >= 0 {
				tags[i].Value = t.Value
			} else {
				tags = append(tags, t)
			}
		}
	}
	if in.AddTags == nil && in.RemoveTagKeys == nil {
		return nil, invalidInput("Either AddTags or RemoveTagKeys must be given")
	}
	if len(tags) > maxTags {
		return nil, invalidInput("A resource has at most %d tags", maxTags)
	}
	z.Tags = tags
	s.zones.Put("", z.ID, z)
	return changeTagsOut{}, nil
}

type tagsView struct {
	ResourceType string
	ResourceID   string `xml:"ResourceId"`
	Tags         tagSet
}

type listTagsOut struct {
	XMLName        xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListTagsForResourceResponse"`
	ResourceTagSet tagsView
}

func (s *Service) listTags(r *request) (any, error) {
	z, err := s.tagged(r.kind, r.id)
	if err != nil {
		return nil, err
	}
	return listTagsOut{ResourceTagSet: tagsView{r.kind, z.ID, tagSet{z.Tags}}}, nil
}

type listManyIn struct {
	XMLName     xml.Name `xml:"ListTagsForResourcesRequest"`
	ResourceIDs []string `xml:"ResourceIds>ResourceId"`
}

type listManyOut struct {
	XMLName xml.Name   `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListTagsForResourcesResponse"`
	Sets    []tagsView `xml:"ResourceTagSets>ResourceTagSet"`
}

func (s *Service) listTagsOfMany(r *request) (any, error) {
	var in listManyIn
	if err := r.decode(&in, "ListTagsForResourcesRequest"); err != nil {
		return nil, err
	}
	if len(in.ResourceIDs) == 0 || len(in.ResourceIDs) > 10 {
		return nil, invalidInput("1 validation error detected: Value at 'resourceIds' failed to satisfy constraint: Member must have length between 1 and 10")
	}
	var out listManyOut
	for _, id := range in.ResourceIDs {
		z, err := s.tagged(r.kind, id)
		if err != nil {
			return nil, err
		}
		out.Sets = append(out.Sets, tagsView{r.kind, z.ID, tagSet{z.Tags}})
	}
	return out, nil
}
