// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Server)(nil)

// renamed are the operations whose action has another name; those on a key are
// judged on the object, all others on the bucket.
var renamed = map[string]string{
	"ListBuckets": "ListAllMyBuckets", "HeadBucket": "ListBucket", "ListObjects": "ListBucket", "ListObjectsV2": "ListBucket",
	"ListObjectVersions": "ListBucketVersions", "ListMultipartUploads": "ListBucketMultipartUploads", "DeleteBucketTagging": "PutBucketTagging",
	"GetPublicAccessBlock": "GetBucketPublicAccessBlock", "PutPublicAccessBlock": "PutBucketPublicAccessBlock", "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
	"GetBucketEncryption": "GetEncryptionConfiguration", "PutBucketEncryption": "PutEncryptionConfiguration", "DeleteBucketEncryption": "PutEncryptionConfiguration",
	"DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
	"HeadObject":                    "GetObject", "CopyObject": "PutObject", "DeleteObjects": "DeleteObject", "ListParts": "ListMultipartUploadParts",
	"CreateMultipartUpload": "PutObject", "UploadPart": "PutObject", "UploadPartCopy": "PutObject", "CompleteMultipartUpload": "PutObject",
	"AbortMultipartUpload": "AbortMultipartUpload",
}

// ofVersion are the actions that have another name when the call names a version.
var ofVersion = map[string]string{
	"GetObject": "GetObjectVersion", "DeleteObject": "DeleteObjectVersion", "GetObjectTagging": "GetObjectVersionTagging",
	"PutObjectTagging": "PutObjectVersionTagging", "DeleteObjectTagging": "DeleteObjectVersionTagging",
	"GetObjectAcl": "GetObjectVersionAcl", "PutObjectAcl": "PutObjectVersionAcl",
}

func actionOf(op string) string {
	if name := renamed[op]; name != "" {
		return name
	}
	return op
}

// isObjects tells whether an action is about objects.
func isObjects(action string) bool {
	return strings.Contains(action, "Object") || action == "AbortMultipartUpload" || action == "ListMultipartUploadParts"
}

// Actions lists what Checks may ask.
func (s *Server) Actions() map[string][]string {
	out := map[string][]string{"s3:ListAllMyBuckets": nil}
	for op := range operations {
		action := actionOf(op)
		switch {
		case action == "ListAllMyBuckets":
		case isObjects(action):
			out["s3:"+action] = []string{"object"}
			if v := ofVersion[action]; v != "" {
				out["s3:"+v] = []string{"object"}
			}
		default:
			out["s3:"+action] = []string{"bucket"}
		}
	}
	return out
}

// Checks says which rights a call needs.
func (s *Server) Checks(c *wire.Call) []wire.Check {
	one := s.newCall(nil, c.Request, c.RequestID)
	op := one.operation()
	if op == "" {
		return nil
	}
	action := actionOf(op)
	switch {
	case op == "ListBuckets":
		return []wire.Check{{Action: "s3:ListAllMyBuckets", Resource: "*"}}
	case op == "DeleteObjects":
		return one.manyChecks(c)
	case !isObjects(action):
		k := one.check(action, bucketARN(one.bucket))
		for param, key := range map[string]string{"prefix": "s3:prefix", "delimiter": "s3:delimiter", "max-keys": "s3:max-keys"} {
			if one.has(param) {
				k.Set(key, one.q(param))
			} else if param == "prefix" && strings.HasPrefix(op, "ListObjects") {
				k.Set(key, "")
			}
		}
		return []wire.Check{k}
	}
	if v := ofVersion[action]; v != "" && one.has("versionId") {
		action = v
	}
	checks := []wire.Check{one.check(action, bucketARN(one.bucket)+"/"+one.key)}
	return append(checks, one.moreChecks(op, &checks[0])...)
}

func bucketARN(name string) string { return "arn:aws:s3:::" + name }

// check is one right, with the bucket's policy.
func (c *call) check(action, resource string) wire.Check {
	k := wire.Check{Action: "s3:" + action, Resource: resource}
	bucket, _, _ := strings.Cut(strings.TrimPrefix(resource, "arn:aws:s3:::"), "/")
	if b, err := c.store.bucket(bucket); err == nil {
		k.Policy = b.Config["policy"]
	}
	k.Set("s3:ResourceAccount", c.opts.Account)
	for header, key := range map[string]string{
		"X-Amz-Acl": "s3:x-amz-acl", headerSSE: "s3:x-amz-server-side-encryption", headerKey: "s3:x-amz-server-side-encryption-aws-kms-key-id",
		"X-Amz-Copy-Source": "s3:x-amz-copy-source", "If-Match": "s3:if-match", "If-None-Match": "s3:if-none-match",
	} {
		if v := c.r.Header.Get(header); v != "" && action == "PutObject" {
			k.Set(key, v)
		}
	}
	return k
}

// moreChecks are the rights that an operation on an object needs besides the
// first: to read the source of a copy, to tag, and to learn that a key is missing.
func (c *call) moreChecks(op string, first *wire.Check) []wire.Check {
	var out []wire.Check
	switch op {
	case "GetObject", "HeadObject":
		if _, err := c.store.object(c.bucket, c.key, c.q("versionId")); err != nil {
			out = append(out, c.check("ListBucket", bucketARN(c.bucket)))
		}
	case "CopyObject", "UploadPartCopy":
		source, query, _ := strings.Cut(strings.TrimPrefix(c.r.Header.Get("X-Amz-Copy-Source"), "/"), "?")
		if plain, err := url.PathUnescape(source); err == nil {
			source = plain
		}
		action := "GetObject"
		if strings.HasPrefix(query, "versionId=") {
			action = "GetObjectVersion"
		}
		out = append(out, c.check(action, "arn:aws:s3:::"+source))
	}
	if c.r.Header.Get("X-Amz-Tagging") != "" && first.Action == "s3:PutObject" {
		out = append(out, c.check("PutObjectTagging", first.Resource))
	}
	return out
}

// maxDelete bounds the document of DeleteObjects.
const maxDelete = 2 << 20

// manyChecks are the rights to delete each of several objects. The document is
// read for it, and put back.
func (c *call) manyChecks(wc *wire.Call) []wire.Check {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxDelete))
	wc.Request.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(raw), c.r.Body), c.r.Body}
	var in deleteRequest
	if err != nil || xml.Unmarshal(raw, &in) != nil || len(in.Object) == 0 {
		return []wire.Check{c.check("DeleteObject", bucketARN(c.bucket)+"/*")}
	}
	out := make([]wire.Check, 0, len(in.Object))
	for _, o := range in.Object {
		action := "DeleteObject"
		if o.VersionID != "" {
			action = "DeleteObjectVersion"
		}
		out = append(out, c.check(action, bucketARN(c.bucket)+"/"+o.Key))
	}
	return out
}

// public tells whether a caller without a signature may be served: the bucket's
// policy allows it to everybody, and nothing restricts public buckets.
func (c *call) public(wc *wire.Call) bool {
	b, err := c.store.bucket(c.bucket)
	if err != nil || !wc.Public {
		return false
	}
	var block publicAccessBlock
	if xml.Unmarshal([]byte(b.Config["publicAccessBlock"]), &block) == nil && block.RestrictPublicBuckets {
		return false
	}
	return c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
}
