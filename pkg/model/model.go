// SPDX-License-Identifier: Apache-2.0

// Package model turns a complete, valid spec into a Blueprint: what the cluster needs
// of any cloud. The operations in pkg/cluster build it; each cloud lowers it.
package model

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// Options is what a Blueprint takes from outside the spec.
type Options struct {
	Store string                      // URL of the state store
	Agent map[string]nodeconfig.Asset // the node agent by architecture (amd64, arm64); empty: unresolved
}

// Build turns a complete, valid manifest into a Blueprint. It is pure: the same input
// gives the same value, byte for byte. An error names what the spec asks for and no
// cloud could give.
func Build(m *api.Manifest, o Options) (*Blueprint, error) {
	if m == nil || m.Cluster == nil {
		return nil, errors.New("build blueprint: there is no cluster")
	}
	in := input{Manifest: m, spec: &m.Cluster.Spec, options: o}
	b := &Blueprint{
		Name:   m.Cluster.Metadata.Name,
		UID:    m.Cluster.Metadata.UID,
		Labels: m.Cluster.Spec.CloudLabels,
		Store:  o.Store,
		Spec:   m.Cluster,
		Groups: m.Groups,
	}
	for _, s := range steps() {
		if err := s.run(in, b); err != nil {
			return nil, fmt.Errorf("build blueprint of %s: %s: %w", b.Name, s.name, err)
		}
	}
	return b, nil
}

// input is what the steps read.
type input struct {
	*api.Manifest
	spec    *api.ClusterSpec
	options Options
}

type step struct {
	name string
	run  func(in input, b *Blueprint) error
}

// steps is the order of the work; each step reads the spec and what came before it.
func steps() []step {
	return []step{
		{"network", network},          // the address space, own or by id
		{"subnets", subnets},          // ranges in zones, and what may be placed there
		{"endpoints", endpoints},      // load balancers: API and bastion
		{"firewall", firewall},        // who may reach whom, role by role
		{"identities", identities},    // what machines of a role may do
		{"keys", keys},                // SSH keys
		{"sealing", sealing},          // the key of keysets and secrets
		{"volumes", volumes},          // one disk for each etcd member
		{"records", records},          // DNS zone and names
		{"pools", pools},              // instance groups
		{"node configs", nodeConfigs}, // what machines read, and the pools' pointers to it
	}
}

// groups returns the groups of a role, in the order of the manifest.
func (in input) groups(role api.Role) []*api.InstanceGroup {
	var out []*api.InstanceGroup
	for _, g := range in.Groups {
		if roleOf(g) == role {
			out = append(out, g)
		}
	}
	return out
}

func roleOf(g *api.InstanceGroup) api.Role {
	if g.Spec.Role == "" {
		return api.RoleNode
	}
	return g.Spec.Role
}

// prefixes reads ranges in their canonical form, each once, in the order given.
func prefixes(path string, cidrs []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	seen := map[netip.Prefix]bool{}
	for i, s := range cidrs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", path, i, err)
		}
		if p = p.Masked(); !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out, nil
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
