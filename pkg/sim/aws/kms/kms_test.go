// SPDX-License-Identifier: Apache-2.0

package kms_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/kms"
)

type rig struct {
	*awstest.Server
	*awskms.Client
}

func serve(t *testing.T, dir string) *rig {
	t.Helper()
	s := awstest.Serve(t, dir, func(c *simaws.Cloud) error {
		keys, err := kms.New(c.World, kms.Options{Account: simaws.Account})
		c.Register(keys)
		return err
	})
	return &rig{s, client(s.URL, "us-east-1")}
}

func client(url, region string) *awskms.Client {
	return awskms.New(awskms.Options{Region: region, BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")})
}

func (r *rig) key(t *testing.T) string {
	t.Helper()
	out, err := r.CreateKey(t.Context(), &awskms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	return *out.KeyMetadata.Arn
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refusal smithy.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode() != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestContextAndRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, ctx := serve(t, dir), t.Context()
	arn := r.key(t)
	pairs := map[string]string{"cluster": "demo", "keyset": "ca"}
	sealed, err := r.Encrypt(ctx, &awskms.EncryptInput{KeyId: &arn, Plaintext: []byte("secret"), EncryptionContext: pairs})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed.CiphertextBlob, []byte("secret")) {
		t.Error("the ciphertext holds the plain text")
	}
	for _, e := range r.Cloud.Log() {
		if e.Params["Plaintext"] != "" && e.Params["Plaintext"] != "(hidden)" {
			t.Error("the log holds the plain text")
		}
	}
	for name, wrong := range map[string]map[string]string{"none": nil, "other value": {"cluster": "demo", "keyset": "cb"}, "less": {"cluster": "demo"}, "shifted": {"cluste": "rdemo", "keyset": "ca"}} {
		_, err := r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: wrong})
		var invalid *types.InvalidCiphertextException
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := bytes.Clone(sealed.CiphertextBlob)
	broken[len(broken)-1] ^= 1
	_, err = r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: broken, EncryptionContext: pairs})
	wantCode(t, err, "InvalidCiphertextException")
	other := r.key(t)
	_, err = r.Decrypt(ctx, &awskms.DecryptInput{KeyId: &other, CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: pairs})
	wantCode(t, err, "IncorrectKeyException")
	_, err = client(r.URL, "eu-west-1").Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: pairs})
	wantCode(t, err, "AccessDeniedException")

	r.Stop()
	r = serve(t, dir)
	out, err := r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: pairs})
	if err != nil || string(out.Plaintext) != "secret" || *out.KeyId != arn {
		t.Errorf("after a restart: %v, %v", out, err)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	r, ctx := serve(t, t.TempDir()), t.Context()
	arn := r.key(t)
	use := func() error {
		_, err := r.GenerateDataKey(ctx, &awskms.GenerateDataKeyInput{KeyId: &arn, KeySpec: types.DataKeySpecAes256})
		return err
	}
	sealed, err := r.Encrypt(ctx, &awskms.EncryptInput{KeyId: &arn, Plaintext: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("alias/a"), TargetKeyId: &arn}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.DisableKey(ctx, &awskms.DisableKeyInput{KeyId: &arn}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, use(), "DisabledException")
	_, err = r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob})
	wantCode(t, err, "DisabledException")
	if _, err := r.EnableKey(ctx, &awskms.EnableKeyInput{KeyId: &arn}); err != nil || use() != nil {
		t.Fatal(err, use())
	}
	for _, days := range []int32{6, 31} {
		_, err := r.ScheduleKeyDeletion(ctx, &awskms.ScheduleKeyDeletionInput{KeyId: &arn, PendingWindowInDays: &days})
		wantCode(t, err, "ValidationException")
	}
	out, err := r.ScheduleKeyDeletion(ctx, &awskms.ScheduleKeyDeletionInput{KeyId: &arn, PendingWindowInDays: aws.Int32(7)})
	if err != nil || out.KeyState != types.KeyStatePendingDeletion || out.DeletionDate.Sub(r.Clock.Now()).Round(time.Hour) != 7*24*time.Hour {
		t.Fatalf("%+v, %v", out, err)
	}
	wantCode(t, use(), "KMSInvalidStateException")
	_, err = r.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("alias/b"), TargetKeyId: &arn})
	wantCode(t, err, "KMSInvalidStateException")
	_, err = r.ScheduleKeyDeletion(ctx, &awskms.ScheduleKeyDeletionInput{KeyId: &arn})
	wantCode(t, err, "KMSInvalidStateException")
	if _, err := r.CancelKeyDeletion(ctx, &awskms.CancelKeyDeletionInput{KeyId: &arn}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, use(), "DisabledException")
	if _, err := r.ScheduleKeyDeletion(ctx, &awskms.ScheduleKeyDeletionInput{KeyId: &arn, PendingWindowInDays: aws.Int32(7)}); err != nil {
		t.Fatal(err)
	}
	r.Clock.Advance(8 * 24 * time.Hour)
	skewed := client(r.URL, "us-east-1") // signatures are judged by the wall's clock
	_, err = skewed.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &arn})
	wantCode(t, err, "NotFoundException")
	_, err = skewed.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: aws.String("alias/a")})
	wantCode(t, err, "NotFoundException")
}

func TestNames(t *testing.T) {
	t.Parallel()
	r, ctx := serve(t, t.TempDir()), t.Context()
	arn := r.key(t)
	id := arn[strings.LastIndex(arn, "/")+1:]
	if _, err := r.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("alias/slipway"), TargetKeyId: &arn}); err != nil {
		t.Fatal(err)
	}
	prefix := strings.TrimSuffix(arn, "key/"+id)
	for _, name := range []string{id, arn, "alias/slipway", prefix + "alias/slipway"} {
		out, err := r.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &name})
		if err != nil || *out.KeyMetadata.Arn != arn {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, code := range map[string]string{"alias/none": "NotFoundException", "x": "NotFoundException", strings.Replace(arn, "us-east-1", "us-west-2", 1): "NotFoundException",
		"00000000-0000-0000-0000-000000000000": "NotFoundException", prefix + "thing/x": "InvalidArnException"} {
		_, err := r.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &name})
		wantCode(t, err, code)
	}
	_, err := client(r.URL, "us-west-2").DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &id})
	wantCode(t, err, "NotFoundException")
	_, err = r.EnableKeyRotation(ctx, &awskms.EnableKeyRotationInput{KeyId: aws.String("alias/slipway")})
	wantCode(t, err, "NotFoundException")
	_, err = r.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("alias/aws/x"), TargetKeyId: &arn})
	wantCode(t, err, "NotAuthorizedException")
	_, err = r.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("slipway"), TargetKeyId: &arn})
	wantCode(t, err, "ValidationException")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	r, ctx := serve(t, t.TempDir()), t.Context()
	arn := r.key(t)
	sealed, err := r.Encrypt(ctx, &awskms.EncryptInput{KeyId: &arn, Plaintext: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.EnableKeyRotation(ctx, &awskms.EnableKeyRotationInput{KeyId: &arn, RotationPeriodInDays: aws.Int32(90)}); err != nil {
		t.Fatal(err)
	}
	before, err := r.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &arn})
	if err != nil {
		t.Fatal(err)
	}
	r.Clock.Advance(91 * 24 * time.Hour)
	after, err := r.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: &arn})
	if err != nil || *after.KeyMetadata.CurrentKeyMaterialId == *before.KeyMetadata.CurrentKeyMaterialId {
		t.Errorf("not rotated: %v", err)
	}
	out, err := r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob})
	if err != nil || string(out.Plaintext) != "x" {
		t.Errorf("what the old material sealed: %v", err)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	r, ctx := serve(t, t.TempDir()), t.Context()
	arn := r.key(t)
	signing, err := r.CreateKey(ctx, &awskms.CreateKeyInput{KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Encrypt(ctx, &awskms.EncryptInput{KeyId: signing.KeyMetadata.Arn, Plaintext: []byte("x")})
	wantCode(t, err, "InvalidKeyUsageException")
	_, err = r.Encrypt(ctx, &awskms.EncryptInput{KeyId: &arn, Plaintext: make([]byte, 4097)})
	wantCode(t, err, "ValidationException")
	_, err = r.GenerateDataKey(ctx, &awskms.GenerateDataKeyInput{KeyId: &arn})
	wantCode(t, err, "ValidationException")
	_, err = r.Encrypt(ctx, &awskms.EncryptInput{KeyId: &arn, Plaintext: []byte("x"), DryRun: aws.Bool(true)})
	wantCode(t, err, "DryRunOperationException")
	_, err = r.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: []byte("x"), Recipient: &types.RecipientInfo{}})
	wantCode(t, err, "ValidationException")
	_, err = r.PutKeyPolicy(ctx, &awskms.PutKeyPolicyInput{KeyId: &arn, Policy: aws.String(`{"Statement":[{"Effect":"Allow"}]}`)})
	wantCode(t, err, "MalformedPolicyDocumentException")

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "TrentService.ListKeys")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(resp.Body)
	if err := resp.Body.Close(); err != nil || resp.StatusCode != 400 || !strings.Contains(body.String(), "MissingAuthenticationTokenException") {
		t.Errorf("unsigned: %d %s", resp.StatusCode, body.String())
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	r, ctx := serve(t, t.TempDir()), t.Context()
	arn := r.key(t)
	in := &awskms.CreateGrantInput{KeyId: &arn, GranteePrincipal: aws.String("arn:aws:iam::111122223333:role/nodes"), Name: aws.String("one"),
		Operations: []types.GrantOperation{types.GrantOperationDecrypt}}
	first, err := r.CreateGrant(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.CreateGrant(ctx, in); err != nil || *again.GrantId != *first.GrantId {
		t.Errorf("the same grant again: %v", err)
	}
	in.Operations = []types.GrantOperation{types.GrantOperationSign}
	_, err = r.CreateGrant(ctx, in)
	wantCode(t, err, "ValidationException")
	list, err := r.ListGrants(ctx, &awskms.ListGrantsInput{KeyId: &arn})
	if err != nil || len(list.Grants) != 1 || *list.Grants[0].KeyId != arn {
		t.Errorf("list: %v, %v", list, err)
	}
	if _, err := r.RevokeGrant(ctx, &awskms.RevokeGrantInput{KeyId: &arn, GrantId: first.GrantId}); err != nil {
		t.Error(err)
	}
	_, err = r.RetireGrant(ctx, &awskms.RetireGrantInput{GrantToken: first.GrantToken})
	wantCode(t, err, "InvalidGrantTokenException")
}
