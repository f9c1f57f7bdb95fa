// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text draws the estimate as a table: what changes, or with all also the rest, then the
// totals and the prices that are unknown.
func (e *Estimate) Text(w io.Writer, all bool) error {
	rows := [][]string{{"RESOURCE", "OLD", "NEW", "CHANGE", "WHAT"}}
	hidden := 0
	for _, l := range e.Lines {
		if !all && !l.changed() {
			hidden++
			continue
		}
		rows = append(rows, []string{string(l.ID), shown(l.Old), shown(l.New), signed(l.Delta), l.what()})
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "\nCost in %s per month (%s %s, %g hours):\n", e.Currency, e.Cloud, e.Region, float64(e.Hours))
	if len(rows) > 1 {
		draw(out, append(rows, []string{"Total", e.Old.String(), e.New.String(), signed(&e.Delta), ""}))
	} else {
		fmt.Fprintf(out, "  No change: %s.\n", e.New)
	}
	if hidden > 0 && len(rows) > 1 {
		fmt.Fprintf(out, "  Only in the total, since they do not change: %d resources.\n", hidden)
	}
	if e.AtMost {
		fmt.Fprintln(out, "  Where the cloud chooses a type, or the day a spot price, this is the most that it can be.")
	}
	if len(e.Unknown) > 0 {
		fmt.Fprintf(out, "  No price is given, and nothing counted, for: %s.\n", strings.Join(e.Unknown, "; "))
		if !e.Complete {
			fmt.Fprintln(out, "  So the change is not all that the plan changes.")
		}
	}
	fmt.Fprintln(out, "  Traffic and requests are not counted.")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw the cost: %w", err)
	}
	return nil
}

func shown(a *Amount) string {
	if a == nil {
		return "unknown"
	}
	return a.String()
}

func signed(a *Amount) string {
	if a != nil && a.cents() > 0 {
		return "+" + a.String()
	}
	return shown(a)
}

// what says what the object uses, and what it used where that is something else.
func (l Line) what() string {
	switch {
	case l.NewUses == "":
		return l.OldUses + " no longer"
	case l.OldUses == "" || l.OldUses == l.NewUses:
		return l.NewUses
	}
	return l.OldUses + " -> " + l.NewUses
}

// draw writes rows with columns of equal width, the amounts to the right.
func draw(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || i == len(row)-1 {
				cell += space
			} else {
				cell = space + cell
			}
			line.WriteString("  " + cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
