// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// accountWide are the operations that are about no key.
var accountWide = []string{"CreateKey", "ListKeys", "ListAliases", "GenerateRandom"}

// Actions lists what Checks may ask.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{"kms:ReEncryptFrom": {"key"}, "kms:ReEncryptTo": {"key"}}
	for op := range s.Ops {
		switch {
		case op == "ReEncrypt":
		case slices.Contains(accountWide, op):
			out["kms:"+op] = nil
		case strings.HasSuffix(op, "Alias"):
			out["kms:"+op] = []string{"alias", "key"}
		default:
			out["kms:"+op] = []string{"key"}
		}
	}
	return out
}

// document is what authorisation looks at in a request.
type document struct {
	KeyId, TargetKeyId, SourceKeyId, DestinationKeyId, AliasName string
	GrantId, GrantToken, GranteePrincipal, RetiringPrincipal     string
	CiphertextBlob                                               []byte
	EncryptionContext, SourceEncryptionContext                   map[string]string
	DestinationEncryptionContext                                 map[string]string
	Operations, TagKeys                                          []string
	Tags                                                         []Tag
	KeySpec, KeyUsage, Origin                                    string
	BypassPolicyLockoutSafetyCheck                               bool
	PendingWindowInDays                                          *int
}

// Checks says which rights a call needs.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	var d document
	_ = json.Unmarshal(c.Body, &d) // what cannot be read is refused when it is served
	switch c.Action {
	case "ListKeys", "ListAliases", "GenerateRandom":
		return []wire.Check{{Action: "kms:" + c.Action, Resource: "*"}}
	case "CreateKey":
		return s.createChecks(c, d)
	case "Decrypt":
		return []wire.Check{s.sealed(c, "Decrypt", d.KeyId, d.CiphertextBlob, d.EncryptionContext)}
	case "ReEncrypt":
		to := s.on(c, "ReEncryptTo", d.DestinationKeyId)
		to.Set("kms:EncryptionAlgorithm", symmetric)
		contextKeys(&to, d.DestinationEncryptionContext)
		s.granted(c, &to, d.DestinationEncryptionContext)
		return []wire.Check{s.sealed(c, "ReEncryptFrom", d.SourceKeyId, d.CiphertextBlob, d.SourceEncryptionContext), to}
	case "CreateAlias", "UpdateAlias", "DeleteAlias":
		return s.aliasChecks(c, d)
	case "RetireGrant":
		if g, err := s.named(c, d.GrantToken, d.KeyId, d.GrantId); err == nil {
			d.KeyId = g.KeyID
		}
	}
	k := s.on(c, c.Action, d.KeyId)
	contextKeys(&k, d.EncryptionContext)
	s.callKeys(&k, c, d)
	s.granted(c, &k, d.EncryptionContext)
	if c.Action == "RetireGrant" {
		s.retiring(c, &k, d)
	}
	return []wire.Check{k}
}

func (s *Service) createChecks(c *wire.Call, d document) []wire.Check {
	k := wire.Check{Action: "kms:CreateKey", Resource: "*"}
	k.Set("kms:CallerAccount", c.Account)
	for key, v := range map[string][2]string{"kms:KeySpec": {d.KeySpec, symmetric}, "kms:KeyUsage": {d.KeyUsage, "ENCRYPT_DECRYPT"}, "kms:KeyOrigin": {d.Origin, "AWS_KMS"}} {
		k.Set(key, v[0])
		if v[0] == "" {
			k.Set(key, v[1])
		}
	}
	k.Set("kms:BypassPolicyLockoutSafetyCheck", strconv.FormatBool(d.BypassPolicyLockoutSafetyCheck))
	k.RequestTags(tagMap(d.Tags))
	if len(d.Tags) == 0 {
		return []wire.Check{k}
	}
	tagging := wire.Check{Action: "kms:TagResource", Resource: s.arn(c.Region, "key/*")}
	tagging.RequestTags(tagMap(d.Tags))
	return []wire.Check{k, tagging}
}

func (s *Service) aliasChecks(c *wire.Call, d document) []wire.Check {
	name := wire.Check{Action: "kms:" + c.Action, Resource: s.arn(c.Region, d.AliasName)}
	name.Set("kms:CallerAccount", c.Account)
	out := []wire.Check{name}
	if a := s.aliases.Get(c.Region, d.AliasName); a != nil && c.Action != "CreateAlias" {
		out = append(out, s.on(c, c.Action, a.Target))
	}
	if d.TargetKeyId != "" {
		out = append(out, s.on(c, c.Action, d.TargetKeyId))
	}
	return out
}

// sealed is the check of the key that a ciphertext names.
func (s *Service) sealed(c *wire.Call, action, id string, blob []byte, context map[string]string) wire.Check {
	if k, err := s.keyOf(c, blob); err == nil && id == "" {
		id = k.ID
	}
	k := s.on(c, action, id)
	k.Set("kms:EncryptionAlgorithm", symmetric)
	contextKeys(&k, context)
	s.granted(c, &k, context)
	return k
}

// on is the check of a key. One that is not there is left to identity policies,
// and then to the operation to say so.
func (s *Service) on(c *wire.Call, action, id string) wire.Check {
	check := wire.Check{Action: "kms:" + action, Resource: id}
	k, err := s.find(c, id, true)
	if err != nil {
		if !strings.HasPrefix(id, "arn:") {
			check.Resource = s.arn(c.Region, "key/"+id)
		}
		return check
	}
	check.Resource, check.Policy, check.Closed = s.keyARN(k), k.Policy, true
	for _, t := range k.Tags {
		check.ResourceTag("", t.TagKey, t.TagValue)
	}
	for _, a := range s.aliases.All(c.Region) {
		if a.Target == k.ID {
			check.Set("kms:ResourceAliases", append(check.Keys["kms:resourcealiases"], a.Name)...)
		}
	}
	if i := strings.Index(id, "alias/"); i >= 0 {
		check.Set("kms:RequestAlias", id[i:])
	}
	check.Set("kms:CallerAccount", c.Account)
	check.Set("kms:KeySpec", k.Spec)
	check.Set("kms:KeyUsage", k.Usage)
	check.Set("kms:KeyOrigin", "AWS_KMS")
	return check
}

func contextKeys(k *wire.Check, context map[string]string) {
	for name, value := range context {
		k.Set("kms:EncryptionContext:"+name, value)
	}
	if len(context) > 0 {
		k.Set("kms:EncryptionContextKeys", slices.Sorted(maps.Keys(context))...)
	}
}

// callKeys gives the condition keys of single operations.
func (s *Service) callKeys(k *wire.Check, c *wire.Call, d document) {
	k.RequestTags(tagMap(d.Tags))
	k.RequestTagKeys(d.TagKeys)
	switch c.Action {
	case "Encrypt", "GenerateDataKey", "GenerateDataKeyWithoutPlaintext":
		k.Set("kms:EncryptionAlgorithm", symmetric)
	case "CreateGrant":
		k.Set("kms:GranteePrincipal", d.GranteePrincipal)
		k.Set("kms:GrantOperations", d.Operations...)
		k.Set("kms:GrantIsForAWSResource", "false")
		if d.RetiringPrincipal != "" {
			k.Set("kms:RetiringPrincipal", d.RetiringPrincipal)
		}
	case "PutKeyPolicy":
		k.Set("kms:BypassPolicyLockoutSafetyCheck", strconv.FormatBool(d.BypassPolicyLockoutSafetyCheck))
	case "ScheduleKeyDeletion":
		if d.PendingWindowInDays != nil {
			k.Set("kms:ScheduleKeyDeletionPendingWindowInDays", strconv.Itoa(*d.PendingWindowInDays))
		}
	}
}

func tagMap(tags []Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[t.TagKey] = t.TagValue
	}
	return out
}

// granted looks for a grant that allows the check to the caller.
func (s *Service) granted(c *wire.Call, k *wire.Check, context map[string]string) {
	for _, g := range s.grants.All(c.Region) {
		if s.arn(c.Region, "key/"+g.KeyID) == k.Resource && isPrincipal(g.Grantee, c.Principal) &&
			slices.Contains(g.Operations, strings.TrimPrefix(k.Action, "kms:")) && g.Constraints.admit(context) {
			k.Granted = "grant/" + g.ID
		}
	}
}

// retiring lets the retiring principal of a grant retire it.
func (s *Service) retiring(c *wire.Call, k *wire.Check, d document) {
	g, err := s.named(c, d.GrantToken, d.KeyId, d.GrantId)
	if err == nil && isPrincipal(g.Retiring, c.Principal) {
		k.Granted = "grant/" + g.ID
	}
}

// admit tells whether the constraints, if any, hold for a context.
func (c *constraints) admit(context map[string]string) bool {
	if c == nil {
		return true
	}
	if c.EncryptionContextEquals != nil {
		return maps.Equal(c.EncryptionContextEquals, context)
	}
	for name, value := range c.EncryptionContextSubset {
		if have, ok := context[name]; !ok || have != value {
			return false
		}
	}
	return true
}

// isPrincipal tells whether the ARN of a user, a role or a session means the caller.
func isPrincipal(arn string, p wire.Principal) bool {
	return arn != "" && (arn == p.ARN || arn == roleOf(p))
}

// roleOf is the ARN of the role of a session, as far as the session's ARN tells it:
// without the role's path.
func roleOf(p wire.Principal) string {
	rest, ok := strings.CutPrefix(p.ARN, "arn:aws:sts::"+p.Account+":assumed-role/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return "arn:aws:iam::" + p.Account + ":role/" + name
}
