// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"net/http"
	"time"
)

// nullVersion stands for the version id "null", which gofakes3 takes for none.
const nullVersion = "null-version"

// getObject judges the conditions of a read, which gofakes3 knows in part
// only, and lets it serve headers, ranges and the body.
func (c *call) getObject() error {
	v, err := c.store.object(c.bucket, c.key, c.q("versionId"))
	if v.Marker {
		c.w.Header().Set("x-amz-delete-marker", "true")
		c.versionHeader(v.ID)
	}
	if err != nil {
		return err
	}
	if err := c.readConditions(v); err != nil {
		return err
	}
	if p := c.q("partNumber"); p != "" && p != "1" {
		return refuse(http.StatusNotImplemented, "NotImplemented", "Reads by part number are not implemented")
	}
	r := c.r.Clone(c.r.Context())
	r.Method = http.MethodGet // gofakes3 ignores versions on HEAD
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		r.Header.Del(name)
	}
	if c.q("versionId") == "null" {
		q := r.URL.Query()
		q.Set("versionId", nullVersion)
		r.URL.RawQuery = q.Encode()
	}
	checked := r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && r.Header.Get("Range") == ""
	return c.ask(&editor{ResponseWriter: c.w, head: c.r.Method == http.MethodHead, checked: checked}, r)
}

// readConditions follows RFC 9110 section 13.2.2 as S3 does: If-Match beats
// If-Unmodified-Since, If-None-Match beats If-Modified-Since.
func (c *call) readConditions(v version) error {
	h := c.r.Header
	modified := v.Modified.Truncate(time.Second)
	notModified := refuse(http.StatusNotModified, "NotModified", "Not Modified")
	if m := h.Get("If-Match"); m != "" {
		if !etagMatches(m, v.ETag) {
			return preconditionFailed("If-Match")
		}
	} else if t, err := http.ParseTime(h.Get("If-Unmodified-Since")); err == nil && modified.After(t) {
		return preconditionFailed("If-Unmodified-Since")
	}
	if m := h.Get("If-None-Match"); m != "" {
		if etagMatches(m, v.ETag) {
			c.w.Header().Set("ETag", quote(v.ETag))
			return notModified
		}
	} else if t, err := http.ParseTime(h.Get("If-Modified-Since")); err == nil && !modified.After(t) {
		c.w.Header().Set("ETag", quote(v.ETag))
		return notModified
	}
	return nil
}
