// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/johannesboyne/gofakes3"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

func location(region string) *types.CreateBucketConfiguration {
	return &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
}

func TestAServerThatIgnoresConditionsIsRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("If-None-Match")
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	_, err := s.PutIfAbsent(t.Context(), "demo/revisions/00000001.yaml", []byte("x"))
	if !errors.Is(err, driver.ErrUnsafe) || !strings.Contains(err.Error(), "If-None-Match") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Get(t.Context(), "demo/revisions/00000001.yaml"); !errors.Is(err, driver.ErrNotFound) {
		t.Fatalf("the refused store was written to: %v", err)
	}
}

func TestLostAnswersAreNoConflicts(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state", "")
	v, err := s.PutIfAbsent(t.Context(), "first", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfMatch(t.Context(), "first", []byte("y"), v); err != nil {
		t.Fatal(err)
	}
	var lose atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && lose.Add(-1) >= 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			answer(w, http.StatusInternalServerError, "InternalError", "the answer is lost")
			return
		}
		next.ServeHTTP(w, r)
	})
	lose.Store(1)
	v, err = s.PutIfAbsent(t.Context(), "lost", []byte("mine"))
	if err != nil {
		t.Fatalf("our own create was taken for another's: %v", err)
	}
	lose.Store(1)
	if _, err = s.PutIfMatch(t.Context(), "lost", []byte("mine too"), v); err != nil {
		t.Fatalf("our own replace was taken for another's: %v", err)
	}
	// The same content from another writer is still a conflict.
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && lose.Add(-1) >= 0 {
			drain(r)
			answer(w, http.StatusServiceUnavailable, "SlowDown", "not written at all")
			return
		}
		next.ServeHTTP(w, r)
	})
	lose.Store(1)
	if _, err := s.PutIfAbsent(t.Context(), "lost", []byte("mine too")); !errors.Is(err, driver.ErrConflict) {
		t.Fatalf("got %v", err)
	}
}

func TestFailuresPass(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state", "")
	var fail atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if fail.Add(-1) >= 0 {
			drain(r)
			answer(w, http.StatusConflict, "ConditionalRequestConflict", "again, please")
			return
		}
		next.ServeHTTP(w, r)
	})
	fail.Store(2)
	if _, err := s.PutIfAbsent(t.Context(), "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	fail.Store(100)
	_, err := s.PutIfAbsent(t.Context(), "k2", []byte("x"))
	if !errors.Is(err, driver.ErrUnavailable) || fail.Load() != 100-tries {
		t.Fatalf("got %v after %d tries", err, 100-fail.Load())
	}
}

func TestErrorsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, s *Store) error { _, err := s.Get(ctx, "demo/k"); return err }
	put := func(ctx context.Context, s *Store) error { _, err := s.Put(ctx, "demo/k", nil); return err }
	list := func(ctx context.Context, s *Store) error {
		_, err := s.List(ctx, "demo/", driver.ListOptions{})
		return err
	}
	for _, c := range []struct {
		name    string
		status  int
		code    string
		message string
		call    func(ctx context.Context, s *Store) error
		kind    error
		want    string
	}{
		{"read", 403, "AccessDenied", "Access Denied", get, driver.ErrDenied, "needs s3:GetObject on arn:aws:s3:::state/p/demo/k"},
		{"write", 403, "AccessDenied", "Access Denied", put, driver.ErrDenied, "needs s3:PutObject on arn:aws:s3:::state/p/demo/k"},
		{"list", 403, "AccessDenied", "Access Denied", list, driver.ErrDenied, "needs s3:ListBucket on arn:aws:s3:::state"},
		{"key", 403, "AccessDenied", "not authorized to perform: kms:GenerateDataKey on resource", put, driver.ErrDenied, "needs kms:GenerateDataKey and kms:Decrypt"},
		{"clock", 403, "RequestTimeTooSkewed", "The difference is too large", get, driver.ErrDenied, "the clock of this machine is wrong"},
		{"expired", 400, "ExpiredToken", "The provided token has expired", get, driver.ErrDenied, "sign in again"},
		{"unknown key", 403, "InvalidAccessKeyId", "The key does not exist", get, driver.ErrDenied, "does not know these credentials"},
		{"bucket", 404, "NoSuchBucket", "The bucket does not exist", get, driver.ErrNoStore, "there is no bucket state"},
		{"bucket by list", 404, "NoSuchBucket", "The bucket does not exist", list, driver.ErrNoStore, "there is no bucket state"},
		{"throttled", 503, "SlowDown", "Reduce your request rate", get, driver.ErrUnavailable, "SlowDown: Reduce your request rate"},
		{"region", 400, "AuthorizationHeaderMalformed", "the region is wrong", get, driver.ErrInvalid, "add ?region="},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			srv.intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				drain(r)
				answer(w, c.status, c.code, c.message)
			})
			err := c.call(t.Context(), openAt(t, srv.URL, "state/p", ""))
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s3://state/p/demo/") {
				t.Fatalf("got %v\nwant %q of kind %q", err, c.want, c.kind)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "AKIATEST") {
				t.Fatalf("the error holds a credential: %v", err)
			}
		})
	}
}

// TestAClockThatIsOff: the server's clock, or this machine's, is off by an hour, and the
// server refuses what is signed for another time than its own.
func TestAClockThatIsOff(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		srv := newServerWith(t, gofakes3.WithTimeSource(shifted(off)), gofakes3.WithTimeSkewLimit(15*time.Minute))
		srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
			next.ServeHTTP(w, r)
		})
		s := openAt(t, srv.URL, "state", "")
		v, err := s.PutIfAbsent(t.Context(), "k", []byte("x"))
		if err != nil {
			t.Fatalf("%s: create: %v", off, err)
		}
		if _, err := s.PutIfMatch(t.Context(), "k", []byte("y"), v); err != nil {
			t.Fatalf("%s: replace: %v", off, err)
		}
		if o, err := openAt(t, srv.URL, "state", "").Get(t.Context(), "k"); err != nil || string(o.Data) != "y" {
			t.Fatalf("%s: read: %q, %v", off, o.Data, err)
		}
	}
}

// shifted is a clock that is off.
type shifted time.Duration

func (s shifted) Now() time.Time { return time.Now().Add(time.Duration(s)) }

func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

func TestUnreachableStore(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.Close()
	_, err := openAt(t, srv.URL, "state", "").Get(t.Context(), "k")
	if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Fatalf("got %v", err)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("s3://state?endpoint=http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no provider has any")
	})
	s, err := Open(t.Context(), u, Options{Credentials: none})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrDenied) || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Fatalf("got %v", err)
	}
}

// TestTheBucketIsFollowedToItsRegion: asking for the location is denied, so the region
// can only come from the header of a redirect or of HEAD.
func TestTheBucketIsFollowedToItsRegion(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"redirect": http.StatusMovedPermanently, "malformed": http.StatusBadRequest, "denied": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				switch auth := r.Header.Get("Authorization"); {
				case r.URL.Query().Has("location"):
					answer(w, http.StatusForbidden, "AccessDenied", "Access Denied")
				case strings.Contains(auth, "/ap-southeast-2/"):
					next.ServeHTTP(w, r)
				case name == "malformed" && r.Method != http.MethodHead:
					drain(r)
					answer(w, status, "AuthorizationHeaderMalformed", "the region is wrong")
				default:
					drain(r)
					w.Header().Set("X-Amz-Bucket-Region", "ap-southeast-2")
					answer(w, status, "PermanentRedirect", "use the right endpoint")
				}
			})
			s := openAt(t, srv.URL, "state", "")
			if _, err := s.PutIfAbsent(t.Context(), "k", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if o, err := s.Get(t.Context(), "k"); err != nil || string(o.Data) != "x" {
				t.Fatalf("got %q, %v", o.Data, err)
			}
			if l, err := s.Location(t.Context()); err != nil || l.Region != "ap-southeast-2" {
				t.Fatalf("got %+v, %v", l, err)
			}
		})
	}
}

func TestABrokenAnswerIsDamaged(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state", "")
	if _, err := s.Put(t.Context(), "k", []byte("all of it")); err != nil {
		t.Fatal(err)
	}
	var breaks atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && breaks.Add(-1) >= 0 {
			w.Header().Set("Content-Length", "9")
			w.Write([]byte("all"))
			return
		}
		next.ServeHTTP(w, r)
	})
	breaks.Store(1)
	if o, err := s.Get(t.Context(), "k"); err != nil || string(o.Data) != "all of it" {
		t.Fatalf("one broken answer: %q, %v", o.Data, err)
	}
	breaks.Store(bodyTries)
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
}

func TestTheEnvironmentIsHonoured(t *testing.T) {
	srv := newServer(t)
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATESTKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2secret")
	s, err := Open(t.Context(), &url.URL{Scheme: "s3", Host: "state"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfAbsent(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	l, err := s.Location(t.Context())
	if err != nil || l.Region != "eu-central-1" || l.Endpoint != srv.URL || s.URL() != "s3://state" {
		t.Fatalf("got %+v, %v, %s", l, err, s.URL())
	}
}

func TestARegionIsFoundFromNothing(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "s3", Host: "state", RawQuery: "endpoint=http://127.0.0.1:1"}
	s, err := Open(t.Context(), u, Options{Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	if err != nil {
		t.Fatal(err)
	}
	if s.current().Options().Region == "" {
		t.Fatal("no region to begin with")
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	t.Parallel()
	for n := 1; n < 60; n++ {
		if d := backoff(n); d < 50*time.Millisecond || d > 2*time.Second {
			t.Fatalf("try %d waits %s", n, d)
		}
	}
}

func TestARNsNameTheirPartition(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"eu-west-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"} {
		if got := partition(region); got != want {
			t.Errorf("%s: got %s", region, got)
		}
	}
}
