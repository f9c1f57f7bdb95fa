// SPDX-License-Identifier: Apache-2.0

// Package file is the state-store driver for a folder of plain files: file:///path.
// A person may read every object with a pager; several processes on one machine may
// write at once. Package statestore/open opens it.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// The names of this driver's own files. No key maps to a name with a leading dot, so
// that listings skip them.
const (
	lockFile   = ".lock"
	tempPrefix = ".tmp-"
)

// Store is a store in a folder. All access goes through os.Root: neither a key nor a
// symbolic link inside the folder leads out of it.
type Store struct {
	dir string

	// What file systems differ in; tests make them fail.
	fill func(f *os.File, data []byte) error
	link func(root *os.Root, from, to string) error
}

var (
	_ driver.Store              = (*Store)(nil)
	_ driver.HeadGetter         = (*Store)(nil)
	_ driver.Sweeper            = (*Store)(nil)
	_ driver.ConditionalDeleter = (*Store)(nil)
)

// New returns the store in the folder, which the first write makes.
func New(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open file store %s: %w", dir, err)
	}
	if st, err := os.Stat(abs); err == nil && !st.IsDir() {
		return nil, &driver.Error{Op: "open", Name: "file://" + abs, Kind: driver.ErrNoStore, Hint: "it is a file, not a folder"}
	}
	return &Store{dir: abs, fill: fill, link: (*os.Root).Link}, nil
}

// Open returns the store of a URL such as file:///srv/slipway.
func Open(u *url.URL) (*Store, error) {
	if u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" || u.Path == "/" || u.RawQuery != "" {
		return nil, &driver.Error{Op: "open", Name: u.Redacted(), Kind: driver.ErrInvalid,
			Hint: "a file store is written file:///absolute/path"}
	}
	return New(u.Path)
}

// root opens the folder; fs.ErrNotExist when it was never made.
func (s *Store) root() (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	return root, noFolder(err)
}

// noFolder marks the error of a store whose path leads through a file.
func noFolder(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", driver.ErrNoStore, err)
	}
	return err
}

// URL returns file:// and the absolute path.
func (s *Store) URL() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.dir)}).String()
}

// Put implements driver.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte) (string, error) {
	return s.write(ctx, "write", key, data, func(root *os.Root, temp, name string) error {
		return locked(ctx, root, func() error { return root.Rename(temp, name) })
	})
}

// PutIfAbsent implements driver.Store. The hard link is what makes it atomic between
// processes; a file system without links is served under the lock instead.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) (string, error) {
	return s.write(ctx, "create", key, data, func(root *os.Root, temp, name string) error {
		err := s.link(root, temp, name)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) {
			return locked(ctx, root, func() error {
				if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
					return errors.Join(err, driver.ErrConflict)
				}
				return root.Rename(temp, name)
			})
		}
		if errors.Is(err, fs.ErrExist) {
			return driver.ErrConflict
		}
		return err
	})
}

// PutIfMatch implements driver.Store.
func (s *Store) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	return s.write(ctx, "replace", key, data, func(root *os.Root, temp, name string) error {
		return locked(ctx, root, func() error {
			old, err := read(root, name)
			if errors.Is(err, fs.ErrNotExist) || err == nil && old.Version != version {
				return driver.ErrConflict
			}
			if err != nil {
				return err
			}
			return root.Rename(temp, name)
		})
	})
}

// Delete implements driver.Store. Folders that become empty go too.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.remove(ctx, key, func(root *os.Root, name string) error { return nil })
}

// DeleteIfMatch implements driver.ConditionalDeleter.
func (s *Store) DeleteIfMatch(ctx context.Context, key, version string) error {
	return s.remove(ctx, key, func(root *os.Root, name string) error {
		o, err := read(root, name)
		if err == nil && o.Version != version {
			return driver.ErrConflict
		}
		return err
	})
}

// remove deletes an object that may, under the lock, says nothing against.
func (s *Store) remove(ctx context.Context, key string, may func(root *os.Root, name string) error) error {
	name, err := s.check(ctx, "delete", key)
	if err != nil {
		return err
	}
	root, err := s.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.fail("delete", key, err)
	}
	defer root.Close()
	err = locked(ctx, root, func() error {
		if st, err := root.Lstat(name); err != nil || st.IsDir() {
			return err
		}
		if err := may(root, name); err != nil {
			return err
		}
		return root.Remove(name)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return s.fail("delete", key, err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // in use by other objects, or by a writer that has just made it
		}
	}
	return nil
}

// write puts data into a temporary file beside its place and lets place move it there.
func (s *Store) write(ctx context.Context, op, key string, data []byte, place func(root *os.Root, temp, name string) error) (string, error) {
	name, err := s.check(ctx, op, key)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", s.fail(op, key, noFolder(err))
	}
	root, err := s.root()
	if err != nil {
		return "", s.fail(op, key, err)
	}
	defer root.Close()
	temp, made, err := s.stage(root, path.Dir(name), data)
	if err != nil {
		return "", s.fail(op, key, err)
	}
	defer root.Remove(temp) // after a rename there is nothing left to remove
	if err := place(root, temp, name); err != nil {
		return "", s.fail(op, key, err)
	}
	if err := syncDir(root, path.Dir(name), made); err != nil {
		return "", s.fail(op, key, err)
	}
	return version(data), nil
}

// stage writes a synced temporary file into the folder and returns its name, and
// whether the folder had to be made. It repeats when a concurrent Delete takes the
// empty folder away.
func (s *Store) stage(root *os.Root, dir string, data []byte) (temp string, made bool, err error) {
	temp = path.Join(dir, tempPrefix+rand.Text())
	var f *os.File
	for range 100 {
		f, err = root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = true
		if err := root.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", false, err
		}
	}
	if err != nil {
		return "", false, err
	}
	err = s.fill(f, data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		root.Remove(temp)
		return "", false, err
	}
	return temp, made, nil
}

func fill(f *os.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// syncDir makes a new name in the folder durable, and with parents the folder's own
// name too.
func syncDir(root *os.Root, dir string, parents bool) error {
	for {
		d, err := root.Open(dir)
		if err != nil {
			return err
		}
		err = d.Sync()
		d.Close()
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if dir == "." || !parents {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// Sweep implements driver.Sweeper: it removes temporary files of killed writers.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	n := 0
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), tempPrefix) {
			return errors.Join(err, ctx.Err())
		}
		st, err := d.Info()
		if err != nil || !st.ModTime().Before(before) {
			return ctx.Err()
		}
		n++
		return os.Remove(p)
	})
	if err != nil {
		return n, fmt.Errorf("sweep %s: %w", s.URL(), err)
	}
	return n, nil
}
