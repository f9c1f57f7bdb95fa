// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	htransport "google.golang.org/api/transport/http"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// The limits of a request; an unreachable store is reported within a minute.
const (
	dialLimit   = 5 * time.Second
	answerLimit = 30 * time.Second
)

// tries is how often a call is made that finds the server busy or the connection
// broken, the first time included.
const tries = 5

// errNoCredentials marks that the environment holds none.
var errNoCredentials = errors.New("no credentials")

// connect makes the client at the first call, so that opening a store asks nobody for
// credentials.
func (s *Store) connect(ctx context.Context) (*storage.Service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service != nil {
		return s.service, nil
	}
	client := s.o.HTTPClient
	if client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext = (&net.Dialer{Timeout: dialLimit}).DialContext
		transport.ResponseHeaderTimeout = answerLimit
		client = &http.Client{Transport: transport}
		if !s.anonymous {
			// The context lives on in the refreshing of tokens: it must not be the call's.
			authorised, err := htransport.NewTransport(context.WithoutCancel(ctx), transport, option.WithScopes(storage.DevstorageReadWriteScope))
			if err != nil {
				return nil, errors.Join(errNoCredentials, err)
			}
			client.Transport = authorised
		}
	}
	options := []option.ClientOption{option.WithHTTPClient(client), option.WithUserAgent("slipway")}
	if s.endpoint != "" {
		options = append(options, option.WithEndpoint(s.endpoint+"/storage/v1/"))
	}
	service, err := storage.NewService(ctx, options...)
	if err != nil {
		return nil, err
	}
	s.service = service
	return service, nil
}

// request is what an error says of a call.
type request struct {
	op, key    string
	permission string // what it needs
}

// call makes a call that may be repeated, with pauses while the server is busy, and
// sorts its error.
func (s *Store) call(ctx context.Context, r request, do func(*storage.Service) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, r, do)
		if !errors.Is(err, driver.ErrUnavailable) {
			return err
		}
		if try == tries {
			return fmt.Errorf("%w (tried %d times)", err, tries)
		}
		if serr := s.pause(ctx, r, try); serr != nil {
			return serr
		}
	}
}

// once makes one call and sorts its error.
func (s *Store) once(ctx context.Context, r request, do func(*storage.Service) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", r.op, s.name(r.key), err)
	}
	service, err := s.connect(ctx)
	if err == nil {
		err = do(service)
	}
	if err != nil {
		return s.classify(ctx, r, err)
	}
	return nil
}

func (s *Store) pause(ctx context.Context, r request, n int) error {
	timer := time.NewTimer(s.o.Backoff(n))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s %s: %w", r.op, s.name(r.key), ctx.Err())
	case <-timer.C:
		return nil
	}
}
