// SPDX-License-Identifier: Apache-2.0

// Package statestore is the typed store of all that Slipway knows of its clusters:
// specs with their history, locks, journals and managed objects. The operations in
// package cluster use it; package statestore/open makes the driver that New needs.
//
// Correctness rests on conditional create alone: whatever two runs must agree on (a
// revision, the lock, a journal segment) is an object that only one can create.
package statestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// apiVersion marks the objects that this package encodes itself.
const apiVersion = "slipway.dev/store/v1"

// parallel is how many reads one operation makes at once.
const parallel = 16

// Options describe who writes. The zero value is usable.
type Options struct {
	Clock func() time.Time // nil means time.Now
	Host  string           // "" means the machine's name
	User  string           // who is written into what is stored
	Tool  string           // the program and its version
	Rand  io.Reader        // nil means crypto/rand
}

// Store is a typed store. It may be used by many goroutines.
type Store struct {
	d    driver.Store
	o    Options
	self process
}

// New returns the typed store on a driver. It reads and writes nothing.
func New(d driver.Store, o Options) *Store {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname() // an unnamed machine stays unnamed
	}
	return &Store{d: d, o: o, self: self()}
}

// URL returns where the store is, without credentials.
func (s *Store) URL() string { return s.d.URL() }

// Location returns the bucket that machines and cloud tools can read the store from.
// ok is false for stores that only this machine or process sees.
func (s *Store) Location(ctx context.Context) (l driver.Location, ok bool, err error) {
	located, ok := driver.As[driver.Located](s.d)
	if !ok {
		return driver.Location{}, false, nil
	}
	l, err = located.Location(ctx)
	return l, true, err
}

// Clusters returns the sorted names of the clusters that have a revision and were not
// deleted. It reads the newest revision of each.
func (s *Store) Clusters(ctx context.Context) ([]string, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	alive := make([]bool, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, name := range names {
		g.Go(func() error {
			rev, err := s.newest(gctx, name)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			// A damaged revision must not hide its cluster, nor all other ones.
			alive[i] = errors.Is(err, ErrDamaged) || err == nil && !rev.Tombstone
			if errors.Is(err, ErrDamaged) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []string
	for i, name := range names {
		if alive[i] {
			out = append(out, name)
		}
	}
	return out, nil
}

// names returns the folders of the store that can be clusters.
func (s *Store) names(ctx context.Context) ([]string, error) {
	var names []string
	err := s.pages(ctx, "", true, func(p driver.Page) {
		for _, folder := range p.Prefixes {
			if name := strings.TrimSuffix(folder, "/"); checkName(name) == nil {
				names = append(names, name)
			}
		}
	})
	return slices.Compact(names), err // some servers repeat a folder on two pages
}

// Sweep removes what killed writers left behind in the store and is older than the
// given age. It returns how many leftovers there were.
func (s *Store) Sweep(ctx context.Context, age time.Duration) (int, error) {
	sweeper, ok := driver.As[driver.Sweeper](s.d)
	if !ok {
		return 0, nil
	}
	return sweeper.Sweep(ctx, s.o.Clock().Add(-age))
}

// pages calls each with all pages of a listing.
func (s *Store) pages(ctx context.Context, prefix string, shallow bool, each func(driver.Page)) error {
	o := driver.ListOptions{Shallow: shallow}
	for {
		p, err := s.d.List(ctx, prefix, o)
		if err != nil {
			return err
		}
		each(p)
		if p.Next == "" {
			return nil
		}
		o.Token = p.Next
	}
}

// keys returns all keys below the prefix, in byte order.
func (s *Store) keys(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	err := s.pages(ctx, prefix, false, func(p driver.Page) {
		for _, i := range p.Objects {
			keys = append(keys, i.Key)
		}
	})
	return keys, err
}

// remove deletes all objects below the prefixes.
func (s *Store) remove(ctx context.Context, prefixes ...string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, prefix := range prefixes {
		keys, err := s.keys(gctx, prefix)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		for _, key := range keys {
			g.Go(func() error { return s.d.Delete(gctx, key) })
		}
	}
	return g.Wait()
}

// fetch reads many objects at once, in the order of keys.
func (s *Store) fetch(ctx context.Context, keys []string, each func(i int, o driver.Object) error) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, key := range keys {
		g.Go(func() error {
			o, err := s.d.Get(gctx, key)
			if err != nil {
				return err
			}
			return each(i, o)
		})
	}
	return g.Wait()
}

// newUID returns 128 random bits.
func (s *Store) newUID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.o.Rand, b[:]); err != nil {
		return "", fmt.Errorf("make a random identity: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}

// name returns an object as a person finds it.
func (s *Store) name(key string) string {
	base, query, _ := strings.Cut(s.URL(), "?")
	base = strings.TrimSuffix(base, "/") + "/" + key
	if query != "" {
		base += "?" + query
	}
	return base
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// checkName refuses names that are no DNS name and could lead elsewhere in the store.
func checkName(cluster string) error {
	if len(cluster) > 200 || !nameForm.MatchString(cluster) {
		return fmt.Errorf("cluster name %q: %w: it must be a DNS name of lower-case letters, digits, \"-\" and \".\", such as demo.example.com", cluster, ErrInvalid)
	}
	return nil
}

// near returns the clusters whose names are most like the given one, at most three.
func near(name string, known []string) []string {
	type candidate struct {
		name string
		d    int
	}
	var found []candidate
	for _, k := range known {
		if d := distance(name, k); d <= max(2, len(name)/4) || strings.HasPrefix(k, name+".") {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.d - b.d })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// distance is the number of single-byte edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
