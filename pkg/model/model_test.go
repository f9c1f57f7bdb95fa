// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testUID = "6f1c2a9e-1111-4222-8333-444455556666"

func testOptions() Options {
	return Options{
		Store: "s3://example-store/clusters?region=us-east-1",
		Agent: map[string]nodeconfig.Asset{
			"amd64": {URL: "https://example.com/v1/nodeup-amd64", SHA256: strings.Repeat("a1", 32)},
			"arm64": {URL: "https://example.com/v1/nodeup-arm64", SHA256: strings.Repeat("b2", 32)},
		},
	}
}

// clusterOf returns a complete manifest with one control plane and one node group in
// each zone (a, b, c of us-east-1).
func clusterOf(name string, topology api.Topology, zones ...string) *api.Manifest {
	c := &api.Cluster{
		TypeMeta: api.TypeMeta{APIVersion: api.Version, Kind: api.KindCluster},
		Metadata: api.ObjectMeta{Name: name, UID: testUID},
		Spec: api.ClusterSpec{
			KubernetesVersion: "1.36.1",
			CloudProvider:     api.CloudProvider{AWS: &api.AWS{Region: "us-east-1"}},
			Networking: api.Networking{
				NetworkCIDR: "172.20.0.0/16", PodCIDR: "100.96.0.0/11", ServiceClusterIPRange: "100.64.0.0/13",
				Topology: topology, DNS: api.DNSNone, CNI: &api.CNI{Routes: &struct{}{}},
			},
			ClusterDNSDomain: "cluster.local",
			API:              api.APIAccess{LoadBalancer: &api.APILoadBalancer{Type: api.LoadBalancerPublic}},
		},
	}
	m := &api.Manifest{Cluster: c}
	main, events := api.EtcdCluster{Name: "main"}, api.EtcdCluster{Name: "events"}
	var workers []*api.InstanceGroup
	for i, letter := range zones {
		zone := "us-east-1" + letter
		kind := api.SubnetPublic
		if topology == api.TopologyPrivate {
			kind = api.SubnetPrivate
			c.Spec.Networking.Subnets = append(c.Spec.Networking.Subnets, api.Subnet{
				Name: "utility-" + zone, Zone: zone, Type: api.SubnetUtility, CIDR: fmt.Sprintf("172.20.%d.0/22", 4*i),
			})
		}
		c.Spec.Networking.Subnets = append(c.Spec.Networking.Subnets, api.Subnet{
			Name: zone, Zone: zone, Type: kind, CIDR: fmt.Sprintf("172.20.%d.0/19", 32*(i+1)),
		})
		m.Groups = append(m.Groups, group("control-plane-"+zone, api.RoleControlPlane, zone))
		workers = append(workers, group("nodes-"+zone, api.RoleNode, zone))
		for _, e := range []*api.EtcdCluster{&main, &events} {
			e.Members = append(e.Members, api.EtcdMember{
				Name: letter, InstanceGroup: "control-plane-" + zone, VolumeType: "gp3", VolumeSize: 20,
			})
		}
	}
	m.Groups = append(m.Groups, workers...)
	c.Spec.EtcdClusters = []api.EtcdCluster{main, events}
	m.SSHKeys = []*api.SSHPublicKey{{
		Metadata: api.ObjectMeta{Name: "admin"},
		Spec:     api.SSHPublicKeySpec{PublicKey: "ssh-ed25519 AAAAC3Nz admin@example.com\n"},
	}}
	return m
}

func group(name string, role api.Role, subnets ...string) *api.InstanceGroup {
	return &api.InstanceGroup{
		Metadata: api.ObjectMeta{Name: name},
		Spec: api.InstanceGroupSpec{
			Role: role, Subnets: subnets, MinSize: new(int32(1)), MaxSize: new(int32(1)),
			MachineType: "t3.medium", Image: "099720109477/ubuntu/images/*",
		},
	}
}

func minimal() *api.Manifest {
	m := clusterOf("mini.example.com", api.TopologyPublic, "a")
	m.Cluster.Spec.API = api.APIAccess{Access: []string{"203.0.113.0/24"}}
	m.Cluster.Spec.Networking.DNS = api.DNSPublic
	m.Cluster.Spec.DNSZone = "example.com."
	m.Cluster.Spec.SSHAccess = []string{"203.0.113.0/24", "203.0.113.7/24"}
	return m
}

func haPublic() *api.Manifest {
	m := clusterOf("demo.example.com", api.TopologyPublic, "a", "b", "c")
	m.Cluster.Spec.CloudLabels = map[string]string{"team": "platform", "stage": "test"}
	m.Groups[4].Spec.CloudLabels = map[string]string{"stage": "batch"}
	m.Groups[4].Spec.NodeLabels = map[string]string{"pool": "batch"}
	m.Groups[4].Spec.Taints = []string{"dedicated=batch:NoSchedule"}
	m.Groups[4].Spec.AdditionalUserData = []api.UserDataPart{{
		Name: "greet.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\necho \"${HOSTNAME}\" %{x} '\\'\n",
	}}
	return m
}

func haPrivate() *api.Manifest {
	m := clusterOf("inner.example.com", api.TopologyPrivate, "a", "b", "c")
	s := &m.Cluster.Spec
	s.Networking.DNS = api.DNSPublic
	s.DNSZone = "Z0123456789ABC"
	s.Networking.CNI = &api.CNI{Cilium: &struct{}{}}
	s.API.Access = []string{"198.51.100.0/24", "2001:db8::/32"}
	s.SSHAccess = []string{"198.51.100.0/24"}
	s.NodePortAccess = []string{"198.51.100.0/24"}
	s.Bastion = &api.Bastion{PublicName: "bastion.inner.example.com"}
	s.IAM = &api.IAM{AllowContainerRegistry: true}
	m.Groups = append(m.Groups, group("bastions", api.RoleBastion, "utility-us-east-1a", "utility-us-east-1b"))
	return m
}

func shared() *api.Manifest {
	m := clusterOf("shared.example.com", api.TopologyPrivate, "a")
	s := &m.Cluster.Spec
	s.Networking.NetworkID = "vpc-0123456789abcdef0"
	s.Networking.AdditionalNetworkCIDRs = []string{"10.9.0.0/16"}
	s.Networking.Subnets[0].ID = "subnet-0aaaaaaaaaaaaaaaa"
	s.Networking.Subnets[1].ID = "subnet-0bbbbbbbbbbbbbbbb"
	s.Networking.Subnets[1].Egress = "external"
	s.Networking.TagSubnets = new(false)
	s.Networking.DNS = api.DNSPrivate
	s.DNSZone = "corp.example.com"
	s.API = api.APIAccess{
		PublicName:     "api.shared.corp.example.com",
		AdditionalSANs: []string{"192.0.2.10", "api.shared.corp.example.com"},
		LoadBalancer:   &api.APILoadBalancer{Type: api.LoadBalancerInternal, CrossZone: new(true)},
	}
	s.SSHKeyName = "ops"
	s.ExternalPolicies = map[string][]string{"node": {"arn:aws:iam::123456789012:policy/audit"}}
	s.AdditionalPolicies = map[string]string{"controlPlane": "[]"}
	return m
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*api.Manifest{
		"minimal": minimal(), "ha-public": haPublic(), "ha-private": haPrivate(), "shared": shared(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := text(t, built(t, m))
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("blueprint differs; if that is right, run go test ./pkg/model -update\n%s", d)
			}
		})
	}
}

func TestBuildIsPure(t *testing.T) {
	t.Parallel()
	m := haPrivate()
	first := text(t, built(t, m))
	for range 20 {
		if again := text(t, built(t, m)); !bytes.Equal(first, again) {
			t.Fatal(cmp.Diff(string(first), string(again)))
		}
	}
	if d := cmp.Diff(haPrivate(), m); d != "" {
		t.Errorf("building changed the manifest:\n%s", d)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*api.Manifest)
		want   string
	}{
		"no network range":     {func(m *api.Manifest) { m.Cluster.Spec.Networking.NetworkCIDR = "" }, "network: spec.networking.networkCIDR[0]"},
		"no subnet range":      {func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[1].CIDR = "" }, "subnets[1].cidr"},
		"access is no range":   {func(m *api.Manifest) { m.Cluster.Spec.API.Access = []string{"home"} }, "spec.api.access[0]"},
		"unknown subnet":       {func(m *api.Manifest) { m.Groups[0].Spec.Subnets = []string{"x"} }, `no subnet "x"`},
		"unknown member group": {func(m *api.Manifest) { m.Cluster.Spec.EtcdClusters[0].Members[0].InstanceGroup = "x" }, `no group "x"`},
		"member in two zones":  {func(m *api.Manifest) { m.Groups[0].Spec.Subnets = []string{"us-east-1a", "us-east-1b"} }, "exactly one"},
		"two members, a group": {func(m *api.Manifest) {
			e := m.Cluster.Spec.EtcdClusters[1].Members
			e[1].InstanceGroup = e[0].InstanceGroup
		}, "a group of its own"},
		"no public subnet":      {func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[2].Type = api.SubnetPrivate }, "loadBalancer.type to internal"},
		"no control planes":     {func(m *api.Manifest) { m.Groups = m.Groups[3:] }, "no group has the role ControlPlane"},
		"no kubernetes version": {func(m *api.Manifest) { m.Cluster.Spec.KubernetesVersion = "" }, "kubernetesVersion is missing"},
		"no uid":                {func(m *api.Manifest) { m.Cluster.Metadata.UID = "" }, "uid is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := haPublic()
			c.change(m)
			_, err := Build(m, testOptions())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if _, err := Build(haPublic(), Options{}); err == nil || !strings.Contains(err.Error(), "state store") {
		t.Errorf("without a store: %v", err)
	}
	if _, err := Build(&api.Manifest{}, testOptions()); err == nil {
		t.Error("without a cluster: no error")
	}
}

func built(t *testing.T, m *api.Manifest) *Blueprint {
	t.Helper()
	b, err := Build(m, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text draws a blueprint as people read it: JSON, and after it each store object.
func text(t *testing.T, b *Blueprint) []byte {
	t.Helper()
	plain := *b
	plain.Objects = nil
	out, err := json.MarshalIndent(plain, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range b.Objects {
		out = fmt.Appendf(out, "\n-- %s --\n%s", o.Key, o.Content)
	}
	return out
}
