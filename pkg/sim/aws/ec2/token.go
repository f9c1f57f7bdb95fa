// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// token remembers what a client token was used for.
type token struct {
	ID     string // of the resource made
	Params string // digest of the parameters
}

// Passing says that a token is bookkeeping.
func (*token) Passing() bool { return true }

// once runs create unless the client token has made something before, and
// returns the id of what was made. The same token with other parameters is refused.
func (s *Service) once(c *wire.Call, clientToken string, create func() (string, *wire.Error)) (string, *wire.Error) {
	if clientToken == "" {
		return create()
	}
	if len(clientToken) > 64 {
		return "", wire.Errorf("InvalidParameterValue", "The client token is longer than 64 characters")
	}
	params := maps.Clone(c.Params)
	delete(params, "ClientToken")
	sum := sha256.Sum256([]byte(params.Encode()))
	digest := hex.EncodeToString(sum[:])
	key := c.Action + "/" + clientToken
	if t := s.tokens.Get(c.Region, key); t != nil {
		if t.Params != digest {
			return "", wire.Errorf("IdempotentParameterMismatch", "The client token you have provided is associated with a request with other parameters: %s", t.ID)
		}
		return t.ID, nil
	}
	id, err := create()
	if err != nil {
		return "", err
	}
	s.tokens.Put(c.Region, key, &token{ID: id, Params: digest})
	return id, nil
}
