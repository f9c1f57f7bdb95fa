// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"strings"
)

// pageOf is a listing's slice: keys under prefix, after a marker, folded at a
// delimiter, at most limit entries (keys and folded prefixes together).
type pageOf struct {
	prefix, delimiter, after string
	afterVersion             string // with after: continue inside that key's states
	limit                    int
}

// entry is a key with its states, or a folded prefix.
type entry struct {
	key      string
	prefix   bool
	versions []version
}

// scan walks keys in byte order and calls visit until it returns false. A
// folded prefix is visited once and its keys are jumped over.
func (t *tx) scan(bucket string, p pageOf, visit func(entry) (bool, error)) error {
	c := t.objects(bucket).Cursor()
	start := []byte(p.prefix)
	if p.after > p.prefix {
		start = []byte(p.after)
	}
	k, raw := c.Seek(start)
	for k != nil && bytes.HasPrefix(k, []byte(p.prefix)) {
		key := string(k)
		if key == p.after && p.afterVersion == "" {
			k, raw = c.Next()
			continue
		}
		if folded, ok := p.fold(key); ok {
			if folded != p.after {
				more, err := visit(entry{key: folded, prefix: true})
				if err != nil || !more {
					return err
				}
			}
			// 0xff sorts after every byte of UTF-8.
			k, raw = c.Seek(append([]byte(folded), 0xff))
			continue
		}
		all, err := decodeVersions(bucket, key, raw)
		if err != nil {
			return err
		}
		more, err := visit(entry{key: key, versions: all})
		if err != nil || !more {
			return err
		}
		k, raw = c.Next()
	}
	return nil
}

// fold gives the common prefix that a key is listed under, if any.
func (p pageOf) fold(key string) (string, bool) {
	if p.delimiter == "" {
		return "", false
	}
	i := strings.Index(key[len(p.prefix):], p.delimiter)
	if i < 0 {
		return "", false
	}
	return key[:len(p.prefix)+i+len(p.delimiter)], true
}

// listing is one page of current objects.
type listing struct {
	entries   []entry // with exactly one version each, or prefixes
	truncated bool
	next      string // the last entry of a truncated page
}

func (s *store) list(bucket string, p pageOf) (listing, error) {
	var out listing
	err := s.view(func(t *tx) error {
		if _, err := t.bucket(bucket); err != nil {
			return err
		}
		return t.scan(bucket, p, func(e entry) (bool, error) {
			if e.prefix {
				visible, err := t.anyCurrent(bucket, e.key)
				if err != nil || !visible {
					return true, err
				}
			} else {
				now := current(e.versions)
				if now == nil {
					return true, nil
				}
				e.versions = []version{*now}
			}
			if len(out.entries) == p.limit {
				out.truncated = p.limit > 0
				return false, nil
			}
			out.entries = append(out.entries, e)
			return true, nil
		})
	})
	if out.truncated {
		out.next = out.entries[len(out.entries)-1].key
	}
	return out, err
}

// anyCurrent tells whether a prefix holds an object that is not deleted.
func (t *tx) anyCurrent(bucket, prefix string) (bool, error) {
	found := false
	err := t.scan(bucket, pageOf{prefix: prefix}, func(e entry) (bool, error) {
		found = current(e.versions) != nil
		return !found, nil
	})
	return found, err
}

// state is one row of a listing of versions.
type state struct {
	key    string
	prefix bool
	latest bool
	version
}

// listVersions gives a page of states, newest first within a key, and the last
// row of the page when more follow.
func (s *store) listVersions(bucket string, p pageOf) (rows []state, truncated bool, err error) {
	err = s.view(func(t *tx) error {
		if _, err := t.bucket(bucket); err != nil {
			return err
		}
		return t.scan(bucket, p, func(e entry) (bool, error) {
			for _, row := range e.rows(p) {
				if len(rows) == p.limit {
					truncated = p.limit > 0
					return false, nil
				}
				rows = append(rows, row)
			}
			return true, nil
		})
	})
	return rows, truncated, err
}

// rows are an entry's states that come after the page's marker.
func (e entry) rows(p pageOf) []state {
	if e.prefix {
		return []state{{key: e.key, prefix: true}}
	}
	skip := e.key == p.after && p.afterVersion != ""
	var out []state
	for i, v := range e.versions {
		if !skip {
			out = append(out, state{key: e.key, latest: i == 0, version: v})
		}
		if v.ID == p.afterVersion {
			skip = false
		}
	}
	return out
}
