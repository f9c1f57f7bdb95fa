// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Get implements driver.Store.
func (s *Store) Get(ctx context.Context, key string) (driver.Object, error) {
	name, err := s.check(ctx, "read", key)
	if err != nil {
		return driver.Object{}, err
	}
	root, err := s.root()
	if err != nil {
		return driver.Object{}, s.fail("read", key, err)
	}
	defer root.Close()
	o, err := read(root, name)
	if err != nil {
		return driver.Object{}, s.fail("read", key, err)
	}
	return o, nil
}

// GetHead implements driver.HeadGetter.
func (s *Store) GetHead(ctx context.Context, key string, n int) ([]byte, error) {
	name, err := s.check(ctx, "read", key)
	if err != nil {
		return nil, err
	}
	root, err := s.root()
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	defer root.Close()
	f, _, err := open(root, name)
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(n)))
	if err != nil {
		return nil, s.fail("read", key, err)
	}
	return data, nil
}

// read returns a regular file; its version is the SHA-256 of its content.
func read(root *os.Root, name string) (driver.Object, error) {
	f, st, err := open(root, name)
	if err != nil {
		return driver.Object{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return driver.Object{}, err
	}
	return driver.Object{Data: data, Version: version(data), Modified: st.ModTime()}, nil
}

func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var errIrregular = errors.New("it is not a regular file")

// open opens a regular file; a folder is not an object.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	st, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if st.IsDir() {
		return nil, nil, fs.ErrNotExist
	}
	if !st.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w (its mode is %s)", errIrregular, st.Mode().Type())
	}
	f, err := root.Open(name)
	return f, st, err
}
