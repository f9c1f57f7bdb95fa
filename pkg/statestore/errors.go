// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// The kinds of failure that errors.Is finds in this package's errors; they are the
// drivers' own.
var (
	ErrNotFound    = driver.ErrNotFound
	ErrConflict    = driver.ErrConflict
	ErrDenied      = driver.ErrDenied
	ErrUnavailable = driver.ErrUnavailable
	ErrDamaged     = driver.ErrDamaged
	ErrNoStore     = driver.ErrNoStore
	ErrInvalid     = driver.ErrInvalid
	ErrUnsafe      = driver.ErrUnsafe
)

// NotFoundError says that a cluster, or a revision of it, is not in the store. It is
// ErrNotFound.
type NotFoundError struct {
	Cluster  string
	Store    string   // the store's URL
	Revision int      // 0 when the cluster itself is not there
	Deleted  *Meta    // who deleted the cluster; nil when it never was there
	Near     []string // clusters with names like it
}

// Error names the cluster and the store, and what may have been meant.
func (e *NotFoundError) Error() string {
	if e.Revision > 0 {
		return fmt.Sprintf("revision %d of cluster %s: not found in %s; `slipway get history` lists the revisions", e.Revision, e.Cluster, e.Store)
	}
	msg := fmt.Sprintf("cluster %s: not found in %s", e.Cluster, e.Store)
	if e.Deleted != nil {
		msg += fmt.Sprintf("; it was deleted by %s at %s", who(*e.Deleted), e.Deleted.When.Format(time.RFC3339))
	}
	if len(e.Near) > 0 {
		msg += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	} else if e.Deleted == nil {
		msg += "; `slipway get clusters` lists what is there"
	}
	return msg
}

// Is makes it ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ConflictError says that a change was made from an old revision. It is ErrConflict.
// Nothing was written.
type ConflictError struct {
	Cluster string
	Store   string
	Base    int // the revision that the change was made from
	Latest  int // the newest one
	Who     string
	When    time.Time
	Reason  string
	Deleted bool // the newest one is a tombstone
}

// Error names both revisions and who made the newer one.
func (e *ConflictError) Error() string {
	what := "wrote"
	if e.Deleted {
		what = "deleted the cluster with"
	}
	msg := fmt.Sprintf("cluster %s in %s: your change starts from revision %d, but %s %s revision %d at %s",
		e.Cluster, e.Store, e.Base, e.Who, what, e.Latest, e.When.Format(time.RFC3339))
	if e.Reason != "" {
		msg += " (" + e.Reason + ")"
	}
	return msg + "; nothing was written"
}

// Is makes it ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// LockedError says that somebody else holds the lock of a cluster.
type LockedError struct {
	Cluster string
	Store   string
	Holder  LockInfo
}

// Error names the holder.
func (e *LockedError) Error() string {
	return fmt.Sprintf("cluster %s in %s is locked by %s", e.Cluster, e.Store, e.Holder)
}

// LostLockError says that a lock that was taken is no longer its holder's; the holder
// must stop.
type LostLockError struct {
	Cluster string
	Fence   int    // the number of the lost lock
	By      string // who ended it, where that is known
}

// Error says who ended the lock and that the run stops.
func (e *LostLockError) Error() string {
	by := ""
	if e.By != "" {
		by = " by " + e.By
	}
	return fmt.Sprintf("cluster %s: the lock of this run (number %d) was ended%s meanwhile; the run stops here: run the command again to see what is left to do", e.Cluster, e.Fence, by)
}

// damaged names an object that is not what was written.
func (s *Store) damaged(key, why string) error {
	return &driver.Error{Op: "read", Name: s.name(key), Kind: ErrDamaged,
		Hint: why + "; restore it from a copy or an older version of the object"}
}

func who(m Meta) string {
	switch {
	case m.Who == "":
		return "somebody"
	case m.Host == "":
		return m.Who
	}
	return m.Who + "@" + m.Host
}
