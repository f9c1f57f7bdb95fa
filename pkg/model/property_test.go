// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// drawCluster makes any cluster that the spec can say, within the fields that steps
// branch on.
func drawCluster(t *rapid.T) *api.Manifest {
	topology := rapid.SampledFrom([]api.Topology{api.TopologyPublic, api.TopologyPrivate}).Draw(t, "topology")
	zones := []string{"a", "b", "c", "d", "e"}[:rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "zones")]
	m := clusterOf(rapid.StringMatching(`[a-z]([a-z0-9-]{0,20}[a-z0-9])?`).Draw(t, "name")+".example.com", topology, zones...)
	s := &m.Cluster.Spec
	cnis := everyCNI()
	s.Networking.CNI = cnis[rapid.SampledFrom([]string{"unset", "routes", "flannel", "cilium", "calico", "external"}).Draw(t, "cni")]
	s.Networking.DNS = rapid.SampledFrom([]api.DNSMode{api.DNSNone, api.DNSPublic, api.DNSPrivate}).Draw(t, "dns")
	switch rapid.SampledFrom([]string{"none", "public", "internal"}).Draw(t, "load balancer") {
	case "none":
		s.API.LoadBalancer = nil
	case "internal":
		s.API.LoadBalancer.Type = api.LoadBalancerInternal
	}
	ranges := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 255), func(n int) string { return fmt.Sprintf("192.0.%d.9/24", n) }), 0, 4)
	s.API.Access = ranges.Draw(t, "api access")
	s.SSHAccess = ranges.Draw(t, "ssh access")
	s.NodePortAccess = ranges.Draw(t, "node port access")
	if rapid.Bool().Draw(t, "bastion") {
		m.Groups = append(m.Groups, group("bastions", api.RoleBastion, s.Networking.Subnets[0].Name))
	}
	if rapid.Bool().Draw(t, "no nodes") {
		m.Groups = slices.DeleteFunc(m.Groups, func(g *api.InstanceGroup) bool { return g.Spec.Role == api.RoleNode })
	}
	return m
}

func TestEveryCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawCluster(t)
		b, err := Build(m, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, a := range b.Firewall {
			if names[a.Name] {
				t.Fatalf("two intents are named %s", a.Name)
			}
			names[a.Name] = true
			checkIntent(t, m, b, a)
		}
		for _, p := range b.Pools {
			checkPool(t, b, p)
		}
		for _, r := range b.Records {
			if r.Endpoint != "" && b.Endpoint(r.Endpoint) == nil {
				t.Fatalf("%s points to the endpoint %s, which is not there", r.Name, r.Endpoint)
			}
			if e := b.Endpoint(r.Endpoint); r.Internal && e != nil && e.Public {
				t.Fatalf("machines would use %s in public", r.Name)
			}
		}
	})
}

func checkIntent(t *rapid.T, m *api.Manifest, b *Blueprint, a Allow) {
	fromWorld := a.From.Range != netip.Prefix{}
	if fromWorld && (a.Proto == protoAny || a.Proto == protoTCP && a.Ports != port(PortAPI) && a.Ports != port(PortSSH) && a.Ports != nodePorts) {
		t.Fatalf("%s opens more to a range than the spec can ask for", a.Name)
	}
	if fromWorld && a.To.Role == api.RoleControlPlane && m.Cluster.Spec.API.LoadBalancer != nil && a.Ports == port(PortAPI) {
		t.Fatalf("%s goes past the load balancer", a.Name)
	}
	if a.To == controlPlanes && a.From != controlPlanes && a.Ports[0] <= 2383 && 2379 <= a.Ports[1] {
		t.Fatalf("%s opens etcd", a.Name)
	}
	for _, p := range []Party{a.From, a.To} {
		if p.Endpoint != "" && b.Endpoint(p.Endpoint) == nil {
			t.Fatalf("%s: there is no endpoint %s", a.Name, p.Endpoint)
		}
		if p.Role != "" && !slices.ContainsFunc(b.Pools, func(q Pool) bool { return q.Role == p.Role }) {
			t.Fatalf("%s: no pool has the role %s", a.Name, p.Role)
		}
	}
}

func checkPool(t *rapid.T, b *Blueprint, p Pool) {
	data, err := UserData(p, Late{Bootstrap: []string{"10.0.0.1:3988"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 4096 {
		t.Fatalf("user data of %s has %d bytes", p.Name, len(data))
	}
	if p.Role == api.RoleBastion {
		return
	}
	i := slices.IndexFunc(b.Objects, func(o Object) bool { return o.Key == p.Pointer.Config })
	if i < 0 || nodeconfig.Digest(b.Objects[i].Content) != p.Pointer.ConfigSHA256 {
		t.Fatalf("%s points to %s, which is not there as said", p.Name, p.Pointer.Config)
	}
	if (p.Pointer.Store != "") != (p.Role == api.RoleControlPlane) {
		t.Fatalf("%s is a %s and is told of the store %q", p.Name, p.Role, p.Pointer.Store)
	}
}
