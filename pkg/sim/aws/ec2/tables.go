// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// tables are the kinds of resource that the service keeps.
type tables struct {
	vpcs *kind[Vpc]
}

// token remembers what a client token was used for.
type token struct {
	ID     string // of the resource made
	Params string // digest of the parameters
}

func (s *Service) open(w *world.World) (err error) {
	if s.tokens, err = world.NewTable[token](w, "ec2/client-token"); err != nil {
		return err
	}
	if s.vpcs, err = newVpcKind(s, w); err != nil {
		return err
	}
	return nil
}
