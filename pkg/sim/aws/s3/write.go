// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"net/http"
	"strings"
)

// maxMetadata is the size of an object's own metadata, names and values.
const maxMetadata = 2048

// keptHeaders are the standard headers that an object keeps.
var keptHeaders = []string{"Content-Type", "Content-Disposition", "Content-Encoding", "Content-Language", "Cache-Control", "Expires"}

// storedHeaders picks what an object keeps of a request's headers.
func storedHeaders(meta map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range keptHeaders {
		if v := meta[name]; v != "" {
			out[name] = v
		}
	}
	for name, v := range meta {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			out[name] = v
		}
	}
	if enc := strings.Split(out["Content-Encoding"], ","); enc[0] == "aws-chunked" {
		out["Content-Encoding"] = strings.TrimSpace(strings.Join(enc[1:], ","))
		if out["Content-Encoding"] == "" {
			delete(out, "Content-Encoding")
		}
	}
	if out["Content-Type"] == "" {
		out["Content-Type"] = "binary/octet-stream"
	}
	return out
}

// newHeaders reads the headers of a new object, encryption included.
func (c *call) newHeaders() (map[string]string, error) {
	flat := map[string]string{}
	size := 0
	for name, values := range c.r.Header {
		flat[name] = strings.Join(values, ",")
		if own, ok := strings.CutPrefix(name, "X-Amz-Meta-"); ok {
			size += len(own) + len(flat[name])
		}
	}
	if size > maxMetadata {
		return nil, refuse(http.StatusBadRequest, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size")
	}
	if class := flat["X-Amz-Storage-Class"]; class != "" && class != "STANDARD" {
		return nil, refuse(http.StatusNotImplemented, "NotImplemented", "Storage classes other than STANDARD are not implemented")
	}
	out := storedHeaders(flat)
	return out, c.encryptionHeaders(out)
}

const headerSSE, headerKey = "X-Amz-Server-Side-Encryption", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"

// encryptionHeaders adds what the request asks, or the bucket's default.
func (c *call) encryptionHeaders(out map[string]string) error {
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	alg, key := c.r.Header.Get(headerSSE), c.r.Header.Get(headerKey)
	if alg == "" {
		var def encryption
		if xml.Unmarshal([]byte(b.Config["encryption"]), &def) == nil && len(def.Rule) == 1 {
			alg = def.Rule[0].ApplyServerSideEncryptionByDefault.SSEAlgorithm
			key = def.Rule[0].ApplyServerSideEncryptionByDefault.KMSMasterKeyID
		}
	}
	switch alg {
	case "":
		alg = "AES256"
	case "AES256", "aws:kms", "aws:kms:dsse":
	default:
		return invalidArgument("x-amz-server-side-encryption", "The encryption method specified is not supported")
	}
	if alg == "AES256" && key != "" {
		return invalidArgument("x-amz-server-side-encryption", "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : aws:kms")
	}
	out[headerSSE] = alg
	if alg != "AES256" {
		if key == "" {
			key = "arn:aws:kms:" + b.Region + ":" + c.opts.Account + ":alias/aws/s3"
		}
		out[headerKey] = key
	}
	return nil
}

// answerWritten sets the headers that every write answers.
func (c *call) answerWritten(v version) {
	h := c.w.Header()
	h.Set("ETag", quote(v.ETag))
	c.versionHeader(v.ID)
	for _, name := range []string{headerSSE, headerKey} {
		if v.Headers[name] != "" {
			h.Set(name, v.Headers[name])
		}
	}
	if v.Checksum.Value != "" {
		h.Set(v.Checksum.header(), v.Checksum.Value)
		h.Set("X-Amz-Checksum-Type", v.Checksum.Type)
	}
}

// putObject stores a body; conditions are judged before and, atomically with
// the write, after reading it.
func (c *call) putObject() error {
	cond, err := writeConditions(c.r.Header)
	if err != nil {
		return err
	}
	if err := c.refuseACL(false); err != nil {
		return err
	}
	if err := c.early(cond); err != nil {
		return err
	}
	v := version{}
	if v.Headers, err = c.newHeaders(); err != nil {
		return err
	}
	if v.Tags, err = headerTags(c.r.Header); err != nil {
		return err
	}
	b, err := newBody(c.r)
	if err != nil {
		return err
	}
	if v.Blob, v.Size, err = c.store.writeBlob(b); err != nil {
		return err
	}
	v.ETag, v.Checksum = b.etag(), b.checksum()
	v, err = c.commit(v, cond)
	if err != nil {
		return err
	}
	c.answerWritten(v)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// early refuses a write that cannot succeed before its body is stored.
func (c *call) early(cond conditions) error {
	if cond == (conditions{}) {
		return nil
	}
	now, err := c.store.object(c.bucket, c.key, "")
	if err != nil {
		return cond.check(c.key, nil)
	}
	return cond.check(c.key, &now)
}

// commit makes v the object, or drops its body.
func (c *call) commit(v version, cond conditions) (version, error) {
	out, err := c.store.putObject(c.bucket, c.key, v, cond)
	if err != nil {
		c.store.dropBlob(v.Blob)
	}
	return out, err
}

func (c *call) deleteObject() error {
	cond, err := writeConditions(c.r.Header)
	if err != nil {
		return err
	}
	d, err := c.store.deleteObject(c.bucket, c.key, c.q("versionId"), cond)
	if err != nil {
		return err
	}
	c.versionHeader(d.version)
	if d.marker {
		c.w.Header().Set("x-amz-delete-marker", "true")
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

type deleteRequest struct {
	XMLName xml.Name `xml:"Delete"`
	Quiet   bool
	Object  []deleteTarget
}

type deleteTarget struct {
	Key       string
	VersionID string `xml:"VersionId,omitempty"`
	ETag      string `xml:",omitempty"`
}

type deleteResult struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
	Deleted []deletedEntry
	Error   []deleteFault
}

type deletedEntry struct {
	Key                   string
	VersionID             string `xml:"VersionId,omitempty"`
	DeleteMarker          bool   `xml:",omitempty"`
	DeleteMarkerVersionID string `xml:"DeleteMarkerVersionId,omitempty"`
}

type deleteFault struct {
	Key, Code, Message string
	VersionID          string `xml:"VersionId,omitempty"`
}

// deleteObjects removes up to 1,000 keys, each on its own.
func (c *call) deleteObjects() error {
	raw, err := c.document(true)
	if err != nil {
		return err
	}
	var in deleteRequest
	if err := strictXML(raw, &in, "Delete"); err != nil {
		return err
	}
	if len(in.Object) == 0 || len(in.Object) > 1000 {
		return malformedXML()
	}
	var out deleteResult
	for _, o := range in.Object {
		d, err := c.store.deleteObject(c.bucket, o.Key, o.VersionID, conditions{ifMatch: o.ETag})
		if err != nil {
			e, ok := err.(*apiError)
			if !ok {
				return err
			}
			out.Error = append(out.Error, deleteFault{Key: o.Key, VersionID: o.VersionID, Code: e.Code, Message: e.Message})
			continue
		}
		done := deletedEntry{Key: o.Key, VersionID: o.VersionID, DeleteMarker: d.marker}
		if d.marker {
			done.DeleteMarkerVersionID = d.version
		}
		if !in.Quiet {
			out.Deleted = append(out.Deleted, done)
		}
	}
	return c.writeXML(http.StatusOK, out)
}
