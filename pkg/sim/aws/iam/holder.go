// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// holder is what roles and users have in common: policies and tags.
type holder struct {
	Inline   []document
	Attached []string // ARNs of managed policies
	Boundary string   // ARN
	Tags     []Tag
}

// document is a named policy document.
type document struct{ Name, Text string }

// owner is a role or user on which an operation works.
type owner struct {
	*holder
	kind, name string
	inlineMax  int // bytes of all inline policies, white space aside
	save       func()
}

func (s *Service) roleOwner(name string) (owner, *wire.Error) {
	r, err := s.role(name)
	if err != nil {
		return owner{}, err
	}
	return owner{&r.holder, "role", r.Name, 10240, func() { s.roles.Put("", key(name), r) }}, nil
}

func (s *Service) userOwner(name string) (owner, *wire.Error) {
	u, err := s.user(name)
	if err != nil {
		return owner{}, err
	}
	return owner{&u.holder, "user", u.Name, 2048, func() { s.users.Put("", key(name), u) }}, nil
}

// named is the name of a role or of a user, whichever an operation takes.
type (
	ofRole struct {
		RoleName string `wire:"RoleName,required"`
	}
	ofUser struct {
		UserName string `wire:"UserName,required"`
	}
	ofPolicy struct {
		PolicyName string `wire:"PolicyName,required"`
	}
)

// inlineOps are the operations on inline policies, for roles and users alike.
func (s *Service) inlineOps() map[string]wire.Handler {
	type putIn struct {
		ofPolicy
		PolicyDocument string `wire:"PolicyDocument,required"`
	}
	type roleDoc struct {
		RoleName, PolicyName, PolicyDocument string
	}
	type userDoc struct {
		UserName, PolicyName, PolicyDocument string
	}
	return map[string]wire.Handler{
		"PutRolePolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofRole
			putIn
		}) (*none, error) {
			return putInline(s.roleOwner, in.RoleName, in.PolicyName, in.PolicyDocument)
		}),
		"PutUserPolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofUser
			putIn
		}) (*none, error) {
			return putInline(s.userOwner, in.UserName, in.PolicyName, in.PolicyDocument)
		}),
		"GetRolePolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofRole
			ofPolicy
		}) (*roleDoc, error) {
			o, d, err := getInline(s.roleOwner, in.RoleName, in.PolicyName)
			return &roleDoc{o.name, d.Name, escape(d.Text)}, err
		}),
		"GetUserPolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofUser
			ofPolicy
		}) (*userDoc, error) {
			o, d, err := getInline(s.userOwner, in.UserName, in.PolicyName)
			return &userDoc{o.name, d.Name, escape(d.Text)}, err
		}),
		"DeleteRolePolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofRole
			ofPolicy
		}) (*none, error) {
			return deleteInline(s.roleOwner, in.RoleName, in.PolicyName)
		}),
		"DeleteUserPolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofUser
			ofPolicy
		}) (*none, error) {
			return deleteInline(s.userOwner, in.UserName, in.PolicyName)
		}),
		"ListRolePolicies": wire.Op(func(c *wire.Call, in *struct {
			ofRole
			paging
		}) (*inlineList, error) {
			return listInline(c, s.roleOwner, in.RoleName, in.paging)
		}),
		"ListUserPolicies": wire.Op(func(c *wire.Call, in *struct {
			ofUser
			paging
		}) (*inlineList, error) {
			return listInline(c, s.userOwner, in.UserName, in.paging)
		}),
	}
}

// none is the answer of operations that only say that they worked.
type none struct{}

type finder func(name string) (owner, *wire.Error)

type inlineList struct {
	PolicyNames []string
	paged
}

func putInline(find finder, name, policyName, text string) (*none, error) {
	o, err := find(name)
	if err != nil {
		return nil, err
	}
	if err := checkName("policyName", policyName, 128); err != nil {
		return nil, err
	}
	if err := checkDocument(text, identityPolicy); err != nil {
		return nil, err
	}
	next := slices.Clone(o.Inline)
	if i := indexOf(next, policyName); i >= 0 {
		next[i].Text = text
	} else {
		next = append(next, document{policyName, text})
	}
	size := 0
	for _, d := range next {
		size += weight(d.Text)
	}
	if size > o.inlineMax {
		return nil, limitExceeded("Maximum policy size of %d bytes exceeded for %s %s", o.inlineMax, o.kind, o.name)
	}
	o.Inline = next
	o.save()
	return &none{}, nil
}

func getInline(find finder, name, policyName string) (owner, document, error) {
	o, err := find(name)
	if err != nil {
		return o, document{}, err
	}
	i := indexOf(o.Inline, policyName)
	if i < 0 {
		return o, document{}, noSuchEntity("The %s policy with name %s cannot be found.", o.kind, policyName)
	}
	return o, o.Inline[i], nil
}

func deleteInline(find finder, name, policyName string) (*none, error) {
	o, _, err := getInline(find, name, policyName)
	if err != nil {
		return nil, err
	}
	i := indexOf(o.Inline, policyName)
	o.Inline = slices.Delete(o.Inline, i, i+1)
	o.save()
	return &none{}, nil
}

func listInline(c *wire.Call, find finder, name string, p paging) (*inlineList, error) {
	o, rerr := find(name)
	if rerr != nil {
		return nil, rerr
	}
	names := []string{}
	for _, d := range o.Inline {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	rows, more, err := page(c, names, p)
	return &inlineList{rows, more}, err
}

func indexOf(list []document, name string) int {
	return slices.IndexFunc(list, func(d document) bool { return strings.EqualFold(d.Name, name) })
}

// escape writes a document as IAM returns it: URL-encoded.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// attachOps are the operations on managed policies of roles and users.
func (s *Service) attachOps() map[string]wire.Handler {
	type arn struct {
		PolicyArn string `wire:"PolicyArn,required"`
	}
	type listIn struct {
		paging
		PathPrefix string
	}
	return map[string]wire.Handler{
		"AttachRolePolicy": wire.Op(func(c *wire.Call, in *struct {
			ofRole
			arn
		}) (*none, error) {
			return s.attach(c, s.roleOwner, in.RoleName, in.PolicyArn)
		}),
		"AttachUserPolicy": wire.Op(func(c *wire.Call, in *struct {
			ofUser
			arn
		}) (*none, error) {
			return s.attach(c, s.userOwner, in.UserName, in.PolicyArn)
		}),
		"DetachRolePolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofRole
			arn
		}) (*none, error) {
			return detach(s.roleOwner, in.RoleName, in.PolicyArn)
		}),
		"DetachUserPolicy": wire.Op(func(_ *wire.Call, in *struct {
			ofUser
			arn
		}) (*none, error) {
			return detach(s.userOwner, in.UserName, in.PolicyArn)
		}),
		"ListAttachedRolePolicies": wire.Op(func(c *wire.Call, in *struct {
			ofRole
			listIn
		}) (*attachedList, error) {
			return s.listAttached(c, s.roleOwner, in.RoleName, in.PathPrefix, in.paging)
		}),
		"ListAttachedUserPolicies": wire.Op(func(c *wire.Call, in *struct {
			ofUser
			listIn
		}) (*attachedList, error) {
			return s.listAttached(c, s.userOwner, in.UserName, in.PathPrefix, in.paging)
		}),
		"PutRolePermissionsBoundary": wire.Op(func(_ *wire.Call, in *struct {
			ofRole
			PermissionsBoundary string `wire:"PermissionsBoundary,required"`
		}) (*none, error) {
			return s.setBoundary(in.RoleName, in.PermissionsBoundary)
		}),
		"DeleteRolePermissionsBoundary": wire.Op(func(_ *wire.Call, in *ofRole) (*none, error) {
			return s.setBoundary(in.RoleName, "")
		}),
	}
}

func (s *Service) setBoundary(roleName, arn string) (*none, error) {
	o, err := s.roleOwner(roleName)
	if err != nil {
		return nil, err
	}
	if arn == "" && o.Boundary == "" {
		return nil, noSuchEntity("Role with name %s does not have a permissions boundary.", roleName)
	}
	if arn != "" {
		if _, err := s.managed(arn); err != nil {
			return nil, err
		}
	}
	o.Boundary = arn
	o.save()
	return &none{}, nil
}

func (s *Service) attach(c *wire.Call, find finder, name, arn string) (*none, error) {
	o, err := find(name)
	if err != nil {
		return nil, err
	}
	if _, err := s.managed(arn); err != nil {
		return nil, err
	}
	if slices.Contains(o.Attached, arn) {
		return &none{}, nil
	}
	if most := c.Quota("iam/policies-per-"+o.kind, 10); len(o.Attached) >= most {
		return nil, limitExceeded("Cannot exceed quota for PoliciesPer%s: %d", strings.ToUpper(o.kind[:1])+o.kind[1:], most)
	}
	o.Attached = append(o.Attached, arn)
	o.save()
	return &none{}, nil
}

func detach(find finder, name, arn string) (*none, error) {
	o, err := find(name)
	if err != nil {
		return nil, err
	}
	i := slices.Index(o.Attached, arn)
	if i < 0 {
		return nil, noSuchEntity("Policy %s was not found.", arn)
	}
	o.Attached = slices.Delete(o.Attached, i, i+1)
	o.save()
	return &none{}, nil
}

type attachedPolicy struct{ PolicyName, PolicyArn string }

type attachedList struct {
	AttachedPolicies []attachedPolicy
	paged
}

func (s *Service) listAttached(c *wire.Call, find finder, name, prefix string, p paging) (*attachedList, error) {
	o, rerr := find(name)
	if rerr != nil {
		return nil, rerr
	}
	rows := []attachedPolicy{}
	for _, arn := range o.Attached {
		m, err := s.managed(arn)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(m.Path, prefix) {
			rows = append(rows, attachedPolicy{m.Name, arn})
		}
	}
	rows, more, err := page(c, rows, p)
	return &attachedList{rows, more}, err
}
