// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// trafficSource is what sends traffic to a group: here always a target group.
type trafficSource struct {
	Identifier string `wire:"Identifier,required"`
	Type       string
}

// targetGroups reads traffic sources as target groups.
func targetGroups(list []trafficSource) ([]string, *wire.Error) {
	var out []string
	for _, t := range list {
		if t.Type != "" && t.Type != "elbv2" || !strings.HasPrefix(t.Identifier, "arn:") {
			return nil, invalid("The simulator has traffic sources of type elbv2 only, not %s %s", t.Type, t.Identifier)
		}
		out = append(out, t.Identifier)
	}
	return out, nil
}

func (s *Service) trafficOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"AttachLoadBalancerTargetGroups": wire.Op(s.attachTargets), "DetachLoadBalancerTargetGroups": wire.Op(s.detachTargets),
		"DescribeLoadBalancerTargetGroups": wire.Op(s.describeTargets),
		"AttachTrafficSources":             wire.Op(s.attachSources), "DetachTrafficSources": wire.Op(s.detachSources), "DescribeTrafficSources": wire.Op(s.describeSources),
	}
}

// joinTargets is a list of target groups with more of them, which must exist.
func (s *Service) joinTargets(c *wire.Call, have, more []string) ([]string, *wire.Error) {
	out := slices.Clone(have)
	for _, arn := range more {
		if !s.targets.HasTargetGroup(c, arn) {
			return nil, invalid("Provided Target Groups may not be valid. Please ensure they exist and try again.")
		}
		if !slices.Contains(out, arn) {
			out = append(out, arn)
		}
	}
	return out, nil
}

type targetsIn struct {
	ofGroup
	TargetGroupARNs []string `wire:"TargetGroupARNs,required"`
}

type sourcesIn struct {
	ofGroup
	TrafficSources           []trafficSource `wire:"TrafficSources,required"`
	SkipZonalShiftValidation bool
}

func (s *Service) attachTargets(c *wire.Call, in *targetsIn) (*none, error) {
	return s.attach(c, in.AutoScalingGroupName, in.TargetGroupARNs)
}

func (s *Service) attachSources(c *wire.Call, in *sourcesIn) (*none, error) {
	arns, err := targetGroups(in.TrafficSources)
	if err != nil {
		return nil, err
	}
	return s.attach(c, in.AutoScalingGroupName, arns)
}

func (s *Service) attach(c *wire.Call, name string, arns []string) (*none, error) {
	g, err := s.living(c, name)
	if err != nil {
		return nil, err
	}
	next, err := s.joinTargets(c, g.TargetGroups, arns)
	if err != nil {
		return nil, err
	}
	if len(arns) > 10 || len(next) > 50 {
		return nil, wire.Errorf("LimitExceeded", "At most 10 target groups can be attached in one call, and 50 in all")
	}
	g.TargetGroups = next
	for i := range g.Members {
		if m := &g.Members[i]; m.State == inService && !g.suspended("AddToLoadBalancer") {
			for _, arn := range arns {
				s.targets.Register(c, arn, m.ID)
			}
		}
	}
	s.put(c, g)
	return &none{}, nil
}

func (s *Service) detachTargets(c *wire.Call, in *targetsIn) (*none, error) {
	return s.detach(c, in.AutoScalingGroupName, in.TargetGroupARNs)
}

func (s *Service) detachSources(c *wire.Call, in *sourcesIn) (*none, error) {
	arns, err := targetGroups(in.TrafficSources)
	if err != nil {
		return nil, err
	}
	return s.detach(c, in.AutoScalingGroupName, arns)
}

func (s *Service) detach(c *wire.Call, name string, arns []string) (*none, error) {
	g, err := s.living(c, name)
	if err != nil {
		return nil, err
	}
	for _, arn := range arns {
		if !slices.Contains(g.TargetGroups, arn) {
			return nil, invalid("Target Group %s is not attached to the Auto Scaling group %s", arn, name)
		}
		for i := range g.Members {
			s.targets.Deregister(c, arn, g.Members[i].ID)
		}
	}
	g.TargetGroups = without(g.TargetGroups, arns)
	s.put(c, g)
	return &none{}, nil
}

type targetView struct{ LoadBalancerTargetGroupARN, State string }

// joined is the state of a target group: InService once an instance is in it.
func (g *group) joined() string {
	if slices.ContainsFunc(g.Members, func(m member) bool { return m.State == inService }) {
		return "InService"
	}
	return "Added"
}

func (s *Service) describeTargets(c *wire.Call, in *struct {
	ofGroup
	paging
}) (*struct {
	LoadBalancerTargetGroups []targetView
	NextToken                string
}, error) {
	g, gerr := s.group(c, in.AutoScalingGroupName)
	if gerr != nil {
		return nil, gerr
	}
	rows := []targetView{}
	for _, arn := range g.TargetGroups {
		rows = append(rows, targetView{arn, g.joined()})
	}
	rows, next, err := page(c, rows, in.paging, 100, 100)
	return &struct {
		LoadBalancerTargetGroups []targetView
		NextToken                string
	}{rows, next}, err
}

type sourceView struct{ TrafficSource, State, Identifier, Type string }

func (s *Service) describeSources(c *wire.Call, in *struct {
	ofGroup
	TrafficSourceType string
	paging
}) (*struct {
	TrafficSources []sourceView
	NextToken      string
}, error) {
	g, gerr := s.group(c, in.AutoScalingGroupName)
	if gerr != nil {
		return nil, gerr
	}
	rows := []sourceView{}
	for _, arn := range g.TargetGroups {
		if in.TrafficSourceType == "" || in.TrafficSourceType == "elbv2" {
			rows = append(rows, sourceView{arn, g.joined(), arn, "elbv2"})
		}
	}
	rows, next, err := page(c, rows, in.paging, 50, 50)
	return &struct {
		TrafficSources []sourceView
		NextToken      string
	}{rows, next}, err
}
