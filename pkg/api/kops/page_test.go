// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the page of fields anew")

const page = "../../../docs/migrating-from-kops.md"

// TestPage holds the page that lists the fields against the rules.
func TestPage(t *testing.T) {
	t.Parallel()
	want := written()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not what the rules say: go test ./pkg/api/kops -run TestPage -update (%v)", page, err)
	}
}

func written() []byte {
	var b bytes.Buffer
	b.WriteString(`# Coming from kops

Every command that reads a file reads manifests of ` + "`kops.k8s.io/v1alpha2` and `v1alpha3`" + `:
Cluster, InstanceGroup and SSHCredential. ` + "`slipway toolbox convert -f FILE`" + ` prints what they are here.

A field is converted, left out with a warning because nothing here needs it, or refused with
its path. **What is not in these tables is refused**: it is not supported yet, or is a typing
error. Nothing is dropped in silence. This page is written by ` + "`go test ./pkg/api/kops -run TestPage -update`" + `.

A converted cluster is a new one: it does not take over machines that run.
`)
	for _, kind := range []struct {
		name  string
		rules func(string) rules
	}{{"Cluster", clusterRules}, {"InstanceGroup", groupRules}} {
		for _, version := range []string{"v1alpha2", "v1alpha3"} {
			fmt.Fprintf(&b, "\n## %s, %s\n\n| field of kops, below `spec` | here |\n|---|---|\n", kind.name, version)
			by := kind.rules(version).by
			for _, path := range slices.Sorted(maps.Keys(by)) {
				fmt.Fprintf(&b, "| `%s` | %s |\n", path, becomes(by[path]))
			}
		}
	}
	b.WriteString("\n## SSHCredential\n\n| field of kops, below `spec` | here |\n|---|---|\n| `publicKey` | `publicKey` of an SSHPublicKey |\n")
	return b.Bytes()
}

func becomes(r rule) string {
	switch {
	case r.no != "":
		return "refused: it " + r.no
	case r.left != "":
		return "left out: " + r.left
	case r.to == "-":
		return "checked: only the value that always holds here is taken"
	case r.to != "" && r.value != nil:
		return "`" + r.to + "`, in its words"
	case r.to != "":
		return "`" + r.to + "`"
	default:
		return "converted or refused, by its content"
	}
}
