// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// profile is a row of the table of instance profiles.
type profile struct {
	Name, ID, Path, ARN string
	Created             time.Time
	Role                string // "" or the one role's name
	Tags                []Tag
}

func (s *Service) profile(name string) (*profile, *wire.Error) {
	if p := s.profiles.Get("", key(name)); p != nil {
		return p, nil
	}
	return nil, noSuchEntity("Instance Profile %s cannot be found.", name)
}

// profilesOf are the instance profiles that hold a role.
func (s *Service) profilesOf(roleName string) []*profile {
	var out []*profile
	for _, p := range s.profiles.All("") {
		if p.Role != "" && key(p.Role) == key(roleName) {
			out = append(out, p)
		}
	}
	return out
}

// InstanceProfile finds an instance profile by name or ARN, for EC2.
func (s *Service) InstanceProfile(nameOrARN string) (arn, id string, ok bool) {
	name := nameOrARN
	if strings.HasPrefix(name, "arn:") {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	p := s.profiles.Get("", key(name))
	if p == nil || nameOrARN != name && p.ARN != nameOrARN {
		return "", "", false
	}
	return p.ARN, p.ID, true
}

// RoleOfProfile is the ARN and id of the role in an instance profile, "" when
// it has none.
func (s *Service) RoleOfProfile(profileARN string) (name, arn, id string) {
	for _, p := range s.profiles.All("") {
		if p.ARN != profileARN {
			continue
		}
		if r := s.roles.Get("", key(p.Role)); r != nil {
			return r.Name, r.ARN, r.ID
		}
	}
	return "", "", ""
}

type profileView struct {
	Path, InstanceProfileName, InstanceProfileId, Arn string
	CreateDate                                        time.Time
	Roles                                             []roleView
	Tags                                              []Tag `wire:"Tags,omitempty"`
}

func (s *Service) profileView(p *profile, whole bool) profileView {
	v := profileView{Path: p.Path, InstanceProfileName: p.Name, InstanceProfileId: p.ID, Arn: p.ARN, CreateDate: p.Created}
	if r := s.roles.Get("", key(p.Role)); p.Role != "" && r != nil {
		v.Roles = []roleView{r.view(false)}
	}
	if whole {
		v.Tags = p.Tags
	}
	return v
}

type ofProfile struct {
	InstanceProfileName string `wire:"InstanceProfileName,required"`
}

type profileOut struct{ InstanceProfile profileView }

type profileList struct {
	InstanceProfiles []profileView
	paged
}

func (s *Service) profileOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateInstanceProfile": wire.Op(s.createProfile), "GetInstanceProfile": wire.Op(s.getProfile),
		"DeleteInstanceProfile": wire.Op(s.deleteProfile), "ListInstanceProfiles": wire.Op(s.listProfiles),
		"ListInstanceProfilesForRole": wire.Op(s.listProfilesForRole),
		"AddRoleToInstanceProfile":    wire.Op(s.addRole), "RemoveRoleFromInstanceProfile": wire.Op(s.removeRole),
	}
}

func (s *Service) createProfile(c *wire.Call, in *struct {
	ofProfile
	Path string
	Tags []Tag
}) (*profileOut, error) {
	if err := checkName("instanceProfileName", in.InstanceProfileName, 128); err != nil {
		return nil, err
	}
	if err := checkPath(&in.Path); err != nil {
		return nil, err
	}
	if s.profiles.Get("", key(in.InstanceProfileName)) != nil {
		return nil, exists("Instance Profile", in.InstanceProfileName)
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	if most := c.Quota("iam/instance-profiles", 1000); len(s.profiles.All("")) >= most {
		return nil, limitExceeded("Cannot exceed quota for InstanceProfilesPerAccount: %d", most)
	}
	p := &profile{Name: in.InstanceProfileName, ID: s.newID("AIPA"), Path: in.Path, Created: stamp(c.Now), Tags: tags,
		ARN: s.arn("instance-profile", in.Path, in.InstanceProfileName)}
	s.profiles.Put("", key(p.Name), p)
	return &profileOut{s.profileView(p, true)}, nil
}

func (s *Service) getProfile(_ *wire.Call, in *ofProfile) (*profileOut, error) {
	p := s.profiles.Find("", key(in.InstanceProfileName))
	if p == nil {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", in.InstanceProfileName)
	}
	return &profileOut{s.profileView(p, true)}, nil
}

func (s *Service) deleteProfile(_ *wire.Call, in *ofProfile) (*none, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, conflict("Cannot delete entity, must remove roles from instance profile first.")
	}
	s.profiles.Delete("", key(p.Name))
	return &none{}, nil
}

func (s *Service) listProfiles(c *wire.Call, in *struct {
	paging
	PathPrefix string
}) (*profileList, error) {
	rows := []profileView{}
	for _, p := range s.profiles.Visible("") {
		if strings.HasPrefix(p.Path, in.PathPrefix) {
			rows = append(rows, s.profileView(p, false))
		}
	}
	rows, more, err := page(c, rows, in.paging)
	return &profileList{rows, more}, err
}

func (s *Service) listProfilesForRole(c *wire.Call, in *struct {
	ofRole
	paging
}) (*profileList, error) {
	if _, err := s.role(in.RoleName); err != nil {
		return nil, err
	}
	rows := []profileView{}
	for _, p := range s.profilesOf(in.RoleName) {
		rows = append(rows, s.profileView(p, false))
	}
	rows, more, err := page(c, rows, in.paging)
	return &profileList{rows, more}, err
}

type ofBoth struct {
	ofProfile
	ofRole
}

func (s *Service) addRole(_ *wire.Call, in *ofBoth) (*none, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, limitExceeded("Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.Role = r.Name
	s.profiles.Put("", key(p.Name), p)
	return &none{}, nil
}

func (s *Service) removeRole(_ *wire.Call, in *ofBoth) (*none, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Role == "" || key(p.Role) != key(in.RoleName) {
		return nil, noSuchEntity("The role with name %s cannot be found.", in.RoleName)
	}
	p.Role = ""
	s.profiles.Put("", key(p.Name), p)
	return &none{}, nil
}
