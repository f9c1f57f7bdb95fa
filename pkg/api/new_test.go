// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func groupNames(m *Manifest) string {
	var names []string
	for _, g := range m.Groups {
		names = append(names, g.Metadata.Name)
	}
	return strings.Join(names, " ")
}

func memberNames(m *Manifest) string {
	var names []string
	for _, e := range m.Cluster.Spec.EtcdClusters[0].Members {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

var abc = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// TestNewShapes: what groups and members come of zones and counts.
func TestNewShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		o               CreateOptions
		groups, members string
	}{
		{"one zone", CreateOptions{Zones: abc[:1]}, "control-plane-us-east-1a nodes-us-east-1a", "a"},
		{"two zones", CreateOptions{Zones: abc[:2]}, "control-plane-us-east-1a nodes-us-east-1a nodes-us-east-1b", "a"},
		{"three zones", CreateOptions{Zones: abc}, "control-plane-us-east-1a control-plane-us-east-1b control-plane-us-east-1c nodes-us-east-1a nodes-us-east-1b nodes-us-east-1c", "a b c"},
		{"five zones", CreateOptions{Zones: append(slices.Clone(abc), "us-east-1d", "us-east-1e")}, "control-plane-us-east-1a control-plane-us-east-1b control-plane-us-east-1c nodes-us-east-1a nodes-us-east-1b nodes-us-east-1c nodes-us-east-1d nodes-us-east-1e", "a b c"},
		{"three in one", CreateOptions{Zones: abc[:1], ControlPlaneCount: new(int32(3))}, "control-plane-us-east-1a-1 control-plane-us-east-1a-2 control-plane-us-east-1a-3 nodes-us-east-1a", "a-1 a-2 a-3"},
		{"three in two", CreateOptions{Zones: abc[:2], ControlPlaneCount: new(int32(3))}, "control-plane-us-east-1a-1 control-plane-us-east-1a-2 control-plane-us-east-1b nodes-us-east-1a nodes-us-east-1b", "a-1 a-2 b"},
		{"a zone of its own", CreateOptions{Zones: abc[:1], ControlPlaneZones: abc[1:2]}, "control-plane-us-east-1b nodes-us-east-1a", "b"},
		{"a zone several times", CreateOptions{Zones: abc[:1], ControlPlaneZones: []string{abc[0], abc[0], abc[1]}}, "control-plane-us-east-1a-1 control-plane-us-east-1a-2 control-plane-us-east-1b nodes-us-east-1a", "a-1 a-2 b"},
		{"local zone", CreateOptions{Zones: []string{"us-west-2-lax-1a"}}, "control-plane-us-west-2-lax-1a nodes-us-west-2-lax-1a", "lax-1a"},
		{"bastion", CreateOptions{Zones: abc[:1], Topology: TopologyPrivate, Bastion: true}, "control-plane-us-east-1a nodes-us-east-1a bastions", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Name = "demo.example.com"
			m, err := New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := groupNames(m); got != c.groups {
				t.Errorf("groups %s\nwant   %s", got, c.groups)
			}
			if got := memberNames(m); got != c.members {
				t.Errorf("members %s, want %s", got, c.members)
			}
			if err := Validate(m).Err(); err != nil {
				t.Error(err)
			}
			before, _ := Marshal(m)
			Complete(m)
			if after, _ := Marshal(m); string(before) != string(after) {
				t.Error("completing twice changes something: " + cmp.Diff(string(before), string(after)))
			}
		})
	}
}

func TestNewNodes(t *testing.T) {
	t.Parallel()
	m, err := New(CreateOptions{Name: "x.y", Zones: abc, NodeCount: new(int32(7))})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int32
	for _, g := range m.Groups[3:] {
		sizes = append(sizes, *g.Spec.MinSize)
	}
	if !slices.Equal(sizes, []int32{3, 2, 2}) {
		t.Errorf("7 nodes became %v", sizes)
	}
	for count, want := range map[int32]string{0: "t3.medium", 10: "t3.medium", 11: "m7i.large", 200: "m7i.xlarge", 5000: "m7i.4xlarge"} {
		m, err := New(CreateOptions{Name: "x.y", Zones: abc, NodeCount: &count})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Groups[0].Spec.MachineType; got != want {
			t.Errorf("%d nodes: control planes are %s, want %s", count, got, want)
		}
	}
}

// TestNewFlags: every option ends in the spec and the result is valid.
func TestNewFlags(t *testing.T) {
	t.Parallel()
	m, err := New(CreateOptions{
		Name: "demo.example.com", Cloud: "aws", Region: "us-east-1", Zones: abc,
		ControlPlaneSize: "m7i.large", NodeSize: "m7i.xlarge", BastionSize: "t3.nano",
		Image: "ami-0123456789abcdef0", NodeImage: "amazon/x", BastionImage: "self/y",
		ControlPlaneVolumeSize: 100, ControlPlaneVolumeType: "gp2", NodeVolumeSize: 200,
		ControlPlaneSecurityGroups: []string{"sg-01234567"}, NodeSecurityGroups: []string{"sg-12345678"},
		ControlPlaneTenancy: "dedicated", NodeTenancy: "host", Topology: TopologyPrivate, Networking: "cilium",
		NetworkID: "vpc-01234567", NetworkCIDR: "10.0.0.0/16",
		SubnetIDs: []string{"subnet-00000001", "subnet-00000002", "subnet-00000003"}, UtilitySubnetIDs: []string{"subnet-00000004", "subnet-00000005", "subnet-00000006"},
		KubernetesVersion: "v1.35.1", DNSZone: "example.com", AdminAccess: []string{"192.0.2.0/24", "pl-01234567"}, SSHAccess: []string{"192.0.2.1/32"},
		SSHPublicKey: goodKey + "\n", APILoadBalancer: "internal", APIPublicName: "k8s.example.com", Bastion: true,
		CloudLabels: map[string]string{"team": "a"}, EtcdClusters: []string{"main"}, EncryptEtcd: new(false), EtcdVolumeType: "gp2", AssociatePublicIP: new(false),
		Sets:   []string{"cluster.spec.nodePortAccess=10.0.0.0/8", "spec.api.additionalSANs=a.example.com,b.example.com"},
		Unsets: []string{"spec.api.additionalSANs[0]"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if faults := Validate(m); len(faults) != 0 {
		t.Error(faults)
	}
	s, group := m.Cluster.Spec, m.Groups[0].Spec
	for _, c := range []struct{ what, got, want string }{
		{"image", group.Image, "ami-0123456789abcdef0"},
		{"node image", m.Groups[3].Spec.Image, "amazon/x"},
		{"bastion image", m.Groups[6].Spec.Image, "self/y"},
		{"version", s.KubernetesVersion, "1.35.1"},
		{"dns", string(s.Networking.DNS), "public"},
		{"subnet", s.Networking.Subnets[4].ID, "subnet-00000005"},
		{"load balancer", string(s.API.LoadBalancer.Type), "internal"},
		{"sans", strings.Join(s.API.AdditionalSANs, ","), "b.example.com"},
		{"node ports", strings.Join(s.NodePortAccess, ","), "10.0.0.0/8"},
		{"etcd volume", s.EtcdClusters[0].Members[0].VolumeType, "gp2"},
		{"cni", s.Networking.CNI.name(), "cilium"},
		{"no range in an existing subnet", s.Networking.Subnets[0].CIDR, ""},
		{"bastion's subnets", strings.Join(m.Groups[6].Spec.Subnets, ","), "utility-us-east-1a,utility-us-east-1b,utility-us-east-1c"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	if group.RootVolume.Size != 100 || group.RootVolume.Type != "gp2" || m.Groups[3].Spec.RootVolume.Type != "gp3" || *s.EtcdClusters[0].Members[0].EncryptedVolume {
		t.Error("volumes are not as the flags say")
	}
}

func TestNewLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    CreateOptions
		want bool
	}{
		{CreateOptions{Zones: abc[:1]}, true}, // without DNS nobody finds the API otherwise
		{CreateOptions{Zones: abc, DNSZone: "example.com"}, true},
		{CreateOptions{Zones: abc[:1], DNSZone: "example.com"}, false},
		{CreateOptions{Zones: abc, DNSZone: "example.com", APILoadBalancer: "none"}, false},
	} {
		c.o.Name = "demo.example.com"
		m, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Cluster.Spec.API.LoadBalancer != nil; got != c.want || Validate(m).Err() != nil {
			t.Errorf("%+v: load balancer %t, %v", c.o, got, Validate(m))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    CreateOptions
		want string
	}{
		{CreateOptions{}, "--name: a cluster needs a name"},
		{CreateOptions{}, "--zones: give at least one zone"},
		{CreateOptions{Zones: []string{"us-central1-a"}}, "are zones of gce, which cannot be used yet; this release knows aws"},
		{CreateOptions{Zones: []string{"nyc3"}}, "are zones of digitalocean"},
		{CreateOptions{Zones: []string{"us-east-1"}}, `--zones: has the form of no cloud's zone; use one such as us-east-1a (is "us-east-1")`},
		{CreateOptions{Zones: []string{"us-east-1a", "nyc3"}}, "are of different clouds: us-east-1a of aws; nyc3 of digitalocean"},
		{CreateOptions{Zones: []string{"us-east-1a", "us-west-2a"}}, "all zones must be of one region; these are of us-east-1 (us-east-1a) and us-west-2 (us-west-2a)"},
		{CreateOptions{Zones: []string{"us-east-1a", "us-east-1a"}}, `--zones: stands twice (is "us-east-1a")`},
		{CreateOptions{Zones: abc, Cloud: "azure"}, "--cloud: is not a cloud that this release knows; it knows aws"},
		{CreateOptions{Zones: []string{"nyc3"}, Cloud: "aws"}, "--zones: is not a zone of aws"},
		{CreateOptions{Zones: abc, Region: "eu-west-1"}, "--region: the zones are of us-east-1"},
		{CreateOptions{Zones: abc, ControlPlaneCount: new(int32(2))}, "--control-plane-count: must be odd"},
		{CreateOptions{Zones: abc, ControlPlaneZones: abc[:2]}, "would make 2 control planes, an even number"},
		{CreateOptions{Zones: abc, ControlPlaneZones: abc, ControlPlaneCount: new(int32(1))}, "are 3 zones for 1 control planes"},
		{CreateOptions{Zones: abc, NodeCount: new(int32(-1))}, "--node-count: must not be negative"},
		{CreateOptions{Zones: abc, Networking: "cillium"}, "--networking: is unknown; did you mean cilium?"},
		{CreateOptions{Zones: abc, APILoadBalancer: "open"}, "--api-loadbalancer: must be public, internal or none"},
		{CreateOptions{Zones: abc, Bastion: true, Topology: TopologyPublic}, "--bastion: needs --topology private"},
		{CreateOptions{Zones: abc, SubnetIDs: []string{"subnet-1"}}, "--subnets: need --network-id"},
		{CreateOptions{Zones: abc, NetworkID: "vpc-1", SubnetIDs: []string{"subnet-1"}}, "--subnets: give one for each of the 3 zones, in their order: us-east-1a, us-east-1b, us-east-1c"},
		{CreateOptions{Zones: abc, EtcdClusters: []string{"main", "main"}}, "--etcd-clusters: stands twice"},
		{CreateOptions{Zones: abc, Sets: []string{"spec.kubernetesVerison=1.36.1"}}, "--set spec.kubernetesVerison: unknown field; did you mean kubernetesVersion?"},
		{CreateOptions{Zones: abc, Sets: []string{"x"}}, "--set: must be PATH=VALUE"},
	} {
		if c.o.Zones != nil {
			c.o.Name = "demo.example.com"
		}
		_, err := New(c.o)
		if got := faultsOf(t, err); !strings.Contains(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestComplete: a minimal manifest gets what a user expects, and what is set stays.
func TestComplete(t *testing.T) {
	t.Parallel()
	m := load(t, demo)
	Complete(m)
	if faults := Validate(m); len(faults) != 0 {
		t.Error(faults)
	}
	s := m.Cluster.Spec
	if s.Networking.Subnets[0].CIDR != "172.20.0.0/18" || s.Networking.Subnets[0].Type != SubnetPublic || s.CloudProvider.AWS.Region != "us-east-1" {
		t.Errorf("network: %+v", s.Networking)
	}
	if len(s.EtcdClusters) != 2 || s.EtcdClusters[1].Members[0].Name != "control-plane" || s.EtcdClusters[1].Members[0].VolumeSize != 20 {
		t.Errorf("etcd: %+v", s.EtcdClusters)
	}
	if g := m.Group("nodes"); g.Spec.Role != RoleNode || *g.Spec.MaxSize != 1 || g.Spec.RootVolume.Size != 128 || g.Metadata.Labels[ClusterLabel] != "demo.example.com" {
		t.Errorf("nodes: %+v", g.Spec)
	}
	shared := load(t, strings.Replace(demo, "  networking:", "  networking:\n    networkID: vpc-01234567", 1))
	Complete(shared)
	if n := shared.Cluster.Spec.Networking; n.NetworkCIDR != "" || n.Subnets[0].CIDR != "" {
		t.Error("ranges in an existing network are for the cloud to resolve")
	}
	Complete(&Manifest{})
}
