// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// S3 takes 50 tags on a bucket and 10 on an object.
const (
	maxBucketTags = 50
	maxObjectTags = 10
)

type tagging struct {
	XMLName xml.Name `xml:"Tagging"`
	TagSet  []tag    `xml:"TagSet>Tag"`
}

func invalidTag(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "InvalidTag", format, args...)
}

func checkTags(tags []tag, limit int) error {
	if len(tags) > limit {
		return refuse(http.StatusBadRequest, "BadRequest", "Object tags cannot be greater than %d", limit)
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > 128:
			return invalidTag("The TagKey you have provided is invalid")
		case utf8.RuneCountInString(t.Value) > 256:
			return invalidTag("The TagValue you have provided is invalid")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return invalidTag("System tags cannot be added/updated by requester")
		case seen[t.Key]:
			return invalidTag("Cannot provide multiple Tags with the same key")
		}
		seen[t.Key] = true
	}
	return nil
}

// headerTags reads x-amz-tagging: a query string.
func headerTags(h http.Header) ([]tag, error) {
	raw := h.Get("X-Amz-Tagging")
	if raw == "" {
		return nil, nil
	}
	var out []tag
	for _, pair := range strings.Split(raw, "&") {
		k, v, _ := strings.Cut(pair, "=")
		key, err1 := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(v)
		if err1 != nil || err2 != nil {
			return nil, invalidArgument("x-amz-tagging", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
		}
		out = append(out, tag{key, value})
	}
	return out, checkTags(out, maxObjectTags)
}

// bucketTagging serves ?tagging of a bucket.
func (c *call) bucketTagging() error {
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodGet:
		if len(b.Tags) == 0 {
			return refuse(http.StatusNotFound, "NoSuchTagSet", "The TagSet does not exist")
		}
		return c.writeXML(http.StatusOK, tagging{TagSet: b.Tags})
	case http.MethodPut:
		tags, err := c.readTags(maxBucketTags)
		if err != nil {
			return err
		}
		return c.setBucketTags(tags)
	case http.MethodDelete:
		return c.setBucketTags(nil)
	}
	return methodNotAllowed()
}

func (c *call) setBucketTags(tags []tag) error {
	err := c.store.changeBucket(c.bucket, func(b *bucketRecord) error {
		b.Tags = tags
		return nil
	})
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (c *call) readTags(limit int) ([]tag, error) {
	raw, err := c.document(true)
	if err != nil {
		return nil, err
	}
	var in tagging
	if err := strictXML(raw, &in, "Tagging"); err != nil {
		return nil, err
	}
	return in.TagSet, checkTags(in.TagSet, limit)
}

// objectTagging serves ?tagging of an object.
func (c *call) objectTagging() error {
	id := c.q("versionId")
	switch c.r.Method {
	case http.MethodGet:
		v, err := c.store.object(c.bucket, c.key, id)
		if err != nil {
			return err
		}
		c.versionHeader(v.ID)
		return c.writeXML(http.StatusOK, tagging{TagSet: v.Tags})
	case http.MethodPut:
		tags, err := c.readTags(maxObjectTags)
		if err != nil {
			return err
		}
		return c.setObjectTags(id, tags, http.StatusOK)
	case http.MethodDelete:
		return c.setObjectTags(id, nil, http.StatusNoContent)
	}
	return methodNotAllowed()
}

func (c *call) setObjectTags(id string, tags []tag, status int) error {
	err := c.store.update(func(t *tx) error {
		v, err := t.object(c.bucket, c.key, id)
		if err != nil {
			return err
		}
		all, err := t.versions(c.bucket, c.key)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].ID == v.ID {
				all[i].Tags = tags
			}
		}
		c.versionHeader(v.ID)
		return t.putVersions(c.bucket, c.key, all)
	})
	if err == nil {
		c.w.WriteHeader(status)
	}
	return err
}

// versionHeader names a version in the answer, unless the object has none.
func (c *call) versionHeader(id string) {
	if id != "" && id != "null" {
		c.w.Header().Set("x-amz-version-id", id)
	}
}

func tagCount(tags []tag) string { return strconv.Itoa(len(tags)) }

func methodNotAllowed() *apiError {
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
}
