// SPDX-License-Identifier: Apache-2.0

// Package s3 serves the Amazon S3 REST protocol from files on disk; the simulated AWS mounts it, and state-store tests use it alone.
//
// Listings, reads, versioning and bucket removal are served by gofakes3 over
// the store of this package. What gofakes3 lacks is in front of it: conditional
// and checksummed writes, copies, regions, ownership controls, policies, tags.
package s3

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"
)

// Options tune a server. The zero value serves account 123456789012.
type Options struct {
	// Account owns every bucket made here: a 12-digit number.
	Account string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log receives internal faults; nil discards.
	Log *slog.Logger
	// Region gives the region that a request was signed for, "" when it was
	// not signed. Nil reads it from the Authorization header or the presigned
	// query.
	Region func(*http.Request) string
}

// Server is an http.Handler that answers path-style S3 requests.
type Server struct {
	opts  Options
	store *store
	fake  http.Handler
}

// New opens the store under dir, which is made when absent. Close releases it.
func New(dir string, opts Options) (*Server, error) {
	if opts.Account == "" {
		opts.Account = "123456789012"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Region == nil {
		opts.Region = SigningRegion
	}
	st, err := openStore(dir, opts.Now)
	if err != nil {
		return nil, err
	}
	fake := gofakes3.New(backend{store: st},
		gofakes3.WithTimeSource(clock{opts.Now}),
		gofakes3.WithTimeSkewLimit(0),
		gofakes3.WithMetadataSizeLimit(0))
	return &Server{opts: opts, store: st, fake: fake.Server()}, nil
}

// Close ends the use of the files. Requests after it fail.
func (s *Server) Close() error { return s.store.close() }

// SigningRegion reads the region out of a SigV4 credential scope
// (AKID/date/region/s3/aws4_request), from the header or a presigned query.
func SigningRegion(r *http.Request) string {
	scope := r.URL.Query().Get("X-Amz-Credential")
	if auth := r.Header.Get("Authorization"); auth != "" {
		_, rest, _ := strings.Cut(auth, "Credential=")
		scope, _, _ = strings.Cut(rest, ",")
	}
	parts := strings.Split(strings.TrimSpace(scope), "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[len(parts)-3]
}

// ServeHTTP answers one request, whoever sent it: for use without the front
// door of the simulated AWS.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := s.newCall(w, r, requestID())
	c.begin()
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// call is one request on its way.
type call struct {
	*Server
	w           http.ResponseWriter
	r           *http.Request
	id          string
	bucket, key string
	query       url.Values
	code        string // of a refusal that gofakes3 answered
}

func (s *Server) newCall(w http.ResponseWriter, r *http.Request, id string) *call {
	c := &call{Server: s, w: w, r: r, id: id, query: r.URL.Query()}
	c.bucket, c.key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return c
}

func (c *call) begin() {
	h := c.w.Header()
	h.Set("x-amz-request-id", c.id)
	h.Set("x-amz-id-2", c.id+c.id)
	h.Set("Server", "AmazonS3")
}

// q is the first value of a query parameter.
func (c *call) q(name string) string { return c.query.Get(name) }

// has tells whether a query parameter is present, with a value or not.
func (c *call) has(name string) bool { return c.query.Has(name) }

func requestID() string {
	var b [8]byte
	rand.Read(b[:])
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

// clock gives gofakes3 the server's time.
type clock struct{ now func() time.Time }

func (c clock) Now() time.Time                  { return c.now().UTC() }
func (c clock) Since(t time.Time) time.Duration { return c.now().Sub(t) }
