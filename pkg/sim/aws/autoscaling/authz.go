// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// Actions lists what Checks may ask: lists have no resource, all else is about a group.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{}
	for op := range s.Ops {
		out["autoscaling:"+op] = nil
		if !strings.HasPrefix(op, "Describe") {
			out["autoscaling:"+op] = []string{"autoScalingGroup"}
		}
	}
	return out
}

// Checks says which rights a call needs.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	if strings.HasPrefix(c.Action, "Describe") {
		return []wire.Check{{Action: "autoscaling:" + c.Action, Resource: "*"}}
	}
	var out []wire.Check
	tags := c.TagParams("Tags")
	for _, name := range s.groupNames(c) {
		k := wire.Check{Action: "autoscaling:" + c.Action, Resource: "arn:aws:autoscaling:" + c.Region + ":" + c.Account + ":autoScalingGroup:*:autoScalingGroupName/" + name}
		if g := s.groups.Get(c.Region, name); g != nil {
			k.Resource = g.ARN
			for _, t := range g.Tags {
				k.ResourceTag("autoscaling", t.Key, t.Value)
			}
		}
		k.RequestTags(tags)
		out = append(out, k)
	}
	return out
}

// groupNames are the groups that a call is about: named, by their tags, or by an
// instance in them.
func (s *Service) groupNames(c *wire.Call) []string {
	if name := c.Params.Get("AutoScalingGroupName"); name != "" {
		return []string{name}
	}
	var names []string
	for i := 1; ; i++ {
		name := c.Params.Get("Tags.member." + strconv.Itoa(i) + ".ResourceId")
		if name == "" {
			break
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, g := range s.groups.All(c.Region) {
		if slices.ContainsFunc(g.Members, func(m member) bool { return m.ID == c.Params.Get("InstanceId") }) {
			return []string{g.Name}
		}
	}
	return []string{"*"}
}
