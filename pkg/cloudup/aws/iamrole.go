// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// The names of the inline policies that a role may hold: from its grants, and the
// user's own.
const (
	policyGrants = "slipway"
	policyUser   = "additional"
)

// IAMRole is what the machines of a role may do.
type IAMRole struct {
	resource
	name     string
	identity model.Identity
	boundary string
	maker    policyMaker
	zone     *Zone // nil without one
}

func newIAMRole(l *lowering, id model.Identity, zone *Zone) *IAMRole {
	s, key := l.survey, roleKey(id.Role)
	r := &IAMRole{
		resource: resource{s: s, kind: "iam-role", key: key},
		name:     s.roleName(id.Role), identity: id, zone: zone,
		maker: policyMaker{
			partition: s.partition(), region: s.region, cluster: s.cluster, uid: s.uid, store: l.blueprint.Store,
			sealing: l.blueprint.Sealing,
		},
	}
	if iam := l.blueprint.Spec.Spec.IAM; iam != nil {
		r.boundary = iam.PermissionsBoundary
	}
	for _, rec := range l.blueprint.Records {
		if rec.Endpoint == "" {
			r.maker.records = append(r.maker.records, rec.Name)
		}
	}
	if zone != nil {
		r.deps = append(r.deps, zone)
	}
	roles := map[string]string{}
	if names := r.policyNames(); len(names) > 0 {
		roles[tagPolicies] = strings.Join(names, " ")
	}
	if len(id.Attached) > 0 {
		roles[tagAttached] = joinKeys(slices.Clone(id.Attached))
	}
	r.tags = s.tagsFor(key, r.name, roles)
	s.roleNames.wanted[r.name] = true
	s.wantedRoles[r.name] = r
	return r
}

// Describe says whose role it is.
func (r *IAMRole) Describe() string { return fmt.Sprintf("what %s machines may do", r.identity.Role) }

// policyNames returns the inline policies that are wanted. A grant may still come to
// nothing, as one on a store that is not S3.
func (r *IAMRole) policyNames() []string {
	var out []string
	if r.identity.Inline != "" {
		out = append(out, policyUser)
	}
	zone := r.maker
	zone.zone = "any" // the name of a policy does not hang on the zone's id
	if _, some, err := zone.policy(r.identity.Grants); err != nil || some {
		out = append(out, policyGrants)
	}
	return out
}

// documents returns the inline policies by name.
func (r *IAMRole) documents() (map[string]string, error) {
	out := map[string]string{}
	m := r.maker
	if r.zone != nil {
		m.zone = r.zone.CloudID.Value()
	}
	doc, some, err := m.policy(r.identity.Grants)
	if err != nil {
		return nil, err
	}
	if some {
		out[policyGrants] = doc.text()
	}
	if r.identity.Inline != "" {
		if out[policyUser], err = userPolicy(r.identity.Inline); err != nil {
			return nil, fmt.Errorf("spec.additionalPolicies of %s: %w", r.key, err)
		}
	}
	return out, fits(r.name, out)
}

// userPolicy takes a user's policy, a document or a list of statements, as a document.
func userPolicy(text string) (string, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", fmt.Errorf("a policy is JSON, a document or a list of statements: %w", err)
	}
	switch v.(type) {
	case []any:
		v = map[string]any{"Version": policyVersion, "Statement": v}
	case map[string]any:
	default:
		return "", errors.New("a policy is a document or a list of statements")
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// fits checks the size of a role's inline policies, which AWS counts together, and names
// what takes the most of it.
func fits(role string, documents map[string]string) error {
	total := 0
	sizes := map[string]int{}
	for name, doc := range documents {
		total += len(doc)
		for sid, text := range statements(doc) {
			sizes[name+"/"+sid] = len(text)
		}
	}
	if total <= maxInlinePolicies {
		return nil
	}
	biggest := sortedKeys(sizes)
	slices.SortStableFunc(biggest, func(a, b string) int { return sizes[b] - sizes[a] })
	var parts []string
	for _, name := range biggest[:min(5, len(biggest))] {
		parts = append(parts, fmt.Sprintf("%s %d", name, sizes[name]))
	}
	return fmt.Errorf("the inline policies of role %s take %d characters, AWS allows %d; the biggest statements: %s: shorten spec.additionalPolicies, or attach policies by spec.externalPolicies",
		role, total, maxInlinePolicies, strings.Join(parts, ", "))
}

// trust is the policy that lets machines take the role.
func (r *IAMRole) trust() string {
	suffix := ""
	if r.s.partition() == "aws-cn" {
		suffix = ".cn"
	}
	return `{"Version":"` + policyVersion + `","Statement":[{"Sid":"Machines","Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com` + suffix + `"},"Action":"sts:AssumeRole"}]}`
}

// Observe finds the role by its name and compares everything that is ours in it.
func (r *IAMRole) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := r.s.roles.find(ctx, r.key)
	if err != nil {
		return tasks.Change{}, err
	}
	if err := r.s.roleNames.clash("role", r.name, r.s.uid); err != nil {
		return tasks.Change{}, err
	}
	want, err := r.documents()
	if err != nil {
		return tasks.Change{}, err
	}
	if n := len(r.identity.Attached); n > maxAttached {
		return tasks.Change{}, fmt.Errorf("spec.externalPolicies attaches %d policies to %s, AWS allows %d", n, r.key, maxAttached)
	}
	d := tasks.NewDiff(exists)
	d.Map("trust", statements(aws.ToString(o.Value.Role.AssumeRolePolicyDocument)), statements(r.trust()))
	boundary := ""
	if b := o.Value.Role.PermissionsBoundary; b != nil {
		boundary = aws.ToString(b.PermissionsBoundaryArn)
	}
	d.Field("permissionsBoundary", boundary, r.boundary)
	for _, name := range []string{policyGrants, policyUser} {
		d.Map("policy."+name, parsed(o.Value.Inline[name]), parsed(want[name]))
	}
	d.Field("attachedPolicies", r.attachedOf(o), slices.Sorted(slices.Values(r.identity.Attached)))
	diffTags(d, o.Tags, r.tags)
	return found(&r.resource, r.s.roles, o, exists, d), nil
}

func parsed(document string) map[string]string {
	if document == "" {
		return nil
	}
	return statements(document)
}

// attachedOf returns the attached policies that we put there or want there.
func (r *IAMRole) attachedOf(o owned[roleFacts]) []string {
	var out []string
	for _, arn := range o.Value.Attached {
		if slices.Contains(r.identity.Attached, arn) || listed(o.Tags[tagAttached], arn) {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out
}

// listed reports whether joinKeys put a word into a tag's value.
func listed(list, word string) bool {
	if short, cut := strings.CutPrefix(list, digests); cut {
		return slices.Contains(strings.Fields(short), keyDigest(word))
	}
	return slices.Contains(strings.Fields(list), word)
}

// Apply makes the role, or what differs of it. The ledger knows of it first.
func (r *IAMRole) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[roleFacts])
	want, err := r.documents()
	if err != nil {
		return err
	}
	if c.Action == tasks.Create {
		if err := r.s.book.record(ctx, bookRole, r.name, r.key); err != nil {
			return err
		}
		if _, err := r.s.roles.makeOnce(ctx, r.key, r.create); err != nil {
			return fmt.Errorf("create role %s: %w", r.name, err)
		}
	}
	if c.Action == tasks.Update {
		if err := r.update(ctx, c); err != nil {
			return err
		}
	}
	if err := r.putPolicies(ctx, c, o, want); err != nil {
		return err
	}
	if err := r.attach(ctx, r.attachedOf(o)); err != nil {
		return err
	}
	if c.Action == tasks.Update {
		if err := r.applyTags(ctx, c); err != nil {
			return err
		}
	}
	r.CloudID.Set(r.name)
	return nil
}

func (r *IAMRole) create(ctx context.Context) (string, error) {
	in := &iam.CreateRoleInput{
		RoleName: &r.name, AssumeRolePolicyDocument: aws.String(r.trust()),
		Description: aws.String(r.description()), Tags: iamTags(r.tags),
	}
	if r.boundary != "" {
		in.PermissionsBoundary = &r.boundary
	}
	_, err := r.s.iam.CreateRole(ctx, in)
	return r.name, noPolicy(err, r.boundary, "spec.iam.permissionsBoundary")
}

// noPolicy makes the error about a policy that is not there a permanent one: it was
// given by the user, so it will not appear by itself.
func noPolicy(err error, arn, field string) error {
	if arn == "" || !gone(err) || !strings.Contains(err.Error(), arn) {
		return err
	}
	return fmt.Errorf("there is no policy %s: correct %s (%v)", arn, field, err)
}

// update changes the trust and the boundary of a role.
func (r *IAMRole) update(ctx context.Context, c tasks.Change) error {
	var err error
	if c.Has("trust") {
		_, err = r.s.iam.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: &r.name, PolicyDocument: aws.String(r.trust())})
	}
	if err == nil && c.Has("permissionsBoundary") {
		if r.boundary == "" {
			_, err = r.s.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: &r.name})
			err = ifThere(err)
		} else {
			_, err = r.s.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: &r.name, PermissionsBoundary: &r.boundary})
			err = noPolicy(err, r.boundary, "spec.iam.permissionsBoundary")
		}
	}
	if err != nil {
		return fmt.Errorf("update role %s: %w", r.name, err)
	}
	return nil
}

// putPolicies writes the inline policies that differ and deletes those that are not
// wanted any more.
func (r *IAMRole) putPolicies(ctx context.Context, c tasks.Change, o owned[roleFacts], want map[string]string) error {
	for _, name := range []string{policyGrants, policyUser} {
		if c.Action != tasks.Create && !c.Has("policy."+name) {
			continue
		}
		doc, wanted := want[name]
		_, there := o.Value.Inline[name]
		var err error
		switch {
		case wanted:
			_, err = r.s.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &r.name, PolicyName: &name, PolicyDocument: &doc})
		case there:
			_, err = r.s.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &r.name, PolicyName: &name})
			err = ifThere(err)
		}
		if err != nil {
			return fmt.Errorf("write policy %s of role %s: %w", name, r.name, err)
		}
	}
	return nil
}

// attach attaches what is wanted and detaches what we attached before.
func (r *IAMRole) attach(ctx context.Context, have []string) error {
	for _, arn := range r.identity.Attached {
		if slices.Contains(have, arn) {
			continue
		}
		if _, err := r.s.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &r.name, PolicyArn: &arn}); err != nil {
			return fmt.Errorf("attach %s to role %s: %w", arn, r.name, noPolicy(err, arn, "spec.externalPolicies"))
		}
	}
	for _, arn := range have {
		if slices.Contains(r.identity.Attached, arn) {
			continue
		}
		if _, err := r.s.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &r.name, PolicyArn: &arn}); ifThere(err) != nil {
			return fmt.Errorf("detach %s from role %s: %w", arn, r.name, err)
		}
	}
	return nil
}

func (r *IAMRole) applyTags(ctx context.Context, c tasks.Change) error {
	set, remove := tagChanges(c)
	if len(set) > 0 {
		if _, err := r.s.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: &r.name, Tags: iamTags(set)}); err != nil {
			return fmt.Errorf("tag role %s: %w", r.name, err)
		}
	}
	if len(remove) > 0 {
		if _, err := r.s.iam.UntagRole(ctx, &iam.UntagRoleInput{RoleName: &r.name, TagKeys: remove}); err != nil {
			return fmt.Errorf("remove tags from role %s: %w", r.name, err)
		}
	}
	return nil
}

// removeRole deletes a role with all that hangs on it, and then its ledger entry.
func (s *survey) removeRole(ctx context.Context, l leftover) error {
	if err := s.emptyRole(ctx, l.ID); ifThere(err) != nil {
		return err
	}
	if _, err := s.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &l.ID}); ifThere(err) != nil {
		return err
	}
	return s.book.forget(ctx, bookRole, l.ID)
}

// emptyRole takes every policy from a role: AWS deletes only an empty one.
func (s *survey) emptyRole(ctx context.Context, role string) error {
	attached, err := s.attached(ctx, role)
	if err != nil {
		return err
	}
	for _, arn := range attached {
		if _, err := s.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &role, PolicyArn: &arn}); ifThere(err) != nil {
			return fmt.Errorf("detach %s: %w", arn, err)
		}
	}
	var inline []string
	err = pages(ctx, iam.NewListRolePoliciesPaginator(s.iam, &iam.ListRolePoliciesInput{RoleName: &role}),
		func(page *iam.ListRolePoliciesOutput) { inline = append(inline, page.PolicyNames...) })
	if err != nil {
		return err
	}
	for _, name := range inline {
		if _, err := s.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &role, PolicyName: &name}); ifThere(err) != nil {
			return fmt.Errorf("delete policy %s: %w", name, err)
		}
	}
	return nil
}
