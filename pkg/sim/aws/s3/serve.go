// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// serve sends the call to what implements it.
func (c *call) serve() error {
	op := c.operation()
	if op == "" {
		return refuse(http.StatusNotImplemented, "NotImplemented",
			"A header or query you provided implies functionality that is not implemented: %s %s", c.r.Method, strings.Join(c.subresources(), "&"))
	}
	if err := c.region(op); err != nil {
		return err
	}
	if len(c.key) > 1024 {
		return refuse(http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	}
	return operations[op](c)
}

// operations are all that this server implements, under S3's names.
var operations = withSettings(map[string]func(*call) error{
	"ListBuckets": (*call).delegate, "HeadBucket": (*call).delegate, "DeleteBucket": (*call).deleteBucket,
	"ListObjects": (*call).listObjects, "ListObjectsV2": (*call).listObjects, "ListObjectVersions": (*call).listObjectVersions,
	"GetBucketVersioning": (*call).getVersioning, "PutBucketVersioning": (*call).putVersioning,
	"CreateBucket": (*call).createBucket, "GetBucketLocation": (*call).bucketLocation,
	"GetBucketTagging": (*call).bucketTagging, "PutBucketTagging": (*call).bucketTagging, "DeleteBucketTagging": (*call).bucketTagging,
	"GetBucketAcl": (*call).getACL, "PutBucketAcl": (*call).putACL, "GetObjectAcl": (*call).getACL, "PutObjectAcl": (*call).putACL,
	"DeleteObjects": (*call).deleteObjects,
	"GetObject":     (*call).getObject, "HeadObject": (*call).getObject,
	"PutObject": (*call).putObject, "CopyObject": (*call).copyObject, "DeleteObject": (*call).deleteObject,
	"GetObjectTagging": (*call).objectTagging, "PutObjectTagging": (*call).objectTagging, "DeleteObjectTagging": (*call).objectTagging,
	"CreateMultipartUpload": (*call).createUpload, "UploadPart": (*call).uploadPart, "UploadPartCopy": (*call).uploadPartCopy,
	"CompleteMultipartUpload": (*call).completeUpload, "AbortMultipartUpload": (*call).abortUpload,
	"ListParts": (*call).listParts, "ListMultipartUploads": (*call).listUploads,
})

// withSettings adds the operations on buckets' documents.
func withSettings(ops map[string]func(*call) error) map[string]func(*call) error {
	for name, s := range settings {
		run := func(c *call) error { return c.serveSetting(name, s) }
		for _, verb := range []string{"Get", "Put", "Delete"} {
			ops[settingOperation(verb, name)] = run
		}
	}
	return ops
}

// settingOperation names the operation on a bucket's document.
func settingOperation(verb, name string) string {
	if name == "publicAccessBlock" {
		return verb + "PublicAccessBlock"
	}
	return verb + "Bucket" + strings.ToUpper(name[:1]) + name[1:]
}

// plainQuery are the query parameters that select no other operation.
var plainQuery = []string{
	"x-id", "list-type", "prefix", "delimiter", "max-keys", "marker", "start-after", "continuation-token", "fetch-owner",
	"encoding-type", "key-marker", "version-id-marker", "upload-id-marker", "max-uploads", "max-parts", "part-number-marker",
	"versionId", "partNumber", "uploadId", "response-content-type", "response-content-language", "response-expires",
	"response-cache-control", "response-content-disposition", "response-content-encoding", "max-buckets", "bucket-region",
}

// subresources are the query parameters that select an operation.
func (c *call) subresources() []string {
	var out []string
	for name := range c.query {
		if !slices.Contains(plainQuery, name) && !strings.HasPrefix(name, "X-Amz-") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// verbs are the words that operation names begin with, by method.
var verbs = map[string]string{http.MethodGet: "Get", http.MethodPut: "Put", http.MethodDelete: "Delete", http.MethodHead: "Head"}

// operation names what a request asks for, "" when it is not implemented.
func (c *call) operation() string {
	name, m := "", c.r.Method
	sub := c.subresources()
	switch {
	case len(sub) > 1:
	case c.bucket == "":
		if m == http.MethodGet && len(sub) == 0 {
			name = "ListBuckets"
		}
	case c.key == "":
		name = c.bucketOperation(sub)
	default:
		name = c.objectOperation(sub)
	}
	if operations[name] == nil {
		return ""
	}
	return name
}

func (c *call) bucketOperation(sub []string) string {
	m := c.r.Method
	if len(sub) == 0 {
		switch {
		case m == http.MethodPut:
			return "CreateBucket"
		case m == http.MethodGet && c.q("list-type") == "2":
			return "ListObjectsV2"
		case m == http.MethodGet:
			return "ListObjects"
		case verbs[m] == "":
			return ""
		}
		return verbs[m] + "Bucket"
	}
	switch sub[0] {
	case "versions":
		return "ListObjectVersions"
	case "uploads":
		return "ListMultipartUploads"
	case "delete":
		return map[string]string{http.MethodPost: "DeleteObjects"}[m]
	}
	return settingOperation(verbs[m], sub[0])
}

func (c *call) objectOperation(sub []string) string {
	m, copying := c.r.Method, c.r.Header.Get("X-Amz-Copy-Source") != ""
	switch {
	case len(sub) == 1 && sub[0] == "uploads":
		return map[string]string{http.MethodPost: "CreateMultipartUpload"}[m]
	case len(sub) == 1:
		return verbs[m] + "Object" + strings.ToUpper(sub[0][:1]) + sub[0][1:]
	case c.has("uploadId") && m == http.MethodPut && copying:
		return "UploadPartCopy"
	case c.has("uploadId"):
		return map[string]string{http.MethodPut: "UploadPart", http.MethodPost: "CompleteMultipartUpload",
			http.MethodDelete: "AbortMultipartUpload", http.MethodGet: "ListParts"}[m]
	case m == http.MethodPut && copying:
		return "CopyObject"
	case verbs[m] == "":
		return ""
	}
	return verbs[m] + "Object"
}

// region says where a bucket is and refuses a request signed for elsewhere.
func (c *call) region(op string) error {
	if c.bucket == "" || op == "CreateBucket" {
		return nil
	}
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	c.w.Header().Set("x-amz-bucket-region", b.Region)
	signed := c.opts.Region(c.r)
	if signed == "" || signed == b.Region || op == "GetBucketLocation" {
		return nil
	}
	e := refuse(http.StatusMovedPermanently, "PermanentRedirect",
		"The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint.")
	e.Bucket, e.Region, e.Endpoint = c.bucket, b.Region, "s3."+b.Region+".amazonaws.com"
	return e
}

// delegate lets gofakes3 answer.
func (c *call) delegate() error {
	return c.ask(&editor{ResponseWriter: c.w, head: c.r.Method == http.MethodHead}, c.r)
}

// ask hands a request to gofakes3 and notes the code of its refusal for the log.
func (c *call) ask(e *editor, r *http.Request) error {
	c.fake.ServeHTTP(e, r)
	switch {
	case e.status == http.StatusRequestedRangeNotSatisfiable:
		c.code = "InvalidRange"
	case e.status == http.StatusNotFound:
		c.code = "NotFound"
	case e.status >= 400:
		c.code = "InvalidRequest"
	}
	return nil
}

func (c *call) deleteBucket() error {
	if err := c.store.deleteBucket(c.bucket); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// listObjects checks what gofakes3 lets pass and then lets it list.
func (c *call) listObjects() error {
	if c.q("encoding-type") != "" && c.q("encoding-type") != "url" {
		return invalidArgument("encoding-type", "Invalid Encoding Method specified in Request")
	}
	if _, err := c.pageSize("max-keys"); err != nil {
		return err
	}
	if c.has("continuation-token") && c.q("continuation-token") == "" {
		return invalidArgument("continuation-token", "The continuation token provided is incorrect")
	}
	return c.delegate()
}

func (c *call) delegateWith(body []byte) error {
	c.r.Body, c.r.ContentLength = readCloser{bytes.NewReader(body)}, int64(len(body))
	return c.delegate()
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// editor corrects what gofakes3 writes: headers that it sets without need, and
// ETags that are not an MD5.
type editor struct {
	http.ResponseWriter
	head    bool
	checked bool // hide nothing: the caller asked for checksums
	done    bool
	status  int
}

func (e *editor) WriteHeader(status int) {
	h := e.Header()
	if etag := h.Get(headerETag); etag != "" {
		h.Set("ETag", quote(etag))
	}
	h.Del(headerETag)
	if h.Get("X-Amz-Delete-Marker") == "false" {
		h.Del("X-Amz-Delete-Marker")
	}
	if !e.checked {
		for name := range h {
			if strings.HasPrefix(name, "X-Amz-Checksum-") {
				h.Del(name)
			}
		}
	}
	if !e.done && h.Get("Content-Length") == "" && status < 300 && status != http.StatusNoContent && h.Get("Content-Type") == "" && !e.head {
		h.Set("Content-Type", "application/xml")
	}
	if status >= 300 {
		h.Del("ETag")
		h.Set("Content-Type", "application/xml")
	}
	e.done, e.status = true, status
	e.ResponseWriter.WriteHeader(status)
}

func (e *editor) Write(p []byte) (int, error) {
	if !e.done {
		e.WriteHeader(http.StatusOK)
	}
	if e.head {
		return len(p), nil
	}
	return e.ResponseWriter.Write(p)
}

// getACL answers the owner's full control, the only grant there is.
func (c *call) getACL() error {
	if c.key != "" {
		if _, err := c.store.object(c.bucket, c.key, c.q("versionId")); err != nil {
			return err
		}
	}
	id := fmt.Sprintf("%064s", c.opts.Account)
	c.w.Header().Set("Content-Type", "application/xml")
	_, err := fmt.Fprintf(c.w, `<?xml version="1.0" encoding="UTF-8"?>
<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>%[1]s</ID></Owner><AccessControlList><Grant>`+
		`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>%[1]s</ID></Grantee>`+
		`<Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>`, id)
	return err
}

// putACL refuses every list but the owner's own.
func (c *call) putACL() error {
	if err := c.refuseACL(false); err != nil {
		return err
	}
	if acl := c.r.Header.Get("X-Amz-Acl"); acl != "private" && acl != "bucket-owner-full-control" {
		return refuse(http.StatusNotImplemented, "NotImplemented", "Access lists other than private are not implemented")
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}
