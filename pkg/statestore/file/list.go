// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// walker yields the keys below a folder in byte order and reads only the folders that
// a page needs.
type walker struct {
	ctx    context.Context
	root   *os.Root
	prefix string // of keys
	o      driver.ListOptions
	err    error
}

// List implements driver.Store.
func (s *Store) List(ctx context.Context, prefix string, o driver.ListOptions) (driver.Page, error) {
	if err := ctx.Err(); err != nil {
		return driver.Page{}, s.fail("list", prefix, err)
	}
	root, err := s.root()
	if errors.Is(err, fs.ErrNotExist) {
		return driver.Page{}, nil
	}
	if err != nil {
		return driver.Page{}, s.fail("list", prefix, err)
	}
	defer root.Close()
	w := &walker{ctx: ctx, root: root, prefix: prefix, o: o}
	folder := prefix[:strings.LastIndex(prefix, "/")+1]
	page := driver.Paginate(w.keys(folder), prefix, o)
	if w.err != nil {
		return driver.Page{}, s.fail("list", prefix, w.err)
	}
	return page, nil
}

func (w *walker) keys(folder string) iter.Seq[driver.Info] {
	return func(yield func(driver.Info) bool) { w.walk(folder, yield) }
}

// entry is a file or folder; key of a folder ends in "/", which sorts it as its
// content sorts.
type entry struct {
	key string
	fs.DirEntry
}

// walk reports whether to go on.
func (w *walker) walk(folder string, yield func(driver.Info) bool) bool {
	entries, err := w.read(folder)
	if err != nil {
		w.err = err
		return false
	}
	for _, e := range entries {
		if !w.wanted(e) {
			continue
		}
		if e.IsDir() {
			if !w.dir(e.key, yield) {
				return false
			}
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the folder was read
		}
		if err != nil {
			w.err = err
			return false
		}
		if !yield(driver.Info{Key: e.key, Size: st.Size(), Modified: st.ModTime()}) {
			return false
		}
	}
	return true
}

// dir walks a folder, or only looks whether it holds anything when a shallow listing
// shows no more of it.
func (w *walker) dir(key string, yield func(driver.Info) bool) bool {
	if !w.o.Shallow || len(key) <= len(w.prefix) {
		return w.walk(key, yield)
	}
	var first *driver.Info
	w.walk(key, func(i driver.Info) bool { first = &i; return false })
	if w.err != nil {
		return false
	}
	return first == nil || yield(*first)
}

// wanted skips what cannot hold a key of the prefix or was on an earlier page.
func (w *walker) wanted(e entry) bool {
	if !strings.HasPrefix(e.key, w.prefix) && !strings.HasPrefix(w.prefix, e.key) {
		return false
	}
	if e.IsDir() {
		return e.key > w.o.Token || strings.HasPrefix(w.o.Token, e.key) && e.key != w.o.Token
	}
	return e.key > w.o.Token
}

func (w *walker) read(folder string) ([]entry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	name, ok := folderName(folder)
	if !ok {
		return nil, nil
	}
	d, err := w.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	found, err := d.ReadDir(-1)
	if err != nil {
		if st, serr := d.Stat(); serr == nil && !st.IsDir() {
			return nil, nil // the prefix names an object, not a folder
		}
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, d := range found {
		part, ok := unescape(d.Name())
		if !ok || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		// What is neither file nor folder, such as a link, is listed too: passed over, the
		// object before it would be taken for the newest. Reading it names the fault.
		key := folder + part
		if d.IsDir() {
			key += "/"
		}
		entries = append(entries, entry{key, d})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return entries, nil
}

// folderName returns the path of "a/b/" in the file system; "." for the store itself.
func folderName(folder string) (string, bool) {
	if folder == "" {
		return ".", true
	}
	folder = strings.TrimSuffix(folder, "/")
	if driver.CheckKey(folder) != nil {
		return "", false
	}
	parts := strings.Split(folder, "/")
	for i := range parts {
		parts[i] = escape(parts[i])
	}
	return strings.Join(parts, "/"), true
}
