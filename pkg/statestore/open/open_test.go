// SPDX-License-Identifier: Apache-2.0

package open

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"mem://demo":                             "mem://demo",
		"file:///srv/a%20b":                      "file:///srv/a%20b",
		"/srv/slipway":                           "file:///srv/slipway",
		"do://bucket/some/prefix/?region=ams3":   "do://bucket/some/prefix?region=ams3",
		"gs://bucket/some/prefix/":               "gs://bucket/some/prefix",
		"s3://bucket/some/prefix/":               "s3://bucket/some/prefix",
		"s3://bucket?region=eu-west-1&profile=x": "",
	} {
		s, err := Open(t.Context(), raw, Options{})
		if strings.Contains(raw, "profile=x") {
			if !errors.Is(err, driver.ErrInvalid) {
				t.Errorf("%s: a profile that is not there: %v", raw, err)
			}
			continue
		}
		if err != nil || s.URL() != want {
			t.Errorf("%s: got %v, %v", raw, s, err)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                             "a state store is one of s3://bucket/prefix, gs://bucket/prefix, do://bucket/prefix?region=nyc3, file:///path, mem://name",
		"ftp://host/x":                 "a state store is one of",
		"bucket":                       "a state store is one of",
		"s3://user:hunter2@bucket/x":   "credentials",
		"s3://us er:hunter2@b":         "cannot be parsed",
		"s3://bucket?zone=a":           "known are region, endpoint, profile and kms_key",
		"s3://bucket?region=":          "unknown, empty or repeated",
		"s3://bucket/a/../b":           "..",
		"s3://bucket?endpoint=ftp://x": "endpoint must be",
		"s3://bucket?endpoint=https://k:hunter2@host.com": "endpoint must be",
		"do://bucket/x":      "the region is missing",
		"gs://bucket?zone=a": "known are endpoint and kms_key",
		"gs://k:hunter2@b/x": "credentials",
		"file://relative/x":  "file:///absolute/path",
		"file:///srv/a#1":    "%23",
		"s3://bucket/a#1":    "%23",
		"gs://bucket/a#":     "%23",
	} {
		_, err := Open(t.Context(), raw, Options{})
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the password: %v", raw, err)
		}
	}
}
