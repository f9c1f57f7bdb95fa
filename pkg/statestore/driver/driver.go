// SPDX-License-Identifier: Apache-2.0

// Package driver is the small object-store interface that the state store stands on.
// Packages that add a kind of store implement it and prove it with drivertest; all
// other code uses package statestore.
package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The kinds of failure. A driver's errors answer errors.Is with exactly one of them,
// or with a context's error; see Error.
var (
	// ErrNotFound: there is no object with that key. A missing bucket is ErrNoStore.
	ErrNotFound = errors.New("not found")
	// ErrConflict: a condition did not hold; nothing was written.
	ErrConflict = errors.New("precondition failed")
	// ErrDenied: credentials or permissions are missing; repeating does not help.
	ErrDenied = errors.New("access denied")
	// ErrUnavailable: not reachable, throttled or out of space. After a write it is
	// open whether the write happened.
	ErrUnavailable = errors.New("not available")
	// ErrDamaged: the object is shorter than what was written, or differs from it.
	ErrDamaged = errors.New("damaged")
	// ErrNoStore: the bucket that should hold the objects does not exist, or the
	// folder cannot.
	ErrNoStore = errors.New("no such store")
	// ErrInvalid: it cannot succeed as asked: a bad URL or key.
	ErrInvalid = errors.New("invalid")
	// ErrUnsafe: the server ignores conditions, so two writers would not see each other.
	ErrUnsafe = errors.New("conditions are ignored")
)

// Store is a flat, strongly consistent map of keys to whole objects. All methods may
// be called from many goroutines. Keys obey CheckKey, and no key is a folder of
// another one ("a" and "a/b"). Every method returns the context's error when that
// ended first, ErrInvalid for a bad key, ErrDenied and ErrUnavailable as their comments
// say. Reads write nothing, not even a folder.
type Store interface {
	// URL returns where the store is, in the form that opens it again, without
	// credentials: "s3://bucket/prefix?region=eu-west-1".
	URL() string

	// Get reads a whole object. ErrNotFound when it is absent; ErrDamaged when less
	// arrived than the server announced.
	Get(ctx context.Context, key string) (Object, error)

	// Put writes an object whether or not it exists and returns its version. Readers
	// see the old or the new object, never a part; after an error they see either.
	Put(ctx context.Context, key string, data []byte) (version string, err error)

	// PutIfAbsent creates an object and returns its version. ErrConflict when it
	// exists: of many concurrent creators, in any process, exactly one succeeds. A
	// driver whose server cannot promise that returns ErrUnsafe and writes nothing.
	PutIfAbsent(ctx context.Context, key string, data []byte) (version string, err error)

	// PutIfMatch replaces the object of exactly that version and returns the new one.
	// ErrConflict when the object is absent or another version. Where the server
	// ignores conditional replaces, a driver compares and then writes: no caller may
	// rest its correctness on this method without holding a lock.
	PutIfMatch(ctx context.Context, key string, data []byte, version string) (newVersion string, err error)

	// Delete removes an object. An absent one is no error.
	Delete(ctx context.Context, key string) error

	// List returns one page of the keys that begin with prefix, in byte order. No
	// match is an empty page, not an error. prefix need not end at a "/".
	List(ctx context.Context, prefix string, o ListOptions) (Page, error)
}

// Object is the content of a key.
type Object struct {
	Data     []byte
	Version  string    // opaque; changes with every content; what PutIfMatch compares
	Modified time.Time // by the server's clock
}

// ListOptions choose what List returns; the zero value lists everything in pages of
// the server's size.
type ListOptions struct {
	Shallow bool   // keys with a "/" after the prefix appear once, as Prefixes
	Token   string // Page.Next of the page before
	Limit   int    // at most so many keys and prefixes; 0 or over 1000 means 1000
}

// Page is a part of a listing.
type Page struct {
	Objects  []Info
	Prefixes []string // full, each ending in "/"; only with Shallow
	Next     string   // token of the next page; "" at the end
}

// Info is what a listing says of an object.
type Info struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// MaxPage is the largest page of a listing.
const MaxPage = 1000

// Located is the optional side of stores that machines and cloud tools can reach.
type Located interface {
	// Location says where the bucket is; it may have to ask the server for its region.
	Location(ctx context.Context) (Location, error)
}

// Location is a place in an object store.
type Location struct {
	Scheme   string // "s3"
	Bucket   string
	Prefix   string // "" or "folder/"
	Region   string
	Endpoint string // "" for the cloud's own
	KMSKey   string // the key that objects are encrypted with; "" for the bucket's default
}

// HeadGetter is the optional side of stores that can read the beginning of an object
// for less than the whole.
type HeadGetter interface {
	// GetHead returns the first n bytes, or all when there are fewer. Its errors are
	// those of Get.
	GetHead(ctx context.Context, key string, n int) ([]byte, error)
}

// ConditionalDeleter is the optional side of stores that can delete an object unless it
// was written again: what collects garbage deletes only what it looked at.
type ConditionalDeleter interface {
	// DeleteIfMatch removes the object of exactly that version. An absent one is no
	// error; another version is ErrConflict, and stays. As with PutIfMatch, no caller may
	// rest its correctness on it without holding a lock.
	DeleteIfMatch(ctx context.Context, key, version string) error
}

// Sweeper is the optional side of stores in which a killed writer can leave
// something that no listing shows.
type Sweeper interface {
	// Sweep removes leftovers that are older than the time and returns how many.
	Sweep(ctx context.Context, before time.Time) (int, error)
}

// As finds an optional side of a store, also behind wrappers that have an
// Unwrap() Store method.
func As[T any](s Store) (T, bool) {
	for s != nil {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = w.Unwrap()
	}
	var zero T
	return zero, false
}

// Error is how drivers report a failure.
type Error struct {
	Op   string // "read", "create", "replace", "write", "delete", "list", "open"
	Name string // the object or store as a URL, without credentials
	Kind error  // one of the kinds above
	Hint string // what to do; "" when the kind says it all
	Err  error  // the cause; nil when there is none
}

// Error returns, for example, "create s3://b/k: access denied: needs s3:PutObject on
// arn:aws:s3:::b/k: api error ...".
func (e *Error) Error() string {
	parts := []string{e.Op + " " + e.Name, e.Kind.Error()}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives errors.Is both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// The limits of keys, chosen so that every driver can hold every key.
const (
	maxKey     = 900
	maxSegment = 200
)

// CheckKey returns ErrInvalid for a key that some driver could not hold: empty, over
// 900 bytes or a part over 200, not UTF-8, with control characters, with an empty,
// "." or ".." part, or with a "/" at an end.
func CheckKey(key string) error {
	bad := func(why string) error {
		return fmt.Errorf("object name %q: %w: %s", key, ErrInvalid, why)
	}
	switch {
	case key == "":
		return bad("it is empty")
	case len(key) > maxKey:
		return bad(fmt.Sprintf("it has %d bytes, at most %d are possible", len(key), maxKey))
	case !utf8.ValidString(key):
		return bad("it is not UTF-8")
	case strings.ContainsFunc(key, unicode.IsControl):
		return bad("it has control characters")
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return bad(fmt.Sprintf("it has the part %q", part))
		case len(part) > maxSegment:
			return bad(fmt.Sprintf("a part has %d bytes, at most %d are possible", len(part), maxSegment))
		}
	}
	return nil
}
