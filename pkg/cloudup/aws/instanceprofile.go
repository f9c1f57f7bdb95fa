// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// InstanceProfile hands a role to machines.
type InstanceProfile struct {
	resource
	name string
	role *IAMRole
}

func newInstanceProfile(s *survey, role *IAMRole) *InstanceProfile {
	p := &InstanceProfile{
		resource: resource{s: s, kind: "instance-profile", key: role.key, deps: []tasks.Task{role}},
		name:     s.profileName(role.identity.Role), role: role,
	}
	p.tags = s.tagsFor(p.key, p.name, nil)
	s.profileNames.wanted[p.name] = true
	return p
}

// Describe says which role the profile hands out.
func (p *InstanceProfile) Describe() string {
	return fmt.Sprintf("hands the role to %s machines", p.role.identity.Role)
}

// Observe finds the profile by its name.
func (p *InstanceProfile) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := p.s.profiles.find(ctx, p.key)
	if err != nil {
		return tasks.Change{}, err
	}
	if err := p.s.profileNames.clash("instance profile", p.name, p.s.uid); err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Field("role", rolesOf(o.Value), p.role.name)
	diffTags(d, o.Tags, p.tags)
	return found(&p.resource, p.s.profiles, o, exists, d), nil
}

// rolesOf returns the names of a profile's roles; AWS allows one.
func rolesOf(p iamtypes.InstanceProfile) []string {
	var out []string
	for _, r := range p.Roles {
		out = append(out, aws.ToString(r.RoleName))
	}
	return out
}

// Apply makes the profile and puts the role into it. The ledger knows of it first.
func (p *InstanceProfile) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[iamtypes.InstanceProfile])
	if c.Action == tasks.Create {
		if err := p.s.book.record(ctx, bookProfile, p.name, p.key); err != nil {
			return err
		}
		if _, err := p.s.profiles.makeOnce(ctx, p.key, p.create); err != nil {
			return fmt.Errorf("create instance profile %s: %w", p.name, err)
		}
	}
	if c.Has("role") {
		if err := p.putRole(ctx, rolesOf(o.Value)); err != nil {
			return err
		}
	}
	if c.Action == tasks.Update {
		if err := p.applyTags(ctx, c); err != nil {
			return err
		}
	}
	p.CloudID.Set(p.name)
	return nil
}

func (p *InstanceProfile) create(ctx context.Context) (string, error) {
	_, err := p.s.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &p.name, Tags: iamTags(p.tags)})
	return p.name, err
}

// putRole makes the role the profile's only one.
func (p *InstanceProfile) putRole(ctx context.Context, have []string) error {
	for _, role := range have {
		if role == p.role.name {
			continue
		}
		_, err := p.s.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &p.name, RoleName: &role})
		if ifThere(err) != nil {
			return fmt.Errorf("take role %s from instance profile %s: %w", role, p.name, err)
		}
	}
	_, err := p.s.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &p.name, RoleName: &p.role.name})
	if is(err, "LimitExceeded") { // it holds a role: an earlier attempt's answer was lost
		return nil
	}
	if err != nil {
		return fmt.Errorf("put role %s into instance profile %s: %w", p.role.name, p.name, err)
	}
	return nil
}

func (p *InstanceProfile) applyTags(ctx context.Context, c tasks.Change) error {
	set, remove := tagChanges(c)
	if len(set) > 0 {
		if _, err := p.s.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: &p.name, Tags: iamTags(set)}); err != nil {
			return fmt.Errorf("tag instance profile %s: %w", p.name, err)
		}
	}
	if len(remove) > 0 {
		if _, err := p.s.iam.UntagInstanceProfile(ctx, &iam.UntagInstanceProfileInput{InstanceProfileName: &p.name, TagKeys: remove}); err != nil {
			return fmt.Errorf("remove tags from instance profile %s: %w", p.name, err)
		}
	}
	return nil
}

// removeProfile deletes a profile without its role, and then its ledger entry.
func (s *survey) removeProfile(ctx context.Context, l leftover) error {
	out, err := s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &l.ID})
	if ifThere(err) != nil {
		return err
	}
	if err == nil {
		for _, role := range rolesOf(*out.InstanceProfile) {
			_, err := s.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &l.ID, RoleName: &role})
			if ifThere(err) != nil {
				return fmt.Errorf("take role %s out: %w", role, err)
			}
		}
		if _, err := s.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &l.ID}); ifThere(err) != nil {
			return err
		}
	}
	return s.book.forget(ctx, bookProfile, l.ID)
}

// Export writes the profile.
func (p *InstanceProfile) Export(ctx context.Context, m *terraform.Module) error {
	if m.Deploy {
		if err := p.s.book.record(ctx, bookProfile, p.name, p.key); err != nil {
			return err
		}
	}
	_, there := p.CloudID.Get()
	b := p.export(m, "aws_iam_instance_profile")
	p.CloudID.Set(b.Mark("name"))
	b.SetText("name", p.name)
	b.SetText("role", p.role.CloudID.Value())
	p.exportTags(b)
	if there {
		b.Import(p.name)
	}
	return nil
}
