// SPDX-License-Identifier: Apache-2.0

package sts_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/iam"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/sts"
)

func serve(t *testing.T) *awstest.Server {
	t.Helper()
	return awstest.Serve(t, t.TempDir(), func(c *simaws.Cloud) error {
		people, err := iam.New(c.World, iam.Options{Account: simaws.Account})
		if err != nil {
			return err
		}
		tokens, err := sts.New(c.World, people, sts.Options{Account: simaws.Account})
		c.Register(people, tokens)
		c.SetCredentials(tokens)
		return err
	})
}

func client(s *awstest.Server, key, secret, token string) *awssts.Client {
	return awssts.New(awssts.Options{Region: "eu-west-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, token)})
}

func whoami(t *testing.T, c *awssts.Client) (string, error) {
	t.Helper()
	out, err := c.GetCallerIdentity(t.Context(), &awssts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return *out.Arn, nil
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	people := awsiam.New(awsiam.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL),
		Credentials: credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")})
	if _, err := people.CreateUser(ctx, &awsiam.CreateUserInput{UserName: aws.String("ann")}); err != nil {
		t.Fatal(err)
	}
	k, err := people.CreateAccessKey(ctx, &awsiam.CreateAccessKeyInput{UserName: aws.String("ann")})
	if err != nil {
		t.Fatal(err)
	}
	ann := client(s, *k.AccessKey.AccessKeyId, *k.AccessKey.SecretAccessKey, "")
	if arn, err := whoami(t, ann); err != nil || arn != "arn:aws:iam::"+simaws.Account+":user/ann" {
		t.Errorf("ann is %q, %v", arn, err)
	}
	_, err = whoami(t, client(s, *k.AccessKey.AccessKeyId, "wrong", ""))
	wantCode(t, err, "SignatureDoesNotMatch")
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + simaws.Account + `:user/ann"},"Action":"sts:AssumeRole"}]}`
	r, err := people.CreateRole(ctx, &awsiam.CreateRoleInput{RoleName: aws.String("ops"), AssumeRolePolicyDocument: &trust})
	if err != nil {
		t.Fatal(err)
	}
	in := &awssts.AssumeRoleInput{RoleArn: r.Role.Arn, RoleSessionName: aws.String("work")}
	_, err = client(s, simaws.OperatorAccessKey, simaws.OperatorSecret, "").AssumeRole(ctx, in)
	wantCode(t, err, "AccessDenied")
	out, err := ann.AssumeRole(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	session := client(s, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	if arn, err := whoami(t, session); err != nil || arn != "arn:aws:sts::"+simaws.Account+":assumed-role/ops/work" {
		t.Errorf("session is %q, %v", arn, err)
	}
	_, err = whoami(t, client(s, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, "other"))
	wantCode(t, err, "InvalidClientTokenId")
	s.Clock.Advance(61 * time.Minute)
	if _, err = whoami(t, session); err == nil {
		t.Error("an ended session still works")
	}
}

func TestPresignedIdentity(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p, err := awssts.NewPresignClient(client(s, simaws.OperatorAccessKey, simaws.OperatorSecret, "")).PresignGetCallerIdentity(t.Context(), &awssts.GetCallerIdentityInput{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(url string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), p.Method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(raw)
	}
	if code, text := ask(p.URL); code != 200 || !strings.Contains(text, "slipway-operator") {
		t.Errorf("answered %d: %s", code, text)
	}
	if code, _ := ask(p.URL + "&Extra=1"); code != 403 {
		t.Errorf("a changed URL answered %d", code)
	}
}
