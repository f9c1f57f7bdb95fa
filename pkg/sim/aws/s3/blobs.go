// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

func randomID(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func (s *store) blobPath(id string) string { return filepath.Join(s.blobs, id[:2], id) }

// writeBlob stores a body under a new name and returns it with its size. On an
// error nothing is left.
func (s *store) writeBlob(body io.Reader) (id string, size int64, err error) {
	id = randomID(16)
	path := s.blobPath(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", 0, fmt.Errorf("store body: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, fmt.Errorf("store body: %w", err)
	}
	size, err = io.Copy(f, body)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
		return "", 0, err
	}
	return id, size, nil
}

// dropBlob removes a body that no record came to name.
func (s *store) dropBlob(id string) {
	if id != "" {
		os.Remove(s.blobPath(id))
	}
}

func (s *store) openBlob(id string) (*os.File, error) {
	f, err := os.Open(s.blobPath(id))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return f, nil
}

// concat opens several bodies as one stream.
func (s *store) concat(ids []string) (io.ReadCloser, error) {
	var readers []io.Reader
	var files closers
	for _, id := range ids {
		f, err := s.openBlob(id)
		if err != nil {
			files.Close()
			return nil, err
		}
		readers, files = append(readers, f), append(files, f)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(readers...), files}, nil
}

type closers []io.Closer

func (c closers) Close() error {
	for _, f := range c {
		f.Close()
	}
	return nil
}

// sweep removes bodies that a killed process left without a record.
func (s *store) sweep() error {
	live := map[string]bool{}
	err := s.db.View(func(t *bolt.Tx) error {
		err := t.Bucket(tableObjects).ForEachBucket(func(name []byte) error {
			return t.Bucket(tableObjects).Bucket(name).ForEach(func(k, raw []byte) error {
				all, err := decodeVersions(string(name), string(k), raw)
				for _, v := range all {
					live[v.Blob] = true
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		return t.Bucket(tableUploads).ForEach(func(k, raw []byte) error {
			var u upload
			if err := json.Unmarshal(raw, &u); err != nil {
				return fmt.Errorf("read upload %s: %w", k, err)
			}
			for _, p := range u.Parts {
				live[p.Blob] = true
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(s.blobs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !live[d.Name()] {
			err = os.Remove(path)
		}
		return err
	})
}
