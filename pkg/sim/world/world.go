// SPDX-License-Identifier: Apache-2.0

// Package world keeps the rows of one simulated cloud: tables in memory, written through to one file on disk; the services under pkg/sim use it.
//
// A request runs inside Do, alone in its world, and the rows it put or deleted
// are written in one transaction when it ends. The file is not synced on each
// request: a killed process loses nothing, since the kernel holds the pages; a
// power cut may lose the last requests, which a simulator can afford.
package world

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// World is one cloud's state. Tables are created once, before the first Do.
type World struct {
	mu     sync.Mutex
	db     *bbolt.DB
	now    func() time.Time
	tables []store
	seq    uint64
	delay  time.Duration
	dirty  map[dirtyKey]struct{}
}

type dirtyKey struct {
	table int
	key   string
}

// store is what the world needs of a table, whatever its row type.
type store interface {
	name() string
	load(key, value []byte) (uint64, error)
	encode(key string) (value []byte, present bool, err error)
	clear()
}

// Open reads the world kept in the file at path, which is created when absent.
// Only one process may have it open; a second one gets an error within a second.
func Open(path string, now func() time.Time) (*World, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the world's folder: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoSync: true, NoFreelistSync: true, NoGrowSync: true})
	if err != nil {
		return nil, fmt.Errorf("open world %s (is another simulator running on it?): %w", path, err)
	}
	return &World{db: db, now: now, dirty: map[dirtyKey]struct{}{}}, nil
}

// Close writes what is left and closes the file.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.commit(); err != nil {
		return err
	}
	if err := w.db.Sync(); err != nil {
		return fmt.Errorf("sync world: %w", err)
	}
	return w.db.Close()
}

// Do runs fn alone in the world and then writes the rows that it touched.
func (w *World) Do(fn func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	return w.commit()
}

// SetDelay makes rows younger than d invisible to Visible and Find, as an
// eventually consistent API shows them.
func (w *World) SetDelay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
}

// Reset empties every table.
func (w *World) Reset() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty = map[dirtyKey]struct{}{}
	for _, t := range w.tables {
		t.clear()
	}
	return w.db.Update(func(tx *bbolt.Tx) error {
		for _, t := range w.tables {
			if err := tx.DeleteBucket([]byte(t.name())); err != nil {
				return fmt.Errorf("empty table %s: %w", t.name(), err)
			}
			if _, err := tx.CreateBucket([]byte(t.name())); err != nil {
				return fmt.Errorf("empty table %s: %w", t.name(), err)
			}
		}
		return nil
	})
}

// Counts returns the number of rows by table, empty tables and Passing rows left out.
func (w *World) Counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, t := range w.tables {
		if c, ok := t.(interface{ count() int }); ok && c.count() > 0 {
			counts[t.name()] = c.count()
		}
	}
	return counts
}

// add registers a table and reads its rows from disk.
func (w *World) add(t store) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tables = append(w.tables, t)
	err := w.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(t.name()))
		if err != nil {
			return err
		}
		return b.ForEach(func(k, v []byte) error {
			seq, err := t.load(k, v)
			if err != nil {
				return fmt.Errorf("row %q is damaged: %w", k, err)
			}
			w.seq = max(w.seq, seq)
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("read table %s: %w", t.name(), err)
	}
	return len(w.tables) - 1, nil
}

func (w *World) commit() error {
	if len(w.dirty) == 0 {
		return nil
	}
	dirty := w.dirty
	w.dirty = map[dirtyKey]struct{}{}
	err := w.db.Update(func(tx *bbolt.Tx) error {
		for d := range dirty {
			t := w.tables[d.table]
			value, present, err := t.encode(d.key)
			if err != nil {
				return fmt.Errorf("encode row %q of %s: %w", d.key, t.name(), err)
			}
			b := tx.Bucket([]byte(t.name()))
			if !present {
				err = b.Delete([]byte(d.key))
			} else {
				err = b.Put([]byte(d.key), value)
			}
			if err != nil {
				return fmt.Errorf("write row %q of %s: %w", d.key, t.name(), err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write world: %w", err)
	}
	return nil
}

// record is a row as it lies on disk.
type record struct {
	Seq  uint64          `json:"seq"`
	Born time.Time       `json:"born"`
	Row  json.RawMessage `json:"row"`
}
