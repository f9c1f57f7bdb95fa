// SPDX-License-Identifier: Apache-2.0

package sts

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var (
	_ wire.Authorised = (*Service)(nil)
	_ authz.Directory = (*Service)(nil)
)

// Actions lists what Checks may ask. Who one is and GetSessionToken need no right.
func (s *Service) Actions() map[string][]string {
	return map[string][]string{"sts:AssumeRole": {"role"}}
}

// Checks says which rights a call needs: for a role, what its trust policy says
// comes first.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	if c.Action != "AssumeRole" {
		return nil
	}
	arn := c.Params.Get("RoleArn")
	trust, tags := s.iam.Trust(arn)
	k := wire.Check{Action: "sts:AssumeRole", Resource: arn, Policy: trust, Closed: true}
	for name, value := range tags {
		k.ResourceTag("iam", name, value)
	}
	for param, key := range map[string]string{"ExternalId": "sts:ExternalId", "RoleSessionName": "sts:RoleSessionName", "SourceIdentity": "sts:SourceIdentity"} {
		if v := c.Params.Get(param); v != "" {
			k.Set(key, v)
		}
	}
	return []wire.Check{k}
}

// Identity is what policies need to know of a principal: IAM's part and, for a
// session, the policies that were given when it was opened.
func (s *Service) Identity(p wire.Principal) authz.Identity {
	who := s.iam.Identity(p)
	if row := s.sessions.Get("", p.AccessKey); row != nil {
		for i, text := range row.Policies {
			who.Session = append(who.Session, authz.Policy{Name: "session/" + string(rune('1'+i)), Text: text})
		}
	}
	return who
}

// sessionPolicies are the policies that a call gives to the session that it opens.
func (s *Service) sessionPolicies(inline string, arns []policyARN) ([]string, *wire.Error) {
	var out []string
	if inline != "" {
		if len(inline) > 2048 {
			return nil, invalid("1 validation error detected: Value at 'policy' failed to satisfy constraint: Member must have length less than or equal to 2048")
		}
		if err := s.iam.CheckPolicy(inline); err != nil {
			return nil, err
		}
		out = append(out, inline)
	}
	if len(arns) > 10 {
		return nil, invalid("1 validation error detected: Value at 'policyArns' failed to satisfy constraint: Member must have length less than or equal to 10")
	}
	for _, a := range arns {
		text, err := s.iam.ManagedPolicy(strings.TrimSpace(a.Arn))
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
