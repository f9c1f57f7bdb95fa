// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// pools takes the instance groups from the manifest, in its order.
func pools(in input, b *Blueprint) error {
	sshKey := ""
	if len(b.SSHKeys) > 0 {
		sshKey = b.SSHKeys[0].Name
	}
	for _, g := range in.Groups {
		role := roleOf(g)
		p := Pool{
			Name: g.Metadata.Name, Role: role,
			Min: or(g.Spec.MinSize, 1), Max: or(g.Spec.MaxSize, or(g.Spec.MinSize, 1)),
			Machine: g.Spec.MachineType, Image: g.Spec.Image,
			Subnets: g.Spec.Subnets, PublicIP: publicIP(b, g),
			Labels:     merged(in.spec.CloudLabels, g.Spec.CloudLabels),
			NodeLabels: g.Spec.NodeLabels, Taints: g.Spec.Taints,
			SSHKey: sshKey, Group: g,
		}
		p.rootDisk(g.Spec.RootVolume)
		for _, e := range b.Endpoints {
			if e.To == role {
				p.Endpoints = append(p.Endpoints, e.Name)
			}
		}
		for _, part := range g.Spec.AdditionalUserData {
			p.Extra = append(p.Extra, nodeconfig.UserDataPart(part))
		}
		b.Pools = append(b.Pools, p)
	}
	return nil
}

// rootDisk fills in the boot disk; what one cloud alone has is read from the group.
func (p *Pool) rootDisk(v *api.RootVolume) {
	if v == nil {
		v = &api.RootVolume{}
	}
	size := int32(128)
	switch p.Role {
	case api.RoleControlPlane:
		size = 64
	case api.RoleBastion:
		size = 32
	}
	p.RootGiB = positive(v.Size, size)
	p.RootType = v.Type
	p.Encrypted = or(v.Encrypted, true)
}

// publicIP follows the group's wish, or else the kind of its subnets.
func publicIP(b *Blueprint, g *api.InstanceGroup) bool {
	if g.Spec.AssociatePublicIP != nil {
		return *g.Spec.AssociatePublicIP
	}
	for _, name := range g.Spec.Subnets {
		if s := b.Subnet(name); s != nil && s.Kind == SubnetPrivate {
			return false
		}
	}
	return true
}

// Pool returns the pool of that name, or nil.
func (b *Blueprint) Pool(name string) *Pool {
	for i := range b.Pools {
		if b.Pools[i].Name == name {
			return &b.Pools[i]
		}
	}
	return nil
}

// merged lays the second map over the first; nothing at all is nil.
func merged(under, over map[string]string) map[string]string {
	if len(under)+len(over) == 0 {
		return nil
	}
	out := maps.Clone(under)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}
