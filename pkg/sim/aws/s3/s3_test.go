// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// serve starts a server over dir and returns clients for a region.
func serve(t *testing.T, dir string) (client func(region string) *awss3.Client, url string, stop func()) {
	t.Helper()
	s, err := New(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	stop = sync.OnceFunc(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return func(region string) *awss3.Client {
		return awss3.New(awss3.Options{Region: region, BaseEndpoint: aws.String(h.URL), UsePathStyle: true, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "")})
	}, h.URL, stop
}

// bucket makes a bucket with a client that uses it.
func bucket(t *testing.T) (*awss3.Client, context.Context) {
	t.Helper()
	clients, _, _ := serve(t, t.TempDir())
	c, ctx := clients("us-east-1"), t.Context()
	must(t)(c.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("state")}))
	return c, ctx
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

func put1(c *awss3.Client, ctx context.Context, key, body string, edit ...func(*awss3.PutObjectInput)) (*awss3.PutObjectOutput, error) {
	in := &awss3.PutObjectInput{Bucket: aws.String("state"), Key: aws.String(key), Body: strings.NewReader(body)}
	for _, e := range edit {
		e(in)
	}
	return c.PutObject(ctx, in)
}

func read(t *testing.T, c *awss3.Client, key string) string {
	t.Helper()
	out, err := c.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("state"), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	raw, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestConditionalWrites(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	create := func(in *awss3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }
	first, err := put1(c, ctx, "a", "one", create)
	must(t)(first, err)
	_, err = put1(c, ctx, "a", "two", create)
	wantCode(t, err, "PreconditionFailed")
	_, err = put1(c, ctx, "a", "two", func(in *awss3.PutObjectInput) { in.IfMatch = aws.String(`"bad"`) })
	wantCode(t, err, "PreconditionFailed")
	_, err = put1(c, ctx, "absent", "x", func(in *awss3.PutObjectInput) { in.IfMatch = first.ETag })
	wantCode(t, err, "NoSuchKey")
	second, err := put1(c, ctx, "a", "two", func(in *awss3.PutObjectInput) { in.IfMatch = first.ETag })
	must(t)(second, err)
	if got := read(t, c, "a"); got != "two" {
		t.Errorf("read %q", got)
	}
	_, err = c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String("state"), Key: aws.String("a"), IfMatch: first.ETag})
	wantCode(t, err, "PreconditionFailed")
	must(t)(c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String("state"), Key: aws.String("a"), IfMatch: second.ETag}))
	_, err = c.GetObject(ctx, &awss3.GetObjectInput{Bucket: aws.String("state"), Key: aws.String("a")})
	wantCode(t, err, "NoSuchKey")
	must(t)(put1(c, ctx, "a", "three", create))
}

func TestConditionalCreateHasOneWinner(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	for round := range 5 {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := put1(c, ctx, fmt.Sprintf("lock-%d", round), fmt.Sprint(i), func(in *awss3.PutObjectInput) { in.IfNoneMatch = aws.String("*") })
				if err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d winners", round, won.Load())
		}
	}
}

func TestIfMatchCountsEveryWrite(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	must(t)(put1(c, ctx, "n", ""))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for done := false; !done; {
				out, err := c.GetObject(ctx, &awss3.GetObjectInput{Bucket: aws.String("state"), Key: aws.String("n")})
				if err != nil {
					t.Error(err)
					return
				}
				raw, _ := io.ReadAll(out.Body)
				out.Body.Close()
				_, err = put1(c, ctx, "n", string(raw)+"x", func(in *awss3.PutObjectInput) { in.IfMatch = out.ETag })
				done = err == nil
			}
		})
	}
	wg.Wait()
	if got := read(t, c, "n"); len(got) != 8 {
		t.Errorf("lost writes: %q", got)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	for i := range 1005 {
		must(t)(put1(c, ctx, fmt.Sprintf("many/%04d", i), "x"))
	}
	for _, key := range []string{"a", "dir/one", "dir/sub/two", "z"} {
		must(t)(put1(c, ctx, key, "x"))
	}
	pages, keys := 0, 0
	p := awss3.NewListObjectsV2Paginator(c, &awss3.ListObjectsV2Input{Bucket: aws.String("state"), Prefix: aws.String("many/")})
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		must(t)(out, err)
		pages, keys = pages+1, keys+len(out.Contents)
	}
	if pages != 2 || keys != 1005 {
		t.Errorf("%d pages, %d keys", pages, keys)
	}
	var seen []string
	p = awss3.NewListObjectsV2Paginator(c, &awss3.ListObjectsV2Input{Bucket: aws.String("state"), Delimiter: aws.String("/"), MaxKeys: aws.Int32(1)})
	for p.HasMorePages() {
		out, err := p.NextPage(ctx)
		must(t)(out, err)
		for _, o := range out.Contents {
			seen = append(seen, *o.Key)
		}
		for _, o := range out.CommonPrefixes {
			seen = append(seen, *o.Prefix)
		}
	}
	if got := strings.Join(seen, " "); got != "a dir/ many/ z" {
		t.Errorf("folded: %s", got)
	}
	out, err := c.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: aws.String("state"), StartAfter: aws.String("many/1003")})
	must(t)(out, err)
	if len(out.Contents) != 2 || *out.Contents[0].Key != "many/1004" {
		t.Errorf("start-after: %v", out.Contents)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	w, err := put1(c, ctx, "k", "0123456789", func(in *awss3.PutObjectInput) {
		in.Metadata = map[string]string{"owner": "me"}
		in.ContentType, in.CacheControl = aws.String("text/plain"), aws.String("no-store")
		in.Tagging = aws.String("a=1&b=2")
		in.ChecksumAlgorithm = types.ChecksumAlgorithmSha256
	})
	must(t)(w, err)
	if w.ChecksumSHA256 == nil || w.ServerSideEncryption != types.ServerSideEncryptionAes256 {
		t.Errorf("put answered %+v", w)
	}
	h, err := c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: aws.String("state"), Key: aws.String("k"), ChecksumMode: types.ChecksumModeEnabled})
	must(t)(h, err)
	if *h.ContentLength != 10 || h.Metadata["owner"] != "me" || *h.CacheControl != "no-store" || *h.ContentType != "text/plain" ||
		aws.ToString(h.ChecksumSHA256) != *w.ChecksumSHA256 || aws.ToInt32(h.TagCount) != 2 || *h.ETag != *w.ETag {
		t.Errorf("head answered %+v", h)
	}
	get := func(edit func(*awss3.GetObjectInput)) (string, error) {
		in := &awss3.GetObjectInput{Bucket: aws.String("state"), Key: aws.String("k")}
		edit(in)
		out, err := c.GetObject(ctx, in)
		if err != nil {
			return "", err
		}
		defer out.Body.Close()
		raw, err := io.ReadAll(out.Body)
		return string(raw), err
	}
	for rng, want := range map[string]string{"bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89"} {
		if got, err := get(func(in *awss3.GetObjectInput) { in.Range = &rng }); got != want || err != nil {
			t.Errorf("range %s: %q, %v", rng, got, err)
		}
	}
	_, err = get(func(in *awss3.GetObjectInput) { in.Range = aws.String("bytes=20-") })
	wantCode(t, err, "InvalidRange")
	_, err = get(func(in *awss3.GetObjectInput) { in.IfMatch = aws.String(`"other"`) })
	wantCode(t, err, "PreconditionFailed")
	_, err = get(func(in *awss3.GetObjectInput) { in.IfNoneMatch = w.ETag })
	wantCode(t, err, "NotModified")
	_, err = get(func(in *awss3.GetObjectInput) { in.Key = aws.String("none") })
	wantCode(t, err, "NoSuchKey")
	_, err = get(func(in *awss3.GetObjectInput) { in.Bucket = aws.String("none") })
	wantCode(t, err, "NoSuchBucket")
	tags, err := c.GetObjectTagging(ctx, &awss3.GetObjectTaggingInput{Bucket: aws.String("state"), Key: aws.String("k")})
	must(t)(tags, err)
	if len(tags.TagSet) != 2 {
		t.Errorf("tags %v", tags.TagSet)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	must(t)(put1(c, ctx, "k", "before"))
	must(t)(c.PutBucketVersioning(ctx, &awss3.PutBucketVersioningInput{Bucket: aws.String("state"),
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}}))
	one, err := put1(c, ctx, "k", "one")
	must(t)(one, err)
	d, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String("state"), Key: aws.String("k")})
	must(t)(d, err)
	if one.VersionId == nil || !aws.ToBool(d.DeleteMarker) {
		t.Fatalf("put %v, delete %+v", one.VersionId, d)
	}
	_, err = c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: aws.String("state"), Key: aws.String("k")})
	wantCode(t, err, "NotFound")
	for id, want := range map[string]string{*one.VersionId: "one", "null": "before"} {
		out, err := c.GetObject(ctx, &awss3.GetObjectInput{Bucket: aws.String("state"), Key: aws.String("k"), VersionId: &id})
		must(t)(out, err)
		if raw, _ := io.ReadAll(out.Body); string(raw) != want {
			t.Errorf("version %s: %q", id, raw)
		}
	}
	l, err := c.ListObjectVersions(ctx, &awss3.ListObjectVersionsInput{Bucket: aws.String("state")})
	must(t)(l, err)
	if len(l.Versions) != 2 || len(l.DeleteMarkers) != 1 || !*l.DeleteMarkers[0].IsLatest {
		t.Errorf("versions %+v, markers %+v", l.Versions, l.DeleteMarkers)
	}
	_, err = c.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: aws.String("state")})
	wantCode(t, err, "BucketNotEmpty")
	out, err := c.DeleteObjects(ctx, &awss3.DeleteObjectsInput{Bucket: aws.String("state"), Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: aws.String("k"), VersionId: one.VersionId}, {Key: aws.String("k"), VersionId: aws.String("null")}, {Key: aws.String("k"), VersionId: d.VersionId}}}})
	must(t)(out, err)
	if len(out.Deleted) != 3 {
		t.Errorf("deleted %+v", out)
	}
	must(t)(c.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: aws.String("state")}))
}

func TestStoreSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clients, _, stop := serve(t, dir)
	c := clients("us-east-1")
	must(t)(c.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("state")}))
	must(t)(put1(c, t.Context(), "k", "kept"))
	stop()
	clients, _, _ = serve(t, dir)
	if got := read(t, clients("us-east-1"), "k"); got != "kept" {
		t.Errorf("read %q", got)
	}
}
