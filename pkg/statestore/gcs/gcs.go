// SPDX-License-Identifier: Apache-2.0

// Package gcs is the state-store driver for Google Cloud Storage and servers that
// speak its JSON protocol and honour generation conditions: gs://bucket/prefix.
// Package statestore/open opens it; credentials are the application default ones that
// every Google Cloud tool reads.
package gcs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// emulatorHost is the variable by which Google's own libraries find another server.
// Its value is "host:port" or a URL; no credentials are sent there.
const emulatorHost = "STORAGE_EMULATOR_HOST"

// Options replace what the environment says; the zero value is usable.
type Options struct {
	Logger     *slog.Logger
	HTTPClient *http.Client // brings its own credentials; nil means the environment's
	// Backoff returns how long to wait before repeat n, from 1, of a call that found
	// the server busy; nil means growing, jittered pauses.
	Backoff func(n int) time.Duration
}

// Store is a store in a bucket.
type Store struct {
	bucket, prefix string // prefix is "" or ends in "/"
	query          string // of the URL, as it was given
	kmsKey         string
	endpoint       string // "" for Google's own; no "/" at the end
	anonymous      bool   // the endpoint is an emulator's
	o              Options

	mu      sync.Mutex // guards service, which the first call makes
	service *storage.Service

	provers sync.Mutex // one proof at a time; guards proved and deletes
	proved  bool       // conditional creates are honoured
	deletes condition
}

// condition is what is known of the server's conditional deletes.
type condition int

const (
	unknown condition = iota
	honoured
	ignored
)

var (
	_ driver.Store              = (*Store)(nil)
	_ driver.HeadGetter         = (*Store)(nil)
	_ driver.Located            = (*Store)(nil)
	_ driver.ConditionalDeleter = (*Store)(nil)
)

// Open opens the store of a URL such as
// gs://bucket/prefix?kms_key=projects/P/locations/L/keyRings/R/cryptoKeys/K&endpoint=https://gcs.example.com,
// where all parameters are optional. It makes no request.
func Open(u *url.URL, o Options) (*Store, error) {
	s, err := parse(u)
	if err != nil {
		return nil, err
	}
	if s.endpoint == "" {
		if host := os.Getenv(emulatorHost); host != "" {
			if !strings.Contains(host, "://") {
				host = "http://" + host
			}
			s.endpoint, s.anonymous = strings.TrimSuffix(host, "/"), true
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Backoff == nil {
		o.Backoff = backoff
	}
	s.o = o
	return s, nil
}

func parse(u *url.URL) (*Store, error) {
	bad := func(hint string) (*Store, error) {
		return nil, &driver.Error{Op: "open", Name: "gs://" + u.Host + u.Path, Kind: driver.ErrInvalid, Hint: hint}
	}
	if u.Scheme != "gs" || u.Host == "" || u.User != nil || u.Port() != "" {
		return bad("a Google Cloud Storage store is written gs://BUCKET/PREFIX, without credentials")
	}
	s := &Store{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), query: u.RawQuery}
	if s.prefix != "" {
		if err := driver.CheckKey(s.prefix); err != nil {
			return bad(err.Error())
		}
		s.prefix += "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("the parameters cannot be parsed")
	}
	known := map[string]*string{"endpoint": &s.endpoint, "kms_key": &s.kmsKey}
	for name, values := range query {
		field, ok := known[name]
		if !ok || len(values) != 1 || values[0] == "" {
			return bad(fmt.Sprintf("parameter %q is unknown, empty or repeated; known are endpoint and kms_key", name))
		}
		*field = values[0]
	}
	if s.kmsKey != "" && (!strings.HasPrefix(s.kmsKey, "projects/") || strings.Count(s.kmsKey, "/") != 7) {
		return bad("kms_key must be projects/P/locations/L/keyRings/R/cryptoKeys/K")
	}
	if s.endpoint != "" {
		e, err := url.Parse(s.endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil {
			return bad("endpoint must be an http or https URL without credentials")
		}
		s.endpoint = strings.TrimSuffix(s.endpoint, "/")
	}
	return s, nil
}

// URL returns the URL that the store was opened with.
func (s *Store) URL() string {
	u := "gs://" + s.bucket
	if s.prefix != "" {
		u += "/" + (&url.URL{Path: strings.TrimSuffix(s.prefix, "/")}).EscapedPath()
	}
	if s.query != "" {
		u += "?" + s.query
	}
	return u
}

// Delete implements driver.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.check(ctx, "delete", key); err != nil {
		return err
	}
	return s.call(ctx, request{op: "delete", key: key, permission: "storage.objects.delete"}, func(c *storage.Service) error {
		err := c.Objects.Delete(s.bucket, s.prefix+key).Context(ctx).Do()
		if isAbsent(err) {
			return nil
		}
		return err
	})
}

// List implements driver.Store.
func (s *Store) List(ctx context.Context, prefix string, o driver.ListOptions) (driver.Page, error) {
	var p driver.Page
	err := s.call(ctx, request{op: "list", key: prefix, permission: "storage.objects.list"}, func(c *storage.Service) error {
		list := c.Objects.List(s.bucket).Prefix(s.prefix+prefix).Context(ctx).
			Fields("items(name,size,updated)", "prefixes", "nextPageToken")
		limit := o.Limit
		if limit <= 0 || limit > driver.MaxPage {
			limit = driver.MaxPage
		}
		list.MaxResults(int64(limit))
		if o.Shallow {
			list.Delimiter("/")
		}
		if o.Token != "" {
			list.PageToken(o.Token)
		}
		out, err := list.Do()
		if err != nil {
			return err
		}
		p = driver.Page{Next: out.NextPageToken}
		for _, object := range out.Items {
			key := strings.TrimPrefix(object.Name, s.prefix)
			if driver.CheckKey(key) != nil {
				continue // made by somebody else, such as a console's folder marker
			}
			modified, err := time.Parse(time.RFC3339Nano, object.Updated)
			if err != nil {
				return fmt.Errorf("the time of %s: %w", object.Name, err)
			}
			p.Objects = append(p.Objects, driver.Info{Key: key, Size: int64(object.Size), Modified: modified})
		}
		for _, folder := range out.Prefixes {
			p.Prefixes = append(p.Prefixes, strings.TrimPrefix(folder, s.prefix))
		}
		return nil
	})
	slices.Sort(p.Prefixes)
	return p, err
}

// Location implements driver.Located. A bucket's name says all that is needed to reach
// it, so no request is made and no region is named.
func (s *Store) Location(context.Context) (driver.Location, error) {
	return driver.Location{Scheme: "gs", Bucket: s.bucket, Prefix: s.prefix, Endpoint: s.endpoint, KMSKey: s.kmsKey}, nil
}

func (s *Store) check(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, s.name(key), err)
	}
	return driver.CheckKey(key)
}

func (s *Store) name(key string) string { return "gs://" + s.bucket + "/" + s.prefix + key }

// backoff returns 50-100 ms before the first repeat, doubling up to two seconds: one
// object takes about one write a second.
func backoff(n int) time.Duration {
	limit := min(2*time.Second, 100*time.Millisecond<<min(n-1, 10))
	return limit/2 + mrand.N(limit/2)
}

func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand stops the program instead
	return hex.EncodeToString(b[:])
}
