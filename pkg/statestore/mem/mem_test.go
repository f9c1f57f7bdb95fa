// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"errors"
	"net/url"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
)

func open(t *testing.T, raw string) *Store {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New: func(t *testing.T) driver.Store {
			return open(t, "mem://"+url.PathEscape(t.Name()[len("TestConformance/"):]))
		},
		Reopen: func(t *testing.T, s driver.Store) driver.Store { return open(t, s.URL()) },
		Rounds: 200,
	})
}

func TestOpenRefusesOtherURLs(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"mem://", "mem://a/b", "mem://a?b=c", "file:///a"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(u); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}
