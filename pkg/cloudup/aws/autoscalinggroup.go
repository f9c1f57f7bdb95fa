// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// graceSeconds is how long a new machine may take until its health counts.
const graceSeconds = 300

// tagSuspended lists the processes that we suspended.
const tagSuspended = tagOurs + "suspended"

// AutoScalingGroup keeps the machines of an instance group. The size between the bounds
// is the autoscaler's.
type AutoScalingGroup struct {
	resource
	name     string
	pool     model.Pool
	template *LaunchTemplate
	subnets  []placed
	targets  []*TargetGroup
	mixed    mixedPolicy
}

// Describe says how many machines of which role.
func (g *AutoScalingGroup) Describe() string {
	return fmt.Sprintf("%d to %d %s machines", g.pool.Min, g.pool.Max, g.pool.Role)
}

// groupName is the name of a pool's auto scaling group.
func (c *Cloud) groupName(pool string) string {
	return cloudup.Shorten(pool+"."+c.cluster, limitScaling)
}

func (g *AutoScalingGroup) protected() bool { return g.pool.Group.Spec.InstanceProtection }

func (g *AutoScalingGroup) suspended() []string {
	return slices.Sorted(slices.Values(g.pool.Group.Spec.SuspendProcesses))
}

// Observe finds the group. Its size is ours only where it leaves the bounds.
func (g *AutoScalingGroup) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := g.s.scalingGroups.find(ctx, g.key)
	if err != nil {
		return tasks.Change{}, err
	}
	if going, there, err := g.s.scalingGroups.find(ctx, g.key+retired); err != nil {
		return tasks.Change{}, err
	} else if there {
		g.s.scalingGroups.claim(going.ID) // a removal would take the new one, which has its name
	}
	have := o.Value
	targets, err := g.targetsOf(ctx, have)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Field("minSize", set(exists, aws.ToInt32(have.MinSize)), g.pool.Min)
	d.Field("maxSize", set(exists, aws.ToInt32(have.MaxSize)), g.pool.Max)
	if now := aws.ToInt32(have.DesiredCapacity); exists {
		d.Field("size", now, min(max(now, g.pool.Min), g.pool.Max))
	}
	spec := specOf(have)
	d.Field("template", aws.ToString(spec.LaunchTemplateId), g.template.CloudID.Plan())
	d.Field("templateVersion", g.versionOf(spec), g.template.Version.Plan())
	d.Field("subnets", slices.Sorted(slices.Values(listOf(tasks.V(aws.ToString(have.VPCZoneIdentifier))))), placedIDs(g.subnets))
	d.Field("targetGroups", targets, g.targetARNs())
	d.Field("instanceProtection", aws.ToBool(have.NewInstancesProtectedFromScaleIn), g.protected())
	d.Field("healthGrace", set(exists, aws.ToInt32(have.HealthCheckGracePeriod)), graceSeconds)
	d.Field("suspendedProcesses", suspendedOf(o), g.suspended())
	g.mixed.diff(d, mixedOf(have))
	g.diffPropagation(d, o)
	diffTags(d, o.Tags, g.tags)
	return found(&g.resource, g.s.scalingGroups, o, exists, d), nil
}

// specOf returns which template and version a group makes machines from.
func specOf(have asgtypes.AutoScalingGroup) asgtypes.LaunchTemplateSpecification {
	switch m := have.MixedInstancesPolicy; {
	case m != nil && m.LaunchTemplate != nil && m.LaunchTemplate.LaunchTemplateSpecification != nil:
		return *m.LaunchTemplate.LaunchTemplateSpecification
	case have.LaunchTemplate != nil:
		return *have.LaunchTemplate
	}
	return asgtypes.LaunchTemplateSpecification{}
}

// versionOf returns the number of a group's template version, however it is spelt. A
// group without one uses the default version, which is our latest.
func (g *AutoScalingGroup) versionOf(spec asgtypes.LaunchTemplateSpecification) string {
	switch v := aws.ToString(spec.Version); v {
	case "", "$Default", "$Latest":
		if n, known := g.template.Version.Get(); known && spec.LaunchTemplateId != nil {
			return strconv.FormatInt(n, 10)
		}
		return v
	default:
		return v
	}
}

// Apply makes the group with all that one call takes, or changes what differs.
func (g *AutoScalingGroup) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[asgtypes.AutoScalingGroup])
	if c.Action == tasks.Create {
		if _, err := g.s.scalingGroups.makeOnce(ctx, g.key, g.create); err != nil {
			return fmt.Errorf("create auto scaling group %s: %w", g.name, eventual(err))
		}
		if err := g.suspend(ctx, nil); err != nil {
			return err
		}
		g.CloudID.Set(g.name)
		return nil
	}
	if err := g.update(ctx, o, c); err != nil {
		return fmt.Errorf("update auto scaling group %s: %w", g.name, eventual(err))
	}
	return nil
}

// eventual marks the refusals that mean "not heard of yet": an instance profile takes
// seconds to be known everywhere.
func eventual(err error) error {
	if err == nil || codeOf(err) != "ValidationError" {
		return err
	}
	text := strings.ToLower(err.Error())
	for _, sign := range []string{"instance profile", "launch template", "target group"} {
		if strings.Contains(text, sign) && (strings.Contains(text, "invalid") || strings.Contains(text, "not exist") || strings.Contains(text, "not found") || strings.Contains(text, "fully-formed")) {
			return tasks.Retry(err)
		}
	}
	return err
}

func (g *AutoScalingGroup) create(ctx context.Context) (string, error) {
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &g.name,
		MinSize:              &g.pool.Min, MaxSize: &g.pool.Max, DesiredCapacity: &g.pool.Min,
		VPCZoneIdentifier:                aws.String(placedIDs(g.subnets).Text),
		TargetGroupARNs:                  listOf(g.targetARNs()),
		NewInstancesProtectedFromScaleIn: aws.Bool(g.protected()),
		HealthCheckGracePeriod:           aws.Int32(graceSeconds),
		Tags:                             g.scalingTags(g.tags),
	}
	if g.mixed.wanted {
		in.MixedInstancesPolicy = g.mixed.request(g.spec())
	} else {
		in.LaunchTemplate = g.spec()
	}
	_, err := g.s.scaling.CreateAutoScalingGroup(ctx, in)
	if is(err, "AlreadyExists", "AlreadyExistsFault") {
		if strings.Contains(err.Error(), "pending delete") {
			return "", tasks.Wait(fmt.Errorf("the one before is still being deleted: %w", err))
		}
		return "", fmt.Errorf("one of that name exists and is not this cluster's: remove it, or name the group or cluster differently: %w", err)
	}
	return g.name, err
}

// spec names the version by its number: "$Latest" would start machines from a version
// that a half-done run made.
func (g *AutoScalingGroup) spec() *asgtypes.LaunchTemplateSpecification {
	return &asgtypes.LaunchTemplateSpecification{
		LaunchTemplateId: aws.String(g.template.CloudID.Value()),
		Version:          aws.String(strconv.FormatInt(g.template.Version.Value(), 10)),
	}
}

func (g *AutoScalingGroup) update(ctx context.Context, o owned[asgtypes.AutoScalingGroup], c tasks.Change) error {
	if slices.ContainsFunc([]string{
		"minSize", "maxSize", "size", "template", "templateVersion", "subnets", "instanceProtection", "healthGrace", "mixedInstances",
	}, c.Has) {
		in := &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: &g.name,
			MinSize:              &g.pool.Min, MaxSize: &g.pool.Max,
			VPCZoneIdentifier:                aws.String(placedIDs(g.subnets).Text),
			NewInstancesProtectedFromScaleIn: aws.Bool(g.protected()),
			HealthCheckGracePeriod:           aws.Int32(graceSeconds),
		}
		if c.Has("size") {
			in.DesiredCapacity = aws.Int32(min(max(aws.ToInt32(o.Value.DesiredCapacity), g.pool.Min), g.pool.Max))
		}
		if g.mixed.wanted {
			in.MixedInstancesPolicy = g.mixed.request(g.spec())
		} else {
			in.LaunchTemplate = g.spec()
		}
		if _, err := g.s.scaling.UpdateAutoScalingGroup(ctx, in); err != nil {
			return err
		}
	}
	if c.Has("targetGroups") {
		if err := g.attach(ctx, o.Value); err != nil {
			return err
		}
	}
	if c.Has("suspendedProcesses") {
		if err := g.suspend(ctx, suspendedOf(o)); err != nil {
			return err
		}
	}
	return g.applyTags(ctx, c)
}

// listScalingGroups reads the auto scaling groups that the cluster owns.
func (s *survey) listScalingGroups(ctx context.Context) ([]owned[asgtypes.AutoScalingGroup], error) {
	var out []owned[asgtypes.AutoScalingGroup]
	err := pages(ctx, autoscaling.NewDescribeAutoScalingGroupsPaginator(s.scaling, &autoscaling.DescribeAutoScalingGroupsInput{
		MaxRecords: aws.Int32(100),
		Filters:    []asgtypes.Filter{{Name: aws.String("tag:" + tagUID), Values: []string{s.uid}}},
	}), func(page *autoscaling.DescribeAutoScalingGroupsOutput) {
		for _, g := range page.AutoScalingGroups {
			tags := map[string]string{}
			for _, t := range g.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			if tags[tagUID] == s.uid {
				name := aws.ToString(g.AutoScalingGroupName)
				if g.Status != nil { // its deletion has begun: only a new one can be had
					tags[tagKey] += retired
				}
				out = append(out, owned[asgtypes.AutoScalingGroup]{ID: name, Key: tags[tagKey], Tags: tags, Value: g})
			}
		}
	})
	return out, err
}

// versionsInUse returns the versions of a template that machines run.
func (s *survey) versionsInUse(ctx context.Context, template string) (map[string]bool, error) {
	groups, err := s.scalingGroups.all(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, g := range groups {
		used[aws.ToString(specOf(g.Value).Version)] = true
		for _, i := range g.Value.Instances {
			if t := i.LaunchTemplate; t != nil && aws.ToString(t.LaunchTemplateId) == template {
				used[aws.ToString(t.Version)] = true
			}
		}
	}
	return used, nil
}

// removeScalingGroup deletes a group with its machines and waits until it is gone: the
// machines hold volumes, subnets and security groups.
func (s *survey) removeScalingGroup(ctx context.Context, l leftover) error {
	out, err := s.scaling.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{l.ID}})
	if err != nil {
		return err
	}
	if len(out.AutoScalingGroups) == 0 {
		return nil
	}
	if out.AutoScalingGroups[0].Status == nil { // deletion has not begun
		_, err := s.scaling.DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{
			AutoScalingGroupName: &l.ID, ForceDelete: aws.Bool(true),
		})
		if err != nil && !(is(err, "ValidationError") && strings.Contains(err.Error(), "not found")) {
			return err
		}
		if out, err = s.scaling.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{l.ID}}); err != nil {
			return err
		}
		if len(out.AutoScalingGroups) == 0 {
			return nil
		}
	}
	return tasks.Wait(errors.New("its machines are still shutting down"))
}
