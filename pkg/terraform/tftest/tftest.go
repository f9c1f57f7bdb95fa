// SPDX-License-Identifier: Apache-2.0

// Package tftest reads exported Terraform files back, as tests of the clouds need it to
// hold them against the world.
package tftest

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// UserData reads the user data of all launch templates out of a written file, by the
// templates' names, as Terraform would evaluate it. locals are the lists that the file
// looks up.
func UserData(src []byte, locals map[string][]string) (map[string]string, error) {
	f, diags := hclsyntax.ParseConfig(src, terraform.FileCluster, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	lists := map[string]cty.Value{}
	for name, list := range locals {
		var values []cty.Value
		for _, s := range list {
			values = append(values, cty.StringVal(s))
		}
		lists[name] = cty.ListVal(values)
	}
	// What only base64 would hide is returned as it reads.
	plain := function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
	})
	scope := &hcl.EvalContext{
		Variables: map[string]cty.Value{"local": cty.ObjectVal(lists)},
		Functions: map[string]function.Function{"base64encode": plain},
	}
	out := map[string]string{}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "resource" || !strings.HasSuffix(b.Labels[0], "_launch_template") {
			continue
		}
		values := map[string]string{}
		for _, name := range []string{"name", "user_data"} {
			attr := b.Body.Attributes[name]
			if attr == nil {
				continue
			}
			v, diags := attr.Expr.Value(scope)
			if diags.HasErrors() {
				return nil, fmt.Errorf("%s of %s: %w", name, strings.Join(b.Labels, "."), diags)
			}
			values[name] = v.AsString()
		}
		out[values["name"]] = values["user_data"]
	}
	return out, nil
}

// Reference is one use of a resource's attribute in a file.
type Reference struct {
	In        string // the block that uses it: resource.aws_subnet.a
	Type      string // aws_vpc
	Label     string
	Attribute string
}

// References lists all uses of resources in a written file; those of data sources and
// locals are left out.
func References(src []byte) ([]Reference, error) {
	f, diags := hclsyntax.ParseConfig(src, terraform.FileCluster, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	var out []Reference
	var walk func(in string, b *hclsyntax.Body)
	walk = func(in string, b *hclsyntax.Body) {
		for _, a := range b.Attributes {
			for _, t := range a.Expr.Variables() {
				if r, ok := reference(in, t); ok {
					out = append(out, r)
				}
			}
		}
		for _, nested := range b.Blocks {
			walk(in, nested.Body)
		}
	}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		walk(strings.Join(append([]string{b.Type}, b.Labels...), "."), b.Body)
	}
	return out, nil
}

func reference(in string, t hcl.Traversal) (Reference, bool) {
	r := Reference{In: in, Type: t.RootName()}
	if r.Type == "data" || r.Type == "local" || r.Type == "count" {
		return r, false
	}
	for i, step := range t[1:] {
		name, ok := step.(hcl.TraverseAttr)
		switch {
		case !ok:
			return r, true
		case i == 0:
			r.Label = name.Name
		case i == 1:
			r.Attribute = name.Name
		}
	}
	return r, true
}
