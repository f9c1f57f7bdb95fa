// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TextOptions says how a plan is drawn.
type TextOptions struct {
	Color bool // ANSI colours
	All   bool // unchanged items too, and long texts in full
	Width int  // columns; 100 when zero
}

// Text draws the plan for people. It draws what the plan's JSON form says and nothing
// else, so that the two cannot disagree.
func (p *Plan) Text(w io.Writer, o TextOptions) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("draw plan: %w", err)
	}
	doc, err := DecodePlan(b)
	if err != nil {
		return fmt.Errorf("draw plan: %w", err)
	}
	if o.Width <= 0 {
		o.Width = 100
	}
	out := bufio.NewWriter(w)
	d := &drawing{w: out, TextOptions: o}
	d.header(doc.Header)
	for _, g := range groups {
		d.group(g, doc.Items)
	}
	d.warnings(doc.Warnings)
	d.line("")
	d.line(d.paint(bold, doc.Total()))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw plan: %w", err)
	}
	return nil
}

// Total returns the plan's last line: what it would do, in numbers.
func (p *Plan) Total() string {
	n := p.Counts()
	if p.Pending() {
		return fmt.Sprintf("Plan: %d to create, %d to update, %d to replace, %d to delete, %d kept, %d unchanged.",
			n[Create], n[Update], n[Replace], n[Delete], n[Keep], n[None])
	}
	h := p.Header
	switch {
	case strings.HasPrefix(h.Verb, "delete ") && n[Keep] > 0:
		return fmt.Sprintf("No changes. Nothing is left to delete; %d kept.", n[Keep])
	case strings.HasPrefix(h.Verb, "delete "):
		return "No changes. Nothing is left to delete."
	case h.Revision > 0:
		return fmt.Sprintf("No changes. The cloud is as revision %d wants it.", h.Revision)
	default:
		return "No changes. Everything is as wanted."
	}
}

// group is a part of the text: the items of one action.
type group struct {
	action Action
	title  string
	color  string
}

// groups stand in the order in which a reader wants them; unchanged ones are drawn on
// demand only.
var groups = []group{
	{Create, "Create", green},
	{Update, "Update", yellow},
	{Replace, "Replace", magenta},
	{Delete, "Delete", red},
	{Keep, "Keep", cyan},
	{None, "Unchanged", faint},
}

const (
	bold    = "1"
	faint   = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

// drawing is one text in the making; its writer keeps the first error.
type drawing struct {
	w *bufio.Writer
	TextOptions
}

func (d *drawing) line(parts ...string) {
	text := strings.TrimRight(strings.Join(parts, ""), " ")
	_, _ = d.w.WriteString(text + "\n") // bufio keeps the error for Flush
}

func (d *drawing) paint(color, text string) string {
	if !d.Color || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (d *drawing) header(h Header) {
	title := strings.TrimSpace(h.Verb + " " + h.Cluster)
	if title == "" {
		title = "plan"
	}
	if h.Revision > 0 {
		title += fmt.Sprintf(", revision %d", h.Revision)
	}
	first, size := utf8.DecodeRuneInString(title)
	d.line(d.paint(bold, strings.ToUpper(string(first))+escaped(title[size:])))
	for _, f := range [][2]string{{"store", h.Store}, {"target", h.Target}, {"identity", h.Identity}} {
		if f[1] != "" {
			d.line("  ", d.paint(faint, pad(f[0], 8)), "  ", escaped(f[1]))
		}
	}
}

func (d *drawing) group(g group, items []Item) {
	first := true
	for _, i := range items {
		if i.Action != g.action || i.gone() || i.Action == None && !d.All {
			continue
		}
		if first {
			d.line("")
			d.line(d.paint(bold, g.title))
			first = false
		}
		d.item(i, g.color)
	}
}

func (d *drawing) item(i Item, color string) {
	head := fmt.Sprintf("  %c %s", i.Action.Symbol(), escaped(string(i.ID)))
	var notes []string
	for _, n := range []string{i.Description, i.Reason, i.Leaves} {
		if n != "" {
			notes = append(notes, escaped(n))
		}
	}
	if i.Data && (i.Action == Delete || i.Action == Replace) {
		notes = append(notes, "holds data")
	}
	note := strings.Join(notes, "; ")
	switch {
	case note == "":
		d.line(d.paint(color, head))
	case width(head)+2+width(note) <= d.Width:
		d.line(d.paint(color, head), "  ", d.paint(faint, note))
	default:
		d.line(d.paint(color, head))
		for _, l := range wrap(note, d.Width-6) {
			d.line("      ", d.paint(faint, l))
		}
	}
	d.fields(i)
}

func (d *drawing) warnings(warnings []Warning) {
	for n, w := range warnings {
		if n == 0 {
			d.line("")
		}
		text := escaped(w.Text)
		if w.Path != "" {
			text = escaped(w.Path) + ": " + text
		}
		for k, l := range wrap(text, d.Width-9) {
			if k == 0 {
				d.line(d.paint(yellow, "warning: "), l)
			} else {
				d.line("         ", l)
			}
		}
	}
}
