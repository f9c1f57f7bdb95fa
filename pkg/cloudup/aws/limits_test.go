// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
)

// names returns every name with a limit that a cluster's objects get, by what it is.
func names(c *Cloud, group string) map[string]struct {
	name  string
	limit cloudup.Limit
} {
	type named = struct {
		name  string
		limit cloudup.Limit
	}
	out := map[string]named{
		"template": {c.templateName(group), limitTemplate},
		"group":    {c.groupName(group), limitScaling},
		"balancer": {c.balancerName("api", limitBalancer), limitBalancer},
		"internal": {c.balancerName("api-int", limitBalancer), limitBalancer},
		"https":    {c.balancerName("api-https-443", limitTarget), limitTarget},
		"boot":     {c.balancerName("api-bootstrap-3988", limitTarget), limitTarget},
	}
	for _, r := range []api.Role{api.RoleControlPlane, api.RoleNode, api.RoleBastion} {
		out["role "+string(r)] = named{c.roleName(r), limitRole}
		out["profile "+string(r)] = named{c.profileName(r), limitProfile}
	}
	return out
}

// The names of any cluster are legal and stable, and those of two clusters whose names
// differ in one character never meet.
func TestNamesOfClusters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.StringMatching(`[a-z][a-z0-9-]{0,60}[a-z0-9]\.[a-z]{1,60}\.[a-z]{2,40}`).Draw(t, "cluster")
		at := rapid.IntRange(0, len(base)-1).Draw(t, "at")
		a := &Cloud{cluster: base, uid: "uid-a"}
		b := &Cloud{cluster: base[:at] + string(rapid.RuneFrom([]rune("abcxyz019")).Draw(t, "other")) + base[at+1:], uid: "uid-b"}
		group := rapid.StringMatching(`[a-z][a-z0-9-]{0,60}[a-z0-9]`).Draw(t, "group")
		of, again, other := names(a, group), names(a, group), names(b, group)
		for what, n := range of {
			switch {
			case !n.limit.Legal(n.name):
				t.Fatalf("the %s of %s is named %q", what, base, n.name)
			case again[what] != n:
				t.Fatalf("the %s of %s is named %q, then %q", what, base, n.name, again[what].name)
			case a.cluster != b.cluster && strings.EqualFold(n.name, other[what].name):
				t.Fatalf("the %s of %s and of %s are both named %q", what, a.cluster, b.cluster, n.name)
			}
		}
	})
}
