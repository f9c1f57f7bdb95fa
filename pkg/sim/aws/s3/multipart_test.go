// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func TestMultipart(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	b, k := aws.String("state"), aws.String("big")
	up, err := c.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: b, Key: k, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32})
	must(t)(up, err)
	content := [][]byte{bytes.Repeat([]byte("a"), minPart), []byte("tail")}
	var parts []types.CompletedPart
	for i, raw := range content {
		p, err := c.UploadPart(ctx, &awss3.UploadPartInput{Bucket: b, Key: k, UploadId: up.UploadId, PartNumber: aws.Int32(int32(i + 1)), Body: bytes.NewReader(raw)})
		must(t)(p, err)
		parts = append(parts, types.CompletedPart{ETag: p.ETag, PartNumber: aws.Int32(int32(i + 1)), ChecksumCRC32: p.ChecksumCRC32})
	}
	complete := func(ps ...types.CompletedPart) error {
		_, err := c.CompleteMultipartUpload(ctx, &awss3.CompleteMultipartUploadInput{Bucket: b, Key: k, UploadId: up.UploadId,
			IfNoneMatch: aws.String("*"), MultipartUpload: &types.CompletedMultipartUpload{Parts: ps}})
		return err
	}
	wantCode(t, complete(parts[1], parts[0]), "InvalidPartOrder")
	list, err := c.ListParts(ctx, &awss3.ListPartsInput{Bucket: b, Key: k, UploadId: up.UploadId})
	must(t)(list, err)
	if len(list.Parts) != 2 {
		t.Errorf("parts %v", list.Parts)
	}
	must(t)(put1(c, ctx, "big", "in the way"))
	wantCode(t, complete(parts...), "PreconditionFailed")
	must(t)(c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: b, Key: k}))
	must(t)(nil, complete(parts...))
	if got := read(t, c, "big"); got != string(bytes.Join(content, nil)) {
		t.Errorf("read %d bytes", len(got))
	}
	h, err := c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: b, Key: k})
	must(t)(h, err)
	if !strings.HasSuffix(*h.ETag, `-2"`) {
		t.Errorf("etag %s", *h.ETag)
	}
	wantCode(t, complete(parts...), "NoSuchUpload")
	cp, err := c.CopyObject(ctx, &awss3.CopyObjectInput{Bucket: b, Key: aws.String("copy"), CopySource: aws.String("state/big")})
	must(t)(cp, err)
	if got := read(t, c, "copy"); len(got) != minPart+4 {
		t.Errorf("copy has %d bytes", len(got))
	}
}

func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	c, ctx := bucket(t)
	// crc32 of "hello world" is DUoRhQ==
	send := func(sum string) int {
		r := httptest.NewRequest(http.MethodPut, "/state/k", strings.NewReader("5\r\nhello\r\n6\r\n world\r\n0\r\nx-amz-checksum-crc32:"+sum+"\r\n\r\n"))
		r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
		r.Header.Set("X-Amz-Decoded-Content-Length", "11")
		r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
		r.Header.Set("Content-Encoding", "aws-chunked")
		base := *c.Options().BaseEndpoint
		out, err := http.NewRequestWithContext(ctx, r.Method, base+r.URL.Path, r.Body)
		must(t)(out, err)
		out.Header = r.Header
		resp, err := http.DefaultClient.Do(out)
		must(t)(resp, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := send("AAAAAA=="); got != 400 {
		t.Errorf("wrong checksum answered %d", got)
	}
	if got := send("DUoRhQ=="); got != 200 {
		t.Errorf("right checksum answered %d", got)
	}
	if got := read(t, c, "k"); got != "hello world" {
		t.Errorf("read %q", got)
	}
	_, err := put1(c, ctx, "k", "x", func(in *awss3.PutObjectInput) { in.ContentMD5 = aws.String("1B2M2Y8AsgTpgAmY7PhCfg==") })
	wantCode(t, err, "BadDigest")
}
