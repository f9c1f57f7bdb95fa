// SPDX-License-Identifier: Apache-2.0

// Package awstest serves some services of the simulated AWS for a test; the tests under pkg/sim/aws use it.
package awstest

import (
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Server is a cloud that listens.
type Server struct {
	URL   string
	Cloud *aws.Cloud
	Clock *Clock
	stop  func()
}

// Stop ends the server and writes its world, for tests that start it again.
func (s *Server) Stop() { s.stop() }

// Clock is a clock that tests move. It starts at the wall's time.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Serve starts a cloud whose world lies in dir, with the services that
// register adds to it.
func Serve(t *testing.T, dir string, register func(*aws.Cloud) error) *Server {
	t.Helper()
	clock := &Clock{}
	w, err := world.Open(filepath.Join(dir, "aws.db"), clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	cloud := aws.New(w, aws.Options{Clock: clock.Now})
	if err := register(cloud); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(cloud)
	stop := sync.OnceFunc(func() {
		h.Close()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &Server{URL: h.URL, Cloud: cloud, Clock: clock, stop: stop}
}
