// SPDX-License-Identifier: Apache-2.0

package aws_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/terraform"
	"github.com/slipway-k8s/slipway/pkg/terraform/tftest"
)

// providerSchema is one resource of a provider's schema, as `terraform providers schema`
// prints it.
type providerSchema struct {
	Attributes map[string]struct {
		Type                         json.RawMessage
		Required, Optional, Computed bool
	}
	Blocks map[string]struct {
		Nesting string `json:"nesting_mode"`
		Min     int    `json:"min_items"`
		Max     int    `json:"max_items"`
		Block   providerSchema
	} `json:"block_types"`
}

// loadSchema returns nil where the schemas are not.
func loadSchema(t *testing.T) map[string]providerSchema {
	t.Helper()
	raw, err := os.ReadFile("../../../../shared/schemas/aws.json")
	if err != nil {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "shared") {
			t.Fatal(err)
		}
		t.Skip("the provider's schema is not here")
	}
	var file struct {
		Resources map[string]struct{ Block providerSchema } `json:"resource_schemas"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]providerSchema{}
	for name, r := range file.Resources {
		out[name] = r.Block
	}
	return out
}

// metaArguments are Terraform's own, in every resource.
var metaArguments = []string{"lifecycle"}

// faults compares a block with its schema.
func (s providerSchema) faults(path string, b *terraform.Body) []string {
	var out []string
	attributes := b.Attributes()
	for name, v := range attributes {
		a, known := s.Attributes[name]
		switch {
		case !known:
			out = append(out, path+"."+name+": the provider does not know it")
		case !a.Required && !a.Optional:
			out = append(out, path+"."+name+": the provider computes it")
		default:
			if !v.Fits(string(a.Type)) {
				out = append(out, fmt.Sprintf("%s.%s: a %s does not fit %s", path, name, v.Kind(), a.Type))
			}
		}
	}
	for name, a := range s.Attributes {
		if _, there := attributes[name]; a.Required && !there {
			out = append(out, path+"."+name+" is required")
		}
	}
	blocks := b.Blocks()
	for name, all := range blocks {
		sub, known := s.Blocks[name]
		if slices.Contains(metaArguments, name) {
			continue
		}
		if !known {
			out = append(out, path+"."+name+": the provider knows no such block")
			continue
		}
		if sub.Max > 0 && len(all) > sub.Max {
			out = append(out, fmt.Sprintf("%s.%s: %d blocks, the provider takes %d", path, name, len(all), sub.Max))
		}
		for _, nested := range all {
			out = append(out, sub.Block.faults(path+"."+name, nested)...)
		}
	}
	for name, sub := range s.Blocks {
		if len(blocks[name]) < sub.Min {
			out = append(out, fmt.Sprintf("%s.%s: %d blocks are required", path, name, sub.Min))
		}
	}
	return out
}

func export(r *cloudtest.Rig, name string, yes bool, o terraform.Options) *terraform.Module {
	r.T.Helper()
	m, err := cluster.Export(r.T.Context(), r.Deps(), cluster.ExportOptions{UpdateOptions: cloudtest.Options(name, yes), Module: o})
	if err != nil {
		r.T.Fatal(err)
	}
	return m
}

func checkModule(t *testing.T, schema map[string]providerSchema, m *terraform.Module) {
	t.Helper()
	for _, r := range m.Resources() {
		s, known := schema[r.Type]
		if !known {
			t.Errorf("%s: the schema has no such resource", r.Address())
			continue
		}
		for _, f := range s.faults(r.Address(), &r.Body) {
			t.Error(f)
		}
	}
	checkReferences(t, schema, m)
	checkFormat(t, m)
}

// checkReferences wants every reference to lead to a resource of the module and to an
// attribute that its type has, and no circle.
func checkReferences(t *testing.T, schema map[string]providerSchema, m *terraform.Module) {
	t.Helper()
	refs, err := tftest.References(m.Files()[terraform.FileCluster])
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, r := range m.Resources() {
		there[r.Address()] = true
	}
	uses := map[string][]string{}
	for _, r := range refs {
		to := r.Type + "." + r.Label
		from := strings.TrimPrefix(r.In, "resource.")
		if r.Label == "" && slices.Contains([]string{"lifecycle", "desired_capacity"}, r.Type) {
			continue
		}
		if !there[to] {
			t.Errorf("%s refers to %s, which the module does not have", r.In, to)
			continue
		}
		if _, known := schema[r.Type].Attributes[r.Attribute]; !known && r.Attribute != "" {
			t.Errorf("%s reads %s.%s, which the provider does not know", r.In, to, r.Attribute)
		}
		uses[from] = append(uses[from], to)
	}
	state := map[string]int{} // 1: being looked at, 2: done
	var visit func(address string)
	visit = func(address string) {
		state[address] = 1
		for _, next := range uses[address] {
			switch state[next] {
			case 0:
				visit(next)
			case 1:
				t.Errorf("%s and %s wait for each other", address, next)
			}
		}
		state[address] = 2
	}
	for address := range uses {
		if state[address] == 0 {
			visit(address)
		}
	}
}

// checkFormat holds the files against `terraform fmt`, where it is installed.
func checkFormat(t *testing.T, m *terraform.Module) {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Log("terraform is not installed: the format is not checked")
		return
	}
	dir := filepath.Join(t.TempDir(), "export")
	if _, err := terraform.WriteDir(dir, m.Files()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "fmt", "-check", "-diff", dir)
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("terraform fmt: %v\n%s", err, out)
	}
}

// TestExport writes each shape of cluster for review, to be applied, and with imports of
// what is running; every argument is one that the provider takes.
func TestExport(t *testing.T) {
	schema := loadSchema(t)
	for _, shape := range cloudtest.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			r := cloudtest.NewRig(t, awstest.Harness())
			name := shape.Make(r)
			r.Change(name, func(m *api.Manifest) error {
				m.Cluster.Spec.Sealing = nil // a key of the cluster's own is made by an update alone
				return nil
			})
			mark, before := r.Wire.Mark(), r.StoreSnapshot()
			review := export(r, name, false, terraform.Options{})
			if calls := r.Wire.Since(mark); len(calls) > 0 {
				t.Errorf("a review makes calls: %s", cloudtest.Tally(calls))
			}
			cloudtest.Same(t, "the store after a review", before, r.StoreSnapshot())
			checkModule(t, schema, review)

			mark = r.Wire.Mark()
			deploy := export(r, name, true, terraform.Options{})
			if calls := cloudtest.Writes(r.Wire.Since(mark)); len(calls) > 0 {
				t.Errorf("an export writes in the cloud: %s", cloudtest.Tally(calls))
			}
			checkModule(t, schema, deploy)
			for file, data := range deploy.Files() {
				if strings.Contains(string(data), "placeholder") {
					t.Errorf("%s of an export to apply holds a placeholder", file)
				}
				if strings.Contains(string(data), "PRIVATE") {
					t.Errorf("%s holds a private key", file)
				}
			}
			if again := export(r, name, true, terraform.Options{}); string(again.Files()[terraform.FileCluster]) != string(deploy.Files()[terraform.FileCluster]) {
				t.Error("a second export differs from the first")
			}

			// What an apply of the same graph makes is what the files say.
			r.Apply(name)
			sameUserData(t, r, deploy)
			running := export(r, name, false, terraform.Options{Imports: true})
			checkModule(t, schema, running)
			checkImports(t, running)
			sameUserData(t, r, running)
			r.Settled(name)
		})
	}
}

// TestExportOfOwnKey: keysets are sealed before Terraform runs, so it cannot make the key;
// one that is there is exported.
func TestExportOfOwnKey(t *testing.T) {
	t.Parallel()
	schema := loadSchema(t)
	r := cloudtest.NewRig(t, awstest.Harness())
	o := cloudtest.HAPrivate(t, r.Harness, r.World)
	r.Create(o)
	checkModule(t, schema, export(r, o.Name, false, terraform.Options{}))
	_, err := cluster.Export(t.Context(), r.Deps(), cluster.ExportOptions{UpdateOptions: cloudtest.Options(o.Name, true)})
	if err == nil || !strings.Contains(err.Error(), "--kms-key") {
		t.Errorf("a key that is not there: %v", err)
	}
	r.Apply(o.Name)
	m := export(r, o.Name, true, terraform.Options{Imports: true})
	checkModule(t, schema, m)
	checkImports(t, m)
	if m.ImportIDs()["aws_kms_key.keysets"] == "" {
		t.Error("the key is not imported")
	}
	r.Settled(o.Name)
}

// checkImports wants an id for every resource of a running cluster.
func checkImports(t *testing.T, m *terraform.Module) {
	t.Helper()
	ids := m.ImportIDs()
	seen := map[string]string{}
	for _, r := range m.Resources() {
		id := ids[r.Address()]
		if id == "" {
			t.Errorf("%s has no id to import", r.Address())
			continue
		}
		if strings.ContainsAny(id, "\uE000\uE001") {
			t.Errorf("%s imports %q", r.Address(), id)
		}
		if other := seen[r.Type+id]; other != "" {
			t.Errorf("%s and %s import %s", other, r.Address(), id)
		}
		seen[r.Type+id] = r.Address()
	}
}

// sameUserData compares what the files give a template with what the world's has.
func sameUserData(t *testing.T, r *cloudtest.Rig, m *terraform.Module) {
	t.Helper()
	world := r.World.(*awstest.World)
	out, err := world.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, v := range out.LaunchTemplateVersions {
		have[aws.ToString(v.LaunchTemplateName)] = aws.ToString(v.LaunchTemplateData.UserData)
	}
	got, err := tftest.UserData(m.Files()[terraform.FileCluster], addresses(t, world))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(have))) {
		t.Fatalf("the files have the templates %v, the world %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(have)))
	}
	for name, text := range got {
		if base64.StdEncoding.EncodeToString([]byte(text)) != have[name] {
			plain, _ := base64.StdEncoding.DecodeString(have[name])
			t.Errorf("template %s: the files say\n%s\nthe world has\n%s", name, text, plain)
		}
	}
}

// addresses are the private addresses of the load balancers, by what exports call them.
func addresses(t *testing.T, w *awstest.World) map[string][]string {
	t.Helper()
	out, err := w.EC2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{
		Filters: []ec2types.Filter{{Name: aws.String("description"), Values: []string{"ELB *"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, i := range out.NetworkInterfaces {
		key := "api_addresses"
		if strings.Contains(aws.ToString(i.Description), "bastion") {
			key = "bastion_addresses"
		}
		found[key] = append(found[key], aws.ToString(i.PrivateIpAddress))
	}
	for _, list := range found {
		slices.Sort(list)
	}
	return found
}
