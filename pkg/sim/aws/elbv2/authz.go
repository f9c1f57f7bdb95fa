// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// rights names the parameter with the ARNs that an operation is judged on, or the
// type of what it makes. Describe operations are judged on none.
var rights = map[string]string{
	"CreateLoadBalancer": "+loadbalancer/net/", "CreateTargetGroup": "+targetgroup", "CreateListener": "LoadBalancerArn",
	"DeleteLoadBalancer": "LoadBalancerArn", "ModifyLoadBalancerAttributes": "LoadBalancerArn", "SetIpAddressType": "LoadBalancerArn",
	"SetSecurityGroups": "LoadBalancerArn", "SetSubnets": "LoadBalancerArn",
	"DeleteTargetGroup": "TargetGroupArn", "ModifyTargetGroup": "TargetGroupArn", "ModifyTargetGroupAttributes": "TargetGroupArn",
	"RegisterTargets": "TargetGroupArn", "DeregisterTargets": "TargetGroupArn",
	"DeleteListener": "ListenerArn", "ModifyListener": "ListenerArn", "ModifyListenerAttributes": "ListenerArn",
	"AddTags": "ResourceArns", "RemoveTags": "ResourceArns",
}

var typesOf = map[string][]string{
	"LoadBalancerArn": {"loadbalancer/net/"}, "TargetGroupArn": {"targetgroup"}, "ListenerArn": {"listener/net"},
	"ResourceArns": {"loadbalancer/net/", "targetgroup", "listener/net"},
}

// Actions lists what Checks may ask.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{}
	for op := range s.Ops {
		what := rights[op]
		out["elasticloadbalancing:"+op] = typesOf[what]
		if kind, makes := strings.CutPrefix(what, "+"); makes {
			out["elasticloadbalancing:"+op] = []string{kind}
		}
	}
	return out
}

// Checks says which rights a call needs; tags at creation need AddTags too.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	what := rights[c.Action]
	if what == "" {
		return []wire.Check{{Action: "elasticloadbalancing:" + c.Action, Resource: "*"}}
	}
	tags := c.TagParams("Tags")
	arns := c.Values(what)
	made := ""
	if kind, makes := strings.CutPrefix(what, "+"); makes {
		made = s.arn(c, strings.TrimSuffix(kind, "/")+"/"+c.Params.Get("Name")+"/*")
		arns = []string{made}
	}
	var out []wire.Check
	for _, arn := range arns {
		k := s.on(c, c.Action, arn)
		k.RequestTags(tags)
		if c.Action == "RemoveTags" {
			k.RequestTagKeys(c.Values("TagKeys"))
		}
		out = append(out, k)
	}
	if len(tags) > 0 && c.Action != "AddTags" {
		if made == "" { // a listener's ARN hangs on that of its load balancer
			made = strings.Replace(c.Params.Get(what), ":loadbalancer/", ":listener/", 1) + "/*"
		}
		k := s.on(c, "AddTags", made)
		k.RequestTags(tags)
		k.Set("elasticloadbalancing:CreateAction", c.Action)
		out = append(out, k)
	}
	return out
}

func (s *Service) on(c *wire.Call, action, arn string) wire.Check {
	k := wire.Check{Action: "elasticloadbalancing:" + action, Resource: arn}
	if tags, _, err := s.tagged(c, arn); err == nil {
		for _, t := range *tags {
			k.ResourceTag("elasticloadbalancing", t.Key, t.Value)
		}
	}
	return k
}
