// SPDX-License-Identifier: Apache-2.0

// Package mem is the state-store driver that keeps objects in this process, for tests
// and dry runs: mem://name. Stores of one name share their objects.
package mem

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Store is a store in memory.
type Store struct {
	name string
	now  func() time.Time

	mu      sync.RWMutex
	objects map[string]driver.Object
	writes  int // makes versions: never repeated, also for equal content
}

var (
	_ driver.Store              = (*Store)(nil)
	_ driver.HeadGetter         = (*Store)(nil)
	_ driver.ConditionalDeleter = (*Store)(nil)
)

var (
	sharedMu sync.Mutex
	shared   = map[string]*Store{}
)

// New returns a store of its own that no URL opens. now stamps the objects; nil means
// time.Now.
func New(name string, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{name: name, now: now, objects: map[string]driver.Object{}}
}

// Open returns the store of a URL such as mem://name; the first caller makes it.
func Open(u *url.URL) (*Store, error) {
	if u.Scheme != "mem" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, &driver.Error{Op: "open", Name: u.Redacted(), Kind: driver.ErrInvalid, Hint: "a memory store is written mem://NAME"}
	}
	sharedMu.Lock()
	defer sharedMu.Unlock()
	s, ok := shared[u.Host]
	if !ok {
		s = New(u.Host, nil)
		shared[u.Host] = s
	}
	return s, nil
}

// URL returns mem://name.
func (s *Store) URL() string { return "mem://" + s.name }

// Get implements driver.Store.
func (s *Store) Get(ctx context.Context, key string) (driver.Object, error) {
	if err := s.check(ctx, "read", key); err != nil {
		return driver.Object{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[key]
	if !ok {
		return driver.Object{}, s.fail("read", key, driver.ErrNotFound)
	}
	o.Data = slices.Clone(o.Data)
	return o, nil
}

// GetHead implements driver.HeadGetter.
func (s *Store) GetHead(ctx context.Context, key string, n int) ([]byte, error) {
	o, err := s.Get(ctx, key)
	return o.Data[:min(n, len(o.Data))], err
}

// Put implements driver.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte) (string, error) {
	return s.put(ctx, "write", key, data, func(driver.Object, bool) bool { return true })
}

// PutIfAbsent implements driver.Store.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) (string, error) {
	return s.put(ctx, "create", key, data, func(_ driver.Object, exists bool) bool { return !exists })
}

// PutIfMatch implements driver.Store.
func (s *Store) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	return s.put(ctx, "replace", key, data, func(o driver.Object, exists bool) bool { return exists && o.Version == version })
}

func (s *Store) put(ctx context.Context, op, key string, data []byte, may func(old driver.Object, exists bool) bool) (string, error) {
	if err := s.check(ctx, op, key); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[key]
	if !may(old, exists) {
		return "", s.fail(op, key, driver.ErrConflict)
	}
	s.writes++
	o := driver.Object{Data: slices.Clone(data), Version: strconv.Itoa(s.writes), Modified: s.now()}
	s.objects[key] = o
	return o.Version, nil
}

// Delete implements driver.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.remove(ctx, key, func(driver.Object) bool { return true })
}

// DeleteIfMatch implements driver.ConditionalDeleter.
func (s *Store) DeleteIfMatch(ctx context.Context, key, version string) error {
	return s.remove(ctx, key, func(o driver.Object) bool { return o.Version == version })
}

func (s *Store) remove(ctx context.Context, key string, may func(driver.Object) bool) error {
	if err := s.check(ctx, "delete", key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, exists := s.objects[key]; exists && !may(o) {
		return s.fail("delete", key, driver.ErrConflict)
	}
	delete(s.objects, key)
	return nil
}

// List implements driver.Store.
func (s *Store) List(ctx context.Context, prefix string, o driver.ListOptions) (driver.Page, error) {
	if err := ctx.Err(); err != nil {
		return driver.Page{}, fmt.Errorf("list %s/%s: %w", s.URL(), prefix, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var infos []driver.Info
	for key, object := range s.objects {
		if strings.HasPrefix(key, prefix) {
			infos = append(infos, driver.Info{Key: key, Size: int64(len(object.Data)), Modified: object.Modified})
		}
	}
	slices.SortFunc(infos, func(a, b driver.Info) int { return strings.Compare(a.Key, b.Key) })
	return driver.Paginate(slices.Values(infos), prefix, o), nil
}

func (s *Store) check(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s/%s: %w", op, s.URL(), key, err)
	}
	return driver.CheckKey(key)
}

func (s *Store) fail(op, key string, kind error) error {
	return &driver.Error{Op: op, Name: s.URL() + "/" + key, Kind: kind}
}
