// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// document is one YAML document or JSON value of a file.
type document struct {
	number int // from 1, empty ones not counted
	line   int // where it starts, from 1; 0 in a JSON file
	value  any // map[string]any, []any, string, bool or json.Number
}

// where names the document in faults that come before its name is known.
func (d document) where() string {
	if d.line == 0 {
		return fmt.Sprintf("document %d", d.number)
	}
	return fmt.Sprintf("document %d (line %d)", d.number, d.line)
}

// parse reads all documents of a file: YAML documents, JSON values one after the
// other, or one JSON list of objects.
func parse(data []byte) ([]document, Faults) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		// The parser would take it, but split would not find the other documents.
		return nil, Faults{{Path: "file", Message: "is text in UTF-16; save it as UTF-8"}}
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if docs, faults, ok := parseJSON(trimmed); ok {
			return docs, faults
		}
		// YAML's flow form looks like JSON; its parser also has the better message.
	}
	var docs []document
	var faults Faults
	for _, part := range split(data) {
		v, err := parseYAML(part.text)
		if err != nil {
			faults = append(faults, part.explain()...)
			continue
		}
		if v != nil {
			docs = append(docs, document{number: len(docs) + 1, line: part.line, value: v})
		}
	}
	if len(docs) == 0 && len(faults) == 0 {
		faults = Faults{{Path: "file", Message: "is empty: it holds no object"}}
	}
	return docs, faults
}

// parseYAML reads one document, strictly.
func parseYAML(text []byte) (any, error) {
	before, flow, ok := flowRoot(text)
	if !ok {
		var v any
		err := yaml.UnmarshalStrict(text, &v, useNumber)
		return v, err
	}
	// The parser stops behind the bracket that closes a document in flow form and
	// would not see what follows; as the value of a key it does.
	var v map[string]any
	err := yaml.UnmarshalStrict(slices.Concat(before, []byte("_: "), flow), &v, useNumber)
	if err == nil && len(v) != 1 {
		err = errors.New("there is something behind the last bracket")
	}
	return v["_"], err
}

// flowRoot cuts a document that is one value in brackets before its first bracket, the
// document marker blanked; ok is false for other documents.
func flowRoot(text []byte) (before, flow []byte, ok bool) {
	lead := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	at := lead
	if bytes.HasPrefix(text[at:], []byte("---")) {
		at += 3
	}
	for at < len(text) {
		at += len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
		if at == len(text) || text[at] != '#' {
			break
		}
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return nil, nil, false
		}
		at += end
	}
	if at == len(text) || text[at] != '{' && text[at] != '[' {
		return nil, nil, false
	}
	// The bracket's own line must start at the margin for what follows to be seen.
	margin := bytes.LastIndexByte(text[:at], '\n') + 1
	return bytes.Replace(text[:margin], []byte("---"), nil, 1), text[at:], true
}

func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}

// part is the text of one YAML document.
type part struct {
	text []byte
	line int
}

// split cuts a YAML stream at its document markers, which by the YAML grammar cannot
// stand at the start of a line within a document.
func split(data []byte) []part {
	var parts []part
	start, line, startLine := 0, 1, 1
	for at := 0; at < len(data); line++ {
		next := at + lineLength(data[at:])
		if marker(data[at:next], "---") && at > start {
			parts = append(parts, part{text: data[start:at], line: startLine})
			start, startLine = at, line
		}
		if marker(data[at:next], "...") {
			parts = append(parts, part{text: data[start:at], line: startLine})
			start, startLine = next, line+1
		}
		at = next
	}
	return append(parts, part{text: data[start:], line: startLine})
}

// breaks end a line. They must be all that the parser takes for one, a lone CR and three
// marks of Unicode included: it reads one document, and would leave out what follows a
// marker that was not found here.
const breaks = "\r\n\u0085\u2028\u2029"

// lineLength returns the length of the first line with its break.
func lineLength(data []byte) int {
	at := bytes.IndexAny(data, breaks)
	if at < 0 {
		return len(data)
	}
	if bytes.HasPrefix(data[at:], []byte("\r\n")) {
		return at + 2
	}
	_, size := utf8.DecodeRune(data[at:])
	return at + size
}

func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.IndexAny(rest, " \t"+breaks) == 0)
}

// explain parses the document once more behind empty lines, so that the parser counts
// lines from the start of the file, and returns its complaints one by one.
func (p part) explain() Faults {
	padded := append(bytes.Repeat([]byte("\n"), p.line-1), p.text...)
	_, err := parseYAML(padded)
	if err == nil {
		return Faults{{Path: fmt.Sprintf("line %d", p.line), Message: "is not valid YAML"}}
	}
	text := err.Error()
	for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: unmarshal errors:\n", "yaml: "} {
		text = strings.TrimPrefix(text, noise)
	}
	var faults Faults
	for _, complaint := range strings.Split(text, "\n") {
		path, message := "line "+fmt.Sprint(p.line), strings.TrimSpace(complaint)
		if rest, ok := strings.CutPrefix(message, "line "); ok {
			if n, m, found := strings.Cut(rest, ": "); found {
				path, message = "line "+n, m
			}
		}
		message = strings.Replace(message, "already set in map", "stands twice; only one can count", 1)
		faults = append(faults, Fault{Path: path, Message: message})
	}
	if !strings.Contains(text, "already set in map") {
		faults[len(faults)-1].Message += "; is the file complete?"
	}
	return faults
}

// parseJSON reads a stream of JSON values; ok is false when it is not JSON.
func parseJSON(data []byte) (docs []document, faults Faults, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		r := jsonReader{dec: dec}
		v, err := r.value("", 0)
		if errors.Is(err, io.EOF) {
			return docs, faults, true
		}
		if err != nil {
			return nil, nil, false
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for _, item := range list {
			docs = append(docs, document{number: len(docs) + 1, value: item})
		}
		faults = append(faults, r.faults...)
		if len(list) == 0 {
			faults = append(faults, Fault{Path: "file", Message: "is empty: it holds no object"})
		}
	}
}

// jsonReader builds generic values and notes keys that stand twice, which
// encoding/json lets pass.
type jsonReader struct {
	dec    *json.Decoder
	faults Faults
}

const maxDepth = 200 // far deeper than any object is

func (r *jsonReader) value(path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	switch {
	case !ok:
		return token, nil
	case delim == '[':
		list := []any{}
		for r.dec.More() {
			v, err := r.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, noEOF(err)
			}
			list = append(list, v)
		}
		_, err := r.dec.Token()
		return list, noEOF(err)
	default:
		return r.object(path, depth)
	}
}

func (r *jsonReader) object(path string, depth int) (any, error) {
	m := map[string]any{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("key is not a string")
		}
		v, err := r.value(join(path, key), depth+1)
		if err != nil {
			return nil, noEOF(err)
		}
		if _, twice := m[key]; twice {
			r.faults = append(r.faults, Fault{Path: join(path, key), Message: "stands twice; only one can count"})
		}
		m[key] = v
	}
	_, err := r.dec.Token()
	return m, noEOF(err)
}

// noEOF keeps a value that ends early from being taken for the end of the stream.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
