// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Keys are the condition keys of a call. A key that is absent is not there at
// all, as opposed to one with an empty value.
type Keys map[string][]string

// Set gives a key its values, whatever the case of its name.
func (k Keys) Set(name string, values ...string) { k[strings.ToLower(name)] = values }

func (k Keys) get(name string) []string { return k[strings.ToLower(name)] }

// comparison compares a request's value with a policy's.
type comparison func(have, want string) bool

// comparisons are the operators by their positive name.
var comparisons = map[string]comparison{
	"stringequals":             func(have, want string) bool { return have == literals(want) },
	"stringequalsignorecase":   func(have, want string) bool { return strings.EqualFold(have, literals(want)) },
	"stringlike":               func(have, want string) bool { return glob(want, have) },
	"arnequals":                arnLike,
	"arnlike":                  arnLike,
	"bool":                     strings.EqualFold,
	"binaryequals":             func(have, want string) bool { return have == want },
	"numericequals":            numbers(func(c int) bool { return c == 0 }),
	"numericlessthan":          numbers(func(c int) bool { return c < 0 }),
	"numericlessthanequals":    numbers(func(c int) bool { return c <= 0 }),
	"numericgreaterthan":       numbers(func(c int) bool { return c > 0 }),
	"numericgreaterthanequals": numbers(func(c int) bool { return c >= 0 }),
	"dateequals":               dates(func(c int) bool { return c == 0 }),
	"datelessthan":             dates(func(c int) bool { return c < 0 }),
	"datelessthanequals":       dates(func(c int) bool { return c <= 0 }),
	"dategreaterthan":          dates(func(c int) bool { return c > 0 }),
	"dategreaterthanequals":    dates(func(c int) bool { return c >= 0 }),
	"ipaddress":                inRange,
}

// opposites are the operators that hold where another one does not.
var opposites = map[string]string{
	"stringnotequals": "stringequals", "stringnotequalsignorecase": "stringequalsignorecase", "stringnotlike": "stringlike",
	"arnnotequals": "arnequals", "arnnotlike": "arnlike", "numericnotequals": "numericequals", "datenotequals": "dateequals",
	"notipaddress": "ipaddress",
}

// holds evaluates one line of a condition.
func holds(op, key string, want []string, keys Keys) (bool, error) {
	name := strings.ToLower(op)
	set := ""
	if prefix, rest, ok := strings.Cut(name, ":"); ok {
		set, name = prefix, rest
	}
	have, present := keys[strings.ToLower(key)]
	if name == "null" {
		return slices.ContainsFunc(want, func(w string) bool { return strings.EqualFold(w, strconv.FormatBool(!present)) }), nil
	}
	name, lenient := strings.CutSuffix(name, "ifexists")
	base, negated := opposites[name]
	if !negated {
		base = name
	}
	compare := comparisons[base]
	if compare == nil {
		return false, fmt.Errorf("there is no condition operator %s", op)
	}
	if lenient && !present {
		return true, nil
	}
	expanded := make([]string, 0, len(want))
	for _, w := range want {
		if text, ok := expand(w, keys); ok {
			expanded = append(expanded, text)
		}
	}
	one := func(value string) bool {
		return slices.ContainsFunc(expanded, func(w string) bool { return compare(value, w) }) != negated
	}
	return overAll(set, have, present, negated, one), nil
}

// overAll combines the values that a call has for a key.
func overAll(set string, have []string, present, negated bool, one func(string) bool) bool {
	switch set {
	case "forallvalues":
		return !slices.ContainsFunc(have, func(v string) bool { return !one(v) })
	case "foranyvalue":
		return slices.ContainsFunc(have, one)
	}
	if !present {
		return negated
	}
	if negated {
		return !slices.ContainsFunc(have, func(v string) bool { return !one(v) })
	}
	return slices.ContainsFunc(have, one)
}

func arnLike(have, want string) bool {
	p, a := strings.SplitN(want, ":", 6), strings.SplitN(have, ":", 6)
	if len(p) != 6 || len(a) != 6 {
		return false
	}
	for i := range p {
		if !glob(p[i], a[i]) {
			return false
		}
	}
	return true
}

func numbers(is func(int) bool) comparison {
	return func(have, want string) bool {
		a, okA := new(big.Float).SetString(have)
		b, okB := new(big.Float).SetString(want)
		return okA && okB && is(a.Cmp(b))
	}
}

func dates(is func(int) bool) comparison {
	return func(have, want string) bool {
		a, okA := moment(have)
		b, okB := moment(want)
		return okA && okB && is(a.Compare(b))
	}
}

// moment reads a date of ISO 8601 or seconds since 1970.
func moment(s string) (time.Time, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func inRange(have, want string) bool {
	addr, err := netip.ParseAddr(have)
	if err != nil {
		return false
	}
	if !strings.Contains(want, "/") {
		one, err := netip.ParseAddr(want)
		return err == nil && one == addr
	}
	p, err := netip.ParsePrefix(want)
	return err == nil && p.Contains(addr)
}
