// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/slipway-k8s/slipway/internal/mototest"
	sims3 "github.com/slipway-k8s/slipway/pkg/sim/aws/s3"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
)

// server is an S3 server in this process that tests can put in front of with faults.
type server struct {
	*httptest.Server
	proxy  *drivertest.FaultProxy
	before atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
	calls  atomic.Int64
}

func (s *server) intercept(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.before.Store(&f)
}

func newServer(t *testing.T) *server {
	t.Helper()
	// The clock is a test of its own.
	return newServerWith(t, gofakes3.WithTimeSkewLimit(0))
}

func newServerWith(t *testing.T, options ...gofakes3.Option) *server {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("state"); err != nil {
		t.Fatal(err)
	}
	s := &server{}
	fake := gofakes3.New(backend, append(options, gofakes3.WithLogger(gofakes3.DiscardLog()))...).Server()
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
	return s
}

func openAt(t *testing.T, endpoint, bucketAndPrefix, more string) *Store {
	t.Helper()
	u, err := url.Parse("s3://" + bucketAndPrefix + "?region=eu-west-1&endpoint=" + url.QueryEscape(endpoint) + more)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), u, Options{
		Credentials: credentials.NewStaticCredentialsProvider("AKIATESTKEY", "hunter2secret", ""),
		Backoff:     func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

// inItsWords is how S3 says a status.
func inItsWords(status int) (contentType, body string) {
	codes := map[int]string{
		http.StatusForbidden: "AccessDenied", http.StatusNotFound: "NoSuchKey", http.StatusPreconditionFailed: "PreconditionFailed",
		http.StatusServiceUnavailable: "SlowDown", http.StatusTooManyRequests: "SlowDown", http.StatusInternalServerError: "InternalError",
	}
	return "application/xml", fmt.Sprintf("<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", codes[status], http.StatusText(status))
}

// harness is what stores on servers of this process have in common.
func harness(servers map[driver.Store]*server) drivertest.Harness {
	return drivertest.Harness{
		Deny: func(t *testing.T, s driver.Store) {
			servers[s].intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				drain(r)
				answer(w, http.StatusForbidden, "AccessDenied", "Access Denied")
			})
		},
		Proxy:  func(t *testing.T, s driver.Store) *drivertest.FaultProxy { return servers[s].proxy },
		Answer: inItsWords,
		Wrong:  map[string]string{"ListPrefixPages": "gofakes3 1.2.0 shows a folder again on the next page"},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	servers := map[driver.Store]*server{}
	h := harness(servers)
	h.New = func(t *testing.T) driver.Store {
		srv := newServer(t)
		s := openAt(t, srv.URL, "state/some prefix", "")
		servers[s] = srv
		return s
	}
	h.Reopen = func(t *testing.T, s driver.Store) driver.Store {
		return openAt(t, servers[s].URL, "state/some prefix", "")
	}
	drivertest.Run(t, h)
}

func TestAServerThatIgnoresConditionalReplaces(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("If-Match")
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	v1, err := s.PutIfAbsent(t.Context(), "k", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("two"), v1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("three"), v1); !strings.Contains(fmt.Sprint(err), driver.ErrConflict.Error()) {
		t.Fatalf("got %v", err)
	}
	if s.replace != ignored {
		t.Fatalf("the server is taken for %d", s.replace)
	}
}

func TestConformanceOnMoto(t *testing.T) {
	t.Parallel()
	moto, err := drivertest.Forward(mototest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	inBuckets(t, moto)
}

// inBuckets runs the suite on a server, in a new, versioned bucket for each subtest.
func inBuckets(t *testing.T, handler http.Handler) {
	var n atomic.Int64
	proxy := drivertest.NewFaultProxy(handler)
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	endpoint := srv.URL
	drivertest.Run(t, drivertest.Harness{
		New: func(t *testing.T) driver.Store {
			bucket := fmt.Sprintf("state-%d", n.Add(1))
			s := openAt(t, endpoint, bucket+"/clusters", "")
			_, err := s.client.CreateBucket(t.Context(), &s3.CreateBucketInput{
				Bucket: &bucket, CreateBucketConfiguration: location("eu-west-1"),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
			})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Proxy:  func(*testing.T, driver.Store) *drivertest.FaultProxy { return proxy },
		Answer: inItsWords,
		Reopen: func(t *testing.T, s driver.Store) driver.Store {
			return openAt(t, endpoint, s.(*Store).bucket+"/clusters", "")
		},
		Rounds: 5,
	})
}

func TestConformanceOnTheSimulatedCloud(t *testing.T) {
	t.Parallel()
	sim, err := sims3.New(t.TempDir(), sims3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	inBuckets(t, sim)
}

func TestOpeningAndReadingMakeNoWrite(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var writes atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	if srv.calls.Load() != 0 {
		t.Fatalf("opening made %d calls", srv.calls.Load())
	}
	s.Get(t.Context(), "demo/applied.json")
	s.List(t.Context(), "", driver.ListOptions{Shallow: true})
	if _, err := s.Location(t.Context()); err != nil {
		t.Fatal(err)
	}
	if writes.Load() != 0 {
		t.Fatalf("reading made %d writes", writes.Load())
	}
	before := srv.calls.Load()
	for i := range 3 {
		if _, err := s.PutIfAbsent(t.Context(), fmt.Sprint("k", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := srv.calls.Load() - before; got != 5 {
		t.Fatalf("three creates in a new store made %d calls, want 5: two prove the conditions", got)
	}
	again := openAt(t, srv.URL, "state", "")
	before = srv.calls.Load()
	if _, err := again.PutIfAbsent(t.Context(), "k9", nil); err != nil {
		t.Fatal(err)
	}
	if got := srv.calls.Load() - before; got != 2 {
		t.Fatalf("the first create in a known store made %d calls, want 2", got)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state/a/b", "&kms_key=alias/x")
	got, err := s.Location(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := driver.Location{Scheme: "s3", Bucket: "state", Prefix: "a/b/", Region: "eu-west-1", Endpoint: srv.URL, KMSKey: "alias/x"}
	if got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestObjectsAreEncryptedWithTheKeyOfTheURL(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var keys []string
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			keys = append(keys, r.Header.Get("X-Amz-Server-Side-Encryption")+" "+r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
		}
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "&kms_key=alias/x")
	if _, err := s.Put(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || keys[0] != "aws:kms alias/x" {
		t.Fatalf("got %q", keys)
	}
}

// drain reads a request as a server does before it answers, so that a client sees the
// answer and not a broken connection.
func drain(r *http.Request) { io.Copy(io.Discard, r.Body) }
