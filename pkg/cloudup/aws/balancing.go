// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Load balancing lists take no filter and show no tags. So the lists are read whole, cut
// down to names that end like ours, and those objects' tags are read together: they
// alone decide what is ours.

// balancing is all that one reading finds.
type balancing struct {
	balancers []owned[elbtypes.LoadBalancer]
	targets   []owned[elbtypes.TargetGroup]
	listeners []owned[elbtypes.Listener]
}

// balancingReader reads once for the three kinds; each of them takes that first result
// once, and asks again by a new reading.
type balancingReader struct {
	mu    sync.Mutex
	first *balancing
	taken map[string]bool
}

func (s *survey) balancing(ctx context.Context, kind string) (*balancing, error) {
	r := &s.balancingOnce
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil && !r.taken[kind] {
		r.taken[kind] = true
		return r.first, nil
	}
	b, err := s.readBalancing(ctx)
	if err != nil {
		return nil, err
	}
	if r.first == nil {
		r.first, r.taken = b, map[string]bool{kind: true}
	}
	return b, nil
}

func (s *survey) listBalancers(ctx context.Context) ([]owned[elbtypes.LoadBalancer], error) {
	b, err := s.balancing(ctx, "loadbalancer")
	if err != nil {
		return nil, err
	}
	return b.balancers, nil
}

func (s *survey) listTargets(ctx context.Context) ([]owned[elbtypes.TargetGroup], error) {
	b, err := s.balancing(ctx, "targetgroup")
	if err != nil {
		return nil, err
	}
	return b.targets, nil
}

func (s *survey) listListeners(ctx context.Context) ([]owned[elbtypes.Listener], error) {
	b, err := s.balancing(ctx, "listener")
	if err != nil {
		return nil, err
	}
	return b.listeners, nil
}

// balancerName is the name of a load balancer or target group: readable, within 32
// characters, and ending in the mark of the cluster's UID.
func (c *Cloud) balancerName(key string, l cloudup.Limit) string {
	mark := c.balancerMark()
	l.Max -= len(mark)
	return cloudup.Shorten(strings.ReplaceAll(key+"-"+c.cluster, ".", "-"), l) + mark
}

func (c *Cloud) balancerMark() string { return "-" + cloudup.Hash(c.uid) }

// readBalancing reads load balancers, target groups, the listeners of ours, and tags.
func (s *survey) readBalancing(ctx context.Context) (*balancing, error) {
	var (
		balancers []elbtypes.LoadBalancer
		targets   []elbtypes.TargetGroup
		listeners []elbtypes.Listener
		arns      []string
	)
	mark := s.balancerMark()
	err := pages(ctx, elb.NewDescribeLoadBalancersPaginator(s.elb, &elb.DescribeLoadBalancersInput{}),
		func(page *elb.DescribeLoadBalancersOutput) {
			for _, b := range page.LoadBalancers {
				if strings.HasSuffix(aws.ToString(b.LoadBalancerName), mark) {
					balancers, arns = append(balancers, b), append(arns, aws.ToString(b.LoadBalancerArn))
				}
			}
		})
	if err != nil {
		return nil, err
	}
	err = pages(ctx, elb.NewDescribeTargetGroupsPaginator(s.elb, &elb.DescribeTargetGroupsInput{}),
		func(page *elb.DescribeTargetGroupsOutput) {
			for _, t := range page.TargetGroups {
				if strings.HasSuffix(aws.ToString(t.TargetGroupName), mark) {
					targets, arns = append(targets, t), append(arns, aws.ToString(t.TargetGroupArn))
				}
			}
		})
	if err != nil {
		return nil, err
	}
	for _, b := range balancers {
		err := pages(ctx, elb.NewDescribeListenersPaginator(s.elb, &elb.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn}),
			func(page *elb.DescribeListenersOutput) {
				for _, l := range page.Listeners {
					listeners, arns = append(listeners, l), append(arns, aws.ToString(l.ListenerArn))
				}
			})
		if ifThere(err) != nil {
			return nil, err
		}
	}
	tags, err := s.balancingTags(ctx, arns)
	if err != nil {
		return nil, err
	}
	return &balancing{
		balancers: marked(s, tags, balancers, func(b elbtypes.LoadBalancer) *string { return b.LoadBalancerArn }),
		targets:   marked(s, tags, targets, func(t elbtypes.TargetGroup) *string { return t.TargetGroupArn }),
		listeners: marked(s, tags, listeners, func(l elbtypes.Listener) *string { return l.ListenerArn }),
	}, nil
}

// balancingTags reads the tags of objects, by ARN.
func (s *survey) balancingTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for some := range slices.Chunk(arns, maxTagsPerCall) {
		got, err := s.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return nil, fmt.Errorf("read the tags of load balancers: %w", err)
		}
		for _, d := range got.TagDescriptions {
			m := map[string]string{}
			for _, t := range d.Tags {
				m[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			out[aws.ToString(d.ResourceArn)] = m
		}
	}
	return out, nil
}

// marked keeps the objects that carry the cluster's UID.
func marked[T any](s *survey, tags map[string]map[string]string, objects []T, arn func(T) *string) []owned[T] {
	var out []owned[T]
	for _, v := range objects {
		id := aws.ToString(arn(v))
		if m := tags[id]; m[tagUID] == s.uid {
			out = append(out, owned[T]{ID: id, Key: m[tagKey], Tags: m, Value: v})
		}
	}
	return out
}

func elbTags(m map[string]string) []elbtypes.Tag {
	var out []elbtypes.Tag
	for _, k := range sortedKeys(m) {
		out = append(out, elbtypes.Tag{Key: aws.String(k), Value: aws.String(m[k])})
	}
	return out
}

// tagBalancing makes the tag part of a change on a load balancing object.
func (s *survey) tagBalancing(ctx context.Context, arn string, c tasks.Change) error {
	set, remove := tagChanges(c)
	if len(set) > 0 {
		if _, err := s.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(set)}); err != nil {
			return fmt.Errorf("tag %s: %w", arn, err)
		}
	}
	if len(remove) > 0 {
		if _, err := s.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: remove}); err != nil {
			return fmt.Errorf("remove tags from %s: %w", arn, err)
		}
	}
	return nil
}

// retireBalancing gives an object that is about to be replaced another key.
func (s *survey) retireBalancing(ctx context.Context, arn, key string) error {
	_, err := s.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(map[string]string{tagKey: key + retired})})
	if err != nil {
		return fmt.Errorf("mark %s as replaced: %w", arn, err)
	}
	return nil
}
