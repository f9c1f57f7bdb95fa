// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// LockInfo says who holds a lock. Callers of Lock set Command; the rest is filled in.
type LockInfo struct {
	Fence   int       `json:"fence"` // grows with each lock of the cluster
	ID      string    `json:"id"`    // of this taking
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since"`

	// PID, Start, Boot and Space identify the process: Start is when it started on the
	// kernel's clock, Boot the machine's boot, Space the namespaces that PID and Start
	// belong to. They are empty where the system does not tell.
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
	Boot  string `json:"boot,omitempty"`
	Space string `json:"space,omitempty"`

	// LastSeen is the last sign of life by the store's clock; zero when there is none.
	LastSeen time.Time `json:"-"`
}

// String returns, for example, `alice@laptop (pid 4711), running "update cluster",
// since 2026-12-01T10:00:00Z`.
func (i LockInfo) String() string {
	text := who(Meta{Who: i.User, Host: i.Host})
	if i.PID != 0 {
		text += fmt.Sprintf(" (pid %d)", i.PID)
	}
	if i.Command != "" {
		text += fmt.Sprintf(", running %q", i.Command)
	}
	if !i.Since.IsZero() {
		text += ", since " + i.Since.Format(time.RFC3339)
	}
	if !i.LastSeen.IsZero() {
		text += ", last seen " + i.LastSeen.UTC().Format(time.RFC3339)
	}
	return text
}

// end is the object that ends a lock.
type end struct {
	ID     string    `json:"id"` // of the ending
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	When   time.Time `json:"when"`
}

const (
	lockKind    = "Lock"
	endKind     = "LockEnd"
	aliveKind   = "LockAlive"
	lockSuffix  = ".json"
	endSuffix   = ".end.json"
	aliveSuffix = ".alive.json"

	// lockTries bounds the races that one Lock loses before it gives up.
	lockTries = 100
	// lockHistory is how many ended locks stay to be looked at.
	lockHistory = 5
)

// Lock is a held lock. A cluster's locks are numbered objects: number N is held while
// there is N.json and no N.end.json, and only the taker of N+1 that saw N ended, and no
// higher number, holds N+1. Every step is a conditional create.
type Lock struct {
	s       *Store
	cluster string
	info    LockInfo

	mu       sync.Mutex
	released bool
}

func lockKey(cluster string, n int, suffix string) string {
	return fmt.Sprintf("%s/lock/%08d%s", cluster, n, suffix)
}

// Lock takes the lock of a cluster, or returns a *LockedError at once. A holder that is
// proven dead (same boot of the same machine, and no such process) is cleared.
func (s *Store) Lock(ctx context.Context, cluster string, purpose LockInfo) (*Lock, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	for range lockTries {
		state, err := s.lockState(ctx, cluster)
		if err != nil {
			return nil, err
		}
		if state.held {
			holder, err := s.readLock(ctx, cluster, state)
			if errors.Is(err, ErrNotFound) {
				continue // ended, and cleared away, since the listing
			}
			if err != nil {
				return nil, err
			}
			if !s.dead(*holder) {
				return nil, &LockedError{Cluster: cluster, Store: s.URL(), Holder: *holder}
			}
			if _, err := s.endLock(ctx, cluster, state.number, "the holder is dead"); err != nil {
				return nil, err
			}
		}
		l, err := s.take(ctx, cluster, state.number+1, purpose)
		if l != nil || err != nil {
			return l, err
		}
	}
	return nil, fmt.Errorf("lock cluster %s in %s: %w: %d other runs were faster; try again", cluster, s.URL(), ErrConflict, lockTries)
}

// take creates lock n. It returns nil when somebody else was faster.
func (s *Store) take(ctx context.Context, cluster string, n int, info LockInfo) (*Lock, error) {
	info, err := s.describe(info)
	if err != nil {
		return nil, err
	}
	info.Fence = n
	data, err := encodeRecord(lockKind, info)
	if err != nil {
		return nil, err
	}
	_, err = s.d.PutIfAbsent(ctx, lockKey(cluster, n, lockSuffix), data)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrUnavailable) {
		// The answer to our own create may have been lost.
		var there LockInfo
		if _, rerr := s.readRecord(ctx, lockKey(cluster, n, lockSuffix), lockKind, &there); rerr == nil && there.ID == info.ID {
			err = nil
		}
	}
	if errors.Is(err, ErrConflict) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{s: s, cluster: cluster, info: info}
	// The listing that n was chosen by need not have been of one moment: a higher
	// number means that ours was never valid.
	state, err := s.lockState(ctx, cluster)
	if err != nil || state.number != n || !state.held {
		_, eerr := s.endLock(context.WithoutCancel(ctx), cluster, n, "taken too late")
		return nil, errors.Join(err, eerr)
	}
	s.clear(ctx, cluster, state)
	return l, nil
}

// describe fills in who takes a lock.
func (s *Store) describe(info LockInfo) (LockInfo, error) {
	m := s.complete(Meta{Who: info.User, Host: info.Host, Reason: info.Command, When: info.Since})
	info.User, info.Host, info.Command, info.Since = m.Who, m.Host, m.Reason, m.When
	if info.PID == 0 {
		info.PID, info.Start, info.Boot, info.Space = s.self.pid, s.self.start, s.self.boot, s.self.space
	}
	var err error
	info.ID, err = s.newUID()
	return info, err
}

// lockState is what a listing of the locks says.
type lockState struct {
	number int // the highest one; 0 when there never was a lock
	held   bool
	seen   time.Time // the highest one's last sign of life
	old    []string  // keys that may be cleared away, in the order to do it
}

func (s *Store) lockState(ctx context.Context, cluster string) (lockState, error) {
	type found struct {
		lock, end bool
		seen      time.Time
	}
	locks := map[int]*found{}
	var state lockState
	prefix := cluster + "/lock/"
	err := s.pages(ctx, prefix, false, func(p driver.Page) {
		for _, i := range p.Objects {
			digits, suffix, _ := strings.Cut(strings.TrimPrefix(i.Key, prefix), ".")
			n, err := strconv.Atoi(digits)
			if err != nil || n <= 0 {
				continue
			}
			if locks[n] == nil {
				locks[n] = &found{}
			}
			switch "." + suffix {
			case lockSuffix:
				locks[n].lock = true
			case endSuffix:
				locks[n].end = true
			case aliveSuffix:
				locks[n].seen = i.Modified
				continue // says nothing of who holds what
			default:
				continue
			}
			state.number = max(state.number, n)
		}
	})
	if err != nil {
		return lockState{}, err
	}
	if top := locks[state.number]; top != nil {
		state.held, state.seen = top.lock && !top.end, top.seen
	}
	for n := range locks {
		if n <= state.number-lockHistory {
			// The lock goes before its end: Check reads them the other way round, and
			// so never takes an ended lock for a held one.
			state.old = append(state.old, lockKey(cluster, n, aliveSuffix), lockKey(cluster, n, lockSuffix), lockKey(cluster, n, endSuffix))
		}
	}
	return state, nil
}

// clear removes old locks. Who may not delete leaves them to somebody who may.
func (s *Store) clear(ctx context.Context, cluster string, state lockState) {
	for _, key := range state.old {
		if s.d.Delete(ctx, key) != nil {
			return
		}
	}
}

func (s *Store) readLock(ctx context.Context, cluster string, state lockState) (*LockInfo, error) {
	info := &LockInfo{}
	if _, err := s.readRecord(ctx, lockKey(cluster, state.number, lockSuffix), lockKind, info); err != nil {
		if errors.Is(err, ErrDamaged) {
			err = fmt.Errorf("cluster %s is locked, by whom cannot be read; `slipway unlock %s` ends it: %w", cluster, cluster, err)
		}
		return nil, err
	}
	info.LastSeen = state.seen
	return info, nil
}

// endLock ends lock n. It returns the ending that stands: ours, or an earlier one,
// which is empty when it can no longer be read.
func (s *Store) endLock(ctx context.Context, cluster string, n int, reason string) (end, error) {
	id, err := s.newUID()
	if err != nil {
		return end{}, err
	}
	m := s.complete(Meta{})
	ours := end{ID: id, By: who(m), Reason: reason, When: m.When}
	data, err := encodeRecord(endKind, ours)
	if err != nil {
		return end{}, err
	}
	key := lockKey(cluster, n, endSuffix)
	_, err = s.d.PutIfAbsent(ctx, key, data)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrUnavailable) {
		var there end
		_, rerr := s.readRecord(ctx, key, endKind, &there)
		if rerr == nil || errors.Is(err, ErrConflict) && errors.Is(rerr, ErrNotFound) {
			return there, nil // when it is not found, newer locks have cleared it away
		}
	}
	return ours, err
}
