// SPDX-License-Identifier: Apache-2.0

package tasks

// Kept is an object that a plan leaves, or that stays in part, and why.
type Kept struct {
	ID  ID
	Why string
}

// Kept lists what stays after the plan although it touches or looks at it: what is shared,
// and what cannot go at once. Unchanged objects that are wanted are not among it.
func (p *Plan) Kept() []Kept {
	var out []Kept
	for _, i := range p.Items {
		switch {
		case i.Leaves != "":
			out = append(out, Kept{i.ID, i.Leaves})
		case i.Action == Keep:
			out = append(out, Kept{i.ID, i.Reason})
		}
	}
	return out
}
