// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Export writes the role with its policies.
func (r *IAMRole) Export(ctx context.Context, m *terraform.Module) error {
	if m.Deploy {
		if err := r.s.book.record(ctx, bookRole, r.name, r.key); err != nil {
			return err
		}
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	_, there := r.CloudID.Get()
	b := r.export(m, "aws_iam_role")
	r.CloudID.Set(b.Mark("name"))
	b.SetText("name", r.name)
	b.SetText("description", r.description())
	b.SetText("assume_role_policy", pretty(r.trust()))
	b.SetText("permissions_boundary", r.boundary)
	r.exportTags(b)
	m.Output(terraform.Label(r.key)+"_role_name", "The role of "+r.key+" machines.", b.Ref("name"))
	for _, name := range sortedKeys(documents) {
		p := m.Resource("aws_iam_role_policy", r.key+"-"+name)
		p.SetText("name", name)
		p.Set("role", b.Ref("name"))
		p.SetText("policy", pretty(documents[name]))
		if there {
			p.Import(r.name + ":" + name)
		}
		if r.zone != nil && r.zone.placeholder != "" {
			p.Note("placeholder: %s in it is %s", r.zone.CloudID.Value(), r.zone.placeholder)
		}
	}
	for _, arn := range slices.Sorted(slices.Values(r.identity.Attached)) {
		a := m.Resource("aws_iam_role_policy_attachment", r.key+"-"+arn)
		a.Set("role", b.Ref("name"))
		a.SetText("policy_arn", arn)
		if there {
			a.Import(r.name + "/" + arn)
		}
	}
	if there {
		b.Import(r.name)
	}
	return nil
}

func (r *IAMRole) description() string { return r.Describe() + " of " + r.s.cluster }
