// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type plain struct{ Store }

type located struct{ Store }

func (located) Location(context.Context) (Location, error) { return Location{Bucket: "b"}, nil }

type wrapper struct {
	Store
	inner Store
}

func (w wrapper) Unwrap() Store { return w.inner }

func TestAsLooksThroughWrappers(t *testing.T) {
	t.Parallel()
	found, ok := As[Located](wrapper{inner: wrapper{inner: located{}}})
	if !ok {
		t.Fatal("the side of the inner store was not found")
	}
	if l, err := found.Location(t.Context()); err != nil || l.Bucket != "b" {
		t.Fatalf("got %v, %v", l, err)
	}
	if _, ok := As[Located](wrapper{inner: plain{}}); ok {
		t.Fatal("a side was found that is not there")
	}
	if _, ok := As[Located](nil); ok {
		t.Fatal("nothing has a side")
	}
}

func TestErrorIsItsKindAndItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	err := fmt.Errorf("around: %w", &Error{Op: "read", Name: "s3://b/k", Kind: ErrDenied, Hint: "needs s3:GetObject", Err: cause})
	if !errors.Is(err, ErrDenied) || !errors.Is(err, cause) || errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if got, want := err.Error(), "around: read s3://b/k: access denied: needs s3:GetObject: the cause"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got := (&Error{Op: "read", Name: "k", Kind: ErrNotFound}).Error(); got != "read k: not found" {
		t.Fatalf("got %q", got)
	}
}

func TestProveCreate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []error
		want    error
	}{
		"new store":        {[]error{nil, ErrConflict}, nil},
		"known store":      {[]error{ErrConflict}, nil},
		"ignores":          {[]error{nil, nil}, ErrUnsafe},
		"may not write":    {[]error{ErrDenied}, ErrDenied},
		"breaks off later": {[]error{nil, ErrUnavailable}, ErrUnavailable},
	} {
		calls := 0
		err := ProveCreate(t.Context(), "s3://b", func(_ context.Context, key string, _ []byte) error {
			if key != ProbeKey {
				t.Errorf("%s: it writes %s", name, key)
			}
			calls++
			return c.answers[calls-1]
		})
		if !errors.Is(err, c.want) || calls != len(c.answers) {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}

// TestPaginateLosesNothing: whatever the keys, the prefix and the size of pages, all
// pages together are what one look at the keys gives.
func TestPaginateLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", "a-", "a.", "a0", "ab"})
		key := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/") })
		keys := rapid.SliceOfNDistinct(key, 0, 40, rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		prefix := rapid.SampledFrom([]string{"", "a", "a/", "a/b", "a/a-/", "z"}).Draw(t, "prefix")
		shallow := rapid.Bool().Draw(t, "shallow")
		limit := rapid.IntRange(1, 7).Draw(t, "limit")

		var want []string
		for _, k := range keys {
			rest, ok := strings.CutPrefix(k, prefix)
			if !ok {
				continue
			}
			if i := strings.Index(rest, "/"); shallow && i >= 0 {
				k = prefix + rest[:i+1]
			}
			if !slices.Contains(want, k) {
				want = append(want, k)
			}
		}
		var got []string
		o := ListOptions{Shallow: shallow, Limit: limit}
		for page := 0; ; page++ {
			p := Paginate(func(yield func(Info) bool) {
				for _, k := range keys {
					if !yield(Info{Key: k}) {
						return
					}
				}
			}, prefix, o)
			if len(p.Objects)+len(p.Prefixes) > limit || page > len(keys) {
				t.Fatalf("page %d has %d entries of %d", page, len(p.Objects)+len(p.Prefixes), limit)
			}
			for _, i := range p.Objects {
				got = append(got, i.Key)
			}
			got = append(got, p.Prefixes...)
			if p.Next == "" {
				break
			}
			o.Token = p.Next
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a", "a/b", "../a", "a//b", "\x00", "ü"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) != nil {
			return
		}
		for part := range strings.SplitSeq(key, "/") {
			if part == "" || part == "." || part == ".." {
				t.Fatalf("%q was taken", key)
			}
		}
	})
}
