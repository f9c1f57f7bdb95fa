// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

const head = "apiVersion: slipway.dev/policy/v1\nrules:\n"

// rules makes a policy of one rule with that deny expression.
func denying(expression string) string {
	return head + fmt.Sprintf("- {name: r, message: no, deny: %q}\n", expression)
}

// TestLoadFaults: a policy that would not do what its author means is refused, and says
// where.
func TestLoadFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"not YAML":          {"{", []string{"policy p.yaml: "}},
		"empty":             {"", []string{`apiVersion is ""`}},
		"version":           {"apiVersion: v2\n", []string{`apiVersion is "v2"; it must be slipway.dev/policy/v1`}},
		"no rules":          {"apiVersion: slipway.dev/policy/v1\n", []string{"no rules"}},
		"unknown field":     {head + "- {name: r, denny: 'true', message: no}\n", []string{"denny"}},
		"no name":           {head + "- {deny: 'true', message: no}\n", []string{"rules[0]: name"}},
		"no deny":           {head + "- {name: r, message: no}\n", []string{"rule r: deny: give"}},
		"no message":        {head + "- {name: r, deny: 'true'}\n", []string{"rule r: give either message"}},
		"two messages":      {head + "- {name: r, deny: 'true', message: a, messageExpression: '\"b\"'}\n", []string{"give either message"}},
		"severity":          {head + "- {name: r, deny: 'true', message: a, severity: fatal}\n", []string{`severity: "fatal"; it is deny or warn`}},
		"twice":             {head + "- {name: r, deny: 'true', message: a}\n- {name: r, deny: 'true', message: a}\n", []string{"rules[1]: a second rule is named r"}},
		"syntax":            {denying("items.filter(i,"), []string{"rule r: deny at line 1, column 16:"}},
		"variable":          {denying("itms.size() > 0"), []string{"deny at line 1, column 1: undeclared reference to 'itms'"}},
		"field of an item":  {denying(`items.exists(i, i.acton == "delete")`), []string{"deny at line 1, column 18: undefined field 'acton'"}},
		"field of a header": {denying("plan.header.clustre == ''"), []string{"undefined field 'clustre'"}},
		"type of a field":   {denying("items.exists(i, i.data == 1)"), []string{"no matching overload"}},
		"result":            {denying("1 + 1"), []string{"it gives a int, and must give a bool or a list"}},
		"when":              {head + "- {name: r, deny: 'true', message: a, when: '[1]'}\n", []string{"when: it gives a list(int), and must give a bool"}},
		"message":           {head + "- {name: r, deny: 'true', messageExpression: '1'}\n", []string{"messageExpression: it gives a int, and must give a string"}},
		"second line":       {head + "- name: r\n  message: no\n  deny: |\n    true &&\n    nope\n", []string{"at line 2, column 1: undeclared reference to 'nope'", "\n    true &&\n    nope"}},
		"all at once":       {head + "- {name: a, deny: x, message: m}\n- {name: b, deny: z, message: m}\n", []string{"2 faults", "rule a: ", "rule b: "}},
		"long expression":   {denying(strings.Repeat("true || ", 3000) + "true"), []string{"bytes, at most 16384"}},
		"deep expression":   {denying(strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500)), []string{"deny"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load("p.yaml", []byte(c.text))
			if !errors.As(err, new(*FileError)) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%s", want, err)
				}
			}
		})
	}
}

func evaluate(t *testing.T, text string, in Input) *Review {
	t.Helper()
	set, err := Load("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	review, err := set.Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return review
}

// TestExpressions: what rules may use, each true here.
func TestExpressions(t *testing.T) {
	t.Parallel()
	in := planned("update cluster",
		tasks.Item{ID: "aws/volume/main/a", Action: tasks.Replace, Data: true, Reason: "because", Description: "data",
			Deps: []tasks.ID{"aws/vpc/demo"}, Fields: []tasks.Field{
				{Path: "size", Old: tasks.V(20), New: tasks.V(30)}, {Path: "tags[team]", New: tasks.V("a")},
				{Path: "later", New: tasks.After(), Replaces: true}, {Path: "secret", New: tasks.Value{State: tasks.Sensitive, Text: "ab"}},
			}},
		item("aws/vpc/demo", tasks.None))
	for _, e := range []string{
		`items[0].id == "aws/volume/main/a" && items[0].area == "aws" && items[0].kind == "volume" && items[0].name == "main/a"`,
		`items[0].action == "replace" && items[0].data && !items[0].removal && items[0].reason == "because" && items[0].description == "data"`,
		`items[0].deps == ["aws/vpc/demo"] && items[1].deps.size() == 0`,
		`items[0].fields["size"].old == "20" && int(items[0].fields["size"].new) > 20`,
		`items[0].fields["tags[team]"].old == null && items[0].fields["later"].new.unknown && items[0].fields["later"].replaces`,
		`items[0].fields["secret"].new.sensitiveDigest == "ab" && !("none" in items[0].fields)`,
		`plan.items == items && plan.counts["replace"] == 1 && plan.counts["delete"] == 0 && plan.warnings.size() == 0`,
		`plan.header.cluster == "demo.example.com" && request.verb == "update cluster" && request.who == "ann"`,
		`request.now == timestamp("2026-12-01T11:00:00Z") && request.now.getHours() == 11 && request.now.getHours("America/New_York") == 6`,
		`cluster.metadata.name == "demo.example.com" && cluster.spec == spec && spec.cloudProvider.aws.region == "eu-central-1"`,
		`groups.size() == 2 && groups[1].spec.maxSize == 3 && sum(groups.map(g, g.spec.maxSize)) == 6`,
		`applied.spec == null && applied.groups.size() == 0`,
		`sum([]) == 0 && sum([1, 2.5]) == 3.5 && sum([0.5, 1]) == 1.5`,
		`compareVersions("v1.9.0", "1.10") == -1 && compareVersions("1.10", "1.10.0") == 0 && compareVersions("2", "1.9") == 1 && compareVersions("1.x", "1.y") == -1`,
		`cidr("10.0.0.0/8").containsIP("10.1.2.3") && !isCIDR("pl-1234")`,
		`sets.contains(["a", "b"], ["a"]) && "a,b".split(",").join("-") == "a-b"`,
		`spec.?no.?such.orValue("x") == "x" && !has(spec.no)`,
	} {
		review := evaluate(t, denying(e), in)
		if len(review.Failed) > 0 || len(review.Denied) != 1 {
			t.Errorf("%s\n%v %v", e, review.Failed, review.Denied)
		}
	}
}

// TestBrokenRulesDoNotLetThrough: a rule that fails denies.
func TestBrokenRulesDoNotLetThrough(t *testing.T) {
	t.Parallel()
	for e, want := range map[string]string{
		`spec.nothing == 1`: "p.yaml: rule r: deny: no such key: nothing",
		`items.map(a, items.map(b, items.map(c, items.map(d, a.id + b.id + c.id + d.id)))).size() > 0`: "actual cost limit exceeded",
		`spec.networking`:                     "deny gives a map, and must give a bool or a list",
		`int(items[0].id) == 1`:               "rule r: deny:",
		`sum(["a"]) == 1`:                     "rule r: deny:",
		`request.now.getHours("Nowhere") > 1`: "rule r: deny:",
	} {
		in := planned("update cluster", many(26, tasks.Create)...)
		in.Plan.Items = append(in.Plan.Items, many(20, tasks.Create)...)
		err := evaluate(t, denying(e), in).Err()
		if !errors.As(err, new(*DeniedError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", e, err)
		}
	}
}

// TestAllViolationsAreTold: every broken rule, in order, with what it matched; warnings
// stop nothing.
func TestAllViolationsAreTold(t *testing.T) {
	t.Parallel()
	text := head + `
- {name: one, deny: 'items.filter(i, i.action == "delete")', messageExpression: 'string(matched.size()) + " deletes by " + request.who'}
- {name: two, deny: 'true', message: never}
- {name: kept, deny: 'false', message: unseen}
- {name: unmet, when: 'false', deny: 'true', message: unseen}
- {name: soft, severity: warn, deny: 'groups', message: there are groups}
`
	review := evaluate(t, text, planned("update cluster", item("b/b/b", tasks.Delete), item("a/a/a", tasks.Delete), item("c/c/c", tasks.Create)))
	want := `the policy denies this plan; nothing was changed
  p.yaml: one
      2 deletes by ann
      - a/a/a
      - b/b/b
  p.yaml: two
      never`
	if err := review.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v", err)
	}
	if len(review.Warned) != 1 || review.Warned[0].String() != "soft: there are groups: instancegroup control-plane, instancegroup nodes" {
		t.Errorf("warned %v", review.Warned)
	}
	if (&Review{Warned: review.Warned}).Err() != nil {
		t.Error("a warning stops the plan")
	}
}

// TestInterrupt: an evaluation ends with its context.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	set, err := Load("p.yaml", []byte(denying("true")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Evaluate(ctx, quiet()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestBigPlan: the limit of work leaves room for a large cluster.
func TestBigPlan(t *testing.T) {
	t.Parallel()
	in := quiet()
	for n := range 5000 {
		in.Plan.Items = append(in.Plan.Items, item(fmt.Sprintf("aws/securitygrouprule/r%d", n), tasks.Create, becomes("source", "203.0.113.0/24")))
	}
	begun := time.Now()
	review, err := shipped(t).Evaluate(t.Context(), in)
	if err != nil || review.Err() != nil {
		t.Fatal(err, review.Err())
	}
	t.Logf("%d items in %v", len(in.Plan.Items), time.Since(begun))
}

// FuzzLoad: no text makes loading panic or hang, and what loads can be evaluated.
func FuzzLoad(f *testing.F) {
	f.Add(denying("items.exists(i, i.data)"))
	f.Add(head + "- {name: r, when: 'true', deny: '[1]', messageExpression: 'matched[0]', severity: warn}\n")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Load("p.yaml", []byte(text))
		if err != nil {
			return
		}
		if _, err := set.Evaluate(t.Context(), quiet()); err != nil {
			t.Fatal(err)
		}
	})
}
