// SPDX-License-Identifier: Apache-2.0

package iam_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/iam"
)

const (
	trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	allow = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:Describe*"],"Resource":"*"}]}`
)

func serve(t *testing.T, dir string) (*awsiam.Client, *awstest.Server) {
	t.Helper()
	s := awstest.Serve(t, dir, func(c *simaws.Cloud) error {
		service, err := iam.New(c.World, iam.Options{Account: simaws.Account})
		c.Register(service)
		return err
	})
	return awsiam.New(awsiam.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")}), s
}

func must(t *testing.T) func(any, error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}

func makeRole(ctx context.Context, c *awsiam.Client, name string) error {
	_, err := c.CreateRole(ctx, &awsiam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust),
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
	return err
}

func TestRoleLife(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	c, s := serve(t, dir)
	name := aws.String("nodes.demo.example.com")
	must(t)(nil, makeRole(ctx, c, *name))
	wantCode(t, makeRole(ctx, c, strings.ToUpper(*name)), "EntityAlreadyExists")
	wantCode(t, makeRole(ctx, c, strings.Repeat("x", 65)), "ValidationError")
	wantCode(t, makeRole(ctx, c, "a b"), "ValidationError")
	must(t)(c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: name, PolicyName: aws.String("p"), PolicyDocument: aws.String(allow)}))
	must(t)(c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")}))
	must(t)(c.CreateInstanceProfile(ctx, &awsiam.CreateInstanceProfileInput{InstanceProfileName: name}))
	add := &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name}
	must(t)(c.AddRoleToInstanceProfile(ctx, add))
	_, err := c.AddRoleToInstanceProfile(ctx, add)
	wantCode(t, err, "LimitExceeded")

	s.Stop()
	c, _ = serve(t, dir)
	got, err := c.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: name, PolicyName: aws.String("p")})
	must(t)(got, err)
	if text, err := url.QueryUnescape(*got.PolicyDocument); err != nil || text != allow {
		t.Errorf("policy %q, %v", *got.PolicyDocument, err)
	}
	del := func() error {
		_, err := c.DeleteRole(ctx, &awsiam.DeleteRoleInput{RoleName: name})
		return err
	}
	wantCode(t, del(), "DeleteConflict")
	_, err = c.DeleteInstanceProfile(ctx, &awsiam.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "DeleteConflict")
	of, err := c.ListInstanceProfilesForRole(ctx, &awsiam.ListInstanceProfilesForRoleInput{RoleName: name})
	must(t)(of, err)
	if len(of.InstanceProfiles) != 1 || *of.InstanceProfiles[0].Roles[0].RoleName != *name {
		t.Errorf("profiles %+v", of.InstanceProfiles)
	}
	must(t)(c.RemoveRoleFromInstanceProfile(ctx, &awsiam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: name}))
	wantCode(t, del(), "DeleteConflict")
	must(t)(c.DetachRolePolicy(ctx, &awsiam.DetachRolePolicyInput{RoleName: name, PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")}))
	wantCode(t, del(), "DeleteConflict")
	must(t)(c.DeleteRolePolicy(ctx, &awsiam.DeleteRolePolicyInput{RoleName: name, PolicyName: aws.String("p")}))
	must(t)(nil, del())
	wantCode(t, del(), "NoSuchEntity")
	must(t)(c.DeleteInstanceProfile(ctx, &awsiam.DeleteInstanceProfileInput{InstanceProfileName: name}))
}

func TestPolicyGrammar(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, t.TempDir())
	ctx := t.Context()
	must(t)(nil, makeRole(ctx, c, "r"))
	statement := func(s string) string { return `{"Version":"2012-10-17","Statement":[` + s + `]}` }
	bad := map[string]string{
		"not JSON":         `{`,
		"version":          `{"Version":"2020-01-01","Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"}]}`,
		"no statement":     `{"Version":"2012-10-17","Statement":[]}`,
		"effect":           statement(`{"Effect":"Maybe","Action":"ec2:*","Resource":"*"}`),
		"no action":        statement(`{"Effect":"Allow","Resource":"*"}`),
		"no resource":      statement(`{"Effect":"Allow","Action":"ec2:*"}`),
		"action form":      statement(`{"Effect":"Allow","Action":"Describe","Resource":"*"}`),
		"unknown service":  statement(`{"Effect":"Allow","Action":"ec3:Describe","Resource":"*"}`),
		"unknown element":  statement(`{"Effect":"Allow","Action":"ec2:*","Resource":"*","When":"now"}`),
		"principal":        statement(`{"Effect":"Allow","Action":"ec2:*","Resource":"*","Principal":"*"}`),
		"resource form":    statement(`{"Effect":"Allow","Action":"ec2:*","Resource":"vpc-1"}`),
		"operator":         statement(`{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringIs":{"aws:a":"b"}}}`),
		"sid twice":        statement(`{"Sid":"a","Effect":"Allow","Action":"ec2:*","Resource":"*"},{"Sid":"a","Effect":"Allow","Action":"s3:*","Resource":"*"}`),
		"sid alphabet":     statement(`{"Sid":"a-b","Effect":"Allow","Action":"ec2:*","Resource":"*"}`),
		"condition prefix": statement(`{"Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"tag":"b"}}}`),
	}
	put := func(name, text string) error {
		_, err := c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: aws.String("r"), PolicyName: &name, PolicyDocument: &text})
		return err
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) { wantCode(t, put("p", text), "MalformedPolicyDocument") })
	}
	must(t)(nil, put("p", statement(`{"Effect":"Allow","Action":["ec2:Describe*"],"Resource":["arn:aws:ec2:*:*:vpc/*"],"Condition":{"ForAnyValue:StringLikeIfExists":{"aws:TagKeys":["a","b"]},"Bool":{"aws:x":true}}}`)))
	_, err := c.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: aws.String("r"),
		PolicyDocument: aws.String(statement(`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + simaws.Account + `:role/none"},"Action":"sts:AssumeRole"}`))})
	wantCode(t, err, "MalformedPolicyDocument")
	// White space does not count; the sum over all inline policies does.
	resource := `"arn:aws:s3:::` + strings.Repeat("x", 4900) + `"`
	half := statement(`{"Effect":"Allow","Action":"s3:*",` + strings.Repeat(" ", 9000) + `"Resource":` + resource + `}`)
	must(t)(nil, put("a", half))
	must(t)(nil, put("p", half))
	wantCode(t, put("c", half), "LimitExceeded")
}

func TestPagesAndTags(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, t.TempDir())
	ctx := t.Context()
	for i := range 250 {
		must(t)(nil, makeRole(ctx, c, fmt.Sprintf("r%03d", i)))
	}
	pages, roles := 0, 0
	p := awsiam.NewListRolesPaginator(c, &awsiam.ListRolesInput{})
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		must(t)(out, err)
		pages, roles = pages+1, roles+len(out.Roles)
	}
	if pages != 3 || roles != 250 {
		t.Errorf("%d pages, %d roles", pages, roles)
	}
	var tags []types.Tag
	for i := range 50 {
		tags = append(tags, types.Tag{Key: aws.String(fmt.Sprint("key", i)), Value: aws.String("")})
	}
	_, err := c.TagRole(ctx, &awsiam.TagRoleInput{RoleName: aws.String("r000"), Tags: tags})
	wantCode(t, err, "LimitExceeded")
	must(t)(c.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: aws.String("r000"), TagKeys: []string{"k"}}))
	must(t)(c.TagRole(ctx, &awsiam.TagRoleInput{RoleName: aws.String("r000"), Tags: tags}))
	list, err := c.ListRoleTags(ctx, &awsiam.ListRoleTagsInput{RoleName: aws.String("r000")})
	must(t)(list, err)
	if len(list.Tags) != 50 {
		t.Errorf("%d tags", len(list.Tags))
	}
}

func TestManagedPoliciesAndProviders(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, t.TempDir())
	ctx := t.Context()
	pol, err := c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: aws.String("own"), PolicyDocument: aws.String(allow)})
	must(t)(pol, err)
	must(t)(nil, makeRole(ctx, c, "r"))
	must(t)(c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: aws.String("r"), PolicyArn: pol.Policy.Arn}))
	_, err = c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: pol.Policy.Arn})
	wantCode(t, err, "DeleteConflict")
	_, err = c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: aws.String("r"), PolicyArn: aws.String("arn:aws:iam::aws:policy/NoSuchThing")})
	wantCode(t, err, "NoSuchEntity")
	list, err := c.ListAttachedRolePolicies(ctx, &awsiam.ListAttachedRolePoliciesInput{RoleName: aws.String("r")})
	must(t)(list, err)
	if len(list.AttachedPolicies) != 1 || *list.AttachedPolicies[0].PolicyName != "own" {
		t.Errorf("attached %+v", list.AttachedPolicies)
	}
	in := &awsiam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.example.com/c1"), ClientIDList: []string{"sts.amazonaws.com"},
		ThumbprintList: []string{strings.Repeat("a", 40)}}
	o, err := c.CreateOpenIDConnectProvider(ctx, in)
	must(t)(o, err)
	_, err = c.CreateOpenIDConnectProvider(ctx, in)
	wantCode(t, err, "EntityAlreadyExists")
	_, err = c.UpdateOpenIDConnectProviderThumbprint(ctx, &awsiam.UpdateOpenIDConnectProviderThumbprintInput{
		OpenIDConnectProviderArn: o.OpenIDConnectProviderArn, ThumbprintList: []string{"short"}})
	wantCode(t, err, "InvalidInput")
	must(t)(c.TagOpenIDConnectProvider(ctx, &awsiam.TagOpenIDConnectProviderInput{OpenIDConnectProviderArn: o.OpenIDConnectProviderArn,
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))
	got, err := c.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: o.OpenIDConnectProviderArn})
	must(t)(got, err)
	if *got.Url != "oidc.example.com/c1" || len(got.Tags) != 1 {
		t.Errorf("provider %+v", got)
	}
	must(t)(c.DeleteOpenIDConnectProvider(ctx, &awsiam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: o.OpenIDConnectProviderArn}))
}
