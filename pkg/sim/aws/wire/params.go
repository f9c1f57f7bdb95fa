// SPDX-License-Identifier: Apache-2.0

package wire

import "strconv"

// Values returns the values of a parameter of the query protocols as they were
// sent, one or a list: Name, Name.1 or Name.member.1. It is for looking at a call
// before its parameters are checked.
func (c *Call) Values(name string) []string {
	if v := c.Params.Get(name); v != "" {
		return []string{v}
	}
	var out []string
	for _, infix := range []string{".", ".member."} {
		for i := 1; ; i++ {
			v, ok := c.Params[name+infix+strconv.Itoa(i)]
			if !ok || len(v) == 0 {
				break
			}
			out = append(out, v[0])
		}
	}
	return out
}

// TagParams returns the tags in a list parameter of the query protocols, whose
// items have Key and Value.
func (c *Call) TagParams(name string) map[string]string {
	out := map[string]string{}
	for _, infix := range []string{".", ".member."} {
		for i := 1; ; i++ {
			item := name + infix + strconv.Itoa(i)
			if !c.Params.Has(item + ".Key") {
				break
			}
			out[c.Params.Get(item+".Key")] = c.Params.Get(item + ".Value")
		}
	}
	return out
}
