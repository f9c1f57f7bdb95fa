// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// conditions are the If-* headers of a write.
type conditions struct {
	ifMatch     string // an ETag, quoted or not, or *
	ifNoneMatch string // only * is allowed on writes
}

func writeConditions(h http.Header) (conditions, error) {
	c := conditions{ifMatch: h.Get("If-Match"), ifNoneMatch: h.Get("If-None-Match")}
	if c.ifNoneMatch != "" && c.ifNoneMatch != "*" {
		return c, refuse(http.StatusNotImplemented, "NotImplemented",
			"A header you provided implies functionality that is not implemented: If-None-Match takes only * on a write")
	}
	if c.ifMatch != "" && c.ifNoneMatch != "" {
		return c, refuse(http.StatusNotImplemented, "NotImplemented",
			"A header you provided implies functionality that is not implemented: If-Match together with If-None-Match")
	}
	return c, nil
}

// check judges a write against what a plain read would see now.
func (c conditions) check(key string, now *version) error {
	if c.ifNoneMatch == "*" && now != nil {
		return preconditionFailed("If-None-Match")
	}
	if c.ifMatch == "" {
		return nil
	}
	if now == nil {
		return noSuchKey(key)
	}
	if !etagMatches(c.ifMatch, now.ETag) {
		return preconditionFailed("If-Match")
	}
	return nil
}

// etagMatches compares a header's list of ETags with an object's.
func etagMatches(header, etag string) bool {
	for _, one := range strings.Split(header, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || strings.Trim(one, `"`) == etag {
			return true
		}
	}
	return false
}

// putObject makes v the newest state of a key if the conditions hold, and
// returns it with its version id ("" in a bucket without versioning).
func (s *store) putObject(bucket, key string, v version, cond conditions) (version, error) {
	err := s.update(func(t *tx) error {
		var err error
		v, err = t.addVersion(bucket, key, v, cond, s.now())
		return err
	})
	return v, err
}

func (t *tx) addVersion(bucket, key string, v version, cond conditions, now time.Time) (version, error) {
	b, err := t.bucket(bucket)
	if err != nil {
		return v, err
	}
	all, err := t.versions(bucket, key)
	if err != nil {
		return v, err
	}
	if err := cond.check(key, current(all)); err != nil {
		return v, err
	}
	v.Modified = now.UTC().Truncate(time.Millisecond)
	v.ID = "null"
	if b.Versioning == "Enabled" {
		v.ID = randomID(16)
	} else {
		all = t.dropVersion(all, "null")
	}
	return v, t.putVersions(bucket, key, append([]version{v}, all...))
}

// dropVersion takes one state out and marks its body for removal.
func (t *tx) dropVersion(all []version, id string) []version {
	return slices.DeleteFunc(all, func(v version) bool {
		if v.ID == id && v.Blob != "" {
			t.dead = append(t.dead, v.Blob)
		}
		return v.ID == id
	})
}

// deleted tells what a delete did.
type deleted struct {
	version string // of the marker made or the state removed; "" without versioning
	marker  bool
}

// deleteObject removes a state by id, or with id "" does what the bucket's
// versioning asks: a marker, or removal. Deleting what is absent succeeds.
func (s *store) deleteObject(bucket, key, id string, cond conditions) (deleted, error) {
	var out deleted
	err := s.update(func(t *tx) error {
		b, err := t.bucket(bucket)
		if err != nil {
			return err
		}
		all, err := t.versions(bucket, key)
		if err != nil {
			return err
		}
		if err := cond.check(key, current(all)); err != nil {
			return err
		}
		if id != "" {
			return t.removeVersion(bucket, key, id, all, &out)
		}
		switch b.Versioning {
		case "":
			return t.putVersions(bucket, key, t.dropVersion(all, "null"))
		case "Suspended":
			all = t.dropVersion(all, "null")
			out = deleted{version: "null", marker: true}
		default:
			out = deleted{version: randomID(16), marker: true}
		}
		v := version{ID: out.version, Marker: true, Modified: s.now().UTC().Truncate(time.Millisecond)}
		return t.putVersions(bucket, key, append([]version{v}, all...))
	})
	return out, err
}

func (t *tx) removeVersion(bucket, key, id string, all []version, out *deleted) error {
	i := slices.IndexFunc(all, func(v version) bool { return v.ID == id })
	out.version = id
	if i < 0 {
		return nil
	}
	out.marker = all[i].Marker
	return t.putVersions(bucket, key, t.dropVersion(all, id))
}

// object finds a state: the newest with id "". A delete marker is returned
// with the error that a read of it gets.
func (s *store) object(bucket, key, id string) (version, error) {
	var out version
	err := s.view(func(t *tx) error {
		var err error
		out, err = t.object(bucket, key, id)
		return err
	})
	return out, err
}

func (t *tx) object(bucket, key, id string) (version, error) {
	if _, err := t.bucket(bucket); err != nil {
		return version{}, err
	}
	all, err := t.versions(bucket, key)
	if err != nil {
		return version{}, err
	}
	if id == "" {
		if now := current(all); now != nil {
			return *now, nil
		}
		if len(all) > 0 {
			return all[0], noSuchKey(key)
		}
		return version{}, noSuchKey(key)
	}
	i := slices.IndexFunc(all, func(v version) bool { return v.ID == id })
	if i < 0 {
		return version{}, noSuchVersion(key)
	}
	if all[i].Marker {
		return all[i], refuse(http.StatusMethodNotAllowed, "MethodNotAllowed",
			"The specified method is not allowed against this resource.")
	}
	return all[i], nil
}
