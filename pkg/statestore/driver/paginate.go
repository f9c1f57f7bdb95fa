// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"iter"
	"strings"
)

// Paginate makes a page out of keys that come in byte order, for drivers that hold
// them all at hand. Its tokens are the last key or prefix of the page before.
func Paginate(keys iter.Seq[Info], prefix string, o ListOptions) Page {
	limit := o.Limit
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	var p Page
	last := ""
	for info := range keys {
		if !strings.HasPrefix(info.Key, prefix) || passed(info.Key, o.Token) {
			continue
		}
		folder := ""
		if o.Shallow {
			if i := strings.Index(info.Key[len(prefix):], "/"); i >= 0 {
				folder = info.Key[:len(prefix)+i+1]
			}
		}
		if folder != "" && folder == last {
			continue
		}
		if len(p.Objects)+len(p.Prefixes) == limit {
			p.Next = last
			break
		}
		if folder != "" {
			p.Prefixes = append(p.Prefixes, folder)
			last = folder
		} else {
			p.Objects = append(p.Objects, info)
			last = info.Key
		}
	}
	return p
}

// passed reports whether a key was on an earlier page: up to the token, or inside it
// when the token is a folder.
func passed(key, token string) bool {
	return key <= token || strings.HasSuffix(token, "/") && strings.HasPrefix(key, token)
}
