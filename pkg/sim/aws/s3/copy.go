// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

type copyResult struct {
	XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CopyObjectResult"`
	ETag         string
	LastModified string
	ChecksumType string `xml:",omitempty"`
	checksumFields
}

// checksumFields spell a checksum as elements.
type checksumFields struct {
	ChecksumCRC32     string `xml:",omitempty"`
	ChecksumCRC32C    string `xml:",omitempty"`
	ChecksumCRC64NVME string `xml:",omitempty"`
	ChecksumSHA1      string `xml:",omitempty"`
	ChecksumSHA256    string `xml:",omitempty"`
}

func fieldsOf(c checksum) checksumFields {
	var f checksumFields
	switch c.Algorithm {
	case "CRC32":
		f.ChecksumCRC32 = c.Value
	case "CRC32C":
		f.ChecksumCRC32C = c.Value
	case "CRC64NVME":
		f.ChecksumCRC64NVME = c.Value
	case "SHA1":
		f.ChecksumSHA1 = c.Value
	case "SHA256":
		f.ChecksumSHA256 = c.Value
	}
	return f
}

const xmlTime = "2006-01-02T15:04:05.000Z"

// source finds what x-amz-copy-source names, and judges the conditions on it.
func (c *call) source() (version, error) {
	raw, query, _ := strings.Cut(c.r.Header.Get("X-Amz-Copy-Source"), "?")
	path, err := url.PathUnescape(raw)
	bucket, key, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if err != nil || !ok || key == "" {
		return version{}, invalidArgument("x-amz-copy-source", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey")
	}
	id, versioned := strings.CutPrefix(query, "versionId=")
	if query != "" && !versioned {
		return version{}, invalidArgument("x-amz-copy-source", "Copy Source may only have a versionId")
	}
	v, err := c.store.object(bucket, key, id)
	if err != nil {
		return v, err
	}
	h := c.r.Header
	if m := h.Get("X-Amz-Copy-Source-If-Match"); m != "" && !etagMatches(m, v.ETag) {
		return v, preconditionFailed("x-amz-copy-source-If-Match")
	}
	if m := h.Get("X-Amz-Copy-Source-If-None-Match"); m != "" && etagMatches(m, v.ETag) {
		return v, preconditionFailed("x-amz-copy-source-If-None-Match")
	}
	if bucket == c.bucket && key == c.key && id == "" && h.Get("X-Amz-Metadata-Directive") != "REPLACE" && h.Get(headerSSE) == "" && !c.has("uploadId") {
		return v, refuse(http.StatusBadRequest, "InvalidRequest", "This copy request is illegal because it is trying to copy an object to itself "+
			"without changing the object's metadata, storage class, website redirect location or encryption attributes.")
	}
	if v.ID != "null" {
		c.w.Header().Set("x-amz-copy-source-version-id", v.ID)
	}
	return v, nil
}

func (c *call) directive(name string) (replace bool, err error) {
	switch c.r.Header.Get(name) {
	case "", "COPY":
		return false, nil
	case "REPLACE":
		return true, nil
	}
	return false, invalidArgument(name, "Unknown %s directive.", strings.ToLower(name))
}

func (c *call) copyObject() error {
	cond, err := writeConditions(c.r.Header)
	if err != nil {
		return err
	}
	if err := c.refuseACL(false); err != nil {
		return err
	}
	src, err := c.source()
	if err != nil {
		return err
	}
	v, err := c.copied(src)
	if err != nil {
		return err
	}
	from, err := c.store.openBlob(src.Blob)
	if err != nil {
		return err
	}
	defer from.Close()
	if v.Blob, v.Size, err = c.store.writeBlob(from); err != nil {
		return err
	}
	if v, err = c.commit(v, cond); err != nil {
		return err
	}
	c.answerWritten(v)
	c.w.Header().Del("ETag")
	return c.writeXML(http.StatusOK, copyResult{ETag: quote(v.ETag), LastModified: v.Modified.Format(xmlTime),
		ChecksumType: v.Checksum.Type, checksumFields: fieldsOf(v.Checksum)})
}

// copied is the copy's record: headers and tags as the directives say.
func (c *call) copied(src version) (version, error) {
	v := version{ETag: src.ETag, Checksum: src.Checksum, Parts: src.Parts, Tags: src.Tags}
	replace, err := c.directive("X-Amz-Metadata-Directive")
	if err != nil {
		return v, err
	}
	if replace {
		v.Headers, err = c.newHeaders()
	} else {
		v.Headers = maps.Clone(src.Headers)
		delete(v.Headers, headerSSE)
		delete(v.Headers, headerKey)
		err = c.encryptionHeaders(v.Headers)
	}
	if err != nil {
		return v, err
	}
	replace, err = c.directive("X-Amz-Tagging-Directive")
	if err == nil && replace {
		v.Tags, err = headerTags(c.r.Header)
	}
	return v, err
}

type copyPartResult struct {
	XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CopyPartResult"`
	ETag         string
	LastModified string
	checksumFields
}

// uploadPartCopy makes a part of another object, or of a range of it.
func (c *call) uploadPartCopy() error {
	u, n, err := c.partOf()
	if err != nil {
		return err
	}
	src, err := c.source()
	if err != nil {
		return err
	}
	from, err := c.store.openBlob(src.Blob)
	if err != nil {
		return err
	}
	defer from.Close()
	start, length := int64(0), src.Size
	if rng := c.r.Header.Get("X-Amz-Copy-Source-Range"); rng != "" {
		first, last, ok := strings.Cut(strings.TrimPrefix(rng, "bytes="), "-")
		a, err1 := strconv.ParseInt(first, 10, 64)
		z, err2 := strconv.ParseInt(last, 10, 64)
		if !ok || err1 != nil || err2 != nil || a > z || z >= src.Size {
			return invalidArgument("x-amz-copy-source-range", "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets")
		}
		start, length = a, z-a+1
	}
	r, err := http.NewRequestWithContext(c.r.Context(), http.MethodPut, "/", io.NewSectionReader(from, start, length))
	if err != nil {
		return err
	}
	r.ContentLength = length
	p, err := c.storePart(u, n, r)
	if err != nil {
		return err
	}
	out := copyPartResult{ETag: quote(p.ETag), LastModified: p.Modified.UTC().Format(xmlTime)}
	if u.Algorithm != "" {
		out.checksumFields = fieldsOf(p.Checksum)
	}
	return c.writeXML(http.StatusOK, out)
}

func stamp(t time.Time) string { return t.UTC().Format(xmlTime) }
