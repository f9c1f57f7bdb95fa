// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// Purge removes what a deleted cluster left in the store: its history, operations and
// backups. A cluster that is not deleted is refused. It holds the lock, so that nobody
// applies a successor of that name whose keys would go as well.
func Purge(ctx context.Context, d Deps, o UpdateOptions) error {
	if gone, err := Deleted(ctx, d, o.Name); err != nil {
		return err
	} else if !gone {
		return d.Store.Purge(ctx, o.Name) // says why not
	}
	return d.underLock(ctx, o, func(ctx context.Context, d Deps, _ guard) error { return d.Store.Purge(ctx, o.Name) })
}

// Deleted reports whether a cluster of that name was there and is deleted.
func Deleted(ctx context.Context, d Deps, name string) (bool, error) {
	if _, err := d.Store.Latest(ctx, name); err == nil || !errors.Is(err, statestore.ErrNotFound) {
		return false, err
	}
	last, err := d.Store.LastNumber(ctx, name)
	return last > 0, err
}
