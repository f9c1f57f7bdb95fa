// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// TestAServerThatIgnoresConditionsIsRefused: a server that accepts a second conditional
// create is never written to.
func TestAServerThatIgnoresConditionsIsRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		query := r.URL.Query()
		query.Del("ifGenerationMatch")
		r.URL.RawQuery = query.Encode()
		next.ServeHTTP(w, r)
	})
	s := openAt(t, srv.URL, "state", "")
	_, err := s.PutIfAbsent(t.Context(), "demo/revisions/00000001.yaml", []byte("x"))
	if !errors.Is(err, driver.ErrUnsafe) || !strings.Contains(err.Error(), "second conditional create") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Get(t.Context(), "demo/revisions/00000001.yaml"); !errors.Is(err, driver.ErrNotFound) {
		t.Fatalf("the refused store was written to: %v", err)
	}
}

// TestAServerThatIgnoresConditionalDeletes: fake-gcs-server as it is.
func TestAServerThatIgnoresConditionalDeletes(t *testing.T) {
	t.Parallel()
	s := openAt(t, newServerBehind(t, func(fake http.Handler) http.Handler { return fake }).URL, "state", "")
	v1, err := s.PutIfAbsent(t.Context(), "k", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	v2, err := s.PutIfMatch(t.Context(), "k", []byte("two"), v1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteIfMatch(t.Context(), "k", v1); !errors.Is(err, driver.ErrConflict) || s.deletes != ignored {
		t.Fatalf("got %v, the server is taken for %d", err, s.deletes)
	}
	if err := s.DeleteIfMatch(t.Context(), "k", v2); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrNotFound) {
		t.Fatalf("after the delete: %v", err)
	}
}

func TestLostAnswersAreNoConflicts(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state", "")
	if _, err := s.PutIfAbsent(t.Context(), "first", []byte("x")); err != nil {
		t.Fatal(err)
	}
	var lose atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && lose.Add(-1) >= 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			answer(w, http.StatusInternalServerError, "backendError", "the answer is lost")
			return
		}
		next.ServeHTTP(w, r)
	})
	lose.Store(1)
	v, err := s.PutIfAbsent(t.Context(), "lost", []byte("mine"))
	if err != nil {
		t.Fatalf("our own create was taken for another's: %v", err)
	}
	lose.Store(1)
	if _, err = s.PutIfMatch(t.Context(), "lost", []byte("mine too"), v); err != nil {
		t.Fatalf("our own replace was taken for another's: %v", err)
	}
	// The same content from another writer is still a conflict.
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && lose.Add(-1) >= 0 {
			drain(r)
			answer(w, http.StatusServiceUnavailable, "backendError", "not written at all")
			return
		}
		next.ServeHTTP(w, r)
	})
	lose.Store(1)
	if _, err := s.PutIfAbsent(t.Context(), "lost", []byte("mine too")); !errors.Is(err, driver.ErrConflict) {
		t.Fatalf("got %v", err)
	}
}

func TestErrorsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, s *Store) error { _, err := s.Get(ctx, "demo/k"); return err }
	put := func(ctx context.Context, s *Store) error { _, err := s.Put(ctx, "demo/k", nil); return err }
	create := func(ctx context.Context, s *Store) error { _, err := s.create(ctx, "demo/k", nil); return err }
	remove := func(ctx context.Context, s *Store) error { return s.Delete(ctx, "demo/k") }
	list := func(ctx context.Context, s *Store) error {
		_, err := s.List(ctx, "demo/", driver.ListOptions{})
		return err
	}
	const forbidden = "op@example.com does not have access to the Google Cloud Storage object."
	for _, c := range []struct {
		name    string
		status  int
		reason  string
		message string
		call    func(ctx context.Context, s *Store) error
		kind    error
		want    string
	}{
		{"read", 403, "forbidden", forbidden, get, driver.ErrDenied, "needs storage.objects.get on the bucket gs://state (or there is no such object"},
		{"write", 403, "forbidden", forbidden, put, driver.ErrDenied, "needs storage.objects.create and storage.objects.delete on the bucket gs://state"},
		{"create", 403, "forbidden", forbidden, create, driver.ErrDenied, "needs storage.objects.create on the bucket gs://state"},
		{"delete", 403, "forbidden", forbidden, remove, driver.ErrDenied, "needs storage.objects.delete on the bucket gs://state"},
		{"list", 403, "forbidden", forbidden, list, driver.ErrDenied, "needs storage.objects.list on the bucket gs://state"},
		{"key", 403, "forbidden", "Permission denied on Cloud KMS key.", put, driver.ErrDenied, "cryptoKeyEncrypterDecrypter"},
		{"billing", 403, "accountDisabled", "The billing account is disabled.", get, driver.ErrDenied, "billing account"},
		{"credentials", 401, "authError", "Invalid Credentials", get, driver.ErrDenied, "gcloud auth application-default login"},
		{"bucket", 404, "notFound", "The specified bucket does not exist.", get, driver.ErrNoStore, "there is no bucket state"},
		{"bucket by write", 404, "notFound", "The specified bucket does not exist.", put, driver.ErrNoStore, "there is no bucket state"},
		{"bucket by list", 404, "notFound", "The specified bucket does not exist.", list, driver.ErrNoStore, "there is no bucket state"},
		{"payer", 400, "required", "Bucket is a requester pays bucket but no user project provided.", get, driver.ErrInvalid, "turn requester pays off"},
		{"refused", 400, "invalid", "Invalid argument.", list, driver.ErrInvalid, "400: Invalid argument."},
		{"throttled", 429, "rateLimitExceeded", "The rate of writes is too high.", get, driver.ErrUnavailable, "429: The rate of writes is too high. (tried 5 times)"},
		{"throttled as of old", 403, "rateLimitExceeded", "The rate of writes is too high.", put, driver.ErrUnavailable, "tried 5 times"},
		{"broken", 503, "backendError", "Backend Error", remove, driver.ErrUnavailable, "503: Backend Error (tried 5 times)"},
		{"condition", 412, "conditionNotMet", "It did not hold.", create, driver.ErrConflict, "precondition failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			srv.intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				drain(r)
				answer(w, c.status, c.reason, c.message)
			})
			err := c.call(t.Context(), openAt(t, srv.URL, "state/p", ""))
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "gs://state/p/demo/") {
				t.Fatalf("got %v\nwant %q of kind %q", err, c.want, c.kind)
			}
			if c.kind == driver.ErrUnavailable && srv.calls.Load() != tries {
				t.Fatalf("%d calls, want %d", srv.calls.Load(), tries)
			}
		})
	}
}

func TestUnreachableStore(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.Close()
	_, err := openAt(t, srv.URL, "state", "").Get(t.Context(), "k")
	if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Fatalf("got %v", err)
	}
}

func TestAlteredContentIsDamaged(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := openAt(t, srv.URL, "state", "")
	if _, err := s.Put(t.Context(), "k", []byte("all of it")); err != nil {
		t.Fatal(err)
	}
	var alter atomic.Int64
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || alter.Add(-1) < 0 {
			next.ServeHTTP(w, r)
			return
		}
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.Write([]byte("all of IT"))
	})
	alter.Store(1)
	if o, err := s.Get(t.Context(), "k"); err != nil || string(o.Data) != "all of it" {
		t.Fatalf("altered once: %q, %v", o.Data, err)
	}
	alter.Store(bodyTries)
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrDamaged) || !strings.Contains(err.Error(), "crc32c") && !strings.Contains(err.Error(), "md5") {
		t.Fatalf("got %v", err)
	}
	// What is altered on its way there is refused by the server, or found in its answer.
	alter.Store(0)
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			drain(r)
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"generation":"5","size":"9","crc32c":"AAAAAA=="}`))
			return
		}
		next.ServeHTTP(w, r)
	})
	if _, err := s.Put(t.Context(), "k", []byte("all of it")); !errors.Is(err, driver.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
}

func TestCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "absent.json"))
	s, err := Open(&url.URL{Scheme: "gs", Host: "state"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrDenied) || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Fatalf("no credentials: %v", err)
	}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`))
	}))
	t.Cleanup(tokens.Close)
	file := filepath.Join(t.TempDir(), "user.json")
	content := `{"type":"authorized_user","client_id":"a","client_secret":"hunter2","refresh_token":"hunter3","token_uri":"` + tokens.URL + `"}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	s, err = Open(&url.URL{Scheme: "gs", Host: "state", RawQuery: "endpoint=http://127.0.0.1:1"}, Options{Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), "k")
	if !errors.Is(err, driver.ErrDenied) || !strings.Contains(err.Error(), "may have expired") || strings.Contains(err.Error(), "hunter") {
		t.Fatalf("expired credentials: %v", err)
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

func TestOpenRefusesOtherURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"gs://":                           "gs://BUCKET/PREFIX",
		"s3://b":                          "gs://BUCKET/PREFIX",
		"gs://b/a/../c":                   "..",
		"gs://b?region=x":                 "known are endpoint and kms_key",
		"gs://b?endpoint=":                "unknown, empty or repeated",
		"gs://b?endpoint=ftp://x":         "endpoint must be",
		"gs://b?kms_key=alias/x":          "kms_key must be projects/",
		"gs://b?endpoint=http://k:p@x.co": "endpoint must be",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(u, Options{}); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}
