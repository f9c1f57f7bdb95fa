// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
)

// Info returns what the store says of this holder.
func (l *Lock) Info() LockInfo { return l.info }

// Check returns nil while the lock is its holder's. A holder calls it before each
// write to the store and each batch of calls to a cloud, and stops on an error: a
// *LostLockError when the lock was ended, or what kept it from being read.
func (l *Lock) Check(ctx context.Context) error {
	var e end
	_, err := l.s.readRecord(ctx, lockKey(l.cluster, l.info.Fence, endSuffix), endKind, &e)
	if err == nil || errors.Is(err, ErrDamaged) {
		return l.lost(e)
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	var there LockInfo
	_, err = l.s.readRecord(ctx, lockKey(l.cluster, l.info.Fence, lockSuffix), lockKind, &there)
	if errors.Is(err, ErrNotFound) || err == nil && there.ID != l.info.ID {
		return l.lost(e)
	}
	return err
}

func (l *Lock) lost(e end) error {
	return &LostLockError{Cluster: l.cluster, Fence: l.info.Fence, By: e.By}
}

// Beat leaves a sign of life, which LockHolder and LockedError show.
func (l *Lock) Beat(ctx context.Context) error {
	data, err := encodeRecord(aliveKind, map[string]any{"id": l.info.ID, "when": l.s.o.Clock().UTC()})
	if err != nil {
		return err
	}
	_, err = l.s.d.Put(ctx, lockKey(l.cluster, l.info.Fence, aliveSuffix), data)
	return err
}

// Release ends the lock; once it has succeeded, further calls do nothing. When somebody
// else ended it before, that is a *LostLockError: part of the run was unprotected.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	e, err := l.s.endLock(ctx, l.cluster, l.info.Fence, "released "+l.info.ID)
	if err != nil {
		return err
	}
	l.released = true
	if e.Reason != "released "+l.info.ID {
		return l.lost(e)
	}
	return nil
}

// Unlock ends the lock of a cluster, whoever holds it, and returns the holder: nil
// when it was free. A holder that still runs notices at its next Check.
func (s *Store) Unlock(ctx context.Context, cluster string) (*LockInfo, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	state, err := s.lockState(ctx, cluster)
	if err != nil || !state.held {
		return nil, err
	}
	holder, err := s.readLock(ctx, cluster, state)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case errors.Is(err, ErrDamaged):
		holder = &LockInfo{Fence: state.number, LastSeen: state.seen}
	case err != nil:
		return nil, err
	}
	_, err = s.endLock(ctx, cluster, state.number, "unlocked")
	return holder, err
}

// LockHolder returns who holds the lock of a cluster; nil when it is free.
func (s *Store) LockHolder(ctx context.Context, cluster string) (*LockInfo, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	state, err := s.lockState(ctx, cluster)
	if err != nil || !state.held {
		return nil, err
	}
	holder, err := s.readLock(ctx, cluster, state)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return holder, err
}
