// SPDX-License-Identifier: Apache-2.0

package api

import "strings"

// nearest returns the known name that is most like name, or "" when none is near
// enough to be meant.
func nearest(name string, known []string) string {
	best, bestAt := "", len(name)/3+2
	lower := strings.ToLower(name)
	for _, k := range known {
		d := distance(lower, strings.ToLower(k), bestAt)
		if d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// didYouMean returns ": did you mean x?" or the list of known names when none is near.
func didYouMean(name string, known []string) string {
	if n := nearest(name, known); n != "" {
		return "; did you mean " + n + "?"
	}
	if len(known) == 0 {
		return ""
	}
	if len(known) > 12 {
		return "; known are " + strings.Join(known[:12], ", ") + " and more"
	}
	return "; known are " + strings.Join(known, ", ")
}

// distance is the number of letters to insert, drop, replace or swap with the next to
// turn a into b. It stops early and answers limit when it cannot be less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least >= limit {
			return limit
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
