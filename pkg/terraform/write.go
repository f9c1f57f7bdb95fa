// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// DefaultTerraform is what import blocks with interpolated ids need at least.
const DefaultTerraform = ">= 1.5.0"

// The files of a module.
const (
	FileVersions = "terraform.tf"
	FileCluster  = "cluster.tf"
	FileOutputs  = "outputs.tf"
	FileImports  = "imports.tf"
	// FileRootImports is for the module that calls a child: Terraform takes import blocks
	// in a root module alone. Its name keeps the child from reading it.
	FileRootImports = "imports.tf.root"
)

// Files writes the module: each file's content by its name.
func (m *Module) Files() map[string][]byte {
	out := map[string][]byte{
		FileVersions: m.versions(),
		FileCluster:  m.cluster(),
		FileOutputs:  m.outputFile(),
	}
	if m.Imports {
		name := FileImports
		if m.Child {
			name = FileRootImports
		}
		out[name] = m.importFile()
	}
	return out
}

func (m *Module) versions() []byte {
	f := hclwrite.NewEmptyFile()
	b := f.Body().AppendNewBlock("terraform", nil).Body()
	b.SetAttributeRaw("required_version", Text(or(m.Terraform, DefaultTerraform)).tokens())
	b.AppendNewline()
	required := b.AppendNewBlock("required_providers", nil).Body()
	required.SetAttributeRaw(m.provider.Name, hclwrite.TokensForObject([]hclwrite.ObjectAttrTokens{
		{Name: reference("source"), Value: Text(m.provider.Source).tokens()},
		{Name: reference("version"), Value: Text(or(m.Provider, m.provider.Version)).tokens()},
	}))
	if !m.Child {
		f.Body().AppendNewline()
		p := f.Body().AppendNewBlock("provider", []string{m.provider.Name}).Body()
		for _, s := range m.provider.Settings {
			p.SetAttributeRaw(s.Name, s.Value.tokens())
		}
	}
	return hclwrite.Format(f.Bytes())
}

func (m *Module) cluster() []byte {
	f := hclwrite.NewEmptyFile()
	for _, d := range m.data {
		d.write(f.Body().AppendNewBlock("data", []string{d.Type, d.Label}).Body())
		f.Body().AppendNewline()
	}
	if len(m.locals) > 0 {
		b := f.Body().AppendNewBlock("locals", nil).Body()
		for _, l := range m.locals {
			b.SetAttributeRaw(l.Name, l.Value.tokens())
		}
		f.Body().AppendNewline()
	}
	for i, r := range m.resources {
		if i > 0 {
			f.Body().AppendNewline()
		}
		if r.note != "" {
			comment(f.Body(), r.note)
		}
		body := f.Body().AppendNewBlock("resource", []string{r.Type, r.Label}).Body()
		r.write(body)
		if len(r.after) > 0 {
			body.AppendNewline()
			body.SetAttributeRaw("depends_on", Names(r.after...).tokens())
		}
	}
	return hclwrite.Format(f.Bytes())
}

// write puts arguments first and blocks after them, each with a blank line before it.
func (b *Body) write(body *hclwrite.Body) {
	for _, i := range b.items {
		if i.block != nil {
			continue
		}
		if i.note != "" {
			comment(body, i.note)
		}
		body.SetAttributeRaw(i.name, i.value.tokens())
	}
	first := true
	for _, i := range b.items {
		if i.block == nil {
			continue
		}
		if !first || len(b.items) > len(b.Blocks()) {
			body.AppendNewline()
		}
		first = false
		i.block.write(body.AppendNewBlock(i.name, nil).Body())
	}
}

func comment(body *hclwrite.Body, text string) {
	body.AppendUnstructuredTokens(hclwrite.Tokens{{
		Type: hclsyntax.TokenComment, Bytes: []byte("# " + strings.ReplaceAll(text, "\n", " ") + "\n"),
	}})
}

func (m *Module) outputFile() []byte {
	f := hclwrite.NewEmptyFile()
	for i, o := range m.outputs {
		if i > 0 {
			f.Body().AppendNewline()
		}
		b := f.Body().AppendNewBlock("output", []string{o.name}).Body()
		b.SetAttributeRaw("description", Text(o.description).tokens())
		b.SetAttributeRaw("value", o.value.tokens())
	}
	return hclwrite.Format(f.Bytes())
}

func (m *Module) importFile() []byte {
	f := hclwrite.NewEmptyFile()
	prefix := ""
	if m.Child {
		prefix = "module." + or(m.CallAs, "cluster") + "."
	}
	ids := m.ImportIDs()
	for i, address := range slices.Sorted(maps.Keys(ids)) {
		if i > 0 {
			f.Body().AppendNewline()
		}
		b := f.Body().AppendNewBlock("import", nil).Body()
		b.SetAttributeRaw("to", reference(prefix+address))
		b.SetAttributeRaw("id", Text(ids[address]).tokens())
	}
	return hclwrite.Format(f.Bytes())
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
