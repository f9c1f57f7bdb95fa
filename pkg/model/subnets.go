// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// subnets takes the ranges from the spec and marks where services' load balancers may
// be placed: public ones where addresses are public, internal ones in private subnets,
// or in public subnets when the cluster has no private one.
func subnets(in input, b *Blueprint) error {
	private := slices.ContainsFunc(in.spec.Networking.Subnets, func(s api.Subnet) bool {
		return s.Type == api.SubnetPrivate
	})
	for i, s := range in.spec.Networking.Subnets {
		r, err := netip.ParsePrefix(s.CIDR)
		if err != nil {
			return fmt.Errorf("spec.networking.subnets[%d].cidr: %w", i, err)
		}
		out := Subnet{
			Name: s.Name, Zone: s.Zone, Kind: SubnetPublic, Range: r.Masked(),
			ID: s.ID, Egress: s.Egress, Tag: true,
		}
		switch s.Type {
		case api.SubnetPrivate:
			out.Kind = SubnetPrivate
			out.InternalLB = true
		case api.SubnetUtility:
			out.Kind = SubnetUtility
			out.ExternalLB = true
		default:
			out.ExternalLB = true
			out.InternalLB = !private
		}
		if s.ID != "" {
			// Somebody else's subnet gets one role at most: its tags are theirs, and few.
			out.InternalLB = out.InternalLB && !out.ExternalLB
			out.Tag = or(in.spec.Networking.TagSubnets, true)
		}
		b.Subnets = append(b.Subnets, out)
	}
	return nil
}

// Subnet returns the subnet of that name, or nil.
func (b *Blueprint) Subnet(name string) *Subnet {
	for i := range b.Subnets {
		if b.Subnets[i].Name == name {
			return &b.Subnets[i]
		}
	}
	return nil
}

// zonesOf returns the zones of the groups' subnets, each once, in the blueprint's order.
func zonesOf(b *Blueprint, groups []*api.InstanceGroup) ([]string, error) {
	used := map[string]bool{}
	for _, g := range groups {
		for _, name := range g.Spec.Subnets {
			s := b.Subnet(name)
			if s == nil {
				return nil, fmt.Errorf("group %s: there is no subnet %q", g.Metadata.Name, name)
			}
			used[s.Zone] = true
		}
	}
	var out []string
	for _, s := range b.Subnets {
		if used[s.Zone] && !slices.Contains(out, s.Zone) {
			out = append(out, s.Zone)
		}
	}
	return out, nil
}
