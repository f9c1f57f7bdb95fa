// SPDX-License-Identifier: Apache-2.0

// Package slipway_test keeps the layout of the repository: which folder may import
// which, how packages open, how long files and functions are. docs/architecture.md says
// why; this file is what holds.
package slipway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/slipway-k8s/slipway/"

// floors are the house from the ground up. A folder imports itself and what lies on
// lower floors. A folder that stands in no floor is an error: give it one.
var floors = [][]string{
	{"pkg/tasks", "pkg/api", "pkg/nodeconfig", "pkg/pki", "pkg/kube"},
	{"pkg/policy", "pkg/cost"},
	{"pkg/statestore"},
	{"pkg/terraform", "pkg/bootstrap", "pkg/etcd"},
	{"channels", "nodeup", "pkg/sim"},
	{"pkg/model"},
	{"pkg/cloudup"},
	{"pkg/cluster"},
	{"cmd", "scripts"},
}

// only narrows the floors: these folders import nothing else of ours.
var only = map[string][]string{
	"pkg/tasks":      {},
	"pkg/api":        {},
	"pkg/nodeconfig": {},
	"pkg/sim":        {},
	"pkg/policy":     {"pkg/tasks", "pkg/api"},
	"pkg/cost":       {"pkg/tasks"},
	"nodeup":         {"pkg/bootstrap", "pkg/etcd", "pkg/statestore", "pkg/tasks", "pkg/api", "pkg/nodeconfig", "pkg/pki"},
}

// leaves are wired into programs and used by nothing else.
var leaves = []string{"nodeup", "pkg/sim", "pkg/cluster", "pkg/cloudup/all"}

// fenced modules are imported in their folders alone. Tests may also use them in the
// folders of testing, where they judge from outside.
var fenced = []struct {
	modules, folders, testing []string
}{
	{
		modules: []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
		folders: []string{"pkg/cloudup/aws", "pkg/statestore/s3"},
		testing: []string{"pkg/sim", "cmd/slipway-sim", "internal"},
	},
	{
		modules: []string{"google.golang.org/api", "cloud.google.com/go"},
		folders: []string{"pkg/cloudup/gce", "pkg/statestore/gcs"},
		testing: []string{"pkg/sim/gce", "internal"},
	},
	{
		modules: []string{"github.com/digitalocean/godo"},
		folders: []string{"pkg/cloudup/digitalocean"},
		testing: []string{"pkg/sim/digitalocean", "internal"},
	},
	{modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, folders: []string{"cmd"}},
	{modules: []string{"github.com/hashicorp/hcl"}, folders: []string{"pkg/terraform"}},
}

// unreachable says what may not be linked into a program or folder, however indirectly.
var unreachable = []struct{ from, to, why string }{
	{"cmd/slipway", module + "pkg/sim", "the simulator's weight is not in the CLI"},
	{"cmd/nodeup", "k8s.io/client-go", "the agent stays small"},
	{"nodeup", "k8s.io/client-go", "the agent stays small"},
	{"nodeup", module + "pkg/kube", "the agent stays small"},
}

// testOnly folders are imported by tests and by no program.
var testOnly = []string{"internal", "pkg/cloudup/cloudtest", "pkg/cloudup/aws/awstest", "pkg/statestore/drivertest"}

const (
	maxFile    = 400 // lines
	maxFunc    = 80  // lines
	maxMethods = 8   // of an interface
)

type pkg struct {
	ImportPath, Name, Dir     string
	GoFiles, Imports, Deps    []string
	TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles []string
}

// folder is the package's place below the module's root.
func (p pkg) folder() string { return ours(p.ImportPath) }

var packages = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e",
		"-json=ImportPath,Name,Dir,GoFiles,Imports,Deps,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if p.folder() != "" {
			all = append(all, p)
		}
	}
})

func list(t *testing.T) []pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

// ours returns an import's place in this repository, or "".
func ours(path string) string {
	rest, found := strings.CutPrefix(path, module)
	if !found {
		return ""
	}
	return rest
}

func within(folder string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return folder == r || strings.HasPrefix(folder, r+"/") })
}

// box returns the folder of the floors that a package is in, and its floor.
func box(folder string) (string, int) {
	for n, boxes := range floors {
		for _, b := range boxes {
			if within(folder, b) {
				return b, n
			}
		}
	}
	return "", -1
}

func TestImportsRunDownwards(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if within(p.folder(), testOnly...) {
			continue
		}
		from, floor := box(p.folder())
		if floor < 0 {
			t.Errorf("%s stands on no floor: add it to layout_test.go and docs/architecture.md", p.folder())
			continue
		}
		for _, path := range p.Imports {
			to := ours(path)
			if to == "" || within(to, from) {
				continue
			}
			if within(to, testOnly...) {
				t.Errorf("%s imports %s, which is for tests", p.folder(), to)
				continue
			}
			if _, at := box(to); at >= floor {
				t.Errorf("%s imports %s, which is not below it", p.folder(), to)
			}
			if within(to, leaves...) && from != "cmd" {
				t.Errorf("%s imports %s, which only programs may", p.folder(), to)
			}
			if allowed, narrow := only[from]; narrow && !within(to, allowed...) {
				t.Errorf("%s imports %s; of ours, %s may import only %v", p.folder(), to, from, allowed)
			}
		}
	}
}

func TestEachCloudStandsAlone(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, path := range p.Imports {
			rest, found := strings.CutPrefix(ours(path), "pkg/cloudup/")
			if !found {
				continue
			}
			cloud, machine, _ := strings.Cut(rest, "/")
			if within(p.folder(), "pkg/cloudup/"+cloud) || cloud == "all" || cloud == "cloudtest" {
				continue
			}
			importers := []string{"pkg/cloudup/all"}
			if within(machine, "machine") {
				importers = []string{"cmd/nodeup", "cmd/slipway-controller"}
			}
			if !within(p.folder(), importers...) {
				t.Errorf("%s imports %s; only %v may", p.folder(), ours(path), importers)
			}
		}
	}
}

func TestFencedModules(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, f := range fenced {
			uses := func(imports []string) string {
				i := slices.IndexFunc(imports, func(path string) bool { return within(path, f.modules...) })
				if i < 0 {
					return ""
				}
				return imports[i]
			}
			if m := uses(p.Imports); m != "" && !within(p.folder(), f.folders...) {
				t.Errorf("%s imports %s; only %v may", p.folder(), m, f.folders)
			}
			tests := slices.Concat(f.folders, f.testing)
			if m := uses(slices.Concat(p.TestImports, p.XTestImports)); m != "" && !within(p.folder(), tests...) {
				t.Errorf("tests of %s import %s; only those of %v may", p.folder(), m, tests)
			}
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, r := range unreachable {
			if !within(p.folder(), r.from) {
				continue
			}
			for _, path := range p.Deps {
				if within(path, r.to) {
					t.Errorf("%s is linked with %s: %s", p.folder(), path, r.why)
				}
			}
		}
	}
}

func TestPackagesIntroduceThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		file, opening := filepath.Base(p.Dir)+".go", "Package "+p.Name+" "
		if p.Name == "main" {
			file, opening = "main.go", "Command "+filepath.Base(p.Dir)+" "
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Errorf("%s: the file named after the folder: %v", p.folder(), err)
			continue
		}
		if !strings.HasPrefix(parsed.Doc.Text(), opening) {
			t.Errorf("%s/%s opens with %.40q, not with %q", p.folder(), file, parsed.Doc.Text(), opening)
		}
	}
}

func TestFolderNames(t *testing.T) {
	t.Parallel()
	vague := []string{"spec", "specs", "util", "utils", "common", "helpers", "helper", "misc", "manager"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if slices.Contains(vague, d.Name()) {
			t.Errorf("%s: the name says nothing of what is in it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			file := p.folder() + "/" + name
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(source, []byte("// SPDX-License-Identifier: Apache-2.0\n")) {
				t.Errorf("%s: the first line is not the licence's", file)
			}
			if slices.Contains(p.GoFiles, name) {
				checkSizes(t, file, source)
			}
		}
	}
}

func checkSizes(t *testing.T, file string, source []byte) {
	if n := bytes.Count(source, []byte("\n")); n > maxFile {
		t.Errorf("%s has %d lines, at most %d", file, n, maxFile)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		t.Error(err)
		return
	}
	lines := func(n ast.Node) int { return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1 }
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			if lines(x) > maxFunc {
				t.Errorf("%s: %s has %d lines, at most %d", file, x.Name.Name, lines(x), maxFunc)
			}
		case *ast.TypeSpec:
			if i, ok := x.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > maxMethods {
				t.Errorf("%s: interface %s has %d methods, at most %d", file, x.Name.Name, len(i.Methods.List), maxMethods)
			}
		}
		return true
	})
}
