// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Meta says who made a change, where, with what, why and when.
type Meta struct {
	Who, Host, Tool, Reason string
	When                    time.Time
}

// Revision is one state of a cluster's spec. It is never changed.
type Revision struct {
	Number    int // from 1, without gaps
	Cluster   string
	UID       string // of this write
	Content   []byte // YAML, as it was given to Append; empty for a tombstone
	Meta      Meta
	Tombstone bool // the cluster was deleted here
}

// RevisionInfo is a revision without its content.
type RevisionInfo struct {
	Number    int
	UID       string
	Meta      Meta
	Tombstone bool
	Size      int // bytes of content
}

const (
	revisionKind = "Revision"
	maxRevision  = 99_999_999 // what eight digits hold
)

func revisionKey(cluster string, n int) string {
	return fmt.Sprintf("%s/revisions/%08d.yaml", cluster, n)
}

// Latest returns the newest revision of a cluster. A name that was never used, and a
// deleted cluster, are a *NotFoundError.
func (s *Store) Latest(ctx context.Context, cluster string) (Revision, error) {
	if err := checkName(cluster); err != nil {
		return Revision{}, err
	}
	rev, err := s.newest(ctx, cluster)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Revision{}, err
	}
	if err == nil && !rev.Tombstone {
		return rev, nil
	}
	missing := &NotFoundError{Cluster: cluster, Store: s.URL()}
	if err == nil {
		missing.Deleted = &rev.Meta
	}
	if known, err := s.Clusters(ctx); err == nil { // near names are a kindness, no duty
		missing.Near = near(cluster, known)
	}
	return Revision{}, missing
}

// LastNumber returns the number of the newest revision, a tombstone included: what a
// new cluster of that name continues from. It is 0 for a name never used.
func (s *Store) LastNumber(ctx context.Context, cluster string) (int, error) {
	if err := checkName(cluster); err != nil {
		return 0, err
	}
	numbers, err := s.numbers(ctx, cluster)
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	return numbers[len(numbers)-1], nil
}

// numbers returns the ascending numbers of a cluster's revisions, by names alone.
func (s *Store) numbers(ctx context.Context, cluster string) ([]int, error) {
	prefix := cluster + "/revisions/"
	keys, err := s.keys(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, key := range keys {
		digits, ok := strings.CutSuffix(strings.TrimPrefix(key, prefix), ".yaml")
		if n, err := strconv.Atoi(digits); ok && err == nil && len(digits) == 8 && n > 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// newest returns the newest revision, tombstone or not.
func (s *Store) newest(ctx context.Context, cluster string) (Revision, error) {
	n, err := s.LastNumber(ctx, cluster)
	if err != nil {
		return Revision{}, err
	}
	if n == 0 {
		return Revision{}, &NotFoundError{Cluster: cluster, Store: s.URL()}
	}
	return s.Revision(ctx, cluster, n)
}

// Revision returns one revision, tombstones included. A missing one is a
// *NotFoundError; a cut-off or altered one is ErrDamaged.
func (s *Store) Revision(ctx context.Context, cluster string, n int) (Revision, error) {
	if err := checkName(cluster); err != nil {
		return Revision{}, err
	}
	o, err := s.d.Get(ctx, revisionKey(cluster, n))
	if errors.Is(err, ErrNotFound) {
		return Revision{}, &NotFoundError{Cluster: cluster, Store: s.URL(), Revision: n}
	}
	if err != nil {
		return Revision{}, err
	}
	return s.decodeRevision(cluster, n, o.Data)
}

func (s *Store) decodeRevision(cluster string, n int, data []byte) (Revision, error) {
	h, content, err := decodeDocument(data, revisionKind)
	if err != nil {
		return Revision{}, s.damaged(revisionKey(cluster, n), err.Error())
	}
	rev, err := s.revision(cluster, n, h)
	rev.Content = content
	return rev, err
}

// revision turns a header into a revision without content.
func (s *Store) revision(cluster string, n int, h header) (Revision, error) {
	if h.Cluster != cluster || h.Number != n {
		return Revision{}, s.damaged(revisionKey(cluster, n), fmt.Sprintf("it is revision %d of cluster %s", h.Number, h.Cluster))
	}
	return Revision{
		Number: n, Cluster: cluster, UID: h.UID, Tombstone: h.Tombstone,
		Meta: Meta{Who: h.Who, Host: h.Host, Tool: h.Tool, Reason: h.Reason, When: h.When},
	}, nil
}

// History returns all revisions of a cluster, oldest first, tombstones included. It
// reads and checks their headers; Revision checks the content too. A name never used is
// a *NotFoundError.
func (s *Store) History(ctx context.Context, cluster string) ([]RevisionInfo, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	numbers, err := s.numbers(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return nil, &NotFoundError{Cluster: cluster, Store: s.URL()}
	}
	history := make([]RevisionInfo, len(numbers))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, n := range numbers {
		g.Go(func() (err error) {
			history[i], err = s.revisionInfo(gctx, cluster, n)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return history, nil
}

// headSize is more than the header of a revision with a long reason has, in bytes.
const headSize = 4096

// revisionInfo reads the header of a revision, and the whole only where it must.
func (s *Store) revisionInfo(ctx context.Context, cluster string, n int) (RevisionInfo, error) {
	key := revisionKey(cluster, n)
	if heads, ok := driver.As[driver.HeadGetter](s.d); ok {
		head, err := heads.GetHead(ctx, key, headSize)
		if err != nil {
			return RevisionInfo{}, err
		}
		h, _, err := splitDocument(head, revisionKind)
		if err == nil {
			rev, err := s.revision(cluster, n, h)
			return RevisionInfo{Number: n, UID: rev.UID, Meta: rev.Meta, Tombstone: rev.Tombstone, Size: h.Size}, err
		}
		if len(head) < headSize || !errors.Is(err, errNoEnd) {
			return RevisionInfo{}, s.damaged(key, err.Error())
		}
	}
	rev, err := s.Revision(ctx, cluster, n)
	return RevisionInfo{Number: n, UID: rev.UID, Meta: rev.Meta, Tombstone: rev.Tombstone, Size: len(rev.Content)}, err
}

// Append writes the revision after base, which must be the newest; 0 begins a cluster.
// A newer one is a *ConflictError, and nothing is written. Empty fields of meta are
// filled from the store's options.
func (s *Store) Append(ctx context.Context, cluster string, base int, content []byte, meta Meta) (Revision, error) {
	return s.append(ctx, Revision{Cluster: cluster, Number: base + 1, Content: content, Meta: s.complete(meta)})
}

// Tombstone writes the last revision of a cluster, after base. Its history stays, and
// a new cluster of that name continues the numbers.
func (s *Store) Tombstone(ctx context.Context, cluster string, base int, meta Meta) error {
	_, err := s.append(ctx, Revision{Cluster: cluster, Number: base + 1, Tombstone: true, Meta: s.complete(meta)})
	return err
}

func (s *Store) append(ctx context.Context, rev Revision) (Revision, error) {
	if err := checkName(rev.Cluster); err != nil {
		return Revision{}, err
	}
	base := rev.Number - 1
	last, err := s.LastNumber(ctx, rev.Cluster)
	if err != nil {
		return Revision{}, err
	}
	if last > base {
		return Revision{}, s.conflict(ctx, rev.Cluster, base)
	}
	if base < 0 || last < base || rev.Number > maxRevision {
		return Revision{}, fmt.Errorf("write a revision of cluster %s after revision %d: %w: the newest is %d", rev.Cluster, base, ErrInvalid, last)
	}
	if rev.UID, err = s.newUID(); err != nil {
		return Revision{}, err
	}
	data, err := encodeDocument(header{
		APIVersion: apiVersion, Kind: revisionKind, Cluster: rev.Cluster, Number: rev.Number, UID: rev.UID, Tombstone: rev.Tombstone,
		Who: rev.Meta.Who, Host: rev.Meta.Host, Tool: rev.Meta.Tool, Reason: rev.Meta.Reason, When: rev.Meta.When,
	}, rev.Content)
	if err != nil {
		return Revision{}, err
	}
	_, err = s.d.PutIfAbsent(ctx, revisionKey(rev.Cluster, rev.Number), data)
	if err == nil {
		return rev, nil
	}
	// The answer to a write that happened may have been lost.
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConflict) {
		if there, rerr := s.Revision(ctx, rev.Cluster, rev.Number); rerr == nil && there.UID == rev.UID {
			return rev, nil
		}
	}
	if errors.Is(err, ErrConflict) {
		return Revision{}, s.conflict(ctx, rev.Cluster, base)
	}
	return Revision{}, err
}

// conflict says which revision stands where one was to be written.
func (s *Store) conflict(ctx context.Context, cluster string, base int) error {
	latest, err := s.newest(ctx, cluster)
	if err != nil {
		return fmt.Errorf("cluster %s: your change starts from revision %d, and a newer one cannot be read: %w", cluster, base, errors.Join(ErrConflict, err))
	}
	return &ConflictError{
		Cluster: cluster, Store: s.URL(), Base: base, Latest: latest.Number, Deleted: latest.Tombstone,
		Who: who(latest.Meta), When: latest.Meta.When, Reason: latest.Meta.Reason,
	}
}

// complete fills what the caller left open and drops what the file cannot hold.
func (s *Store) complete(m Meta) Meta {
	if m.Who == "" {
		m.Who = s.o.User
	}
	if m.Host == "" {
		m.Host = s.o.Host
	}
	if m.Tool == "" {
		m.Tool = s.o.Tool
	}
	if m.When.IsZero() {
		m.When = s.o.Clock()
	}
	m.When = m.When.UTC().Truncate(time.Millisecond)
	for _, text := range []*string{&m.Who, &m.Host, &m.Tool, &m.Reason} {
		*text = strings.Map(printable, strings.ToValidUTF8(*text, "?"))
	}
	return m
}

// printable keeps control characters out of files that are shown on terminals and that
// any YAML parser should read.
func printable(r rune) rune {
	switch {
	case unicode.IsControl(r):
		return ' '
	case r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF':
		return '?'
	}
	return r
}
