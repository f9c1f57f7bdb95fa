// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strings"
	"testing"
)

func TestValidateChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(m *Manifest)
		want   string // "" for none
	}{
		{"nothing", func(*Manifest) {}, ""},
		{"more access", func(m *Manifest) { m.Cluster.Spec.API.Access = []string{"0.0.0.0/0"} }, ""},
		{"name", func(m *Manifest) { m.Cluster.Metadata.Name = "x.y" }, `metadata.name: was "demo.example.com" and is fixed for a cluster's life; to change it create another cluster`},
		{"uid", func(m *Manifest) { m.Cluster.Metadata.UID = "v" }, "metadata.uid: was \"u\" and marks what the cluster owns"},
		{"region", func(m *Manifest) { m.Cluster.Spec.CloudProvider.AWS.Region = "us-east-2" }, "spec.cloudProvider.aws.region: was"},
		{"cloud", func(m *Manifest) { m.Cluster.Spec.CloudProvider.AWS = nil }, "spec.cloudProvider: was aws"},
		{"network", func(m *Manifest) { m.Cluster.Spec.Networking.NetworkID = "vpc-01234567" }, "spec.networking.networkID: was not set"},
		{"network range", func(m *Manifest) { m.Cluster.Spec.Networking.NetworkCIDR = "10.0.0.0/16" }, "more addresses come with spec.networking.additionalNetworkCIDRs"},
		{"pods", func(m *Manifest) { m.Cluster.Spec.Networking.PodCIDR = "10.0.0.0/16" }, "spec.networking.podCIDR: was"},
		{"services", func(m *Manifest) { m.Cluster.Spec.Networking.ServiceClusterIPRange = "101.64.0.0/13" }, `spec.networking.serviceClusterIPRange: was "100.64.0.0/13" and is fixed for a cluster's life`},
		{"cni", func(m *Manifest) { m.Cluster.Spec.Networking.CNI = &CNI{Cilium: &struct{}{}} }, `spec.networking.cni: was "routes"`},
		{"domain", func(m *Manifest) { m.Cluster.Spec.ClusterDNSDomain = "x.y" }, "spec.clusterDNSDomain: was"},
		{"subnet range", func(m *Manifest) { m.Cluster.Spec.Networking.Subnets[1].CIDR = "172.20.64.0/19" }, "spec.networking.subnets[1].cidr: was \"172.20.64.0/18\" and is fixed for a subnet's life; add a subnet of another name"},
		{"subnet zone", func(m *Manifest) { m.Cluster.Spec.Networking.Subnets[1].Zone = "us-east-1d" }, "spec.networking.subnets[1].zone: was"},
		{"subnet id", func(m *Manifest) { m.Cluster.Spec.Networking.Subnets[1].ID = "subnet-01234567" }, "subnets[1].id: was not set"},
		{"subnet type", func(m *Manifest) { m.Cluster.Spec.Networking.Subnets[1].Type = SubnetPublic }, "subnets[1].type: was \"private\""},
		{"new subnet", func(m *Manifest) {
			n := &m.Cluster.Spec.Networking
			n.Subnets = slices.Insert(n.Subnets, 0, Subnet{Name: "new", Zone: "us-east-1a", Type: SubnetPrivate})
		}, ""},
		{"a minor up", func(m *Manifest) { m.Cluster.Spec.KubernetesVersion = "1.36.1" }, ""},
		{"two minors up", func(m *Manifest) { m.Cluster.Spec.KubernetesVersion = "1.37.0" }, "go one minor at a time, next to 1.36"},
		{"a minor down", func(m *Manifest) { m.Cluster.Spec.KubernetesVersion = "1.34.1" }, "a control plane cannot go back a minor"},
		{"a patch down", func(m *Manifest) { m.Cluster.Spec.KubernetesVersion = "1.35.0" }, "is an older patch than 1.35.1"},
		{"role", func(m *Manifest) { m.Group(ng).Spec.Role = RoleBastion }, "instancegroup/" + ng + " spec.role: was \"Node\""},
		{"group's zone", func(m *Manifest) { m.Group(cp).Spec.Subnets = []string{"us-east-1b"} }, "instancegroup/" + cp + " spec.subnets: is in zone us-east-1b and the group's etcd volumes are in us-east-1a"},
		{"member's zone", func(m *Manifest) {
			m.Cluster.Spec.EtcdClusters[0].Members[0].InstanceGroup = "control-plane-us-east-1b"
		}, "etcdMembers[0].instanceGroup: is in zone us-east-1b, the member was in us-east-1a"},
		{"smaller volume", func(m *Manifest) { m.Cluster.Spec.EtcdClusters[0].Members[0].VolumeSize = 10 }, "volumeSize: was 20: a volume can grow and not shrink"},
		{"encryption", func(m *Manifest) { m.Cluster.Spec.EtcdClusters[0].Members[0].EncryptedVolume = new(false) }, "encryptedVolume: was true"},
		{"key", func(m *Manifest) { m.Cluster.Spec.EtcdClusters[0].Members[0].KMSKeyID = "k" }, "kmsKeyID: was not set"},
		{"no events", func(m *Manifest) { m.Cluster.Spec.EtcdClusters = m.Cluster.Spec.EtcdClusters[:1] }, "spec.etcdClusters: was removed, and its data with it"},
		{"grow by two", members("a", "b", "c", "d", "e"), ""},
		{"grow by four", members("a", "b", "c", "d", "e", "f", "g"), "4 members come and 0 go: grow or shrink by two at a time"},
		{"shrink by two", members("a"), ""},
		{"replace one", members("a", "b", "d"), ""},
		{"replace two", members("a", "d", "e"), "2 members go and 2 come: replace at most 1 at once"},
		{"replace and grow", members("a", "b", "d", "e", "f"), "1 members go and 3 come"},
		{"replace all", members("d", "e", "f"), "3 members go and 3 come"},
		{"none", members(), "0 members come and 3 go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			old, m := example(t), example(t)
			for _, each := range []*Manifest{old, m} {
				each.Cluster.Metadata.UID, each.Cluster.Spec.KubernetesVersion = "u", "1.35.1"
			}
			c.change(m)
			faults := ValidateChange(old, m)
			got := (&InvalidError{Faults: faults}).Error()
			if c.want == "" && len(faults) > 0 || !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// members makes the members of etcd cluster main be these.
func members(names ...string) func(*Manifest) {
	return func(m *Manifest) {
		e := &m.Cluster.Spec.EtcdClusters[0]
		was := slices.Clone(e.Members)
		e.Members = nil
		for _, name := range names {
			member := EtcdMember{Name: name, InstanceGroup: "control-plane-" + name, VolumeSize: 20, EncryptedVolume: new(true)}
			for _, w := range was {
				if w.Name == name {
					member = w
				}
			}
			e.Members = append(e.Members, member)
		}
	}
}
