// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// role is a row of the table of roles.
type role struct {
	Name, ID, Path, ARN string
	Description         string
	Trust               string
	MaxSession          int
	Created             time.Time
	holder
}

func (s *Service) role(name string) (*role, *wire.Error) {
	if r := s.roles.Get("", key(name)); r != nil {
		return r, nil
	}
	return nil, noSuchEntity("The role with name %s cannot be found.", name)
}

// roleView is a role as IAM shows it.
type roleView struct {
	Path, RoleName, RoleId, Arn string
	CreateDate                  time.Time
	AssumeRolePolicyDocument    string
	Description                 string
	MaxSessionDuration          int `wire:"MaxSessionDuration,omitempty"`
	PermissionsBoundary         *boundaryView
	Tags                        []Tag `wire:"Tags,omitempty"`
	RoleLastUsed                *struct{}
}

type boundaryView struct{ PermissionsBoundaryType, PermissionsBoundaryArn string }

// view shows a role; lists leave tags and boundary out.
func (r *role) view(whole bool) roleView {
	v := roleView{Path: r.Path, RoleName: r.Name, RoleId: r.ID, Arn: r.ARN, CreateDate: r.Created,
		AssumeRolePolicyDocument: escape(r.Trust), Description: r.Description, MaxSessionDuration: r.MaxSession}
	if whole {
		v.Tags = r.Tags
		v.RoleLastUsed = &struct{}{}
		if r.Boundary != "" {
			v.PermissionsBoundary = &boundaryView{"Policy", r.Boundary}
		}
	}
	return v
}

type roleOut struct{ Role roleView }

func (s *Service) roleOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateRole": wire.Op(s.createRole), "GetRole": wire.Op(s.getRole), "DeleteRole": wire.Op(s.deleteRole),
		"ListRoles": wire.Op(s.listRoles), "UpdateRole": wire.Op(s.updateRole), "UpdateAssumeRolePolicy": wire.Op(s.updateTrust),
	}
}

func (s *Service) createRole(c *wire.Call, in *struct {
	ofRole
	Path, Description, PermissionsBoundary string
	AssumeRolePolicyDocument               string `wire:"AssumeRolePolicyDocument,required"`
	MaxSessionDuration                     *int
	Tags                                   []Tag
}) (*roleOut, error) {
	if err := checkName("roleName", in.RoleName, 64); err != nil {
		return nil, err
	}
	if err := checkPath(&in.Path); err != nil {
		return nil, err
	}
	if s.roles.Get("", key(in.RoleName)) != nil {
		return nil, exists("Role", in.RoleName)
	}
	r := &role{Name: in.RoleName, ID: s.newID("AROA"), Path: in.Path, ARN: s.arn("role", in.Path, in.RoleName), Created: stamp(c.Now)}
	if err := s.fillRole(r, &in.Description, in.MaxSessionDuration); err != nil {
		return nil, err
	}
	if r.MaxSession == 0 {
		r.MaxSession = 3600
	}
	if err := s.setTrust(r, in.AssumeRolePolicyDocument); err != nil {
		return nil, err
	}
	if in.PermissionsBoundary != "" {
		if _, err := s.managed(in.PermissionsBoundary); err != nil {
			return nil, err
		}
		r.Boundary = in.PermissionsBoundary
	}
	var err *wire.Error
	if r.Tags, err = mergeTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if most := c.Quota("iam/roles", 1000); len(s.roles.All("")) >= most {
		return nil, limitExceeded("Cannot exceed quota for RolesPerAccount: %d", most)
	}
	s.roles.Put("", key(r.Name), r)
	return &roleOut{r.view(true)}, nil
}

func (s *Service) fillRole(r *role, description *string, session *int) *wire.Error {
	if description != nil && len(*description) > 1000 {
		return invalid("1 validation error detected: Value at 'description' failed to satisfy constraint: Member must have length less than or equal to 1000")
	}
	if session != nil && (*session < 3600 || *session > 43200) {
		return invalid("1 validation error detected: Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must have value between 3600 and 43200", *session)
	}
	if description != nil {
		r.Description = *description
	}
	if session != nil {
		r.MaxSession = *session
	}
	return nil
}

func (s *Service) setTrust(r *role, text string) *wire.Error {
	if err := checkDocument(text, trustPolicy); err != nil {
		return err
	}
	if err := s.checkPrincipals(text); err != nil {
		return err
	}
	if weight(text) > 2048 {
		return limitExceeded("Cannot exceed quota for ACLSizePerRole: 2048")
	}
	r.Trust = text
	return nil
}

func (s *Service) getRole(_ *wire.Call, in *ofRole) (*roleOut, error) {
	r := s.roles.Find("", key(in.RoleName))
	if r == nil {
		return nil, noSuchEntity("The role with name %s cannot be found.", in.RoleName)
	}
	return &roleOut{r.view(true)}, nil
}

func (s *Service) deleteRole(_ *wire.Call, in *ofRole) (*none, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	if len(s.profilesOf(r.Name)) > 0 {
		return nil, conflict("Cannot delete entity, must remove roles from instance profile first.")
	}
	if err := r.undeletable(); err != nil {
		return nil, err
	}
	s.roles.Delete("", key(r.Name))
	return &none{}, nil
}

// undeletable says what keeps a role or user from being deleted.
func (h *holder) undeletable() *wire.Error {
	if len(h.Attached) > 0 {
		return conflict("Cannot delete entity, must detach all policies first.")
	}
	if len(h.Inline) > 0 {
		return conflict("Cannot delete entity, must delete policies first.")
	}
	return nil
}

type roleList struct {
	Roles []roleView
	paged
}

func (s *Service) listRoles(c *wire.Call, in *struct {
	PathPrefix string
	paging
}) (*roleList, error) {
	rows := []roleView{}
	for _, r := range s.roles.Visible("") {
		if strings.HasPrefix(r.Path, in.PathPrefix) {
			rows = append(rows, r.view(false))
		}
	}
	rows, more, err := page(c, rows, in.paging)
	return &roleList{rows, more}, err
}

func (s *Service) updateRole(_ *wire.Call, in *struct {
	ofRole
	Description        *string
	MaxSessionDuration *int
}) (*none, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	if err := s.fillRole(r, in.Description, in.MaxSessionDuration); err != nil {
		return nil, err
	}
	s.roles.Put("", key(r.Name), r)
	return &none{}, nil
}

func (s *Service) updateTrust(_ *wire.Call, in *struct {
	ofRole
	PolicyDocument string `wire:"PolicyDocument,required"`
}) (*none, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	if err := s.setTrust(r, in.PolicyDocument); err != nil {
		return nil, err
	}
	s.roles.Put("", key(r.Name), r)
	return &none{}, nil
}
