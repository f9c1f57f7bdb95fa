// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
)

// server is a Cloud Storage server in this process that tests can stand in front of.
type server struct {
	*httptest.Server
	proxy  *drivertest.FaultProxy
	before atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
	calls  atomic.Int64
}

func (s *server) intercept(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.before.Store(&f)
}

// newServer starts a server that does what the real service does.
func newServer(t *testing.T) *server { return newServerBehind(t, corrected) }

func newServerBehind(t *testing.T, layer func(http.Handler) http.Handler) *server {
	t.Helper()
	s := &server{}
	var fake http.Handler
	s.proxy = drivertest.NewFaultProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		if f := s.before.Load(); f != nil {
			(*f)(w, r, fake)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	s.Server = httptest.NewServer(s.proxy)
	t.Cleanup(s.Close)
	gcs, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, ExternalURL: s.URL, Writer: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gcs.Stop)
	gcs.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "state"})
	fake = layer(gcs.HTTPHandler())
	return s
}

func openAt(t *testing.T, endpoint, bucketAndPrefix, more string) *Store {
	t.Helper()
	u, err := url.Parse("gs://" + bucketAndPrefix + "?endpoint=" + url.QueryEscape(endpoint) + more)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(u, Options{
		HTTPClient: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
		Backoff:    func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answer writes an error as the JSON protocol does.
func answer(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, errorBody(status, reason, message))
}

func errorBody(status int, reason, message string) string {
	return fmt.Sprintf(`{"error": {"code": %d, "message": %q, "errors": [{"reason": %[3]q, "message": %[2]q}]}}`, status, message, reason)
}

// inItsWords is how the real service says a status.
func inItsWords(status int) (contentType, body string) {
	reasons := map[int]string{
		http.StatusForbidden: "forbidden", http.StatusNotFound: "notFound", http.StatusPreconditionFailed: "conditionNotMet",
		http.StatusTooManyRequests: "rateLimitExceeded",
	}
	return "application/json", errorBody(status, cmp.Or(reasons[status], "backendError"), http.StatusText(status))
}

// drain reads a request as a server does before it answers, so that a client sees the
// answer and not a broken connection.
func drain(r *http.Request) { io.Copy(io.Discard, r.Body) }

func TestConformance(t *testing.T) {
	t.Parallel()
	servers := map[driver.Store]*server{}
	drivertest.Run(t, drivertest.Harness{
		New: func(t *testing.T) driver.Store {
			srv := newServer(t)
			s := openAt(t, srv.URL, "state/some prefix", "")
			servers[s] = srv
			return s
		},
		Reopen: func(t *testing.T, s driver.Store) driver.Store {
			return openAt(t, servers[s].URL, "state/some prefix", "")
		},
		Deny: func(t *testing.T, s driver.Store) {
			servers[s].intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				drain(r)
				answer(w, http.StatusForbidden, "forbidden", "somebody does not have access to the bucket.")
			})
		},
		Proxy:  func(t *testing.T, s driver.Store) *drivertest.FaultProxy { return servers[s].proxy },
		Answer: inItsWords,
	})
}

func TestOpeningAndReadingMakeNoWrite(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var writes atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	if _, err := s.Location(t.Context()); err != nil || srv.calls.Load() != 0 {
		t.Fatalf("opening made %d calls, %v", srv.calls.Load(), err)
	}
	s.Get(t.Context(), "demo/applied.json")
	s.List(t.Context(), "", driver.ListOptions{Shallow: true})
	if writes.Load() != 0 {
		t.Fatalf("reading made %d writes", writes.Load())
	}
	before := srv.calls.Load()
	for _, key := range []string{"k0", "k1", "k2"} {
		if _, err := s.PutIfAbsent(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := srv.calls.Load() - before; got != 5 {
		t.Fatalf("three creates in a new store made %d calls, want 5: two prove the conditions", got)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	const key = "projects/p/locations/eu/keyRings/r/cryptoKeys/k"
	s := openAt(t, "https://gcs.example.com/", "state/a/b", "&kms_key="+key)
	got, err := s.Location(t.Context())
	want := driver.Location{Scheme: "gs", Bucket: "state", Prefix: "a/b/", Endpoint: "https://gcs.example.com", KMSKey: key}
	if err != nil || got != want {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestObjectsAreEncryptedWithTheKeyOfTheURL(t *testing.T) {
	t.Parallel()
	const key = "projects/p/locations/eu/keyRings/r/cryptoKeys/k"
	srv := newServer(t)
	var keys []string
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			keys = append(keys, r.URL.Query().Get("kmsKeyName"))
		}
		next.ServeHTTP(w, r)
	})
	if _, err := openAt(t, srv.URL, "state", "&kms_key="+key).Put(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || keys[0] != key {
		t.Fatalf("got %q", keys)
	}
}

func TestTheEmulatorOfTheEnvironment(t *testing.T) {
	srv := newServer(t)
	for _, host := range []string{srv.URL, strings.TrimPrefix(srv.URL, "http://")} {
		t.Setenv(emulatorHost, host)
		s, err := Open(&url.URL{Scheme: "gs", Host: "state"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", nil); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if l, err := s.Location(t.Context()); err != nil || l.Endpoint != srv.URL || s.URL() != "gs://state" {
			t.Fatalf("got %+v, %v, %s", l, err, s.URL())
		}
	}
}

func TestBigObjectsGoInParts(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var parts atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut || r.Header.Get("Content-Range") != "" {
			parts.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	data := make([]byte, 2*chunk+1)
	if _, err := s.PutIfAbsent(t.Context(), "big", data); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Get(t.Context(), "big"); err != nil || len(o.Data) != len(data) {
		t.Fatalf("%d bytes came back, %v", len(o.Data), err)
	}
	if parts.Load() != 3 {
		t.Fatalf("uploaded in %d parts, want 3", parts.Load())
	}
	if _, err := s.PutIfAbsent(t.Context(), "big", data); err == nil {
		t.Fatal("a second create of a big object was accepted")
	}
}
