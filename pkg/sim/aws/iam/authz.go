// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"maps"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// targets are the parameters that name what a call is about, with the types of
// resources; the first one that an operation has is what it is judged on.
var targets = []struct{ param, kind string }{
	{"InstanceProfileName", "instance-profile"}, {"RoleName", "role"}, {"UserName", "user"},
	{"OpenIDConnectProviderArn", "oidc-provider"}, {"PolicyArn", "policy"}, {"PolicyName", "policy"}, {"Url", "oidc-provider"},
}

// kindOf tells what an operation is about by its name, "" for lists and the account.
func kindOf(op string) string {
	switch {
	case op == "AttachRolePolicy", op == "DetachRolePolicy", op == "PutRolePolicy", op == "ListInstanceProfilesForRole", op == "UpdateAssumeRolePolicy":
		return "role"
	case op == "ListRoles", op == "ListUsers", op == "ListPolicies", op == "ListInstanceProfiles", op == "ListOpenIDConnectProviders", op == "GetAccountSummary":
		return ""
	case strings.Contains(op, "InstanceProfile"):
		return "instance-profile"
	case strings.Contains(op, "Role"):
		return "role"
	case strings.Contains(op, "User"), strings.Contains(op, "AccessKey"):
		return "user"
	case strings.Contains(op, "OpenIDConnectProvider"):
		return "oidc-provider"
	}
	return "policy"
}

// Actions lists what Checks may ask.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{"iam:PassRole": {"role"}}
	for op := range s.Ops {
		out["iam:"+op] = nil
		if kind := kindOf(op); kind != "" {
			out["iam:"+op] = []string{kind}
		}
	}
	return out
}

// Checks says which rights a call needs.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	kind := kindOf(c.Action)
	k := wire.Check{Action: "iam:" + c.Action, Resource: "*"}
	if kind != "" {
		k.Resource = s.about(c, kind)
		s.describeTarget(c, &k, kind)
	}
	k.RequestTags(c.TagParams("Tags"))
	if strings.HasPrefix(c.Action, "Untag") {
		k.RequestTagKeys(c.Values("TagKeys"))
	}
	if (c.Action == "AttachRolePolicy" || c.Action == "DetachRolePolicy" || c.Action == "AttachUserPolicy" || c.Action == "DetachUserPolicy") && c.Params.Has("PolicyArn") {
		k.Set("iam:PolicyARN", c.Params.Get("PolicyArn"))
	}
	checks := []wire.Check{k}
	if len(c.TagParams("Tags")) > 0 && strings.HasPrefix(c.Action, "Create") {
		tagging := k
		tagging.Action = "iam:Tag" + strings.TrimPrefix(c.Action, "Create")
		tagging.Keys = maps.Clone(k.Keys)
		delete(tagging.Keys, "iam:permissionsboundary")
		checks = append(checks, tagging)
	}
	if c.Action == "AddRoleToInstanceProfile" {
		pass := wire.Check{Action: "iam:PassRole", Resource: s.named("role", c.Params.Get("RoleName"), "/")}
		pass.Set("iam:PassedToService", "ec2.amazonaws.com")
		checks = append(checks, pass)
	}
	return checks
}

// about is the ARN that a call is judged on.
func (s *Service) about(c *wire.Call, kind string) string {
	for _, t := range targets {
		v := c.Params.Get(t.param)
		if t.kind != kind || v == "" {
			continue
		}
		switch t.param {
		case "OpenIDConnectProviderArn", "PolicyArn":
			return v
		case "Url":
			return s.arn("oidc-provider", "/", strings.TrimSuffix(strings.TrimPrefix(v, "https://"), "/"))
		}
		path := c.Params.Get("Path")
		if path == "" {
			path = "/"
		}
		return s.named(kind, v, path)
	}
	if kind == "user" {
		return c.Principal.ARN // without a name it is the caller
	}
	return s.arn(kind, "/", "*")
}

// named is the ARN of something by its name; path is for what is not there yet.
func (s *Service) named(kind, name, path string) string {
	switch kind {
	case "role":
		if r := s.roles.Get("", key(name)); r != nil {
			return r.ARN
		}
	case "user":
		if u := s.users.Get("", key(name)); u != nil {
			return u.ARN
		}
	case "instance-profile":
		if p := s.profiles.Get("", key(name)); p != nil {
			return p.ARN
		}
	}
	return s.arn(kind, path, name)
}

// describeTarget gives the tags and the boundary of what the call is about.
func (s *Service) describeTarget(c *wire.Call, k *wire.Check, kind string) {
	if boundary := c.Params.Get("PermissionsBoundary"); boundary != "" {
		k.Set("iam:PermissionsBoundary", boundary)
	}
	name := k.Resource[strings.LastIndex(k.Resource, "/")+1:]
	if kind == "oidc-provider" || kind == "policy" {
		name = k.Resource
	}
	for _, t := range s.taggables() {
		if !strings.EqualFold(strings.ReplaceAll(kind, "-", ""), t.kind) && !(kind == "oidc-provider" && t.kind == "OpenIDConnectProvider") {
			continue
		}
		tags, _, err := t.find(name)
		if err != nil {
			return
		}
		service := ""
		if kind == "role" || kind == "user" {
			service = "iam"
		}
		for _, tag := range *tags {
			k.ResourceTag(service, tag.Key, tag.Value)
		}
	}
	if strings.HasPrefix(c.Action, "Tag") || strings.HasPrefix(c.Action, "Untag") || strings.HasPrefix(c.Action, "List") || c.Action == "GetRolePolicy" {
		return // AWS does not look at boundaries there
	}
	if o, err := s.ownerOf(kind, name); err == nil && o.Boundary != "" && !c.Params.Has("PermissionsBoundary") {
		k.Set("iam:PermissionsBoundary", o.Boundary)
	}
}

func (s *Service) ownerOf(kind, name string) (owner, *wire.Error) {
	switch kind {
	case "role":
		return s.roleOwner(name)
	case "user":
		return s.userOwner(name)
	}
	return owner{}, noSuchEntity("%s has no boundary", kind)
}
