// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) policyOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"GetKeyPolicy": wire.JSONOp(s.getPolicy), "PutKeyPolicy": wire.JSONOp(s.putPolicy), "ListKeyPolicies": wire.JSONOp(s.listPolicies),
	}
}

// defaultPolicy leaves a key to the account: its IAM policies decide.
func (s *Service) defaultPolicy() string {
	return `{
  "Version" : "2012-10-17",
  "Id" : "key-default-1",
  "Statement" : [ {
    "Sid" : "Enable IAM User Permissions",
    "Effect" : "Allow",
    "Principal" : {
      "AWS" : "arn:aws:iam::` + s.account + `:root"
    },
    "Action" : "kms:*",
    "Resource" : "*"
  } ]
}`
}

func malformed(format string, args ...any) *wire.Error {
	return wire.Errorf("MalformedPolicyDocumentException", format, args...)
}

// checkPolicy refuses a key policy that cannot be read and, unless told not to
// look, one that would keep the caller from changing it again.
func (s *Service) checkPolicy(c *wire.Call, k *key, text string, bypass bool) *wire.Error {
	if len(text) > 32768 {
		return wire.Errorf("LimitExceededException", "A key policy takes 32768 bytes at most, this one has %d", len(text))
	}
	doc, err := policy.Parse(text)
	if err != nil {
		return malformed("Policy is not valid: %v", err)
	}
	if len(doc.Statement) == 0 {
		return malformed("Policy must have at least one statement")
	}
	for _, st := range doc.Statement {
		switch {
		case st.Effect != "Allow" && st.Effect != "Deny":
			return malformed("Policy statement has the effect %q", st.Effect)
		case len(st.Principal)+len(st.NotPrincipal) == 0:
			return malformed("Policy statement must contain principals.")
		case len(st.Action)+len(st.NotAction) == 0:
			return malformed("Policy statement must contain actions.")
		case len(st.Resource)+len(st.NotResource) == 0:
			return malformed("Policy statement must contain resources.")
		}
	}
	if bypass {
		return nil
	}
	v, err := doc.Judge(policy.Query{Action: "kms:PutKeyPolicy", Resource: s.keyARN(k), Keys: policy.Keys{},
		Caller: policy.Caller{ARN: c.Principal.ARN, Role: roleOf(c.Principal), Account: s.account}})
	if err != nil {
		return malformed("Policy cannot be evaluated: %v", err)
	}
	if v.Denied != "" || v.Level == policy.Nobody {
		return malformed("The new key policy will not allow you to update the key policy in the future.")
	}
	return nil
}

// checkPolicyName takes the only name that a key policy has.
func checkPolicyName(name string) *wire.Error {
	if name != "" && name != "default" {
		return notFound("No such policy exists")
	}
	return nil
}

type policyOut struct{ Policy, PolicyName string }

func (s *Service) getPolicy(c *wire.Call, in *struct {
	KeyId      string `wire:",required"`
	PolicyName string
}) (*policyOut, error) {
	if err := checkPolicyName(in.PolicyName); err != nil {
		return nil, err
	}
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	return &policyOut{k.Policy, "default"}, nil
}

func (s *Service) putPolicy(c *wire.Call, in *struct {
	KeyId                          string `wire:",required"`
	PolicyName                     string
	Policy                         string `wire:",required"`
	BypassPolicyLockoutSafetyCheck bool
}) (*struct{}, error) {
	if err := checkPolicyName(in.PolicyName); err != nil {
		return nil, err
	}
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	if err := s.checkPolicy(c, k, in.Policy, in.BypassPolicyLockoutSafetyCheck); err != nil {
		return nil, err
	}
	k.Policy = in.Policy
	s.keys.Put(c.Region, k.ID, k)
	return nil, nil
}

type policiesOut struct {
	paged
	PolicyNames []string
}

func (s *Service) listPolicies(c *wire.Call, in *struct {
	KeyId  string `wire:",required"`
	Limit  int
	Marker string
}) (*policiesOut, error) {
	if _, err := s.find(c, in.KeyId, false); err != nil {
		return nil, err
	}
	names, p, err := page(c, []string{"default"}, paging{in.Limit, in.Marker}, 1000, 100)
	if err != nil {
		return nil, err
	}
	return &policiesOut{p, names}, nil
}
