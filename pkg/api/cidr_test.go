// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// wants are the subnets of so many zones, named from the first on.
func wants(zones int, private bool) []Want {
	var out []Want
	for i := range zones {
		kind := SubnetPublic
		if private {
			kind = SubnetPrivate
		}
		out = append(out, Want{Name: fmt.Sprintf("zone-%d", i), Kind: kind})
	}
	for i := range zones {
		if private {
			out = append(out, Want{Name: fmt.Sprintf("utility-zone-%d", i), Kind: SubnetUtility})
		}
	}
	return out
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		network []string
		taken   []string
		zones   int
		private bool
		want    string // or the error
	}{
		{"three public zones", []string{"172.20.0.0/16"}, nil, 3, false, "172.20.0.0/18, 172.20.64.0/18, 172.20.128.0/18"},
		{"one zone leaves room", []string{"172.20.0.0/16"}, nil, 1, false, "172.20.0.0/18"},
		{"three private zones", []string{"172.20.0.0/16"}, nil, 3, true, "172.20.0.0/18, 172.20.64.0/18, 172.20.128.0/18, 172.20.192.0/21, 172.20.200.0/21, 172.20.208.0/21"},
		{"six zones", []string{"10.0.0.0/16"}, nil, 6, false, "10.0.0.0/19, 10.0.32.0/19, 10.0.64.0/19, 10.0.96.0/19, 10.0.128.0/19, 10.0.160.0/19"},
		{"gaps of an existing network", []string{"172.31.0.0/16"}, []string{"172.31.0.0/20", "172.31.16.0/20", "172.31.32.0/20"}, 3, true,
			"172.31.64.0/19, 172.31.96.0/19, 172.31.128.0/19, 172.31.48.0/22, 172.31.52.0/22, 172.31.56.0/22"},
		{"two private zones in a /24", []string{"10.0.0.0/24"}, nil, 2, true, "10.0.0.0/26, 10.0.0.64/26, 10.0.0.128/28, 10.0.0.144/28"},
		{"additional range", []string{"10.0.0.0/24", "10.1.0.0/16"}, []string{"10.0.0.0/24"}, 1, false, "10.1.0.0/18"},
		{"full", []string{"10.0.0.0/24"}, []string{"10.0.0.0/25", "10.0.0.128/25"}, 1, false, "no free /28 for zone-0 in 10.0.0.0/24, where 10.0.0.0/25, 10.0.0.128/25 are taken"},
		{"too many", []string{"10.0.0.0/28"}, nil, 2, false, "no free /28 for zone-1 in 10.0.0.0/28"},
		{"no network", nil, nil, 1, false, "no network range is known"},
		{"IPv6", []string{"fd00::/48"}, nil, 1, false, "only IPv4 networks are cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Allocate(prefixes(c.network...), prefixes(c.taken...), wants(c.zones, c.private))
			if text := list(got); err == nil && text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
	if got, err := Allocate(prefixes("10.0.0.0/16"), nil, []Want{{Name: "a", Bits: 24}, {Name: "b", Bits: 20}}); err != nil || list(got) != "10.0.16.0/24, 10.0.0.0/20" {
		t.Errorf("given sizes: %s, %v", list(got), err)
	}
}

// TestAllocateProperties: inside, disjoint, aligned, deterministic, never smaller than
// the floor, and a failure only when the smallest size does not fit either.
func TestAllocateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		network := []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr("10.0.0.0"), rapid.IntRange(8, 28).Draw(t, "bits"))}
		var taken []netip.Prefix
		for range rapid.IntRange(0, 6).Draw(t, "taken") {
			a := rapid.Uint32Range(0, 1<<20).Draw(t, "at")
			taken = append(taken, netip.PrefixFrom(addr4(10<<24|uint64(a)), rapid.IntRange(16, 30).Draw(t, "size")).Masked())
		}
		want := wants(rapid.IntRange(1, 7).Draw(t, "zones"), rapid.Bool().Draw(t, "private"))
		got, err := Allocate(network, taken, want)
		again, err2 := Allocate(network, taken, want)
		if !slices.Equal(got, again) || (err == nil) != (err2 == nil) {
			t.Fatal("two runs differ")
		}
		if err != nil {
			return
		}
		for i, p := range got {
			if p != p.Masked() || p.Bits() > floorBits || p.Bits() < network[0].Bits() || !network[0].Contains(p.Addr()) {
				t.Fatalf("%s is not an aligned range in %s", p, network[0])
			}
			for _, o := range append(slices.Clone(taken), got[:i]...) {
				if p.Overlaps(o) {
					t.Fatalf("%s overlaps %s", p, o)
				}
			}
		}
	})
}

// TestAddZone: the ranges of a cluster stay when a zone is added, and there is room
// for at least one more in the default network.
func TestAddZone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := &Networking{NetworkCIDR: "172.20.0.0/16"}
		private := rapid.Bool().Draw(t, "private")
		zones := rapid.IntRange(1, 6).Draw(t, "zones")
		grow := func(count int) {
			for _, w := range wants(count, private) {
				if !slices.ContainsFunc(n.Subnets, func(s Subnet) bool { return s.Name == w.Name }) {
					n.Subnets = append(n.Subnets, Subnet{Name: w.Name, Type: w.Kind})
				}
			}
		}
		grow(zones)
		completeNetworking(n)
		before := slices.Clone(n.Subnets)
		grow(zones + 1)
		completeNetworking(n)
		if !slices.Equal(before, n.Subnets[:len(before)]) {
			t.Fatal("ranges moved")
		}
		for _, s := range n.Subnets {
			if s.CIDR == "" {
				t.Fatalf("no room for %s", s.Name)
			}
			if p := netip.MustParsePrefix(s.CIDR); s.Type != SubnetUtility && p.Bits() > 22 {
				t.Fatalf("%s gets only %s", s.Name, p)
			}
		}
	})
}

func FuzzCIDR(f *testing.F) {
	f.Add("10.0.0.0/16", "10.0.0.0/20", 3)
	f.Add("0.0.0.0/0", "::/0", 2)
	f.Add("255.255.255.255/32", "", 1)
	f.Fuzz(func(t *testing.T, network, taken string, zones int) {
		m := &Manifest{Cluster: &Cluster{Spec: ClusterSpec{Networking: Networking{NetworkCIDR: network, Topology: TopologyPrivate, Subnets: []Subnet{{Name: "x", CIDR: taken}}}}}}
		for i := range min(max(zones, 0), 20) {
			m.Cluster.Spec.Networking.Subnets = append(m.Cluster.Spec.Networking.Subnets, Subnet{Name: fmt.Sprint("s", i)})
		}
		Complete(m)
		_ = Validate(m)
	})
}
