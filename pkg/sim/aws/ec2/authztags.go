// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// tagsOfSpecs returns the tags that a call gives to what it makes of a kind.
func tagsOfSpecs(c *wire.Call, kind string) map[string]string {
	out := map[string]string{}
	for i := 1; ; i++ {
		spec := "TagSpecification." + strconv.Itoa(i)
		if !c.Params.Has(spec + ".ResourceType") {
			return out
		}
		if c.Params.Get(spec+".ResourceType") != kind {
			continue
		}
		for key, value := range c.TagParams(spec + ".Tag") {
			out[key] = value
		}
	}
}

// tagsOnCreate are the rights to tag what a call makes: CreateTags, with the
// condition key that says by which operation.
func (s *Service) tagsOnCreate(c *wire.Call) []wire.Check {
	var out []wire.Check
	var seen []string
	for i := 1; ; i++ {
		kind := c.Params.Get("TagSpecification." + strconv.Itoa(i) + ".ResourceType")
		if kind == "" {
			return out
		}
		tags := tagsOfSpecs(c, kind)
		if slices.Contains(seen, kind) || len(tags) == 0 {
			continue
		}
		seen = append(seen, kind)
		k := s.check(c, "CreateTags", s.typeARN(c, kind, "*"))
		k.Set("ec2:CreateAction", c.Action)
		k.RequestTags(tags)
		out = append(out, k)
	}
}

// tagChecks are the rights of CreateTags and DeleteTags themselves.
func (s *Service) tagChecks(c *wire.Call) []wire.Check {
	tags := c.TagParams("Tag")
	var out []wire.Check
	for _, id := range c.Values("ResourceId") {
		kind := "*"
		if k, err := s.kindOf(id); err == nil {
			kind = k.resourceType()
		}
		k := s.on(c, c.Action, kind, id)
		switch kind {
		case "key-pair", "placement-group": // their ARNs hold names
			k = s.byID(c, kind, id)
		}
		k.RequestTags(tags)
		out = append(out, k)
	}
	return out
}

func (s *Service) byID(c *wire.Call, kind, id string) wire.Check {
	if row := s.keys.table.Get(c.Region, id); row != nil {
		id = row.KeyName
	}
	if row := s.placements.table.Get(c.Region, id); row != nil {
		id = row.GroupName
	}
	return s.on(c, c.Action, kind, id)
}

// owner finds what an association or attachment belongs to; other ids stand.
func (s *Service) owner(c *wire.Call, id string) string {
	switch {
	case strings.HasPrefix(id, "rtbassoc-"):
		for _, t := range s.routeTables.all(c) {
			for _, a := range t.Associations {
				if a.RouteTableAssociationId == id {
					return t.RouteTableId
				}
			}
		}
	case strings.HasPrefix(id, "eipassoc-"):
		if a := s.addresses.first(c, func(a *Address) bool { return a.AssociationId == id }); a != nil {
			return a.AllocationId
		}
	case strings.HasPrefix(id, "eni-attach-"):
		if n := s.interfaces.first(c, func(n *NetworkInterface) bool { return n.Attachment != nil && n.Attachment.AttachmentId == id }); n != nil {
			return n.NetworkInterfaceId
		}
	case strings.HasPrefix(id, "vpc-cidr-assoc-"):
		for _, v := range s.vpcs.all(c) {
			for _, a := range v.CidrBlocks {
				if a.AssociationId == id {
					return v.VpcId
				}
			}
			for _, a := range v.Ipv6CidrBlocks {
				if a.AssociationId == id {
					return v.VpcId
				}
			}
		}
	case strings.HasPrefix(id, "subnet-cidr-assoc-"):
		for _, n := range s.subnets.all(c) {
			for _, a := range n.Ipv6CidrBlocks {
				if a.AssociationId == id {
					return n.SubnetId
				}
			}
		}
	}
	return id
}
