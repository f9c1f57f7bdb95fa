// SPDX-License-Identifier: Apache-2.0

package cloudup

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// Limit is what a cloud allows of one kind of name. Letters and digits of ASCII are
// always allowed.
type Limit struct {
	What        string // whose name, for messages: "IAM role"
	Max         int    // length in bytes
	Punctuation string // allowed besides letters and digits, such as "-._"
	Lower       bool   // no capitals
	Edges       bool   // the first and last character are a letter or digit
	LetterFirst bool   // the first character is a letter
}

// hashLen letters of base 32 are 40 bits: among a million names of one kind the chance
// of a collision is below one in two.
const hashLen = 8

// Legal reports whether a name is allowed as it is.
func (l Limit) Legal(name string) bool {
	if name == "" || len(name) > l.Max {
		return false
	}
	for i := range len(name) {
		if !l.allows(name[i]) {
			return false
		}
	}
	if l.LetterFirst && !letter(name[0]) {
		return false
	}
	return !l.Edges || alnum(name[0]) && alnum(name[len(name)-1])
}

func (l Limit) allows(c byte) bool {
	if l.Lower && 'A' <= c && c <= 'Z' {
		return false
	}
	return alnum(c) || strings.IndexByte(l.Punctuation, c) >= 0
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func alnum(c byte) bool  { return letter(c) || '0' <= c && c <= '9' }

// Shorten returns the name itself where it is legal, or else a legal one that begins
// like it and ends in a hash of all of it: equal names give equal results, different
// names different ones.
func Shorten(name string, l Limit) string { return ShortenBefore(name, "", l) }

// ShortenBefore is Shorten for a name with a suffix that must stay whole, such as a
// port: the hash covers both and stands before it. It panics when not even hash and
// suffix fit, which is a mistake in the program.
func ShortenBefore(name, suffix string, l Limit) string {
	if whole := name + suffix; l.Legal(whole) {
		return whole
	}
	tail := Hash(name+"\x00"+suffix) + suffix
	if len(tail) > l.Max || suffix != "" && !l.Legal(tail) && !l.LetterFirst {
		panic(fmt.Sprintf("the suffix %q fits into no name of a %s", suffix, l.What))
	}
	head := l.clean(name)
	if room := l.Max - len(tail) - 1; len(head) > max(room, 0) {
		head = head[:max(room, 0)]
	}
	head = strings.TrimRight(head, "-._")
	switch {
	case head != "":
		return head + l.joint() + tail
	case l.LetterFirst && !letter(tail[0]):
		// The hash's letters only say that names differ; any letter does as its first.
		return "x" + tail[1:]
	}
	return tail
}

// clean replaces what is not allowed and takes off what may not stand at the beginning.
func (l Limit) clean(name string) string {
	if l.Lower {
		name = strings.ToLower(name)
	}
	out := []byte(name)
	for i, c := range out {
		if !l.allows(c) {
			out[i] = 'x'
			if j := l.joint(); j != "" {
				out[i] = j[0]
			}
		}
	}
	return strings.TrimLeftFunc(string(out), func(r rune) bool {
		c := byte(r)
		return l.LetterFirst && !letter(c) || l.Edges && !alnum(c)
	})
}

// joint stands between a name and its hash.
func (l Limit) joint() string {
	for _, c := range []string{"-", "_", "."} {
		if strings.Contains(l.Punctuation, c) {
			return c
		}
	}
	return ""
}

// Hash returns eight lower-case letters and digits that stand for a text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLen]
}
