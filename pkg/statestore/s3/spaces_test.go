// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
)

func openSpaces(t *testing.T, endpoint string) *Store {
	t.Helper()
	s, err := OpenSpaces(t.Context(), mustParse(t, "do://state/some prefix?region=nyc3&endpoint="+url.QueryEscape(endpoint)), Options{
		Credentials: credentials.NewStaticCredentialsProvider("DO00TESTKEY", "hunter2secret", ""),
		Backoff:     func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustParse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestConformanceOfSpaces(t *testing.T) {
	t.Parallel()
	servers := map[driver.Store]*server{}
	h := harness(servers)
	h.New = func(t *testing.T) driver.Store {
		srv := newServer(t)
		s := openSpaces(t, srv.URL)
		servers[s] = srv
		return s
	}
	h.Reopen = func(t *testing.T, s driver.Store) driver.Store { return openSpaces(t, servers[s].URL) }
	drivertest.Run(t, h)
}

// TestSpacesThatIgnoreConditionsAreRefused: nobody promises that Spaces honour them.
func TestSpacesThatIgnoreConditionsAreRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("If-None-Match")
		next.ServeHTTP(w, r)
	})
	_, err := openSpaces(t, srv.URL).PutIfAbsent(t.Context(), "demo/k", []byte("x"))
	if !errors.Is(err, driver.ErrUnsafe) || !strings.Contains(err.Error(), "do://state/some%20prefix") {
		t.Fatalf("got %v", err)
	}
}

func TestSpacesAddresses(t *testing.T) {
	for raw, want := range map[string][3]string{
		"do://b/p/q?region=nyc3":                                {"do://b/p/q?region=nyc3", "https://nyc3.digitaloceanspaces.com", "p/q/"},
		"do://b.nyc3.digitaloceanspaces.com/p":                  {"do://b/p?region=nyc3", "https://nyc3.digitaloceanspaces.com", "p/"},
		"do://nyc3.digitaloceanspaces.com/b/p/q":                {"do://b/p/q?region=nyc3", "https://nyc3.digitaloceanspaces.com", "p/q/"},
		"do://nyc3.digitaloceanspaces.com/b":                    {"do://b?region=nyc3", "https://nyc3.digitaloceanspaces.com", ""},
		"do://b?endpoint=ams3.digitaloceanspaces.com":           {"do://b?endpoint=https%3A%2F%2Fams3.digitaloceanspaces.com&region=ams3", "https://ams3.digitaloceanspaces.com", ""},
		"do://b?endpoint=https://ams3.digitaloceanspaces.com/":  {"do://b?endpoint=https%3A%2F%2Fams3.digitaloceanspaces.com&region=ams3", "https://ams3.digitaloceanspaces.com", ""},
		"do://b?endpoint=b.ams3.digitaloceanspaces.com":         {"do://b?endpoint=https%3A%2F%2Fams3.digitaloceanspaces.com&region=ams3", "https://ams3.digitaloceanspaces.com", ""},
		"do://b?endpoint=https://ams3.digitaloceanspaces.com/b": {"do://b?endpoint=https%3A%2F%2Fams3.digitaloceanspaces.com&region=ams3", "https://ams3.digitaloceanspaces.com", ""},
		"do://b?region=nyc3&endpoint=http://127.0.0.1:9000":     {"do://b?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=nyc3", "http://127.0.0.1:9000", ""},
	} {
		s, err := OpenSpaces(t.Context(), mustParse(t, raw), Options{})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		l, err := s.Location(t.Context())
		if err != nil || [3]string{s.URL(), l.Endpoint, l.Prefix} != want || l.Bucket != "b" || l.Scheme != "do" {
			t.Errorf("%s: got %s, %+v, %v", raw, s.URL(), l, err)
		}
		again, err := OpenSpaces(t.Context(), mustParse(t, s.URL()), Options{})
		if err != nil || again.URL() != s.URL() {
			t.Errorf("%s does not open again: %v", s.URL(), err)
		}
	}
	for raw, want := range map[string]string{
		"do://b":                                                  "the region is missing",
		"do://b?region=nyc3&kms_key=x":                            "known are region and endpoint",
		"do://b.nyc3.cdn.digitaloceanspaces.com":                  "a cache of it",
		"do://nyc3.digitaloceanspaces.com":                        "names no bucket",
		"do://b.nyc3.digitaloceanspaces.com?region=ams3":          "another region",
		"do://b?endpoint=b.nyc3.cdn.digitaloceanspaces.com":       "cache",
		"do://b?endpoint=c.nyc3.digitaloceanspaces.com":           "of the bucket c",
		"do://b?region=ams3&endpoint=nyc3.digitaloceanspaces.com": "says ams3",
		"do://b?endpoint=nyc3.digitaloceanspaces.com/c/d":         "without a path",
		"do://b?endpoint=ftp://x":                                 "must be a host",
		"do://b/a/../c?region=nyc3":                               "..",
		"do://u:p@b?region=nyc3":                                  "without credentials",
	} {
		if _, err := OpenSpaces(t.Context(), mustParse(t, raw), Options{}); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}

func TestTheEnvironmentOfSpaces(t *testing.T) {
	srv := newServer(t)
	var signer string
	srv.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		signer = r.Header.Get("Authorization")
		next.ServeHTTP(w, r)
	})
	t.Setenv(spacesEndpoint, srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOFAWS")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2secret")
	put := func() {
		t.Helper()
		s, err := OpenSpaces(t.Context(), mustParse(t, "do://state?region=nyc3"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", nil); err != nil || s.URL() != "do://state?region=nyc3" {
			t.Fatalf("got %v, %s", err, s.URL())
		}
	}
	if put(); !strings.Contains(signer, "AKIAOFAWS/") || !strings.Contains(signer, "/nyc3/s3/") {
		t.Fatalf("signed %s", signer)
	}
	t.Setenv(spacesKey, "DO00OFSPACES")
	t.Setenv(spacesSecret, "hunter3secret")
	if put(); !strings.Contains(signer, "DO00OFSPACES/") {
		t.Fatalf("signed %s", signer)
	}
	srv.intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		drain(r)
		answer(w, http.StatusForbidden, "AccessDenied", "Access Denied")
	})
	s := openSpaces(t, srv.URL)
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, driver.ErrDenied) || !strings.Contains(err.Error(), "Spaces access key") || strings.Contains(err.Error(), "arn:") {
		t.Fatalf("got %v", err)
	}
}
