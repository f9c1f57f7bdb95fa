// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// functions are those that expressions have besides CEL's own and its extensions: pure,
// and each described in docs/operations/policy.md.
func functions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("compareVersions", cel.Overload("compare_versions", []*cel.Type{cel.StringType, cel.StringType}, cel.IntType,
			cel.BinaryBinding(func(a, b ref.Val) ref.Val {
				return types.Int(compareVersions(string(a.(types.String)), string(b.(types.String))))
			}))),
		cel.Function("sum", cel.Overload("sum_list", []*cel.Type{cel.ListType(cel.DynType)}, cel.DynType, cel.UnaryBinding(sum))),
	}
}

// sum adds the numbers of a list; of an empty one it is 0.
func sum(list ref.Val) ref.Val {
	var total ref.Val = types.Int(0)
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		next := it.Next()
		if f, ok := next.(types.Double); ok && total.Type() == types.IntType {
			total = types.Double(total.(types.Int))
			next = f
		} else if n, ok := next.(types.Int); ok && total.Type() == types.DoubleType {
			next = types.Double(n)
		}
		adder, ok := total.(traits.Adder)
		if !ok {
			return total // the error of an addition
		}
		total = adder.Add(next)
	}
	return total
}

// compareVersions compares two versions such as "1.36.1" number by number: -1, 0 or 1. A
// part that is lacking counts as 0, and one that is no number as text.
func compareVersions(a, b string) int {
	as, bs := strings.Split(strings.TrimPrefix(a, "v"), "."), strings.Split(strings.TrimPrefix(b, "v"), ".")
	for i := range max(len(as), len(bs)) {
		x, y := part(as, i), part(bs, i)
		n, errX := strconv.Atoi(x)
		m, errY := strconv.Atoi(y)
		c := cmp.Compare(n, m)
		if errX != nil || errY != nil {
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func part(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return "0"
}
