// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// manifestFile lists the files of a folder that are an export's. Terraform does not read
// it.
const manifestFile = ".slipway-export.json"

type manifest struct {
	Version int      `json:"version"`
	Files   []string `json:"files"`
}

// Written says what WriteDir did.
type Written struct{ Files, Removed []string }

// WriteDir writes files into a folder, each in one step. Files that an earlier export
// wrote there and this one does not are removed, no others; a file of somebody else's that
// stands in the way is an error before anything is written.
func WriteDir(dir string, files map[string][]byte) (Written, error) {
	before, err := readManifest(dir)
	if err != nil {
		return Written{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && !slices.Contains(before.Files, name) {
			return Written{}, fmt.Errorf("write %s: the file is there and no export wrote it: move it away, or choose another --out", filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Written{}, fmt.Errorf("look for %s: %w", filepath.Join(dir, name), err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Written{}, fmt.Errorf("make the folder of the export: %w", err)
	}
	out := Written{Files: slices.Sorted(maps.Keys(files))}
	// The list goes first and with both, so that a run that is cut off leaves no file that
	// the next one does not know.
	both := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(before.Files), out.Files...))))
	if err := writeManifest(dir, both); err != nil {
		return Written{}, err
	}
	for _, name := range out.Files {
		if err := writeFile(dir, name, files[name]); err != nil {
			return Written{}, err
		}
	}
	for _, name := range before.Files {
		if _, still := files[name]; still {
			continue
		}
		err := os.Remove(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Written{}, fmt.Errorf("remove what an earlier export wrote: %w", err)
		}
		if err == nil {
			out.Removed = append(out.Removed, name)
		}
	}
	return out, writeManifest(dir, out.Files)
}

func readManifest(dir string) (manifest, error) {
	path := filepath.Join(dir, manifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, nil
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read the list of exported files: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil || m.Version != 1 {
		return manifest{}, fmt.Errorf("%s is no list of exported files of a version known here: remove it, and the files that it should list", path)
	}
	for _, name := range m.Files {
		if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return manifest{}, fmt.Errorf("%s lists %q, which no export writes: remove the list, and the files that it should list", path, name)
		}
	}
	return m, nil
}

func writeManifest(dir string, files []string) error {
	data, err := json.MarshalIndent(manifest{Version: 1, Files: files}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(dir, manifestFile, append(data, '\n'))
}

// writeFile puts a file in its place in one step.
func writeFile(dir, name string, data []byte) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", filepath.Join(dir, name), err), ignoreAbsent(os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
