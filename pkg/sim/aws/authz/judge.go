// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// layer is what the policies of one sort say together.
type layer struct {
	present bool
	allowed []string // statements
	level   policy.Level
}

// judge decides one check within the account: any denial wins; then either the
// resource's policy names the caller, or an identity policy, within boundary and
// session policies, allows. It returns why not, or "".
func judge(c *wire.Call, k *wire.Check, who Identity, common policy.Keys) string {
	q := query(c, k, who, common)
	var boundary []Policy
	if who.Boundary != nil {
		boundary = []Policy{*who.Boundary}
	}
	var resource []Policy
	if k.Policy != "" {
		resource = []Policy{{"resource", k.Policy}}
	}
	var layers [4]layer
	for i, sort := range []struct {
		name     string
		policies []Policy
	}{{"an identity-based policy", who.Policies}, {"a permissions boundary", boundary}, {"a session policy", who.Session}, {"a resource-based policy", resource}} {
		l, by, err := say(sort.policies, q)
		if err != nil {
			k.By = []string{by}
			return fmt.Sprintf("because %s cannot be evaluated: policy %s: %v", sort.name, by, err)
		}
		if by != "" {
			k.By = []string{by}
			return "with an explicit deny in " + sort.name
		}
		layers[i] = l
	}
	why := decide(k, layers)
	k.Allowed = why == ""
	return why
}

// decide weighs the layers, none of which denies.
func decide(k *wire.Check, layers [4]layer) string {
	identity, boundary, session, resource := layers[0], layers[1], layers[2], layers[3]
	named := resource.level > policy.ByAccount
	if k.Granted != "" {
		k.By = []string{k.Granted}
		return ""
	}
	if named {
		k.By = resource.allowed
		if resource.level == policy.Exactly {
			return "" // a user or session that is named itself is not held by its boundary
		}
	}
	no := func(sort string) string { return fmt.Sprintf("because no %s allows the %s action", sort, k.Action) }
	switch {
	case !named && k.Closed && resource.level != policy.ByAccount:
		return no("resource-based policy")
	case !named && len(identity.allowed) == 0:
		return no("identity-based policy")
	case boundary.present && len(boundary.allowed) == 0:
		return no("permissions boundary")
	case session.present && len(session.allowed) == 0:
		return no("session policy")
	}
	if !named {
		k.By = identity.allowed
	}
	return ""
}

// say reads the policies of one sort; by names the statement that denies, or the
// policy that cannot be read.
func say(policies []Policy, q policy.Query) (l layer, by string, err error) {
	l.present = len(policies) > 0
	for _, p := range policies {
		v, name, err := read(p, q)
		if err != nil {
			return l, name, err
		}
		if v.Denied != "" {
			return l, name + "/" + v.Denied, nil
		}
		l.allowed = append(l.allowed, statements(name, v.Allowed)...)
		l.level = max(l.level, v.Level)
	}
	return l, "", nil
}

func read(p Policy, q policy.Query) (policy.Verdict, string, error) {
	doc, err := policy.Parse(p.Text)
	if err != nil {
		return policy.Verdict{}, p.Name, err
	}
	v, err := doc.Judge(q)
	return v, p.Name, err
}
