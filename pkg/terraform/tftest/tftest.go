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
