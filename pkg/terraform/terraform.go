// SPDX-License-Identifier: Apache-2.0

// Package terraform writes a graph of tasks as a Terraform module: clouds describe their
// resources with it, and pkg/cluster writes the files.
//
// Values that only an apply can tell travel as marks inside ordinary text (see Mark), so
// that what builds a request builds the export too; written, each mark is a reference.
package terraform

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Exporter is the Terraform side of a task.
type Exporter interface {
	tasks.Task
	// Export adds the task's resources to a module and sets its outputs to marks. The
	// task's dependencies have been exported before it.
	Export(ctx context.Context, m *Module) error
}

// Options is how a module is written.
type Options struct {
	// Review says that nothing may be looked up: what only the cloud or the store knows
	// is written as a placeholder.
	Review bool
	// Deploy says that the files will be applied: what belongs to the cluster and cannot
	// carry its mark is written down in the ledger.
	Deploy bool
	// Imports adds an import block for every resource whose object is there.
	Imports bool
	// Child leaves the provider to the module that calls this one.
	Child bool
	// CallAs is the name by which the root module calls a child, for its imports.
	CallAs string
	// Provider and Terraform are version constraints; empty means the default.
	Provider, Terraform string
}

// Module collects what the tasks of a graph add.
type Module struct {
	Options

	provider  Provider
	resources []*Resource
	data      []*Resource
	locals    []Attribute
	outputs   []output
	labels    map[string]map[string]string // type -> label -> key
}

// Provider is the plugin that a module's resources belong to.
type Provider struct {
	Name, Source, Version string // "aws", "hashicorp/aws", ">= 5.0"
	Settings              []Attribute
}

// Attribute is one argument of a block.
type Attribute struct {
	Name  string
	Value Value
}

type output struct {
	name, description string
	value             Value
}

// New makes an empty module.
func New(o Options) *Module {
	return &Module{Options: o, labels: map[string]map[string]string{}}
}

// Provide says which provider the resources need. The last call counts.
func (m *Module) Provide(p Provider) { m.provider = p }

// Resource is one resource of a module.
type Resource struct {
	Type, Label string
	Body

	importID string
	note     string
	after    []string // addresses
}

// Resource adds a resource. key is unique among those of its type and gives the label, so
// that a resource keeps its address as long as the task keeps its ID.
func (m *Module) Resource(kind, key string) *Resource {
	r := &Resource{Type: kind, Label: m.label(kind, key)}
	m.resources = append(m.resources, r)
	return r
}

// Data adds a data source: something that Terraform looks up when it applies.
func (m *Module) Data(kind, key string) *Resource {
	r := &Resource{Type: kind, Label: m.label("data."+kind, key)}
	m.data = append(m.data, r)
	return r
}

// Local names an expression and returns the mark of the name.
func (m *Module) Local(key string, v Value) string {
	name := m.label("local", key)
	m.locals = append(m.locals, Attribute{name, v})
	return "local." + name
}

// label makes a legal and unique name of a key.
func (m *Module) label(kind, key string) string {
	taken := m.labels[kind]
	if taken == nil {
		taken = map[string]string{}
		m.labels[kind] = taken
	}
	label := Label(key)
	if other, clash := taken[label]; clash && other != key {
		label = hashed(label, key)
	}
	taken[label] = key
	return label
}

// Address is what other resources and people call it by: aws_vpc.main.
func (r *Resource) Address() string { return r.Type + "." + r.Label }

// Mark is the mark of one of the resource's attributes.
func (r *Resource) Mark(attribute string) string { return Mark(r.Address() + "." + attribute) }

// Ref is the value of one of the resource's attributes.
func (r *Resource) Ref(attribute string) Value { return Text(r.Mark(attribute)) }

// Import says by which id the provider finds the object that is there; "" is none.
func (r *Resource) Import(id string) { r.importID = id }

// After makes the resource wait for another one that no argument of it names; mark is one
// of that resource's. Text without a mark is of an object that is there.
func (r *Resource) After(mark string) {
	if address, attribute := cutMark(mark); attribute != "" {
		r.after = append(r.after, address)
	}
}

// Note puts a comment in front of the resource.
func (r *Resource) Note(format string, args ...any) { r.note = fmt.Sprintf(format, args...) }

// Output adds an output for other modules.
func (m *Module) Output(name, description string, v Value) {
	m.outputs = append(m.outputs, output{name, description, v})
}

// Resources returns what was added, in its order.
func (m *Module) Resources() []*Resource { return slices.Clone(m.resources) }

// ImportIDs returns the ids of the objects that are there, by address.
func (m *Module) ImportIDs() map[string]string {
	out := map[string]string{}
	for _, r := range m.resources {
		if r.importID != "" {
			out[r.Address()] = r.importID
		}
	}
	return out
}

// Body is arguments and nested blocks, in the order in which they were added.
type Body struct{ items []item }

type item struct {
	name  string
	value Value
	block *Body // instead of a value
	note  string
}

// Set adds an argument.
func (b *Body) Set(name string, v Value) { b.items = append(b.items, item{name: name, value: v}) }

// Placeholder adds an argument whose value only the cloud or the store knows.
func (b *Body) Placeholder(name string, v Value, why string) {
	b.items = append(b.items, item{name: name, value: v, note: "placeholder: " + why})
}

// SetText adds a text argument unless it is empty.
func (b *Body) SetText(name, text string) {
	if text != "" {
		b.Set(name, Text(text))
	}
}

// SetNumber adds a number unless it is zero.
func (b *Body) SetNumber(name string, n int64) {
	if n != 0 {
		b.Set(name, Number(n))
	}
}

// Block adds a nested block.
func (b *Body) Block(name string) *Body {
	nested := &Body{}
	b.items = append(b.items, item{name: name, block: nested})
	return nested
}

// Attributes returns the arguments of the block itself, for those who check them.
func (b *Body) Attributes() map[string]Value {
	out := map[string]Value{}
	for _, i := range b.items {
		if i.block == nil {
			out[i.name] = i.value
		}
	}
	return out
}

// Blocks returns the nested blocks of a name.
func (b *Body) Blocks() map[string][]*Body {
	out := map[string][]*Body{}
	for _, i := range b.items {
		if i.block != nil {
			out[i.name] = append(out[i.name], i.block)
		}
	}
	return out
}
