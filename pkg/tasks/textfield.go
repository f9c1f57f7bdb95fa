// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	fieldIndent = 6
	maxPathPad  = 36 // longer paths push their value to the right
	blockLines  = 12 // of a long new text, unless all is asked for
	foldFrom    = 4  // keys of a new object's map, unless all is asked for
	aroundLines = 2  // unchanged lines round a changed one
)

// fields draws what differs, one aligned line each where it fits.
func (d *drawing) fields(i Item) {
	oneSided := i.Action == Create || i.Action == Delete
	fields := i.Fields
	if oneSided && !d.All {
		fields = foldMaps(fields)
	}
	column := 0
	for _, f := range fields {
		if n := width(escaped(f.Path)); n <= maxPathPad {
			column = max(column, n)
		}
	}
	for _, f := range fields {
		path := pad(escaped(f.Path), column)
		switch {
		case !oneSided:
			d.difference(path, f)
		case i.Action == Create:
			d.value(path, f.New)
		default:
			d.value(path, f.Old)
		}
	}
}

// foldMaps puts the entries of a map with several keys into one field that names the
// keys: a new object's tags are many, and mostly alike.
func foldMaps(fields []Field) []Field {
	var out []Field
	for k := 0; k < len(fields); {
		name, _, isMap := strings.Cut(fields[k].Path, "[")
		end := k + 1
		for isMap && end < len(fields) && strings.HasPrefix(fields[end].Path, name+"[") {
			end++
		}
		if end-k < foldFrom {
			out = append(out, fields[k:end]...)
		} else {
			var keys []string
			for _, f := range fields[k:end] {
				keys = append(keys, strings.TrimSuffix(strings.TrimPrefix(f.Path, name+"["), "]"))
			}
			text := V(fmt.Sprintf("%d keys: %s", end-k, strings.Join(keys, ", ")))
			out = append(out, Field{Path: name, Old: text, New: text})
		}
		k = end
	}
	return out
}

func (d *drawing) field(path, value, note string) {
	d.line(strings.Repeat(" ", fieldIndent), d.paint(faint, path), "  ", value, d.paint(magenta, note))
}

// room returns the columns that are left for a value behind a path.
func (d *drawing) room(path string) int { return max(d.Width-fieldIndent-width(path)-2, 20) }

// value draws one side: in its line, or wrapped, or as a block of lines.
func (d *drawing) value(path string, v Value) {
	if lines := textLines(v, d.room(path)); len(lines) > 1 {
		d.field(path, d.paint(faint, count(len(lines))), "")
		shown := lines
		if !d.All && len(lines) > blockLines+1 {
			shown = lines[:blockLines]
		}
		for _, l := range shown {
			d.line("        ", d.paint(faint, "| "), l)
		}
		if n := len(lines) - len(shown); n > 0 {
			d.line("        ", d.paint(faint, fmt.Sprintf("| (and %s)", count(n))))
		}
		return
	}
	for k, l := range wrap(printable(v), d.room(path)) {
		if k > 0 {
			path = strings.Repeat(" ", width(path))
		}
		d.field(path, l, "")
	}
}

// difference draws both sides: old -> new in a line, over two, or line by line.
func (d *drawing) difference(path string, f Field) {
	note := ""
	if f.Replaces {
		note = "  (replaces)"
	}
	room := d.room(path)
	oldLines, newLines := textLines(f.Old, room), textLines(f.New, room)
	if max(len(oldLines), len(newLines)) > 1 {
		d.field(path, d.paint(faint, sideSize(f.Old, oldLines)+" -> "+sideSize(f.New, newLines)), note)
		d.lineDiff(oldLines, newLines)
		return
	}
	old, new := printable(f.Old), printable(f.New)
	if f.Old.State == Sensitive && f.New.State == Sensitive {
		new = "(another, sensitive)"
	}
	if width(old)+4+width(new)+width(note) <= room {
		d.field(path, old+" -> "+new, note)
		return
	}
	lead := strings.Repeat(" ", width(path))
	for k, l := range wrap(old, room) {
		if k == 0 {
			d.field(path, l, note)
		} else {
			d.field(lead, l, "")
		}
	}
	for k, l := range wrap(new, room-3) {
		if k == 0 {
			d.field(lead, "-> "+l, "")
		} else {
			d.field(lead, "   "+l, "")
		}
	}
}

func (d *drawing) lineDiff(old, new []string) {
	lines := diffLines(old, new)
	if !d.All {
		lines = near(lines, aroundLines)
	}
	for _, l := range lines {
		switch l.mark {
		case '-':
			d.line("        ", d.paint(red, "- "+l.text))
		case '+':
			d.line("        ", d.paint(green, "+ "+l.text))
		case '.':
			d.line("        ", d.paint(faint, "..."))
		default:
			d.line("          ", l.text)
		}
	}
}

func sideSize(v Value, lines []string) string {
	if v.State != Known {
		return v.String()
	}
	return count(len(lines))
}

func count(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return strconv.Itoa(lines) + " lines"
}

// textLines returns the lines of a known value; JSON that does not fit in the room is
// indented first. Other values have none.
func textLines(v Value, room int) []string {
	if v.State != Known || v.Text == "" {
		return nil
	}
	text := strings.TrimSuffix(v.Text, "\n")
	if width(text) > room && strings.ContainsAny(text[:1], "{[") && !strings.Contains(text, "\n") {
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(text), "", "  ") == nil {
			text = indented.String()
		}
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = escaped(l)
	}
	return lines
}

// printable returns a value as one line: what is empty or has blanks at its ends is
// quoted.
func printable(v Value) string {
	if v.State == Known && v.Text != strings.TrimSpace(v.Text) || v.State == Known && v.Text == "" {
		return strconv.Quote(v.Text)
	}
	return escaped(v.String())
}

// escaped makes control characters visible: what a cloud answers must not be able to
// steer a terminal.
func escaped(s string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) || unicode.IsSpace(r) && r == '\u00a0' }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-width(s)))
}

// wrap breaks a line at blanks and behind commas, or anywhere when there are none.
func wrap(s string, to int) []string {
	to = max(to, 20)
	var lines []string
	rest := []rune(s)
	for len(rest) > to {
		at := to
		for k := to; k > to/4; k-- {
			if rest[k-1] == ' ' || rest[k-1] == ',' {
				at = k
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(lines, string(rest))
}
