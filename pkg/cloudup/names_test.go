// SPDX-License-Identifier: Apache-2.0

package cloudup_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
)

func limits() *rapid.Generator[cloudup.Limit] {
	return rapid.Custom(func(t *rapid.T) cloudup.Limit {
		return cloudup.Limit{
			What:        "thing",
			Max:         rapid.IntRange(20, 255).Draw(t, "max"),
			Punctuation: rapid.SampledFrom([]string{"", "-", "-._", "+=,.@-_", "_"}).Draw(t, "punctuation"),
			Lower:       rapid.Bool().Draw(t, "lower"),
			Edges:       rapid.Bool().Draw(t, "edges"),
			LetterFirst: rapid.Bool().Draw(t, "letterFirst"),
		}
	})
}

func TestShortenIsLegalAndStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limits().Draw(t, "limit")
		name := rapid.StringMatching(`[a-zA-Z0-9._ /äö-]{1,300}`).Draw(t, "name")
		suffix := rapid.SampledFrom([]string{"", "6443", "x1"}).Draw(t, "suffix")
		got := cloudup.ShortenBefore(name, suffix, l)
		if !l.Legal(got) {
			t.Fatalf("%q is not legal for %+v", got, l)
		}
		if !strings.HasSuffix(got, suffix) {
			t.Fatalf("%q lost its suffix %q", got, suffix)
		}
		if again := cloudup.ShortenBefore(name, suffix, l); again != got {
			t.Fatalf("%q, then %q", got, again)
		}
		if l.Legal(name) && cloudup.Shorten(name, l) != name {
			t.Fatalf("the legal name %q became %q", name, cloudup.Shorten(name, l))
		}
	})
}

// Names that differ only at the end, in the middle, or in a character that the limit
// does not know must stay different.
func TestShortenKeepsLookAlikesApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limits().Draw(t, "limit")
		base := rapid.StringMatching(`[a-z0-9][a-z0-9.-]{30,120}`).Draw(t, "base")
		at := rapid.IntRange(0, len(base)-1).Draw(t, "at")
		pair := [2]string{
			base[:at] + "a" + base[at+1:],
			base[:at] + rapid.SampledFrom([]string{"b", "A", ".", "/", "_", "aa", ""}).Draw(t, "other") + base[at+1:],
		}
		if pair[0] == pair[1] {
			return
		}
		if x, y := cloudup.Shorten(pair[0], l), cloudup.Shorten(pair[1], l); strings.EqualFold(x, y) && !strings.EqualFold(pair[0], pair[1]) {
			t.Fatalf("%q and %q both became %q", pair[0], pair[1], x)
		}
	})
}

// Two parts of a composed name do not blur into each other.
func TestShortenComposedNames(t *testing.T) {
	t.Parallel()
	l := cloudup.Limit{What: "role", Max: 64, Punctuation: "-."}
	long := strings.Repeat("a", 30)
	seen := map[string]string{}
	for _, pair := range [][2]string{{long, long + "b"}, {long + "b", long}, {long + long, "b"}, {long, long}} {
		name := pair[0] + "." + pair[1] + ".sa.demo.example.com"
		got := cloudup.Shorten(name, l)
		if other, dup := seen[got]; dup {
			t.Errorf("%q and %q both became %q", name, other, got)
		}
		seen[got] = name
	}
}

func TestShortenWhereNothingOfTheNameIsLegal(t *testing.T) {
	t.Parallel()
	l := cloudup.Limit{What: "thing", Max: 20, Punctuation: "-", Lower: true, Edges: true, LetterFirst: true}
	for _, name := range []string{"///", "123", "", "-", "9-9"} {
		if got := cloudup.Shorten(name, l); !l.Legal(got) {
			t.Errorf("%q became %q", name, got)
		}
	}
}
