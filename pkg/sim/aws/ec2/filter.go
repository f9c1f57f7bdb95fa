// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Filter is a filter of a describe call: any of the values, with * and ?.
type Filter struct {
	Name   string   `wire:"Name,required"`
	Values []string `wire:"Value"`
}

const maxFilterValues = 200

// filter keeps the rows that meet every filter. known gives a row's values of
// each filter name; tag:KEY and tag-key are added for kinds with tags.
func filter[T any](rows []*T, filters []Filter, known map[string]func(*T) []string, tags func(*T) *[]Tag) ([]*T, *wire.Error) {
	for _, f := range filters {
		values, err := filterValues(f, known, tags)
		if err != nil {
			return nil, err
		}
		var kept []*T
		for _, row := range rows {
			if meets(f, values(row)) {
				kept = append(kept, row)
			}
		}
		rows = kept
	}
	return rows, nil
}

func filterValues[T any](f Filter, known map[string]func(*T) []string, tags func(*T) *[]Tag) (func(*T) []string, *wire.Error) {
	if len(f.Values) == 0 {
		return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' has no values", f.Name)
	}
	if len(f.Values) > maxFilterValues {
		return nil, wire.Errorf("FilterLimitExceeded", "The maximum number of filter values on a single filter is %d", maxFilterValues)
	}
	if fn := known[f.Name]; fn != nil {
		return fn, nil
	}
	if tags != nil {
		if key, ok := strings.CutPrefix(f.Name, "tag:"); ok {
			return func(row *T) []string {
				for _, t := range *tags(row) {
					if t.Key == key {
						return []string{t.Value}
					}
				}
				return nil
			}, nil
		}
		if f.Name == "tag-key" {
			return func(row *T) []string {
				var keys []string
				for _, t := range *tags(row) {
					keys = append(keys, t.Key)
				}
				return keys
			}, nil
		}
	}
	return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
}

func meets(f Filter, have []string) bool {
	return slices.ContainsFunc(have, func(h string) bool {
		return slices.ContainsFunc(f.Values, func(want string) bool { return glob(want, h) })
	})
}

// glob matches * and ? with backslash escapes, as EC2's filters do.
func glob(pattern, s string) bool {
	if !strings.ContainsAny(pattern, `*?\`) {
		return pattern == s
	}
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p+1 < len(pattern) && pattern[p] == '\\' && pattern[p+1] == s[i]:
			p += 2
			i++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i] && pattern[p] != '\\'):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one makes a filter of a single value, "" meaning none.
func one[T any](get func(*T) string) func(*T) []string {
	return func(row *T) []string {
		if v := get(row); v != "" {
			return []string{v}
		}
		return nil
	}
}

// flag makes a filter of a boolean.
func flag[T any](get func(*T) bool) func(*T) []string {
	return func(row *T) []string { return []string{strconv.FormatBool(get(row))} }
}

// many makes a filter of one value per item of a list.
func many[T, I any](list func(*T) []I, get func(I) string) func(*T) []string {
	return func(row *T) []string {
		var values []string
		for _, item := range list(row) {
			if v := get(item); v != "" {
				values = append(values, v)
			}
		}
		return values
	}
}
