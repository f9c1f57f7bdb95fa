// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
)

// ProbeKey is the one object by which a server is shown to honour conditions. It
// stays in the store: while it is there, one request is the whole proof.
const ProbeKey = ".slipway/probe"

var probe = []byte("Slipway proves with this object that the server honours conditional writes. It may be deleted.\n")

// ProveCreate returns nil when the server refuses a second conditional create, and
// ErrUnsafe when it accepts one. create must be a bare conditional create.
func ProveCreate(ctx context.Context, name string, create func(ctx context.Context, key string, data []byte) error) error {
	for range 2 {
		err := create(ctx, ProbeKey, probe)
		if errors.Is(err, ErrConflict) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("prove that conditional writes work: %w", err)
		}
	}
	return &Error{Op: "open", Name: name, Kind: ErrUnsafe,
		Hint: "the server accepted a second conditional create of one object, so two runs could overwrite each other; use a server that honours If-None-Match"}
}
