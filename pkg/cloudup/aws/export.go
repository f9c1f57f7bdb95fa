// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"bytes"
	"encoding/json"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// versionOfProvider is what the exported arguments are of.
const versionOfProvider = ">= 5.70.0"

// Provide says which provider an export's resources belong to.
func (c *Cloud) Provide(m *terraform.Module) {
	m.Provide(terraform.Provider{
		Name: "aws", Source: "hashicorp/aws", Version: versionOfProvider,
		Settings: []terraform.Attribute{{Name: "region", Value: terraform.Text(c.region)}},
	})
}

// export begins the resource of a task: its import, its tags, and the mark by which others
// read its id.
func (r *resource) export(m *terraform.Module, kind string) *terraform.Resource {
	b := m.Resource(kind, r.key)
	if id, known := r.CloudID.Get(); known {
		r.importID = id
		b.Import(id)
	}
	r.CloudID.Set(b.Mark("id"))
	return b
}

// exportTags writes the tags, after what tells the object.
func (r *resource) exportTags(b *terraform.Resource) { b.Set("tags", terraform.Map(r.tags)) }

// exportAfterGateway makes a resource wait for the internet gateway among what it depends
// on: no argument of it names that.
func exportAfterGateway(b *terraform.Resource, deps []tasks.Task) {
	for _, d := range deps {
		if g, ok := d.(*InternetGateway); ok {
			b.After(g.CloudID.Value())
		}
	}
}

// pretty writes a policy with a line for each of its parts, as people review it.
func pretty(document string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(document), "", "  "); err != nil {
		return document
	}
	return out.String() + "\n"
}
