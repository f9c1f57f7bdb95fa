// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// The parts of an auto scaling group that others change too, and that calls of their own
// set: target groups, suspended processes, tags. Only what is ours of them is compared.

// targetsOf returns the attached target groups that are ours or wanted.
func (g *AutoScalingGroup) targetsOf(ctx context.Context, have asgtypes.AutoScalingGroup) ([]string, error) {
	if len(have.TargetGroupARNs) == 0 {
		return nil, nil
	}
	ours, err := g.s.targets.all(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, arn := range have.TargetGroupARNs {
		if slices.ContainsFunc(ours, func(o owned[elbtypes.TargetGroup]) bool { return o.ID == arn }) {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (g *AutoScalingGroup) targetARNs() tasks.Value {
	var arns []string
	for _, t := range g.targets {
		arn, known := t.CloudID.Get()
		if !known {
			return tasks.After()
		}
		arns = append(arns, arn)
	}
	slices.Sort(arns)
	return tasks.V(arns)
}

// suspendedOf returns the suspended processes that we suspended, or want to be.
func suspendedOf(o owned[asgtypes.AutoScalingGroup]) []string {
	var out []string
	for _, p := range o.Value.SuspendedProcesses {
		if name := aws.ToString(p.ProcessName); listed(o.Tags[tagSuspended], name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// diffPropagation compares which of our tags reach the machines: all do.
func (g *AutoScalingGroup) diffPropagation(d *tasks.Diff, o owned[asgtypes.AutoScalingGroup]) {
	var not []string
	for _, t := range o.Value.Tags {
		if _, ours := g.tags[aws.ToString(t.Key)]; ours && !aws.ToBool(t.PropagateAtLaunch) {
			not = append(not, aws.ToString(t.Key))
		}
	}
	slices.Sort(not)
	d.Field("tagsNotPropagated", not, "")
}

// attach connects the wanted target groups and disconnects others of ours.
func (g *AutoScalingGroup) attach(ctx context.Context, have asgtypes.AutoScalingGroup) error {
	ours, err := g.targetsOf(ctx, have)
	if err != nil {
		return err
	}
	want := listOf(g.targetARNs())
	add := slices.DeleteFunc(slices.Clone(want), func(a string) bool { return slices.Contains(ours, a) })
	drop := slices.DeleteFunc(ours, func(a string) bool { return slices.Contains(want, a) })
	if len(add) > 0 {
		if _, err := g.s.scaling.AttachLoadBalancerTargetGroups(ctx, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: &g.name, TargetGroupARNs: add}); err != nil {
			return fmt.Errorf("attach target groups: %w", err)
		}
	}
	if len(drop) > 0 {
		if _, err := g.s.scaling.DetachLoadBalancerTargetGroups(ctx, &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: &g.name, TargetGroupARNs: drop}); err != nil {
			return fmt.Errorf("detach target groups: %w", err)
		}
	}
	return nil
}

// suspend stops the wanted processes and lets those go on that we stopped before.
func (g *AutoScalingGroup) suspend(ctx context.Context, have []string) error {
	want := g.suspended()
	stop := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return slices.Contains(have, p) })
	resume := slices.DeleteFunc(slices.Clone(have), func(p string) bool { return slices.Contains(want, p) })
	if len(stop) > 0 {
		if _, err := g.s.scaling.SuspendProcesses(ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: &g.name, ScalingProcesses: stop}); err != nil {
			return fmt.Errorf("suspend %s: %w", strings.Join(stop, ", "), err)
		}
	}
	if len(resume) > 0 {
		if _, err := g.s.scaling.ResumeProcesses(ctx, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: &g.name, ScalingProcesses: resume}); err != nil {
			return fmt.Errorf("resume %s: %w", strings.Join(resume, ", "), err)
		}
	}
	return nil
}

func (g *AutoScalingGroup) scalingTags(m map[string]string) []asgtypes.Tag {
	var out []asgtypes.Tag
	for _, k := range sortedKeys(m) {
		out = append(out, asgtypes.Tag{
			Key: aws.String(k), Value: aws.String(m[k]), PropagateAtLaunch: aws.Bool(true),
			ResourceId: &g.name, ResourceType: aws.String("auto-scaling-group"),
		})
	}
	return out
}

func (g *AutoScalingGroup) applyTags(ctx context.Context, c tasks.Change) error {
	put, remove := tagChanges(c)
	for _, f := range c.Fields {
		if f.Path == "tagsNotPropagated" {
			for _, k := range listOf(f.Old) {
				put[k] = g.tags[k]
			}
		}
	}
	if len(put) > 0 {
		if _, err := g.s.scaling.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: g.scalingTags(put)}); err != nil {
			return fmt.Errorf("tag: %w", err)
		}
	}
	if len(remove) > 0 {
		gone := map[string]string{}
		for _, k := range remove {
			gone[k] = ""
		}
		tags := g.scalingTags(gone)
		for i := range tags {
			tags[i].Value = nil
		}
		if _, err := g.s.scaling.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: tags}); err != nil {
			return fmt.Errorf("remove tags %s: %w", strings.Join(remove, ", "), err)
		}
	}
	return nil
}
