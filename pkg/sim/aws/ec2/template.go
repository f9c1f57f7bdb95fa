// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// LaunchTemplate is a template with all its versions.
type LaunchTemplate struct {
	LaunchTemplateId     string
	LaunchTemplateName   string
	CreateTime           time.Time
	CreatedBy            string
	DefaultVersionNumber int64
	LatestVersionNumber  int64
	Tags                 []Tag             `wire:"tagSet"`
	Versions             []TemplateVersion `wire:"-"` // ascending
}

// TemplateVersion is one version of a template.
type TemplateVersion struct {
	LaunchTemplateId   string
	LaunchTemplateName string
	VersionNumber      int64
	VersionDescription string
	CreateTime         time.Time
	CreatedBy          string
	DefaultVersion     bool
	LaunchTemplateData LaunchData
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

const (
	defaultTemplateQuota = 5000
	defaultVersionQuota  = 10000
)

func newTemplateKind(s *Service, w *world.World) (*kind[LaunchTemplate], error) {
	return newKind(s, w, kind[LaunchTemplate]{
		resource: "launch-template", prefix: "lt-", notFound: "InvalidLaunchTemplateId.NotFound", word: "launch template, with template ID",
		id:   func(t *LaunchTemplate) string { return t.LaunchTemplateId },
		tags: func(t *LaunchTemplate) *[]Tag { return &t.Tags },
		filters: map[string]func(*LaunchTemplate) []string{
			"launch-template-name": one(func(t *LaunchTemplate) string { return t.LaunchTemplateName }),
			"create-time":          one(func(t *LaunchTemplate) string { return t.CreateTime.Format(wire.TimeFormat) }),
		},
		bounds: wire.Bounds{Min: 1, Max: 200, Default: 200},
	})
}

func (s *Service) templateOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateLaunchTemplate": op(s.createTemplate), "DescribeLaunchTemplates": op(s.describeTemplates), "DeleteLaunchTemplate": op(s.deleteTemplate),
		"ModifyLaunchTemplate": op(s.modifyTemplate), "CreateLaunchTemplateVersion": op(s.createVersion),
		"DescribeLaunchTemplateVersions": op(s.describeVersions), "DeleteLaunchTemplateVersions": op(s.deleteVersions),
	}
}

// TemplateRef names a template by id or name; the version is a number, $Default, $Latest or "" for the default.
type TemplateRef struct {
	LaunchTemplateId, LaunchTemplateName, Version string
}

// Template finds the template that ref names.
func (s *Service) Template(c *wire.Call, ref TemplateRef) (*LaunchTemplate, *wire.Error) {
	switch {
	case (ref.LaunchTemplateId == "") == (ref.LaunchTemplateName == ""):
		return nil, wire.Errorf("InvalidParameterCombination", "You must specify either a launch template ID or a launch template name, and not both.")
	case ref.LaunchTemplateId != "":
		return s.templates.get(c, ref.LaunchTemplateId)
	}
	if t := s.templateByName(c, ref.LaunchTemplateName); t != nil {
		return t, nil
	}
	return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", ref.LaunchTemplateName)
}

// TemplateVersion finds the template and the version that ref names.
func (s *Service) TemplateVersion(c *wire.Call, ref TemplateRef) (*LaunchTemplate, *TemplateVersion, *wire.Error) {
	t, err := s.Template(c, ref)
	if err != nil {
		return nil, nil, err
	}
	v, err := t.version(ref.Version)
	return t, v, err
}

func (t *LaunchTemplate) version(text string) (*TemplateVersion, *wire.Error) {
	number := t.DefaultVersionNumber
	switch text {
	case "", "$Default":
	case "$Latest":
		number = t.LatestVersionNumber
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", text, t.LaunchTemplateId)
		}
		number = n
	}
	i := slices.IndexFunc(t.Versions, func(v TemplateVersion) bool { return v.VersionNumber == number })
	if i < 0 {
		return nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", text, t.LaunchTemplateId)
	}
	return &t.Versions[i], nil
}

func (s *Service) templateByName(c *wire.Call, name string) *LaunchTemplate {
	return s.templates.first(c, func(t *LaunchTemplate) bool { return t.LaunchTemplateName == name })
}

type createTemplateIn struct {
	LaunchTemplateName string     `wire:"LaunchTemplateName,required"`
	LaunchTemplateData LaunchData `wire:"LaunchTemplateData,required"`
	VersionDescription string
	ClientToken        string
	TagSpecifications  []TagSpecification `wire:"TagSpecification"`
}

type templateOut struct{ LaunchTemplate LaunchTemplate }

func (s *Service) createTemplate(c *wire.Call, in *createTemplateIn) (*templateOut, error) {
	if !templateName.MatchString(in.LaunchTemplateName) {
		return nil, wire.Errorf("InvalidLaunchTemplateName.MalformedException", "A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _.")
	}
	if len(in.VersionDescription) > 255 {
		return nil, wire.Errorf("InvalidParameterValue", "A version's description takes 255 characters at most")
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "launch-template")
	if tagErr != nil {
		return nil, tagErr
	}
	if err := in.LaunchTemplateData.check(); err != nil {
		return nil, err
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		if s.templateByName(c, in.LaunchTemplateName) != nil {
			return "", wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
		if limit := c.Quota("launch-templates", defaultTemplateQuota); len(s.templates.all(c)) >= limit {
			return "", wire.Errorf("LaunchTemplateLimitExceeded", "The maximum number of launch templates has been reached: %d of %d.", limit, limit)
		}
		t := &LaunchTemplate{
			LaunchTemplateId: s.newID("lt-"), LaunchTemplateName: in.LaunchTemplateName, CreateTime: c.Now.UTC(), CreatedBy: c.Principal.ARN,
			DefaultVersionNumber: 1, LatestVersionNumber: 1, Tags: tags,
		}
		t.add(c, in.VersionDescription, in.LaunchTemplateData)
		s.templates.put(c, t)
		return t.LaunchTemplateId, nil
	})
	if err != nil {
		return nil, err
	}
	t, err := s.templates.get(c, id)
	if err != nil {
		return nil, err
	}
	return &templateOut{*t}, nil
}

func (t *LaunchTemplate) add(c *wire.Call, description string, data LaunchData) *TemplateVersion {
	t.Versions = append(t.Versions, TemplateVersion{
		LaunchTemplateId: t.LaunchTemplateId, LaunchTemplateName: t.LaunchTemplateName, VersionNumber: t.LatestVersionNumber,
		VersionDescription: description, CreateTime: c.Now.UTC(), CreatedBy: c.Principal.ARN, LaunchTemplateData: data,
	})
	return &t.Versions[len(t.Versions)-1]
}

type describeTemplatesIn struct {
	Ids   []string `wire:"LaunchTemplateId"`
	Names []string `wire:"LaunchTemplateName"`
	describe
}

type describeTemplatesOut struct {
	NextToken string
	Templates []*LaunchTemplate `wire:"launchTemplates"`
}

func (s *Service) describeTemplates(c *wire.Call, in *describeTemplatesIn) (*describeTemplatesOut, error) {
	ids := slices.Clone(in.Ids)
	for _, name := range in.Names {
		t := s.templateByName(c, name)
		if t == nil || s.templates.table.Find(c.Region, t.LaunchTemplateId) == nil {
			return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "At least one of the launch templates specified in the request does not exist.")
		}
		ids = append(ids, t.LaunchTemplateId)
	}
	rows, next, err := s.templates.list(c, ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeTemplatesOut{next, rows}, nil
}

func (s *Service) deleteTemplate(c *wire.Call, in *struct{ LaunchTemplateId, LaunchTemplateName string }) (*templateOut, error) {
	t, err := s.Template(c, TemplateRef{in.LaunchTemplateId, in.LaunchTemplateName, ""})
	if err != nil {
		return nil, err
	}
	s.templates.remove(c, t)
	return &templateOut{*t}, nil
}

type modifyTemplateIn struct {
	LaunchTemplateId, LaunchTemplateName, ClientToken string
	DefaultVersion                                    string `wire:"SetDefaultVersion,required"`
}

func (s *Service) modifyTemplate(c *wire.Call, in *modifyTemplateIn) (*templateOut, error) {
	t, v, err := s.TemplateVersion(c, TemplateRef{in.LaunchTemplateId, in.LaunchTemplateName, in.DefaultVersion})
	if err != nil {
		return nil, err
	}
	t.DefaultVersionNumber = v.VersionNumber
	s.templates.put(c, t)
	return &templateOut{*t}, nil
}
