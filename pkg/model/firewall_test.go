// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// reaches asks the intents alone: may a packet pass?
func reaches(b *Blueprint, from, to Party, proto string, port int) bool {
	return slices.ContainsFunc(b.Firewall, func(a Allow) bool {
		return a.From == from && a.To == to && (a.Proto == protoAny || a.Proto == proto && a.Ports[0] <= port && port <= a.Ports[1])
	})
}

func everyCNI() map[string]*api.CNI {
	s := &struct{}{}
	return map[string]*api.CNI{
		"unset": nil, "routes": {Routes: s}, "flannel": {Flannel: s}, "cilium": {Cilium: s},
		"calico": {Calico: s}, "external": {External: s},
	}
}

func TestEtcdIsOutOfReach(t *testing.T) {
	t.Parallel()
	for name, cni := range everyCNI() {
		for clusterName, m := range map[string]*api.Manifest{"public": minimal(), "private": haPrivate(), "shared": shared()} {
			m.Cluster.Spec.Networking.CNI = cni
			b := built(t, m)
			for _, a := range b.Firewall {
				if a.To != controlPlanes || a.From == controlPlanes {
					continue
				}
				if a.Proto == protoAny {
					t.Errorf("%s, %s: %s opens everything", clusterName, name, a.Name)
				}
				for _, r := range [][2]int{{2379, 2383}, {4001, 4004}, {10257, 10259}} {
					if (a.Proto == protoTCP || a.Proto == protoUDP) && a.Ports[0] <= r[1] && r[0] <= a.Ports[1] {
						t.Errorf("%s, %s: %s covers %v", clusterName, name, a.Name, r)
					}
				}
			}
		}
	}
}

func TestReachability(t *testing.T) {
	t.Parallel()
	world := Party{Range: netip.MustParsePrefix("198.51.100.0/24")}
	apiLB, bastionLB := Party{Endpoint: EndpointAPI}, Party{Endpoint: EndpointBastion}
	type row struct {
		from, to Party
		open     string // all that is open, of the ports below
	}
	private := []row{
		{controlPlanes, controlPlanes, "22 53 179 443 2380 3988 4001 4240 10250 30000"},
		{controlPlanes, nodes, "22 53 179 443 2380 3988 4001 4240 10250 30000"},
		{nodes, nodes, "22 53 179 443 2380 3988 4001 4240 10250 30000"},
		{nodes, controlPlanes, "443 3988 4240 10250"},
		{nodes, bastions, ""},
		{controlPlanes, bastions, ""},
		{bastions, controlPlanes, "22"},
		{bastions, nodes, "22"},
		{bastions, apiLB, ""},
		{nodes, apiLB, "443 3988"},
		{controlPlanes, apiLB, "443"},
		{apiLB, controlPlanes, "443 3988"},
		{bastionLB, bastions, "22"},
		{world, apiLB, "443"},
		{world, bastionLB, "22"},
		{world, bastions, ""},
		{world, controlPlanes, ""},
		{world, nodes, "30000"},
	}
	public := []row{
		{nodes, controlPlanes, "53 443 3988 10250"},
		{world, controlPlanes, "22 443"},
		{world, nodes, "22"},
	}
	plain := minimal()
	plain.Cluster.Spec.API.Access = []string{"198.51.100.7/24"}
	plain.Cluster.Spec.SSHAccess = []string{"198.51.100.0/24"}
	for name, c := range map[string]struct {
		b    *Blueprint
		rows []row
	}{"private": {built(t, haPrivate()), private}, "public": {built(t, plain), public}} {
		for _, r := range c.rows {
			var open []string
			for _, p := range []int{22, 53, 179, 443, 2380, 3988, 4001, 4240, 10250, 30000} {
				if reaches(c.b, r.from, r.to, protoTCP, p) {
					open = append(open, fmt.Sprint(p))
				}
			}
			if got := strings.Join(open, " "); got != r.open {
				t.Errorf("%s: %s to %s: open are %q, want %q", name, partyName(r.from), partyName(r.to), got, r.open)
			}
		}
	}
}

func TestClosedByDefault(t *testing.T) {
	t.Parallel()
	for _, topology := range []api.Topology{api.TopologyPublic, api.TopologyPrivate} {
		for _, a := range built(t, clusterOf("demo.example.com", topology, "a", "b", "c")).Firewall {
			if a.From.Range != (netip.Prefix{}) {
				t.Errorf("%s: %s opens a range that nobody gave", topology, a.Name)
			}
		}
	}
}

func TestIntentNames(t *testing.T) {
	t.Parallel()
	for _, m := range []*api.Manifest{minimal(), haPublic(), haPrivate(), shared()} {
		seen := map[string]bool{}
		for _, a := range built(t, m).Firewall {
			if seen[a.Name] {
				t.Errorf("%s: two intents are named %s", m.Cluster.Metadata.Name, a.Name)
			}
			seen[a.Name] = true
			if a.Why == "" {
				t.Errorf("%s says no reason", a.Name)
			}
			if len(a.Name) > 100 || strings.Trim(a.Name, "abcdefghijklmnopqrstuvwxyz0123456789.:/-") != "" {
				t.Errorf("%q cannot be an ownership mark everywhere", a.Name)
			}
		}
	}
}

func TestOrderOfRangesDoesNotChangeNames(t *testing.T) {
	t.Parallel()
	names := func(access ...string) []string {
		m := haPublic()
		m.Cluster.Spec.API.Access = access
		var out []string
		for _, a := range built(t, m).Firewall {
			out = append(out, a.Name)
		}
		slices.Sort(out)
		return out
	}
	if a, b := names("192.0.2.0/24", "10.1.2.3/8"), names("10.0.0.0/8", "192.0.2.0/24", "10.0.0.0/8"); !slices.Equal(a, b) {
		t.Errorf("%v\n%v", a, b)
	}
}
