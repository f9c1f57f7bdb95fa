// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// evaluate reads what was written as Terraform would, with values for its references.
func evaluate(t testing.TB, src []byte, attribute string, variables map[string]cty.Value) string {
	t.Helper()
	f, diags := hclsyntax.ParseConfig(src, "cluster.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v in\n%s", diags, src)
	}
	attr := f.Body.(*hclsyntax.Body).Blocks[0].Body.Attributes[attribute]
	if attr == nil {
		t.Fatalf("no %s in\n%s", attribute, src)
	}
	v, diags := attr.Expr.Value(&hcl.EvalContext{Variables: variables, Functions: map[string]function.Function{"base64encode": encoding}})
	if diags.HasErrors() {
		t.Fatalf("%v in\n%s", diags, src)
	}
	return v.AsString()
}

var encoding = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(args[0].AsString()))), nil
	},
})

// nasty are texts that a template could take for something else.
var nasty = []string{
	"", "plain", "${HOSTNAME}", "$${HOSTNAME}", "$$${x}", "%{if}", "%%{if}", "%{ if x }\n%{ endif }\n", `"quotes"`, `back\slash`, `\n`,
	"one line\n", "two\nlines\n", "two\nlines", "no\ntrailing ${x}", "EOT\n", "a\nEOT\nb\n", "a\n  EOT\nEOTT\n", "\ttab\n\tand ${x}\n",
	"carriage\r\nreturn\r\n", "nul\x00 and bell\x07\n\n", "ünïcode\nzwei\n", "\n\n\n", "ends in $\n$\n", "$", "%", "a$\n{b}\n", "${\n}\n",
	"{{ .Template }}\n#cloud-config\n", " leading\n  more\n", "trailing spaces  \n \n", "'single'\n`tick`\n", "\u2028 separator\n\n",
}

func write(v Value) []byte {
	m := New(Options{})
	m.Resource("t", "x").Set("a", v)
	return m.cluster()
}

func TestTextsArriveByteForByte(t *testing.T) {
	t.Parallel()
	for _, text := range nasty {
		if got := evaluate(t, write(Text(text)), "a", nil); got != text {
			t.Errorf("%q arrived as %q:\n%s", text, got, write(Text(text)))
		}
		got, err := base64.StdEncoding.DecodeString(evaluate(t, write(Base64(text)), "a", nil))
		if err != nil || string(got) != text {
			t.Errorf("%q arrived in base64 as %q:\n%s", text, got, write(Base64(text)))
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range nasty {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, markOpen+markClose) || strings.ToValidUTF8(text, "") != text || cty.NormalizeString(text) != text {
			t.Skip() // no text of ours: HCL strings are normalised Unicode
		}
		if got := evaluate(t, write(Text(text)), "a", nil); got != text {
			t.Errorf("%q arrived as %q:\n%s", text, got, write(Text(text)))
		}
	})
}

func TestMarksBecomeReferences(t *testing.T) {
	t.Parallel()
	variables := map[string]cty.Value{"aws_lb": cty.ObjectVal(map[string]cty.Value{
		"api": cty.ObjectVal(map[string]cty.Value{"dns_name": cty.StringVal("lb.example.com")}),
	})}
	m := New(Options{})
	lb := m.Resource("aws_lb", "api")
	for text, want := range map[string]string{
		lb.Mark("dns_name"):                                       "lb.example.com",
		"https://" + lb.Mark("dns_name") + ":443/${x}":            "https://lb.example.com:443/${x}",
		"- " + lb.Mark("dns_name") + ":3988\n- b\n%{x} ${y} \\\n": "- lb.example.com:3988\n- b\n%{x} ${y} \\\n",
	} {
		if got := evaluate(t, write(Text(text)), "a", variables); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
	if got := string(write(lb.Ref("dns_name"))); !strings.Contains(got, "a = aws_lb.api.dns_name\n") {
		t.Errorf("a whole reference is written in a template:\n%s", got)
	}
	if got := Unmark(lb.Mark("id"), "latest_version"); got != "aws_lb.api.latest_version" {
		t.Errorf("Unmark: %s", got)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"demo.example.com": "demo-example-com", "123.example.com": "_123-example-com", "private-us-east-1a/0.0.0.0/0": "private-us-east-1a-0-0-0-0-0",
		"": "_", "-x": "_-x", "ü": "-", "nodes_A-1": "nodes_A-1",
	} {
		got := Label(key)
		if want == "-" {
			want = "_-"
		}
		if got != want || !hclsyntax.ValidIdentifier(got) {
			t.Errorf("Label(%q) = %q, want %q", key, got, want)
		}
	}
	m := New(Options{})
	first, second := m.Resource("t", "a.b"), m.Resource("t", "a-b")
	if first.Label == second.Label {
		t.Errorf("two keys share the label %s", first.Label)
	}
	if again := New(Options{}).Resource("t", "a.b"); again.Label != first.Label {
		t.Errorf("a label changed from %s to %s", first.Label, again.Label)
	}
}

func TestFilesOfAModule(t *testing.T) {
	t.Parallel()
	m := New(Options{Imports: true, Child: true, CallAs: "demo", Provider: "~> 6.0", Terraform: ">= 1.9"})
	m.Provide(Provider{Name: "aws", Source: "hashicorp/aws", Version: ">= 5", Settings: []Attribute{{"region", Text("us-east-1")}}})
	vpc := m.Resource("aws_vpc", "demo")
	vpc.Set("cidr_block", Text("10.0.0.0/16"))
	vpc.Block("timeouts").Set("create", Text("5m"))
	vpc.Import("vpc-1")
	nat := m.Resource("aws_nat_gateway", "a")
	nat.After(vpc.Mark("id"))
	nat.After("vpc-2")
	m.Output("vpc_id", "The VPC.", vpc.Ref("id"))
	got := map[string]string{}
	for name, data := range m.Files() {
		got[name] = string(data)
	}
	want := map[string]string{
		FileVersions: "terraform {\n  required_version = \">= 1.9\"\n\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      version = \"~> 6.0\"\n    }\n  }\n}\n",
		FileCluster: "resource \"aws_vpc\" \"demo\" {\n  cidr_block = \"10.0.0.0/16\"\n\n  timeouts {\n    create = \"5m\"\n  }\n}\n\n" +
			"resource \"aws_nat_gateway\" \"a\" {\n\n  depends_on = [aws_vpc.demo]\n}\n",
		FileOutputs:     "output \"vpc_id\" {\n  description = \"The VPC.\"\n  value       = aws_vpc.demo.id\n}\n",
		FileRootImports: "import {\n  to = module.demo.aws_vpc.demo\n  id = \"vpc-1\"\n}\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWriteDirTouchesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	first := map[string][]byte{"cluster.tf": []byte("1"), "imports.tf": []byte("2")}
	if _, err := WriteDir(dir, first); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine.tf")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := WriteDir(dir, map[string][]byte{"cluster.tf": []byte("3")})
	if err != nil || len(written.Removed) != 1 || written.Removed[0] != "imports.tf" {
		t.Errorf("second export: %+v, %v", written, err)
	}
	if _, err := WriteDir(dir, map[string][]byte{"cluster.tf": []byte("4"), "mine.tf": []byte("no")}); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("a file of somebody else's: %v", err)
	}
	for name, want := range map[string]string{"cluster.tf": "3", "mine.tf": "mine"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	for _, bad := range []string{"{", `{"version":2}`, `{"version":1,"files":["../x"]}`} {
		if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := WriteDir(dir, first); err == nil || !strings.Contains(err.Error(), manifestFile) {
			t.Errorf("list %s: %v", bad, err)
		}
	}
}
