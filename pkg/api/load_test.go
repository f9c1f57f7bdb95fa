// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// demo is a small valid cluster as a user writes it.
const demo = `apiVersion: slipway.dev/v1
kind: Cluster
metadata:
  name: demo.example.com
spec:
  kubernetesVersion: 1.36.6
  cloudProvider:
    aws: {}
  networking:
    subnets:
    - name: us-east-1a
      zone: us-east-1a
---
apiVersion: slipway.dev/v1
kind: InstanceGroup
metadata:
  name: control-plane
spec:
  role: ControlPlane
  subnets: [us-east-1a]
---
apiVersion: slipway.dev/v1
kind: InstanceGroup
metadata:
  name: nodes
spec:
  subnets: [us-east-1a]
`

func load(t testing.TB, text string) *Manifest {
	t.Helper()
	m, err := Load([]byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faultsOf returns the faults that an error must hold.
func faultsOf(t testing.TB, err error) string {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		t.Fatalf("got %v, want an *InvalidError", err)
	}
	return invalid.Error()
}

func TestLoad(t *testing.T) {
	t.Parallel()
	m := load(t, "# a comment\n---\n"+demo+`
---
# nothing
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: kube-system}
data: {big: "12345678901234567"}
number: 12345678901234567
share: 0.25
...
---
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: x}
`)
	if m.Cluster.Metadata.Name != "demo.example.com" || len(m.Groups) != 2 || len(m.Objects) != 2 {
		t.Fatalf("got %d groups and %d objects", len(m.Groups), len(m.Objects))
	}
	if got := m.Objects[0]["number"]; got != int64(12345678901234567) {
		t.Errorf("a large number became %v", got)
	}
	if m.Group("nodes").Spec.Subnets[0] != "us-east-1a" || m.Group("none") != nil {
		t.Error("groups are not found by name")
	}
}

func TestLoadJSON(t *testing.T) {
	t.Parallel()
	const key = `{"apiVersion":"slipway.dev/v1","kind":"SSHPublicKey","metadata":{"name":"NAME"},"spec":{"publicKey":"ssh-rsa AAAA"}}`
	one, two := strings.Replace(key, "NAME", "a", 1), strings.Replace(key, "NAME", "b", 1)
	for name, text := range map[string]string{
		"stream":  one + "\n\t" + two,
		"list":    "[" + one + ",\n" + two + "]",
		"in YAML": one + "\n---\n" + two,
	} {
		if m := load(t, text); len(m.SSHKeys) != 2 || m.SSHKeys[1].Metadata.Name != "b" {
			t.Errorf("%s: got %d keys", name, len(m.SSHKeys))
		}
	}
	_, err := Load([]byte(strings.Replace(one, `"spec":`, `"spec":{},"spec":`, 1)), "x.json")
	if got := faultsOf(t, err); !strings.Contains(got, "spec: stands twice") {
		t.Error(got)
	}
	for _, text := range []string{"[]", "[1]", `{"a":`, "{", "[", one + "}", strings.Repeat("[", 5000)} {
		_, err := Load([]byte(text), "x.json")
		faultsOf(t, err)
	}
}

// TestMisspelt is the table of fields that users mistype: each is refused by its path
// and the right name, at every depth.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	const cluster = "apiVersion: slipway.dev/v1\nkind: Cluster\nmetadata:\n  name: alpha.example.test\nspec:\n"
	const group = "apiVersion: slipway.dev/v1\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n"
	for _, c := range []struct{ text, want string }{
		{cluster + "  sshAcces: [192.0.2.0/24]\n", "spec.sshAcces: unknown field; did you mean sshAccess?"},
		{cluster + "  kubernetesVerison: 1.36.1\n", "spec.kubernetesVerison: unknown field; did you mean kubernetesVersion?"},
		{cluster + "  networking: {subnet: []}\n", "spec.networking.subnet: unknown field; did you mean subnets?"},
		{cluster + "  networking:\n    subnets:\n    - name: a\n    - {name: b, zones: x}\n", "spec.networking.subnets[1].zones: unknown field; did you mean zone?"},
		{cluster + "  api: {loadbalancer: {type: public}}\n", "spec.api.loadbalancer: unknown field; did you mean loadBalancer?"},
		{cluster + "  etcdClusters:\n  - name: main\n    etcdMembers:\n    - {name: a, volumesize: 20}\n", "spec.etcdClusters[0].etcdMembers[0].volumesize: unknown field; did you mean volumeSize?"},
		{cluster + "  networking: {cni: {cillium: {}}}\n", "spec.networking.cni.cillium: unknown field; did you mean cilium?"},
		{cluster + "  networking: {cni: {cilium: }}\n", "spec.networking.cni.cilium: has no value; to choose it write {}"},
		{cluster + "  networking: {topologie: private}\n", "spec.networking.topologie: unknown field; did you mean topology?"},
		{cluster + "  qqq: 1\n", "spec.qqq: unknown field; known are kubernetesVersion, cloudProvider"},
		{group + "  minsize: 1\n", "instancegroup/nodes spec.minsize: unknown field; did you mean minSize?"},
		{group + "  machinetype: t3.large\n", "instancegroup/nodes spec.machinetype: unknown field; did you mean machineType?"},
		{group + "  rootVolume: {iop: 3000}\n", "instancegroup/nodes spec.rootVolume.iop: unknown field; did you mean iops?"},
		{group + "  instanceMetadata: {httpToken: required}\n", "instancegroup/nodes spec.instanceMetadata.httpToken: unknown field; did you mean httpTokens?"},
		{strings.Replace(group, "metadata:\n", "metadata:\n  label: {}\n", 1), "instancegroup/nodes metadata.label: unknown field; did you mean labels?"},
		{strings.Replace(group, "spec:", "sepc:", 1), "instancegroup/nodes sepc: unknown field; did you mean spec?"},
	} {
		_, err := Load([]byte(c.text), "x.yaml")
		if got := faultsOf(t, err); !strings.Contains(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const meta = "apiVersion: slipway.dev/v1\nkind: Cluster\nmetadata:\n  name: x\nspec:\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "test.yaml: file: is empty"},
		{"only comments", "# x\n---\n# y\n", "file: is empty"},
		{"a list", "- a\n", "document 1 (line 1): must be an object with apiVersion and kind, is a list"},
		{"a word", "hello\n", "is a string"},
		{"number for a string", meta + "  networking:\n    subnets:\n    - {name: a}\n    - {name: b, zone: 1}\n", "spec.networking.subnets[1].zone: must be a string, is a number: put it in quotes"},
		{"version as a number", meta + "  kubernetesVersion: 1.36\n", "spec.kubernetesVersion: must be a string, is a number: put it in quotes"},
		{"string for an object", meta + "  networking: private\n", "spec.networking: must be an object, is a string"},
		{"string for a list", meta + "  sshAccess: 10.0.0.0/8\n", "spec.sshAccess: must be a list, is a string"},
		{"boolean label", meta + "  cloudLabels: {a: yes}\n", "spec.cloudLabels.a: must be a string, is a boolean: put it in quotes"},
		{"string for a boolean", meta + "  networking: {tagSubnets: \"no\"}\n", "spec.networking.tagSubnets: must be true or false, is a string"},
		{"empty item", meta + "  sshAccess: [a, ]\n  api: {access: [~]}\n", "spec.api.access[0]: is empty"},
		{"control character", meta + "  dnsZone: \"a\\x07b\"\n", "spec.dnsZone: holds the character U+0007"},
		{"foreign version", "apiVersion: slipway.dev/v2\nkind: Cluster\nmetadata: {name: x}\n", "document 1 (line 1) apiVersion: this version cannot be read; write slipway.dev/v1 (is \"slipway.dev/v2\")"},
		{"misspelt group", "apiVersion: slipwy.dev/v1\nkind: Cluster\nmetadata: {name: x}\n", "this version cannot be read"},
		{"misspelt kind", "apiVersion: slipway.dev/v1\nkind: InstanceGrup\nmetadata: {name: x}\n", "kind: is unknown; did you mean InstanceGroup?"},
		{"misspelt kind key", "apiVersion: slipway.dev/v1\nkinds: Cluster\n", "document 1 (line 1) kind: is missing (there is kinds)"},
		{"no name", "apiVersion: slipway.dev/v1\nkind: Cluster\nmetadata: {}\nspec: {}\n", "metadata.name: is missing"},
		{"duplicate key", meta + "  dnsZone: a\n  dnsZone: b\n", `line 7: key "dnsZone" stands twice`},
		{"duplicate key in the second document", demo + "---\n" + meta + "  dnsZone: a\n  dnsZone: b\n", `line 35: key "dnsZone" stands twice`},
		{"two clusters", demo + "---\n" + strings.Replace(meta, "name: x", "name: y", 1), "is a second cluster"},
		{"name twice", demo + "---\napiVersion: slipway.dev/v1\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec: {subnets: [a]}\n", "instancegroup/nodes is already in document 3 (line 21); names are unique"},
		{"truncated", meta + "  networking:\n    subnets:\n    - name: \"us-ea", "is the file complete?"},
		{"truncated key", meta + "  networking:\n    subn", "spec.networking: must be an object, is a string"},
		{"behind a bracket", "--- {apiVersion: slipway.dev/v1, kind: Cluster, metadata: {name: x}, spec: {}}\nspec: {}\n", "there is something behind the last bracket"},
		{"two brackets", "# x\n{apiVersion: a/v1, kind: b, metadata: {name: x}}\n\n{}\n", "line 3: did not find expected key"},
		{"both misspelt", "apiVersion: slipwy/v1\nkind: Clustr\nmetadata: {name: x}\n", "kind: is unknown; did you mean Cluster of slipway.dev/v1?"},
		{"tab", meta + "\tdnsZone: a\n", "line 6: found character that cannot start any token"},
		{"too large", "apiVersion: slipway.dev/v1\nkind: InstanceGroup\nmetadata: {name: x}\nspec: {minSize: 3000000000}\n", "spec.minSize: must be a whole number between"},
		{"a fraction", "apiVersion: slipway.dev/v1\nkind: InstanceGroup\nmetadata: {name: x}\nspec: {minSize: 1.5}\n", "spec.minSize: must be a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load([]byte(c.text), "test.yaml")
			if got := faultsOf(t, err); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAllFaults proves that one report names everything, over all documents.
func TestAllFaults(t *testing.T) {
	t.Parallel()
	text := strings.Replace(demo, "kubernetesVersion: 1.36.6", "kubernetesVersion: 1.36\n  sshAcces: []", 1)
	text = strings.Replace(text, "role: ControlPlane", "roll: ControlPlane\n  minSize: two", 1)
	_, err := Load([]byte(text), "x.yaml")
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 4 {
		t.Errorf("want 4 faults, got %v", err)
	}
	if got := err.Error(); !strings.HasPrefix(got, "x.yaml: 4 faults:\n  spec.kubernetesVersion: ") {
		t.Error(got)
	}
}

func TestNumbersForStrings(t *testing.T) {
	t.Parallel()
	m := load(t, "apiVersion: slipway.dev/v1\nkind: InstanceGroup\nmetadata: {name: x}\nspec:\n  maxPrice: 0.05\n  rollingUpdate: {maxUnavailable: 1, maxSurge: 25%}\n")
	s := m.Groups[0].Spec
	if s.MaxPrice != "0.05" || s.RollingUpdate.MaxUnavailable != "1" || s.RollingUpdate.MaxSurge != "25%" {
		t.Errorf("got %+v, %+v", s, *s.RollingUpdate)
	}
}

// TestRoundTrip proves that what is written reads back the same, for every field.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawManifest(t)
		text, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Load(text, "x.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Fatal(diff)
		}
		again, err := Marshal(back)
		if err != nil || string(again) != string(text) {
			t.Fatalf("not stable: %v", err)
		}
	})
}

func drawManifest(t *rapid.T) *Manifest {
	m := &Manifest{Cluster: &Cluster{}}
	draw(t, reflect.ValueOf(m.Cluster).Elem())
	m.Cluster.TypeMeta, m.Cluster.Metadata.Name = TypeMeta{Version, KindCluster}, "demo"
	for _, name := range []string{"a", "b"} {
		g, k := &InstanceGroup{}, &SSHPublicKey{}
		draw(t, reflect.ValueOf(g).Elem())
		draw(t, reflect.ValueOf(k).Elem())
		g.TypeMeta, g.Metadata.Name = TypeMeta{Version, KindInstanceGroup}, name
		k.TypeMeta, k.Metadata.Name = TypeMeta{Version, KindSSHPublicKey}, name
		m.Groups, m.SSHKeys = append(m.Groups, g), append(m.SSHKeys, k)
	}
	m.Objects = append(m.Objects, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": text(t)},
		"list": []any{int64(rapid.Int64().Draw(t, "int")), rapid.Float64Range(-1e6, 1e6).Filter(func(f float64) bool { return f != math.Trunc(f) }).Draw(t, "float"), true, text(t), nil},
	})
	if m.Objects[0]["metadata"].(map[string]any)["name"] == "" {
		m.Objects[0]["metadata"] = map[string]any{"name": "x"}
	}
	return m
}

// text draws strings that YAML readers like to take for something else.
func text(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "yes", "null", "~", "1.36", "0x10", "1e3", "012", "1:30", "- a", "a: b", "a #b", "---", "...", " x ", "x\n", "\n\nx\n  y", "{}", "[", "*a", "&a", "!t", "%", "@", "`", "\"", "'", "<<", "2026-12-01", "é", "😀", "a\r\nb"}),
		rapid.StringN(0, 12, -1).Filter(func(s string) bool { return unprintable(s) == "" }),
	).Draw(t, "text")
}

// draw fills a value at random; absent and empty are the same, so lists and maps are
// either absent or hold something.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "int32")))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				draw(t, v.Index(i))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(0, 2).Draw(t, "size"); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				item := reflect.New(v.Type().Elem()).Elem()
				draw(t, item)
				key := rapid.Custom(text).Filter(func(s string) bool { return badKey(s) == "" }).Draw(t, "key")
				v.SetMapIndex(reflect.ValueOf(key), item)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{demo, "", "---", "{", "[{}]", "a: &a [*a]", "apiVersion: v1\nkind: X\nmetadata: {name: y}\n", "? {}\n: []\n", "apiVersion: slipway.dev/v1\nkind: Cluster\nmetadata: 1\nspec: []\n", "a: .nan\n", "a: !!binary x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Load(data, "fuzz")
		if err != nil {
			faultsOf(t, err)
			return
		}
		Complete(m)
		_ = Validate(m)
		_ = ValidateChange(m, m)
		text, err := Marshal(m)
		if err != nil {
			t.Fatalf("loaded and cannot be written: %v", err)
		}
		if _, err := Load(text, "again"); err != nil {
			t.Fatalf("written and cannot be read: %v\n%s", err, text)
		}
	})
}

// A file must never lose a document without a word: what is not loaded would be deleted.
func TestNoDocumentIsLost(t *testing.T) {
	t.Parallel()
	text := "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: A\nmetadata: {name: b}\n"
	for _, end := range []string{"\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", " # said\n", "\t\n"} {
		m, err := Load([]byte(strings.ReplaceAll(text, "---\n", "---"+end)), "file")
		if err != nil || len(m.Objects) != 2 {
			t.Errorf("marker before %q: got %+v, %v", end, m, err)
		}
		m, err = Load([]byte(strings.ReplaceAll(text, "\n", end)), "file")
		if err != nil || len(m.Objects) != 2 {
			t.Errorf("all lines end with %q: got %+v, %v", end, m, err)
		}
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var wide []byte
		for _, r := range "\ufeff" + text {
			wide = order.AppendUint16(wide, uint16(r))
		}
		if m, err := Load(wide, "file"); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("UTF-16: got %+v, %v", m, err)
		}
	}
}
