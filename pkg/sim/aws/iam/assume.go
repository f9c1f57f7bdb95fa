// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/sts"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Assume finds a role and judges by its trust policy whether a principal may
// take it. A missing role and a refusal read alike, as in AWS.
func (s *Service) Assume(p wire.Principal, roleARN string) (sts.Role, *wire.Error) {
	denied := refuse(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s", p.ARN, roleARN)
	r := s.roles.Get("", key(roleARN[strings.LastIndex(roleARN, "/")+1:]))
	if r == nil || r.ARN != roleARN {
		return sts.Role{}, denied
	}
	doc, err := policy.Parse(r.Trust)
	if err != nil {
		return sts.Role{}, denied
	}
	allowed := false
	for _, st := range doc.Statement {
		action := slices.ContainsFunc(st.Action, func(a string) bool { return a == "*" || strings.EqualFold(a, "sts:AssumeRole") || a == "sts:*" })
		if !action || len(st.Condition) > 0 || !slices.ContainsFunc(st.Principal["AWS"], func(who string) bool { return isPrincipal(who, p) }) {
			continue
		}
		if st.Effect == "Deny" {
			return sts.Role{}, denied
		}
		allowed = true
	}
	if !allowed {
		return sts.Role{}, denied
	}
	return sts.Role{Name: r.Name, ID: r.ID, MaxSession: r.MaxSession}, nil
}

// isPrincipal tells whether a name in a trust policy means the caller: a role
// means its sessions, an account everybody in it.
func isPrincipal(name string, p wire.Principal) bool {
	if name == "*" || name == p.ARN || name == p.Account || name == "arn:aws:iam::"+p.Account+":root" {
		return true
	}
	session, ok := strings.CutPrefix(p.ARN, "arn:aws:sts::"+p.Account+":assumed-role/")
	if !ok {
		return false
	}
	role, _, _ := strings.Cut(session, "/")
	return strings.HasPrefix(name, "arn:aws:iam::"+p.Account+":role/") && name[strings.LastIndex(name, "/")+1:] == role
}
