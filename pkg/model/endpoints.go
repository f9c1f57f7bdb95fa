// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// The endpoints' names.
const (
	EndpointAPI     = "api"
	EndpointBastion = "bastion"
)

// The ports of the cluster's own servers.
const (
	PortAPI       = 443
	PortBootstrap = 3988
	PortSSH       = 22
)

// endpoints wants a load balancer in front of the API when the spec has one, and in
// front of bastions when machines have no public addresses. It stands in the zones of
// the machines behind it and in no other: so each of its addresses has a machine behind
// it without traffic across zones.
func endpoints(in input, b *Blueprint) error {
	if lb := in.spec.API.LoadBalancer; lb != nil {
		public := lb.Type != api.LoadBalancerInternal
		nets, err := endpointSubnets(in, b, EndpointAPI, api.RoleControlPlane, public)
		if err != nil {
			return err
		}
		b.Endpoints = append(b.Endpoints, Endpoint{
			Name: EndpointAPI, Public: public, To: api.RoleControlPlane, Subnets: nets,
			Listeners: []Listen{
				{Name: "https", Port: PortAPI, Target: PortAPI, Health: "https:/readyz"},
				// Open to the cluster's own machines alone: see the firewall step.
				{Name: "bootstrap", Port: PortBootstrap, Target: PortBootstrap, Health: "tcp"},
			},
			CrossZone: or(lb.CrossZone, false),
		})
	}
	if in.spec.Networking.Topology == api.TopologyPrivate && len(in.groups(api.RoleBastion)) > 0 {
		nets, err := endpointSubnets(in, b, EndpointBastion, api.RoleBastion, true)
		if err != nil {
			return err
		}
		b.Endpoints = append(b.Endpoints, Endpoint{
			Name: EndpointBastion, Public: true, To: api.RoleBastion, Subnets: nets,
			Listeners: []Listen{{Name: "ssh", Port: PortSSH, Target: PortSSH, Health: "tcp"}},
		})
	}
	return nil
}

// Endpoint returns the endpoint of that name, or nil.
func (b *Blueprint) Endpoint(name string) *Endpoint {
	for i := range b.Endpoints {
		if b.Endpoints[i].Name == name {
			return &b.Endpoints[i]
		}
	}
	return nil
}

// endpointSubnets picks one subnet in each zone of the role's machines, by the order of
// preference that the kind of load balancer has.
func endpointSubnets(in input, b *Blueprint, name string, role api.Role, public bool) ([]string, error) {
	kinds, remedy := []SubnetKind{SubnetPrivate, SubnetPublic}, "add a private or public subnet there"
	if public {
		kinds, remedy = []SubnetKind{SubnetUtility, SubnetPublic}, "add a utility or public subnet there"
		if name == EndpointAPI {
			remedy += ", or set spec.api.loadBalancer.type to internal"
		}
	}
	zones, err := zonesOf(b, in.groups(role))
	if err != nil {
		return nil, err
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("load balancer %s: no group has the role %s", name, role)
	}
	var out []string
	for _, zone := range zones {
		at := subnetIn(b, zone, kinds)
		if at == "" {
			return nil, fmt.Errorf("load balancer %s: zone %s has no subnet for it: %s", name, zone, remedy)
		}
		out = append(out, at)
	}
	return out, nil
}

func subnetIn(b *Blueprint, zone string, kinds []SubnetKind) string {
	for _, kind := range kinds {
		i := slices.IndexFunc(b.Subnets, func(s Subnet) bool { return s.Zone == zone && s.Kind == kind })
		if i >= 0 {
			return b.Subnets[i].Name
		}
	}
	return ""
}
