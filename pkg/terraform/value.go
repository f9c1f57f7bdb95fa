// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// The brackets of a mark are private-use characters: no cloud takes them in a name, and
// encoders leave them alone.
const (
	markOpen  = "\uE000"
	markClose = "\uE001"
)

// Mark stands in text for a value that Terraform knows when it applies, such as
// "aws_vpc.main.id".
func Mark(reference string) string { return markOpen + reference + markClose }

// Value is the value of an argument.
type Value struct {
	kind   kind
	text   string
	number int64 // 1 is true
	list   []Value
	pairs  map[string]Value
	keys   []string // of pairs, or bare words
}

type kind int

const (
	kindText kind = iota
	kindNumber
	kindBool
	kindList
	kindMap
	kindBase64
	kindNames
)

// Text is a text; marks in it become references.
func Text(s string) Value { return Value{text: s} }

// Number is a whole number.
func Number(n int64) Value { return Value{kind: kindNumber, number: n} }

// Bool is true or false.
func Bool(b bool) Value {
	if b {
		return Value{kind: kindBool, number: 1}
	}
	return Value{kind: kindBool}
}

// List is a list.
func List(v ...Value) Value { return Value{kind: kindList, list: v} }

// Texts is a list of texts.
func Texts(s ...string) Value {
	out := Value{kind: kindList}
	for _, t := range s {
		out.list = append(out.list, Text(t))
	}
	return out
}

// Map is a map of texts, in the order of its keys.
func Map(m map[string]string) Value {
	out := Value{kind: kindMap, pairs: map[string]Value{}, keys: slices.Sorted(maps.Keys(m))}
	for k, v := range m {
		out.pairs[k] = Text(v)
	}
	return out
}

// Base64 is a text that the provider takes in base64; it is written as it reads.
func Base64(s string) Value { return Value{kind: kindBase64, text: s} }

// Names is a list of bare words, as ignore_changes takes them.
func Names(s ...string) Value { return Value{kind: kindNames, keys: s} }

// Expression is written as it is, such as "aws_vpc.main.id" or "sort(local.names)".
func Expression(hcl string) Value { return Text(Mark(hcl)) }

// IsReference reports whether the whole value is one reference.
func (v Value) IsReference() bool {
	return v.kind == kindText && strings.HasPrefix(v.text, markOpen) && strings.Index(v.text, markClose) == len(v.text)-len(markClose)
}

// tokens writes the value in HCL.
func (v Value) tokens() hclwrite.Tokens {
	switch v.kind {
	case kindNumber:
		return hclwrite.TokensForValue(cty.NumberIntVal(v.number))
	case kindBool:
		return hclwrite.TokensForValue(cty.BoolVal(v.number != 0))
	case kindList:
		return list(v.list)
	case kindMap:
		return v.object()
	case kindBase64:
		return hclwrite.TokensForFunctionCall("base64encode", text(v.text))
	case kindNames:
		return list(namesOf(v.keys))
	}
	if v.IsReference() {
		return reference(strings.Trim(v.text, markOpen+markClose))
	}
	return text(v.text)
}

func namesOf(words []string) []Value {
	var out []Value
	for _, w := range words {
		out = append(out, Text(Mark(w)))
	}
	return out
}

func reference(address string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(address)}}
}

// list writes short lists on one line and long ones with a line for each element.
func list(values []Value) hclwrite.Tokens {
	var elements []hclwrite.Tokens
	width := 0
	for _, v := range values {
		e := v.tokens()
		width += len(e.Bytes()) + 2
		elements = append(elements, e)
	}
	if width <= 80 {
		return hclwrite.TokensForTuple(elements)
	}
	out := hclwrite.Tokens{{Type: hclsyntax.TokenOBrack, Bytes: []byte("[")}, newline()}
	for _, e := range elements {
		out = append(out, e...)
		out = append(out, &hclwrite.Token{Type: hclsyntax.TokenComma, Bytes: []byte(",")}, newline())
	}
	return append(out, &hclwrite.Token{Type: hclsyntax.TokenCBrack, Bytes: []byte("]")})
}

func (v Value) object() hclwrite.Tokens {
	var pairs []hclwrite.ObjectAttrTokens
	for _, k := range v.keys {
		pairs = append(pairs, hclwrite.ObjectAttrTokens{Name: text(k), Value: v.pairs[k].tokens()})
	}
	return hclwrite.TokensForObject(pairs)
}

func newline() *hclwrite.Token {
	return &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte("\n")}
}

// text writes a text with the references that its marks stand for: several lines as a
// heredoc where that gives the same bytes, anything else between quotes.
func text(s string) hclwrite.Tokens {
	if strings.Count(s, "\n") > 1 && strings.HasSuffix(s, "\n") && plain(s) {
		return heredoc(s)
	}
	out := hclwrite.Tokens{{Type: hclsyntax.TokenOQuote, Bytes: []byte(`"`)}}
	for _, p := range split(s) {
		b := []byte(p.text)
		if p.reference {
			b = []byte("${" + p.text + "}")
		} else {
			b = quoted(string(b))
		}
		out = append(out, &hclwrite.Token{Type: hclsyntax.TokenQuotedLit, Bytes: b})
	}
	return append(out, &hclwrite.Token{Type: hclsyntax.TokenCQuote, Bytes: []byte(`"`)})
}

// quoted escapes text for a quoted template.
func quoted(s string) []byte {
	tokens := hclwrite.TokensForValue(cty.StringVal(s))
	var out []byte
	for _, t := range tokens[1 : len(tokens)-1] {
		out = append(out, t.Bytes...)
	}
	return out
}

// plain reports whether a heredoc keeps every byte of a text.
func plain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == unicode.ReplacementChar)
	}) < 0
}

func heredoc(s string) hclwrite.Tokens {
	end := "EOT"
	for slices.ContainsFunc(strings.Split(s, "\n"), func(line string) bool { return strings.TrimSpace(line) == end }) {
		end += "T"
	}
	var body strings.Builder
	for _, p := range split(s) {
		if p.reference {
			body.WriteString("${" + p.text + "}")
			continue
		}
		body.WriteString(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(p.text))
	}
	return hclwrite.Tokens{
		{Type: hclsyntax.TokenOHeredoc, Bytes: []byte("<<" + end + "\n")},
		{Type: hclsyntax.TokenStringLit, Bytes: []byte(body.String())},
		{Type: hclsyntax.TokenCHeredoc, Bytes: []byte(end + "\n")},
	}
}

// part is a stretch of text, or one reference in it.
type part struct {
	text      string
	reference bool
}

// split takes the marks out of a text.
func split(s string) []part {
	var out []part
	for s != "" {
		before, rest, marked := strings.Cut(s, markOpen)
		if before != "" {
			out = append(out, part{text: before})
		}
		if !marked {
			break
		}
		address, after, _ := strings.Cut(rest, markClose)
		out = append(out, part{text: address, reference: true})
		s = after
	}
	return out
}

// Unmark returns the reference of a mark with another attribute in the place of its last
// one: "aws_vpc.main.arn" of the mark of "aws_vpc.main.id".
func Unmark(mark, attribute string) string {
	address, _ := cutMark(mark)
	return address + "." + attribute
}

// cutMark takes a mark of a resource's attribute apart; other text has no attribute.
func cutMark(mark string) (address, attribute string) {
	if !Text(mark).IsReference() {
		return mark, ""
	}
	reference := strings.Trim(mark, markOpen+markClose)
	i := strings.LastIndex(reference, ".")
	return reference[:max(i, 0)], reference[i+1:]
}

// ListExpression writes texts, marks among them, as the list that they are in HCL.
func ListExpression(texts []string) string {
	return string(list(Texts(texts...).list).Bytes())
}
