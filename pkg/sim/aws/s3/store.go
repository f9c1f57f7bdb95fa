// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// store keeps records in one bolt file and bodies in files beside it. A write
// transaction is exclusive, which is what makes conditional writes atomic.
type store struct {
	db    *bolt.DB
	blobs string
	now   func() time.Time
}

var (
	tableBuckets = []byte("buckets") // bucket name -> bucketRecord
	tableObjects = []byte("objects") // bucket name -> key -> []version, newest first
	tableUploads = []byte("uploads") // upload id -> upload
)

// bucketRecord is a bucket and its settings.
type bucketRecord struct {
	Name       string
	Region     string
	Created    time.Time
	Versioning string            // "", Enabled or Suspended
	Config     map[string]string // sub-resource -> document as it was put
	Tags       []tag
}

// tag is one tag of a bucket or an object.
type tag struct {
	Key   string
	Value string
}

// version is one state of an object, or a delete marker.
type version struct {
	ID       string // "null" when it was written without versioning
	Modified time.Time
	Size     int64
	ETag     string            // without quotes
	Marker   bool              `json:",omitempty"`
	Blob     string            `json:",omitempty"`
	Headers  map[string]string `json:",omitempty"` // canonical names
	Checksum checksum          `json:",omitempty"`
	Tags     []tag             `json:",omitempty"`
	Parts    int               `json:",omitempty"` // of a multipart upload
}

// upload is a multipart upload in progress.
type upload struct {
	ID, Bucket, Key string
	Started         time.Time
	Headers         map[string]string
	Tags            []tag
	Algorithm       string
	Type            string
	Parts           map[int]part
}

// part is one uploaded part.
type part struct {
	Blob     string
	ETag     string
	Size     int64
	Modified time.Time
	Checksum checksum
}

func openStore(dir string, now func() time.Time) (*store, error) {
	s := &store{blobs: filepath.Join(dir, "blobs"), now: now}
	if err := os.MkdirAll(s.blobs, 0o755); err != nil {
		return nil, fmt.Errorf("open s3 store: %w", err)
	}
	path := filepath.Join(dir, "s3.db")
	// The page cache survives a killed process; a sync per write would make
	// an apply of thousands of objects slow for nothing.
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 5 * time.Second, NoSync: true})
	if err != nil {
		return nil, fmt.Errorf("open s3 store %s: %w (is another simulator running on this world?)", path, err)
	}
	s.db = db
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{tableBuckets, tableObjects, tableUploads} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.sweep()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open s3 store %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *store) close() error {
	if err := s.db.Sync(); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return s.db.Close()
}

// tx is a transaction with the records decoded.
type tx struct {
	*bolt.Tx
	dead []string // blobs to remove when it has committed
}

func (s *store) view(fn func(*tx) error) error {
	return s.db.View(func(t *bolt.Tx) error { return fn(&tx{Tx: t}) })
}

func (s *store) update(fn func(*tx) error) error {
	t := &tx{}
	err := s.db.Update(func(b *bolt.Tx) error {
		t.Tx = b
		return fn(t)
	})
	if err != nil {
		return err
	}
	for _, blob := range t.dead {
		os.Remove(s.blobPath(blob))
	}
	return nil
}

func get[T any](t *tx, table []byte, key string) (T, bool, error) {
	var out T
	raw := t.Bucket(table).Get([]byte(key))
	if raw == nil {
		return out, false, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, false, fmt.Errorf("read %s %q: %w", table, key, err)
	}
	return out, true, nil
}

func put(b *bolt.Bucket, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put([]byte(key), raw)
}

func (t *tx) bucket(name string) (bucketRecord, error) {
	b, ok, err := get[bucketRecord](t, tableBuckets, name)
	if err == nil && !ok {
		err = noSuchBucket(name)
	}
	return b, err
}

func (t *tx) putBucket(b bucketRecord) error { return put(t.Bucket(tableBuckets), b.Name, b) }

// objects is the table of a bucket's keys. The bucket must exist.
func (t *tx) objects(bucket string) *bolt.Bucket {
	return t.Bucket(tableObjects).Bucket([]byte(bucket))
}

// versions are all states of a key, newest first; none when it never was.
func (t *tx) versions(bucket, key string) ([]version, error) {
	raw := t.objects(bucket).Get([]byte(key))
	if raw == nil {
		return nil, nil
	}
	return decodeVersions(bucket, key, raw)
}

func decodeVersions(bucket, key string, raw []byte) ([]version, error) {
	var out []version
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("read object %s/%s: %w", bucket, key, err)
	}
	return out, nil
}

func (t *tx) putVersions(bucket, key string, all []version) error {
	if len(all) == 0 {
		return t.objects(bucket).Delete([]byte(key))
	}
	return put(t.objects(bucket), key, all)
}

func (t *tx) upload(bucket, key, id string) (upload, error) {
	u, ok, err := get[upload](t, tableUploads, id)
	if err == nil && (!ok || u.Bucket != bucket || u.Key != key) {
		err = noSuchUpload()
	}
	return u, err
}

// current is the state that a plain read sees: nil when absent or deleted.
func current(all []version) *version {
	if len(all) == 0 || all[0].Marker {
		return nil
	}
	return &all[0]
}
