// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func TestRegions(t *testing.T) {
	t.Parallel()
	clients, url, _ := serve(t, t.TempDir())
	ctx := t.Context()
	eu := clients("eu-west-1")
	_, err := eu.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("state")})
	wantCode(t, err, "IllegalLocationConstraintException")
	create := &awss3.CreateBucketInput{Bucket: aws.String("state"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}}
	must(t)(eu.CreateBucket(ctx, create))
	_, err = eu.CreateBucket(ctx, create)
	wantCode(t, err, "BucketAlreadyOwnedByYou")
	us := clients("us-east-1")
	_, err = us.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: aws.String("state")})
	wantCode(t, err, "PermanentRedirect")
	loc, err := us.GetBucketLocation(ctx, &awss3.GetBucketLocationInput{Bucket: aws.String("state")})
	must(t)(loc, err)
	if loc.LocationConstraint != "eu-west-1" {
		t.Errorf("location %q", loc.LocationConstraint)
	}
	resp, err := http.Head(url + "/state")
	must(t)(resp, err)
	resp.Body.Close()
	if resp.Header.Get("x-amz-bucket-region") != "eu-west-1" {
		t.Errorf("headers %v", resp.Header)
	}
}

func TestBucketSettings(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	b := aws.String("state")
	pab, err := c.GetPublicAccessBlock(ctx, &awss3.GetPublicAccessBlockInput{Bucket: b})
	must(t)(pab, err)
	if !*pab.PublicAccessBlockConfiguration.BlockPublicPolicy {
		t.Error("a new bucket must block public access")
	}
	_, err = put1(c, ctx, "k", "x", func(in *awss3.PutObjectInput) { in.ACL = types.ObjectCannedACLPublicRead })
	wantCode(t, err, "AccessControlListNotSupported")
	_, err = c.GetBucketPolicy(ctx, &awss3.GetBucketPolicyInput{Bucket: b})
	wantCode(t, err, "NoSuchBucketPolicy")
	_, err = c.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: b, Policy: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::state/*"}]}`)})
	wantCode(t, err, "AccessDenied")
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::state/*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
	must(t)(c.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: b, Policy: &policy}))
	got, err := c.GetBucketPolicy(ctx, &awss3.GetBucketPolicyInput{Bucket: b})
	must(t)(got, err)
	if *got.Policy != policy {
		t.Errorf("policy %s", *got.Policy)
	}
	must(t)(c.DeleteBucketPolicy(ctx, &awss3.DeleteBucketPolicyInput{Bucket: b}))
	_, err = c.GetBucketTagging(ctx, &awss3.GetBucketTaggingInput{Bucket: b})
	wantCode(t, err, "NoSuchTagSet")
	must(t)(c.PutBucketTagging(ctx, &awss3.PutBucketTaggingInput{Bucket: b, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}}))
	must(t)(c.PutBucketEncryption(ctx, &awss3.PutBucketEncryptionInput{Bucket: b, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
		Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms}}}}}))
	out, err := put1(c, ctx, "k", "x")
	must(t)(out, err)
	if out.ServerSideEncryption != types.ServerSideEncryptionAwsKms {
		t.Errorf("encrypted by %s", out.ServerSideEncryption)
	}
	must(t)(c.PutBucketOwnershipControls(ctx, &awss3.PutBucketOwnershipControlsInput{Bucket: b, OwnershipControls: &types.OwnershipControls{
		Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}}}}))
	must(t)(put1(c, ctx, "k", "x", func(in *awss3.PutObjectInput) { in.ACL = types.ObjectCannedACLPrivate }))
}

func TestBucketNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"abc": true, "a-b.c": true, "my.bucket.1": true, "ab": false, "Abc": false, "a_b": false,
		"a..b": false, "-abc": false, "abc-": false, "192.168.0.1": false, "xn--abc": false, "abc-s3alias": false} {
		if got := validBucketName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
