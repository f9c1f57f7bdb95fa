// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

const (
	segmentKind   = "JournalSegment"
	operationKind = "Operation"
)

// Segment is one part of a run's journal.
type Segment struct {
	Number  int
	Content []byte // as it was given to AppendJournal
}

var runForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,150}$`)

func segmentKey(cluster, run string, n int) string {
	return fmt.Sprintf("%s/journal/%s/%08d.yaml", cluster, run, n)
}

// AppendJournal writes segment n, from 1, of a run's journal. ErrConflict when there is
// one with other content: two runs must not write one journal.
func (s *Store) AppendJournal(ctx context.Context, cluster, run string, n int, segment []byte) error {
	if err := errors.Join(checkName(cluster), checkRun(run)); err != nil {
		return err
	}
	data, err := encodeDocument(header{APIVersion: apiVersion, Kind: segmentKind, Cluster: cluster, Run: run, Number: n}, segment)
	if err != nil {
		return err
	}
	key := segmentKey(cluster, run, n)
	_, err = s.d.PutIfAbsent(ctx, key, data)
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConflict) {
		// The answer to our own write may have been lost.
		if there, rerr := s.d.Get(ctx, key); rerr == nil && string(there.Data) == string(data) {
			return nil
		}
	}
	return err
}

// JournalRuns returns the runs of a cluster that have a journal, in byte order.
func (s *Store) JournalRuns(ctx context.Context, cluster string) ([]string, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	var runs []string
	err := s.pages(ctx, cluster+"/journal/", true, func(p driver.Page) {
		for _, folder := range p.Prefixes {
			runs = append(runs, path.Base(folder))
		}
	})
	return runs, err
}

// Journal returns the segments of a run in their order; none is no error. A damaged
// segment, or one that is missing between others, is ErrDamaged.
func (s *Store) Journal(ctx context.Context, cluster, run string) ([]Segment, error) {
	if err := errors.Join(checkName(cluster), checkRun(run)); err != nil {
		return nil, err
	}
	keys, err := s.keys(ctx, cluster+"/journal/"+run+"/")
	if err != nil {
		return nil, err
	}
	segments := make([]Segment, len(keys))
	err = s.fetch(ctx, keys, func(i int, o driver.Object) error {
		h, content, err := decodeDocument(o.Data, segmentKind)
		if err != nil {
			return s.damaged(keys[i], err.Error())
		}
		if h.Cluster != cluster || h.Run != run || keys[i] != segmentKey(cluster, run, h.Number) {
			return s.damaged(keys[i], fmt.Sprintf("it is segment %d of run %s of cluster %s", h.Number, h.Run, h.Cluster))
		}
		segments[i] = Segment{Number: h.Number, Content: content}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, segment := range segments {
		if segment.Number != i+1 {
			return nil, s.damaged(segmentKey(cluster, run, i+1), "it is missing, though later segments are there")
		}
	}
	return segments, nil
}

// DeleteJournal removes the journal of a run.
func (s *Store) DeleteJournal(ctx context.Context, cluster, run string) error {
	if err := errors.Join(checkName(cluster), checkRun(run)); err != nil {
		return err
	}
	return s.remove(ctx, cluster+"/journal/"+run+"/")
}

func checkRun(run string) error {
	if !runForm.MatchString(run) {
		return fmt.Errorf("journal run %q: %w: it must consist of letters, digits, \".\", \"_\" and \"-\"", run, ErrInvalid)
	}
	return nil
}

// Operation is one line of a cluster's audit log.
type Operation struct {
	ID       string    `json:"id"` // set by LogOperation
	When     time.Time `json:"when"`
	Who      string    `json:"who"`
	Host     string    `json:"host,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	Command  string    `json:"command"`
	Revision int       `json:"revision,omitempty"`
	Run      string    `json:"run,omitempty"`    // its journal
	Result   string    `json:"result,omitempty"` // "succeeded", "failed", "interrupted"
	Detail   string    `json:"detail,omitempty"`
}

// LogOperation adds to a cluster's audit log, which is never changed.
func (s *Store) LogOperation(ctx context.Context, cluster string, op Operation) error {
	if err := checkName(cluster); err != nil {
		return err
	}
	m := s.complete(Meta{Who: op.Who, Host: op.Host, Tool: op.Tool, When: op.When})
	op.Who, op.Host, op.Tool, op.When = m.Who, m.Host, m.Tool, m.When
	uid, err := s.newUID()
	if err != nil {
		return err
	}
	op.ID = op.When.Format("20060102T150405.000") + "-" + uid[:12]
	data, err := encodeRecord(operationKind, op)
	if err != nil {
		return err
	}
	_, err = s.d.PutIfAbsent(ctx, cluster+"/operations/"+op.ID+".json", data)
	return err
}

// Operations returns a cluster's audit log, oldest first.
func (s *Store) Operations(ctx context.Context, cluster string) ([]Operation, error) {
	if err := checkName(cluster); err != nil {
		return nil, err
	}
	keys, err := s.keys(ctx, cluster+"/operations/")
	if err != nil {
		return nil, err
	}
	ops := make([]Operation, len(keys))
	err = s.fetch(ctx, keys, func(i int, o driver.Object) error {
		if err := decodeRecord(o.Data, operationKind, &ops[i]); err != nil {
			return s.damaged(keys[i], err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ops, func(a, b Operation) int {
		return cmp.Or(a.When.Compare(b.When), strings.Compare(a.ID, b.ID))
	})
	return ops, nil
}
