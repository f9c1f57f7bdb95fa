// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type createVersionIn struct {
	LaunchTemplateId   string
	LaunchTemplateName string
	SourceVersion      string
	VersionDescription string
	ClientToken        string
	LaunchTemplateData LaunchData `wire:"LaunchTemplateData,required"`
}

type versionOut struct{ LaunchTemplateVersion TemplateVersion }

func (s *Service) createVersion(c *wire.Call, in *createVersionIn) (*versionOut, error) {
	t, err := s.Template(c, TemplateRef{in.LaunchTemplateId, in.LaunchTemplateName, ""})
	if err != nil {
		return nil, err
	}
	data := in.LaunchTemplateData
	if in.SourceVersion != "" {
		source, err := t.version(in.SourceVersion)
		if err != nil {
			return nil, err
		}
		data = source.LaunchTemplateData.over(data)
	}
	if err := data.check(); err != nil {
		return nil, err
	}
	number, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		if limit := c.Quota("launch-template-versions", defaultVersionQuota); len(t.Versions) >= limit {
			return "", wire.Errorf("LaunchTemplateVersionLimitExceeded", "The maximum number of versions has been reached: %d of %d.", limit, limit)
		}
		t.LatestVersionNumber++
		v := t.add(c, in.VersionDescription, data)
		s.templates.put(c, t)
		return strconv.FormatInt(v.VersionNumber, 10), nil
	})
	if err != nil {
		return nil, err
	}
	v, err := t.version(number)
	if err != nil {
		return nil, err
	}
	return &versionOut{t.shown(v)}, nil
}

func (t *LaunchTemplate) shown(v *TemplateVersion) TemplateVersion {
	out := *v
	out.DefaultVersion = v.VersionNumber == t.DefaultVersionNumber
	return out
}

type describeVersionsIn struct {
	LaunchTemplateId       string
	LaunchTemplateName     string
	Versions               []string `wire:"LaunchTemplateVersion"`
	MinVersion, MaxVersion string
	ResolveAlias           bool
	describe
}

type describeVersionsOut struct {
	NextToken string
	Versions  []*TemplateVersion `wire:"launchTemplateVersionSet"`
}

var versionFilters = map[string]func(*TemplateVersion) []string{
	"image-id":           one(func(v *TemplateVersion) string { return v.LaunchTemplateData.ImageId }),
	"instance-type":      one(func(v *TemplateVersion) string { return v.LaunchTemplateData.InstanceType }),
	"is-default-version": flag(func(v *TemplateVersion) bool { return v.DefaultVersion }),
}

func (s *Service) describeVersions(c *wire.Call, in *describeVersionsIn) (*describeVersionsOut, error) {
	rows, err := s.versionRows(c, in)
	if err != nil {
		return nil, err
	}
	if rows, err = filter(rows, in.Filters, versionFilters, nil); err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, wire.Bounds{Min: 1, Max: 200, Default: 200})
	if err != nil {
		return nil, err
	}
	return &describeVersionsOut{next, page}, nil
}

// versionRows lists a template's versions, newest first, or with only $Default
// or $Latest asked for those of every template.
func (s *Service) versionRows(c *wire.Call, in *describeVersionsIn) ([]*TemplateVersion, *wire.Error) {
	var rows []*TemplateVersion
	if in.LaunchTemplateId == "" && in.LaunchTemplateName == "" {
		for _, text := range in.Versions {
			if text != "$Default" && text != "$Latest" {
				return nil, wire.Errorf("MissingParameter", "A launch template must be named, unless only $Default and $Latest versions are asked for")
			}
		}
		if len(in.Versions) == 0 {
			return nil, wire.Errorf("MissingParameter", "The request must name a launch template or versions")
		}
		for _, t := range s.templates.table.Visible(c.Region) {
			for _, text := range in.Versions {
				if v, err := t.version(text); err == nil {
					shown := t.shown(v)
					rows = append(rows, &shown)
				}
			}
		}
		return rows, nil
	}
	t, err := s.Template(c, TemplateRef{in.LaunchTemplateId, in.LaunchTemplateName, ""})
	if err != nil {
		return nil, err
	}
	if len(in.Versions) > 0 {
		for _, text := range in.Versions {
			v, err := t.version(text)
			if err != nil {
				return nil, err
			}
			shown := t.shown(v)
			rows = append(rows, &shown)
		}
		return rows, nil
	}
	low, high := int64(1), t.LatestVersionNumber
	for text, bound := range map[string]*int64{in.MinVersion: &low, in.MaxVersion: &high} {
		if text == "" {
			continue
		}
		n, parseErr := strconv.ParseInt(text, 10, 64)
		if parseErr != nil {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for a version bound is invalid. It must be a number", text)
		}
		*bound = n
	}
	for i := range slices.Backward(t.Versions) {
		if v := &t.Versions[i]; v.VersionNumber >= low && v.VersionNumber <= high {
			shown := t.shown(v)
			rows = append(rows, &shown)
		}
	}
	return rows, nil
}

type deleteVersionsIn struct {
	LaunchTemplateId, LaunchTemplateName string
	Versions                             []string `wire:"LaunchTemplateVersion,required"`
}

type deletedVersion struct {
	LaunchTemplateId, LaunchTemplateName string
	VersionNumber                        int64
	ResponseError                        *responseError
}

type responseError struct{ Code, Message string }

type deleteVersionsOut struct {
	Deleted []deletedVersion `wire:"successfullyDeletedLaunchTemplateVersionSet"`
	Kept    []deletedVersion `wire:"unsuccessfullyDeletedLaunchTemplateVersionSet"`
}

func (s *Service) deleteVersions(c *wire.Call, in *deleteVersionsIn) (*deleteVersionsOut, error) {
	if len(in.Versions) > 200 {
		return nil, wire.Errorf("InvalidParameterValue", "At most 200 versions can be deleted in one call")
	}
	t, err := s.Template(c, TemplateRef{in.LaunchTemplateId, in.LaunchTemplateName, ""})
	if err != nil {
		return nil, err
	}
	out := &deleteVersionsOut{}
	for _, text := range in.Versions {
		n, parseErr := strconv.ParseInt(text, 10, 64)
		if parseErr != nil {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter versions is invalid. It must be a number", text)
		}
		d := deletedVersion{LaunchTemplateId: t.LaunchTemplateId, LaunchTemplateName: t.LaunchTemplateName, VersionNumber: n}
		i := slices.IndexFunc(t.Versions, func(v TemplateVersion) bool { return v.VersionNumber == n })
		switch {
		case i < 0:
			d.ResponseError = &responseError{"launchTemplateVersionDoesNotExist", "The version " + text + " does not exist."}
		case n == t.DefaultVersionNumber:
			d.ResponseError = &responseError{"unexpectedError", "Cannot delete the default version " + text + " of the launch template."}
		default:
			t.Versions = slices.Delete(t.Versions, i, i+1)
		}
		if d.ResponseError == nil {
			out.Deleted = append(out.Deleted, d)
		} else {
			out.Kept = append(out.Kept, d)
		}
	}
	s.templates.put(c, t)
	return out, nil
}
