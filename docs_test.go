// SPDX-License-Identifier: Apache-2.0

package slipway_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedTest finds the tests and stories that a document points to.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*|[a-z0-9/-]+\\.txtar)`")

// TestDocumentsNameTestsThatExist holds the pages that say what is tested against the
// tests.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
	walk(t, ".", func(path string) {
		switch {
		case strings.HasSuffix(path, ".txtar"):
			known[filepath.Base(path)] = true
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
				known[m[1]] = true
			}
		}
	})
	found := 0
	walk(t, "docs", func(path string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		for _, m := range namedTest.FindAllStringSubmatch(read(t, path), -1) {
			found++
			if !known[filepath.Base(m[1])] {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	})
	if found == 0 {
		t.Error("no document names a test: the pattern is wrong")
	}
}

func walk(t *testing.T, root string, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			visit(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
