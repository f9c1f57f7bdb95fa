// SPDX-License-Identifier: Apache-2.0

// Package sim serves the simulated clouds on one loopback port, with a control API beside them; cmd/slipway-sim and tests run it.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of a Server.
type Options struct {
	Dir    string           // where worlds and logs lie; created when absent
	Addr   string           // loopback address to listen on; 127.0.0.1:0 when ""
	Logger *slog.Logger     // nil discards
	Clock  func() time.Time // of the worlds; time.Now when nil
	Rand   io.Reader        // of ids; crypto/rand when nil
}

// Server is a running simulator.
type Server struct {
	opts     Options
	aws      *aws.Cloud
	world    *world.World
	calls    *os.File
	objects  io.Closer // S3's files
	http     *http.Server
	listener net.Listener
	started  time.Time
	done     chan error
}

// New opens the worlds in opts.Dir and makes a server that does not listen yet.
func New(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := world.Open(filepath.Join(opts.Dir, "aws.db"), opts.Clock)
	if err != nil {
		return nil, err
	}
	calls, err := os.OpenFile(filepath.Join(opts.Dir, "calls.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the call log: %w", err), w.Close())
	}
	s := &Server{opts: opts, world: w, calls: calls, done: make(chan error, 1)}
	s.aws = aws.New(w, aws.Options{Logger: opts.Logger, Clock: opts.Clock, Rand: opts.Rand, Log: calls})
	if s.objects, err = addServices(s.aws, opts); err != nil {
		return nil, errors.Join(err, w.Close(), calls.Close())
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug)}
	return s, nil
}

// Start listens and serves until Close.
func (s *Server) Start() error {
	host, _, err := net.SplitHostPort(s.opts.Addr)
	if err != nil {
		return fmt.Errorf("address %q: %w", s.opts.Addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("address %q is not on loopback: the simulator's credentials are public, give 127.0.0.1:PORT", s.opts.Addr)
	}
	s.listener, err = net.Listen("tcp", s.opts.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.started = s.opts.Clock()
	go func() { s.done <- s.http.Serve(s.listener) }()
	return nil
}

// Addr is where the server listens, host:port, after Start.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the endpoint of every service, for AWS_ENDPOINT_URL.
func (s *Server) URL() string { return "http://" + s.Addr() }

// AWS is the simulated AWS, for tests that turn its faults and read its log.
func (s *Server) AWS() *aws.Cloud { return s.aws }

// grace is how long Close waits for calls in flight; they take milliseconds, and
// what is left after it are connections that clients opened and never used.
const grace = time.Second

// Close lets calls in flight end and writes the worlds.
func (s *Server) Close() error {
	var errs []error
	if s.listener != nil {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, s.http.Close())
		} else if err != nil {
			errs = append(errs, fmt.Errorf("stop serving: %w", err))
		}
		if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.world.Close(), s.objects.Close(), s.calls.Close())...)
}

// ServeHTTP gives control calls to the control API and the rest to the clouds.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.serveControl(w, r)
		return
	}
	s.aws.ServeHTTP(w, r)
}
