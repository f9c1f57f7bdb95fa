// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"net/http"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/sts"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// roleByARN finds a role, or nil.
func (s *Service) roleByARN(arn string) *role {
	r := s.roles.Get("", key(arn[strings.LastIndex(arn, "/")+1:]))
	if r == nil || r.ARN != arn {
		return nil
	}
	return r
}

// Assume finds a role and judges by its trust policy whether the caller may take
// it. A missing role and a refusal read alike, as in AWS.
func (s *Service) Assume(c *wire.Call, roleARN, externalID string) (sts.Role, *wire.Error) {
	p := c.Principal
	denied := refuse(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s", p.ARN, roleARN)
	r := s.roleByARN(roleARN)
	if r == nil {
		return sts.Role{}, denied
	}
	doc, err := policy.Parse(r.Trust)
	if err != nil {
		return sts.Role{}, denied
	}
	keys := policy.Keys{}
	who := s.Identity(p)
	for name, value := range map[string]string{"sts:ExternalId": externalID, "sts:RoleSessionName": c.Params.Get("RoleSessionName"), "aws:PrincipalArn": p.ARN} {
		if value != "" {
			keys.Set(name, value)
		}
	}
	v, err := doc.Judge(policy.Query{Action: "sts:AssumeRole", Resource: roleARN, Keys: keys,
		Caller: policy.Caller{ARN: p.ARN, Role: who.RoleARN, Account: p.Account}})
	if err != nil {
		denied.Message += " because its trust policy cannot be evaluated: " + err.Error()
	}
	if err != nil || v.Denied != "" || len(v.Allowed) == 0 {
		return sts.Role{}, denied
	}
	return sts.Role{Name: r.Name, ID: r.ID, MaxSession: r.MaxSession}, nil
}
