// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/drivertest"
)

func openDir(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(&url.URL{Scheme: "file", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	h := drivertest.Harness{
		New:    func(t *testing.T) driver.Store { return openDir(t, filepath.Join(t.TempDir(), "a store")) },
		Reopen: func(t *testing.T, s driver.Store) driver.Store { return openDir(t, s.(*Store).dir) },
		Rounds: 50,
	}
	if os.Geteuid() != 0 { // no mode keeps root out
		h.Deny = func(t *testing.T, s driver.Store) {
			dir := filepath.Join(s.(*Store).dir, "demo")
			if err := os.Chmod(dir, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o700) })
		}
	}
	drivertest.Run(t, h)
}

func TestConformanceWithoutHardLinks(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New: func(t *testing.T) driver.Store {
			s := openDir(t, t.TempDir())
			s.link = func(*os.Root, string, string) error { return &os.LinkError{Op: "link", Err: syscall.EPERM} }
			return s
		},
		Wrong: map[string]string{"ListPages": "it writes no differently, and much"},
	})
}

func TestErrorsHaveTheirKinds(t *testing.T) {
	t.Parallel()
	s := openDir(t, t.TempDir())
	for _, c := range []struct {
		op   string
		err  error
		kind error
		want string
	}{
		{"write", syscall.EACCES, driver.ErrDenied, "must be able to read and write"},
		{"write", syscall.EPERM, driver.ErrDenied, "must be able to read and write"},
		{"write", syscall.EROFS, driver.ErrDenied, "must be able to read and write"},
		{"write", syscall.ENOSPC, driver.ErrUnavailable, "free some space"},
		{"write", syscall.EDQUOT, driver.ErrUnavailable, "free some space"},
		{"write", syscall.EIO, driver.ErrUnavailable, "input/output error"},
		{"write", syscall.ENOTDIR, driver.ErrInvalid, ""},
		{"read", syscall.ENOENT, driver.ErrNotFound, ""},
		{"read", syscall.ENOTDIR, driver.ErrNotFound, ""},
		{"write", syscall.ENOENT, driver.ErrUnavailable, ""},
		{"write", context.Canceled, context.Canceled, ""},
	} {
		err := s.fail(c.op, "demo/k", &fs.PathError{Op: "open", Path: "p", Err: c.err})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.URL()+"/demo/k") {
			t.Errorf("%s %v: got %v", c.op, c.err, err)
		}
	}
}

func TestFilesAreReadableAndPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := openDir(t, dir)
	if _, err := s.PutIfAbsent(t.Context(), "demo.example.com/revisions/00000001.yaml", []byte("kind: Cluster\n")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "demo.example.com", "revisions", "00000001.yaml")
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "kind: Cluster\n" {
		t.Fatalf("got %q, %v", data, err)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		st, serr := d.Info()
		if err := errors.Join(err, serr); err != nil {
			return err
		}
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", p, st.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadingMakesNoFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "absent")
	s := openDir(t, dir)
	if _, err := s.Get(t.Context(), "a/b"); !errors.Is(err, driver.ErrNotFound) {
		t.Fatalf("get: %v", err)
	}
	if _, err := s.List(t.Context(), "", driver.ListOptions{}); err != nil {
		t.Fatalf("list: %v", err)
	}
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the folder is there: %v", err)
	}
}

// What stands in an object's place and is none is seen and named, never passed over: of
// numbered objects the one before it would be taken for the newest.
func TestIrregularObjectsAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	if _, err := s.Put(t.Context(), "a/1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", filepath.Join(dir, "a", "2")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "3"), 0o600); err != nil {
		t.Skip(err)
	}
	p, err := s.List(t.Context(), "a/", driver.ListOptions{})
	if err != nil || len(p.Objects) != 3 {
		t.Errorf("list: %+v, %v", p, err)
	}
	for _, key := range []string{"a/2", "a/3"} {
		if _, err := s.Get(t.Context(), key); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), key) {
			t.Errorf("get %s: %v", key, err)
		}
	}
}

func TestSymbolicLinksDoNotLeadOut(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, outside := filepath.Join(base, "store"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "demo")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "leaf")); err != nil {
		t.Fatal(err)
	}
	s := openDir(t, dir)
	for _, key := range []string{"demo/secret", "leaf"} {
		o, err := s.Get(t.Context(), key)
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("get %s: %q, %v", key, o.Data, err)
		}
	}
	if _, err := s.Put(t.Context(), "demo/new", []byte("x")); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("put: %v", err)
	}
	p, err := s.List(t.Context(), "", driver.ListOptions{})
	if err != nil || len(p.Objects) != 2 { // seen, so that nobody takes them for absent
		t.Errorf("list: %+v, %v", p, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the write led out: %v", err)
	}
}

func TestFullDiskLeavesTheOldObject(t *testing.T) {
	t.Parallel()
	s := openDir(t, t.TempDir())
	if _, err := s.Put(t.Context(), "k", []byte("old")); err != nil {
		t.Fatal(err)
	}
	s.fill = func(f *os.File, data []byte) error {
		f.Write(data[:len(data)/2])
		return &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	_, err := s.Put(t.Context(), "k", []byte("new content"))
	if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "nothing was changed; free some space") {
		t.Fatalf("got %v", err)
	}
	if _, err := s.PutIfAbsent(t.Context(), "k2", []byte("new content")); !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if o, err := s.Get(t.Context(), "k"); err != nil || string(o.Data) != "old" {
		t.Fatalf("got %q, %v", o.Data, err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*tmp*"))
	if err != nil || len(left) != 0 {
		t.Fatalf("left over: %q, %v", left, err)
	}
}

func TestSweepRemovesWhatKilledWritersLeft(t *testing.T) {
	t.Parallel()
	s := openDir(t, t.TempDir())
	if _, err := s.Put(t.Context(), "demo/k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(s.dir, "demo", tempPrefix+"OLD")
	if err := os.WriteFile(temp, []byte("hal"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := s.List(t.Context(), "demo/", driver.ListOptions{})
	if err != nil || len(p.Objects) != 1 {
		t.Fatalf("list: %+v, %v", p, err)
	}
	if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Fatalf("swept %d young files, %v", n, err)
	}
	if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Fatalf("swept %d files, %v", n, err)
	}
	if _, err := s.Get(t.Context(), "demo/k"); err != nil {
		t.Fatal(err)
	}
}

func TestAPausedHolderOfTheFileLockDoesNotBlockForEver(t *testing.T) {
	t.Parallel()
	s := openDir(t, t.TempDir())
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(t.Context())
	err = locked(t.Context(), root, func() error {
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := s.Put(ctx, "k", []byte("x"))
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestOpenRefusesOtherURLs(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"file://host/x", "file:///", "file://", "file:///x?y=z", "s3://x"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(u); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
	if _, err := New("file_test.go"); !errors.Is(err, driver.ErrNoStore) {
		t.Errorf("a file as the folder: %v", err)
	}
	s := openDir(t, filepath.Join(t.TempDir(), "f", "store"))
	if err := os.WriteFile(filepath.Dir(s.dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, get := s.Get(t.Context(), "a/b")
	_, put := s.Put(t.Context(), "a/b", nil)
	_, list := s.List(t.Context(), "a/", driver.ListOptions{})
	for i, err := range []error{get, put, list, s.Delete(t.Context(), "a/b")} {
		if !errors.Is(err, driver.ErrNoStore) || !strings.Contains(err.Error(), "is a file, not a folder") {
			t.Errorf("below a file, call %d: %v", i, err)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", ".a", "%2E", "%", `\`, "..", "%255C"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, part string) {
		name := escape(part)
		if got, ok := unescape(name); !ok || got != part {
			t.Fatalf("%q became %q and then %q, %v", part, name, got, ok)
		}
		if strings.HasPrefix(name, ".") || strings.Contains(name, `\`) {
			t.Fatalf("%q became %q", part, name)
		}
	})
}
