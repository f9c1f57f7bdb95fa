// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// Wild cards that a policy writes for themselves, ${*} and ${?}, stand as these
// until the match is made.
const (
	literalStar     = '\ue000'
	literalQuestion = '\ue001'
)

// glob matches text against a pattern in which * stands for any text and ? for
// one character.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || literal(p[i]) == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

func literal(r rune) rune {
	switch r {
	case literalStar:
		return '*'
	case literalQuestion:
		return '?'
	}
	return r
}

func literals(s string) string { return strings.Map(literal, s) }

func foldGlob(pattern, text string) bool {
	return glob(strings.ToLower(pattern), strings.ToLower(text))
}

// resourceGlob matches ARNs part by part, so that a wild card stays in its part;
// the last part may hold colons of its own.
func resourceGlob(pattern, arn string) bool {
	if pattern == "*" {
		return true
	}
	p, a := strings.SplitN(pattern, ":", 6), strings.SplitN(arn, ":", 6)
	if len(p) != len(a) {
		return false
	}
	for i := range p {
		if !glob(p[i], a[i]) {
			return false
		}
	}
	return true
}

// expand puts values in for a policy's variables, ${aws:username} and the like,
// with a default as in ${aws:username, 'x'}. Without a value and a default the
// text means nothing, and ok is false.
func expand(text string, keys Keys) (out string, ok bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("${" + rest)
			return b.String(), true
		}
		text = after
		switch name {
		case "*":
			b.WriteRune(literalStar)
			continue
		case "?":
			b.WriteRune(literalQuestion)
			continue
		case "$":
			b.WriteByte('$')
			continue
		}
		name, fallback, has := strings.Cut(name, ",")
		values := keys.get(strings.TrimSpace(name))
		switch {
		case len(values) == 1:
			b.WriteString(strings.NewReplacer("*", string(literalStar), "?", string(literalQuestion)).Replace(values[0]))
		case has:
			b.WriteString(strings.Trim(strings.TrimSpace(fallback), "'"))
		default:
			return "", false
		}
	}
}
