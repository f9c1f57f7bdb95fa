// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// maxName is the longest file name that common file systems take, in bytes.
const maxName = 255

// check refuses what no file can be named by, and returns the file name of a key.
func (s *Store) check(ctx context.Context, op, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("%s %s/%s: %w", op, s.URL(), key, err)
	}
	if err := driver.CheckKey(key); err != nil {
		return "", err
	}
	parts := strings.Split(key, "/")
	for i, part := range parts {
		parts[i] = escape(part)
		if len(parts[i]) > maxName {
			return "", fmt.Errorf("object name %q: %w: its file name would have %d bytes, at most %d are possible", key, driver.ErrInvalid, len(parts[i]), maxName)
		}
	}
	return strings.Join(parts, "/"), nil
}

// escape returns the file name of one part of a key: itself, but for "%", "\" and a
// leading dot.
func escape(part string) string {
	part = strings.NewReplacer("%", "%25", `\`, "%5C").Replace(part)
	if strings.HasPrefix(part, ".") {
		part = "%2E" + part[1:]
	}
	return part
}

// unescape inverts escape; ok is false for a file that no key has.
func unescape(name string) (part string, ok bool) {
	part = strings.NewReplacer("%25", "%", "%5C", `\`, "%2E", ".").Replace(name)
	return part, escape(part) == name
}

// fail names the object, sorts the error into its kind and says what to do.
func (s *Store) fail(op, key string, err error) error {
	e := &driver.Error{Op: op, Name: s.URL() + "/" + key, Err: plain(err)}
	switch {
	case errors.Is(err, driver.ErrConflict):
		e.Kind, e.Err = driver.ErrConflict, nil
	case errors.Is(err, errIrregular):
		e.Kind = driver.ErrInvalid
	case errors.Is(err, driver.ErrNoStore):
		e.Kind, e.Hint = driver.ErrNoStore, "a part of the store's path is a file, not a folder"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", op, e.Name, err)
	case errors.Is(err, fs.ErrNotExist) && op == "read", errors.Is(err, syscall.ENOTDIR) && op == "read":
		e.Kind, e.Err = driver.ErrNotFound, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Hint = driver.ErrDenied, "this user must be able to read and write the folder"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Hint = driver.ErrUnavailable, "nothing was changed; free some space and run again"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		e.Kind = driver.ErrInvalid
	case strings.Contains(err.Error(), "path escapes from parent"): // os.Root exports no value for it
		e.Kind, e.Hint = driver.ErrInvalid, "a symbolic link in the store leads out of it"
	default:
		e.Kind = driver.ErrUnavailable
	}
	return e
}

// plain drops the marks of this package, which a driver.Error says by its kind.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path
	}
	return err
}
