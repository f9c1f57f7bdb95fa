// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Identity is what policies need to know of a user or of a role's session.
func (s *Service) Identity(p wire.Principal) authz.Identity {
	if rest, ok := strings.CutPrefix(p.ARN, "arn:aws:sts::"+s.account+":assumed-role/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		r := s.roles.Get("", key(name))
		if r == nil {
			return authz.Identity{} // a session outlives its role without rights
		}
		who := s.holderIdentity("role/"+r.Name, &r.holder)
		who.RoleARN = r.ARN
		return who
	}
	u := s.users.Get("", key(p.ARN[strings.LastIndex(p.ARN, "/")+1:]))
	if u == nil || u.ARN != p.ARN {
		return authz.Identity{}
	}
	who := s.holderIdentity("user/"+u.Name, &u.holder)
	who.UserName = u.Name
	return who
}

func (s *Service) holderIdentity(name string, h *holder) authz.Identity {
	who := authz.Identity{Tags: tagMap(h.Tags)}
	for _, d := range h.Inline {
		who.Policies = append(who.Policies, authz.Policy{Name: name + "/" + d.Name, Text: d.Text})
	}
	for _, arn := range h.Attached {
		if text, err := s.ManagedPolicy(arn); err == nil {
			who.Policies = append(who.Policies, authz.Policy{Name: arn, Text: text})
		}
	}
	if h.Boundary != "" {
		text, err := s.ManagedPolicy(h.Boundary)
		if err != nil {
			text = "{}" // one that is gone allows nothing
		}
		who.Boundary = &authz.Policy{Name: h.Boundary, Text: text}
	}
	return who
}

// ManagedPolicy is the text of a managed policy's version in force.
func (s *Service) ManagedPolicy(arn string) (string, *wire.Error) {
	p, err := s.managed(arn)
	if err != nil {
		return "", err
	}
	i, err := p.find(p.Default)
	if err != nil {
		return "", err
	}
	return p.Versions[i].Text, nil
}

// CheckPolicy refuses an identity policy with faults.
func (s *Service) CheckPolicy(text string) *wire.Error { return checkDocument(text, identityPolicy) }

// Trust is a role's trust policy and its tags.
func (s *Service) Trust(roleARN string) (string, map[string]string) {
	r := s.roleByARN(roleARN)
	if r == nil {
		return "", nil
	}
	return r.Trust, tagMap(r.Tags)
}

func tagMap(tags []Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[t.Key] = t.Value
	}
	return out
}
