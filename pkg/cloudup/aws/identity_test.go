// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// tryPlan makes a plan and returns what kept it from being made.
func (w *world) tryPlan(c *Cloud, b *model.Blueprint) (*tasks.Plan, error) {
	g := tasks.NewGraph()
	if err := c.Lower(b, g); err != nil {
		return nil, err
	}
	return tasks.MakePlan(w.t.Context(), g, tasks.PlanOptions{Removals: c.Removals, Clock: fastClock{}})
}

// A role of the same name that is another cluster's, or nobody's, stops the plan.
func TestRoleOfSomeoneElse(t *testing.T) { judged(t, testRoleOfSomeoneElse) }

func testRoleOfSomeoneElse(t *testing.T, w *world) {
	b := build(t, bastionManifest("demo.example.com", "uid-1"))
	w.settle(w.open("demo.example.com", "uid-1"), b)
	other := build(t, bastionManifest("demo.example.com", "uid-2"))
	_, err := w.tryPlan(w.open("demo.example.com", "uid-2"), other)
	if err == nil || !strings.Contains(err.Error(), "uid-1") || !strings.Contains(err.Error(), "uid-2") {
		t.Errorf("the other cluster's plan said: %v", err)
	}

	c := w.open("own.example.com", "uid-3")
	name := c.roleName(api.RoleBastion)
	if _, err := c.iam.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: ptr(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)}); err != nil {
		t.Fatal(err)
	}
	_, err = w.tryPlan(c, build(t, bastionManifest("own.example.com", "uid-3")))
	if err == nil || !strings.Contains(err.Error(), "is not Slipway's") {
		t.Errorf("the plan said: %v", err)
	}
}

// A group that leaves takes its role along, which only the ledger knows of; a run that
// was stopped between the ledger and the role leaves no trace in the end.
func TestOrphanedRoles(t *testing.T) { judged(t, testOrphanedRoles) }

func testOrphanedRoles(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	m.Groups = append(m.Groups, testGroup("bastions", api.RoleBastion, testZones[0]))
	w.apply(w.plan(c, build(t, m)))
	m.Groups = m.Groups[:6]
	if err := c.ledger.Record(t.Context(), cloudup.LedgerEntry{Kind: bookRole, ID: "never-made"}); err != nil {
		t.Fatal(err)
	}
	p := w.plan(c, build(t, m))
	mustSay(t, p, "- aws/iam-role/bastion", "- aws/instance-profile/bastion", "- aws/launchtemplate/bastions",
		"- aws/iam-role/never-made (it is gone already")
	w.apply(p)
	if p := w.plan(c, build(t, m)); p.Pending() {
		t.Errorf("something is left:\n%s", changes(p))
	}
	// The ledger is lost: a deletion finds the roles by the names that they would have.
	w.ledger.entries = nil
	p = w.plan(c, nil)
	if n := count(p, tasks.Delete, "aws/iam-role/"); n != 2 {
		t.Errorf("the deletion finds %d roles", n)
	}
}

func TestAttachedPolicies(t *testing.T) { judged(t, testAttachedPolicies) }

func testAttachedPolicies(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	var arns []string
	for _, name := range []string{"one", "two", "theirs"} {
		out, err := c.iam.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: &name, PolicyDocument: ptr(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:ListAllMyBuckets","Resource":"*"}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, *out.Policy.Arn)
	}
	m := bastionManifest("demo.example.com", "uid-1")
	w.settle(c, build(t, m))
	m.Cluster.Spec.ExternalPolicies = map[string][]string{"bastion": arns[:2]}
	mustSay(t, w.plan(c, build(t, m)), "attachedPolicies: (none) -> "+arns[0]+","+arns[1])
	w.settle(c, build(t, m))
	// What someone else attaches is not ours to take away.
	role := c.roleName(api.RoleBastion)
	if _, err := c.iam.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: &role, PolicyArn: &arns[2]}); err != nil {
		t.Fatal(err)
	}
	m.Cluster.Spec.ExternalPolicies = nil
	mustSay(t, w.plan(c, build(t, m)), "attachedPolicies: "+arns[0]+","+arns[1]+" -> (none)")
	w.settle(c, build(t, m))
	left, err := newSurvey(c, tasks.NewGraph()).attached(t.Context(), role)
	if err != nil || len(left) != 1 || left[0] != arns[2] {
		t.Errorf("attached are %v (%v)", left, err)
	}
	w.clear(c)
}

func TestPolicyTooLarge(t *testing.T) { judged(t, testPolicyTooLarge) }

func testPolicyTooLarge(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	var statements []string
	for i := range 60 {
		statements = append(statements, fmt.Sprintf(`{"Sid":"S%d","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::%s/*"]}`, i, strings.Repeat("b", 120)))
	}
	statements = append(statements, `{"Sid":"Huge","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::`+strings.Repeat("c", 900)+`/*"]}`)
	m.Cluster.Spec.AdditionalPolicies = map[string]string{"bastion": "[" + strings.Join(statements, ",") + "]"}
	_, err := w.tryPlan(c, build(t, m))
	if err == nil || !strings.Contains(err.Error(), "AWS allows 10240; the biggest statements: additional/Huge") {
		t.Errorf("the plan said: %v", err)
	}
	if made := writes(w.calls.since(0)); len(made) > 0 {
		t.Errorf("calls were made: %v", made)
	}
}

func TestUserDataTooLarge(t *testing.T) { judged(t, testUserDataTooLarge) }

func testUserDataTooLarge(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	m.Groups[0].Spec.AdditionalUserData = []api.UserDataPart{
		{Name: "big.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\n" + strings.Repeat("# filler\n", 2000)},
		{Name: "small.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\n"},
	}
	_, err := w.tryPlan(c, build(t, m))
	if err == nil || !strings.Contains(err.Error(), "AWS allows 16384; the parts: big.sh 18010, small.sh 10") {
		t.Errorf("the plan said: %v", err)
	}
}

// A policy that is not there is the user's mistake: the apply says so at once.
func TestPolicyThatIsNotThere(t *testing.T) { judged(t, testPolicyThatIsNotThere) }

func testPolicyThatIsNotThere(t *testing.T, w *world) {
	if w.moto {
		t.Skip("moto takes any boundary")
	}
	c := w.open("demo.example.com", "uid-1")
	m := bastionManifest("demo.example.com", "uid-1")
	m.Cluster.Spec.IAM = &api.IAM{PermissionsBoundary: "arn:aws:iam::123456789012:policy/none"}
	if err := w.tryApply(w.plan(c, build(t, m))); err == nil || !strings.Contains(err.Error(), "there is no policy arn:aws:iam::123456789012:policy/none: correct spec.iam.permissionsBoundary") {
		t.Errorf("the apply said: %v", err)
	}
	m.Cluster.Spec.IAM = nil
	m.Cluster.Spec.ExternalPolicies = map[string][]string{"bastion": {"arn:aws:iam::123456789012:policy/none"}}
	if err := w.tryApply(w.plan(c, build(t, m))); err == nil || !strings.Contains(err.Error(), "correct spec.externalPolicies") {
		t.Errorf("the apply said: %v", err)
	}
	w.clear(c)
}
