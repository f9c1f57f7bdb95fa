// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// Sealing is to whom private parts are sealed and with what they are opened.
type Sealing struct {
	// To returns whom a cluster's first object is sealed to; later ones follow it. It is
	// called when something is sealed and not before: it may make an identity.
	To func(ctx context.Context) ([]pki.Wrapper, error)
	// Chosen says that To was asked for by name and wins over what is there.
	Chosen bool
	// Ring has the wrappers that this run may seal and open with.
	Ring pki.Keyring
	// Rand is for data keys, nonces and serial numbers; nil means crypto/rand.
	Rand io.Reader
}

// sealTargets finds once, for all tasks of a run, whom to seal to.
type sealTargets struct {
	Sealing
	objects KeyObjects
	uid     string

	mu sync.Mutex
	to []pki.Wrapper
}

// options returns whom to seal to: whom was asked for, else whom the cluster's keysets
// are sealed to, else the default.
func (s *sealTargets) options(ctx context.Context) (pki.SealOptions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		to, err := s.find(ctx)
		if err != nil {
			return pki.SealOptions{}, err
		}
		s.to = to
	}
	return pki.SealOptions{To: s.to, Rand: s.Rand}, nil
}

func (s *sealTargets) find(ctx context.Context) ([]pki.Wrapper, error) {
	if s.Chosen {
		return s.To(ctx)
	}
	there, err := readKeysets(ctx, s.objects, s.uid)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return s.To(ctx)
	}
	var to []pki.Wrapper
	for _, name := range there[0].Sealing.Wrappers() {
		w := s.Ring(name)
		if w == nil {
			return nil, fmt.Errorf("seal as keyset %s is: %w: %s is not at hand; choose with --sealing", there[0].Name, pki.ErrNoKey, name)
		}
		to = append(to, w)
	}
	return to, nil
}
