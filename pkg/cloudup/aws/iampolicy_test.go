// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/model"
)

// iamTable is what AWS authorises, by service.
type iamTable map[string]struct {
	Actions map[string]struct {
		Resources map[string][]string `json:"resources"` // resource type -> condition keys
	} `json:"actions"`
	Resources map[string]struct {
		ARN  string   `json:"arn"`
		Keys []string `json:"keys"`
	} `json:"resources"`
}

func loadIAMTable(t *testing.T) iamTable {
	t.Helper()
	data, err := os.ReadFile("../../../../shared/schemas/aws-iam.json")
	if err != nil {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "shared") {
			t.Fatal(err)
		}
		t.Skip("the table of what AWS authorises is not here")
	}
	var table iamTable
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

func testMaker() policyMaker {
	return policyMaker{
		partition: "aws", region: testRegion, cluster: "demo.example.com", uid: "uid-1",
		store: "s3://bucket/some/where", zone: "Z123", records: []string{"api.internal.demo.example.com"},
		sealing: &model.SealingKey{},
	}
}

var allGrants = []model.Grant{
	model.GrantReadStore, model.GrantWriteBackups, model.GrantReadAssets, model.GrantAttachVolumes, model.GrantDescribe,
	model.GrantWriteRecords, model.GrantCloudControl, model.GrantVerifyIdentity, model.GrantPullImages,
	model.GrantOpenKeysets,
}

// Every statement names actions that exist, resources that they take, and condition
// keys that they support on those.
func TestPolicyStatementsAreWhatAWSAuthorises(t *testing.T) {
	t.Parallel()
	table := loadIAMTable(t)
	doc, _, err := testMaker().policy(allGrants)
	if err != nil {
		t.Fatal(err)
	}
	sids := map[string]bool{}
	for _, s := range doc.Statement {
		if sids[s.Sid] {
			t.Errorf("two statements are named %s", s.Sid)
		}
		sids[s.Sid] = true
		for _, action := range s.Action {
			checkAction(t, table, s, action)
		}
	}
}

func checkAction(t *testing.T, table iamTable, s statement, action string) {
	t.Helper()
	service, name, _ := strings.Cut(action, ":")
	if service == "ecr" {
		return // the table does not hold the registry
	}
	known, ok := table[service].Actions[name]
	if !ok {
		t.Errorf("%s: there is no action %s", s.Sid, action)
		return
	}
	keys := slices.Clone(known.Resources[""]) // supported on all of them
	taken := false
	for kind, more := range known.Resources {
		if kind == "" {
			continue
		}
		if slices.ContainsFunc(s.Resource, func(r string) bool { return resourceIs(r, table[service].Resources[kind].ARN) }) {
			taken = true
			if keys = append(keys, more...); len(more) == 0 {
				keys = append(keys, table[service].Resources[kind].Keys...)
			}
		}
	}
	if _, listOnly := known.Resources[""]; len(known.Resources) == 1 && listOnly {
		taken = slices.Equal(s.Resource, []string{"*"})
	}
	if !taken {
		t.Errorf("%s: %s takes none of %v", s.Sid, action, s.Resource)
	}
	for _, byKey := range s.Condition {
		for key := range byKey {
			if !slices.ContainsFunc(keys, func(k string) bool { return sameKey(k, key) }) {
				t.Errorf("%s: %s does not support the condition key %s", s.Sid, action, key)
			}
		}
	}
}

// resourceIs reports whether the pattern of a statement covers ARNs of that form.
func resourceIs(pattern, form string) bool {
	for {
		i := strings.Index(form, "${")
		if i < 0 {
			break
		}
		value := "v"
		switch {
		case strings.HasPrefix(form[i:], "${Partition}"):
			value = "aws"
		case strings.HasPrefix(form[i:], "${Region}"):
			value = testRegion
		}
		form = form[:i] + value + form[i+strings.Index(form[i:], "}")+1:]
	}
	p, f := strings.SplitN(pattern, ":", 6), strings.SplitN(form, ":", 6)
	if len(p) != 6 || len(f) != 6 || p[2] != f[2] {
		return false
	}
	if p[2] == "s3" {
		return strings.Contains(p[5], "/") == strings.Contains(f[5], "/")
	}
	kind, _, cut := strings.Cut(p[5], "*")
	if !cut { // a named one counts as its kind
		kind = path.Dir(kind) + "/"
	}
	return strings.HasPrefix(f[5], kind) && kind != ""
}

func sameKey(known, key string) bool {
	for _, hole := range []string{"${", "<key>"} {
		if before, _, ok := strings.Cut(known, hole); ok {
			return strings.HasPrefix(key, before)
		}
	}
	return known == key
}

// everywhere lists the actions that may stand beside the resource "*", with the reason.
var everywhere = map[string]string{
	"ecr:GetAuthorizationToken": "takes no resource",
}

func TestPolicyLint(t *testing.T) {
	t.Parallel()
	table := loadIAMTable(t)
	doc, _, err := testMaker().policy(allGrants)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Statement {
		if s.Effect != "Allow" {
			t.Errorf("%s has the effect %s", s.Sid, s.Effect)
		}
		for _, a := range s.Action {
			if strings.ContainsAny(a, "*?") {
				t.Errorf("%s: %s is a pattern", s.Sid, a)
			}
			service, name, _ := strings.Cut(a, ":")
			if !slices.Contains(s.Resource, "*") || everywhere[a] != "" {
				continue
			}
			for kind := range table[service].Actions[name].Resources {
				if kind != "" {
					t.Errorf("%s: %s is allowed on everything, though it takes a %s", s.Sid, a, kind)
				}
			}
		}
		writes := slices.ContainsFunc(s.Action, func(a string) bool {
			_, name, _ := strings.Cut(a, ":")
			return strings.HasPrefix(a, "ec2:") && !reads(name) || strings.HasPrefix(a, "elasticloadbalancing:") && !reads(name)
		})
		if writes && s.Condition == nil && s.Sid != "MakeGroupInNetwork" { // the new group itself must be tagged
			t.Errorf("%s writes without a condition on tags", s.Sid)
		}
	}
}

// A node reads assets, and nothing else of the store.
func TestNodesReadNoSecrets(t *testing.T) {
	t.Parallel()
	doc, _, err := testMaker().policy([]model.Grant{model.GrantReadAssets, model.GrantPullImages})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Statement {
		for _, a := range s.Action {
			if !strings.HasPrefix(a, "s3:") {
				continue
			}
			if a != "s3:GetObject" || !slices.Equal(s.Resource, []string{"arn:aws:s3:::bucket/some/where/assets/*"}) {
				t.Errorf("nodes may %s on %v", a, s.Resource)
			}
		}
	}
}

func TestPolicyOfStores(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"s3://b":           "arn:aws:s3:::b/demo.example.com/*",
		"s3://b/":          "arn:aws:s3:::b/demo.example.com/*",
		"s3://b/deep/er/":  "arn:aws:s3:::b/deep/er/demo.example.com/*",
		"file:///srv/st":   "",
		"mem://":           "",
		"not a url at all": "",
	} {
		m := testMaker()
		m.store = store
		doc, ok, err := m.policy([]model.Grant{model.GrantReadStore, model.GrantWriteBackups, model.GrantReadAssets})
		if err != nil {
			t.Fatal(err)
		}
		if ok != (want != "") || ok && doc.Statement[0].Resource[0] != want {
			t.Errorf("store %s: %s, want %q", store, doc.text(), want)
		}
	}
}

func TestPolicyIsStableAndFits(t *testing.T) {
	t.Parallel()
	m := testMaker()
	m.cluster = strings.Repeat("a", 70) + ".example.com"
	one, _, _ := m.policy(allGrants)
	two, _, _ := m.policy(allGrants)
	if one.text() != two.text() || !json.Valid([]byte(one.text())) {
		t.Error("the same grants gave two texts, or no JSON")
	}
	if n := len(one.text()); n > maxInlinePolicies {
		t.Errorf("all grants of a long-named cluster take %d of %d characters", n, maxInlinePolicies)
	} else {
		t.Logf("%d of %d characters", n, maxInlinePolicies)
	}
}
