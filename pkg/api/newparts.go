// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
)

// cluster sets what the flags say of the cluster as a whole.
func (b *builder) cluster() {
	o, s := b.o, &b.m.Cluster.Spec
	s.KubernetesVersion = strings.TrimPrefix(o.KubernetesVersion, "v")
	s.CloudLabels = o.CloudLabels
	s.SSHAccess = o.SSHAccess
	s.DNSZone = o.DNSZone
	s.API.Access = o.AdminAccess
	s.API.PublicName = o.APIPublicName
	s.Networking.DNS = o.DNS
	if o.DNS == "" && o.DNSZone != "" {
		s.Networking.DNS = DNSPublic
	}
	switch o.APILoadBalancer {
	case "":
	case "none":
		s.API.DNS = &struct{}{}
	case string(LoadBalancerPublic), string(LoadBalancerInternal):
		s.API.LoadBalancer = &APILoadBalancer{Type: LoadBalancerType(o.APILoadBalancer)}
	default:
		b.fault("--api-loadbalancer", o.APILoadBalancer, "must be public, internal or none")
	}
	choice := &struct{}{}
	switch o.Networking {
	case "":
	case "routes":
		s.Networking.CNI = &CNI{Routes: choice}
	case "flannel":
		s.Networking.CNI = &CNI{Flannel: choice}
	case "cilium":
		s.Networking.CNI = &CNI{Cilium: choice}
	case "calico":
		s.Networking.CNI = &CNI{Calico: choice}
	case "external", "cni":
		s.Networking.CNI = &CNI{External: choice}
	default:
		b.fault("--networking", o.Networking, "is unknown%s", didYouMean(o.Networking, []string{"routes", "flannel", "cilium", "calico", "external"}))
	}
}

// network makes one subnet per zone and, with private topology, one for utility.
func (b *builder) network() {
	o, n := b.o, &b.m.Cluster.Spec.Networking
	n.NetworkCIDR, n.NetworkID, n.Topology = o.NetworkCIDR, o.NetworkID, o.Topology
	if n.Topology == "" {
		n.Topology = TopologyPublic
		if o.Bastion || len(o.UtilitySubnetIDs) > 0 {
			n.Topology = TopologyPrivate
		}
	}
	zones := slices.Clone(o.Zones)
	for _, z := range o.ControlPlaneZones {
		if !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
	}
	ids := b.perZone("--subnets", o.SubnetIDs, zones)
	utility := b.perZone("--utility-subnets", o.UtilitySubnetIDs, zones)
	if n.Topology != TopologyPrivate && len(o.UtilitySubnetIDs) > 0 {
		b.fault("--utility-subnets", "", "need --topology private")
	}
	kind := SubnetPublic
	if n.Topology == TopologyPrivate {
		kind = SubnetPrivate
	}
	for i, z := range zones {
		n.Subnets = append(n.Subnets, Subnet{Name: z, Zone: z, Type: kind, ID: ids[i]})
	}
	if kind == SubnetPrivate {
		for i, z := range zones {
			n.Subnets = append(n.Subnets, Subnet{Name: utilityPrefix + z, Zone: z, Type: SubnetUtility, ID: utility[i]})
		}
	}
}

// perZone pairs ids with zones; without ids all are empty.
func (b *builder) perZone(flag string, ids, zones []string) []string {
	if len(ids) == 0 {
		return make([]string, len(zones))
	}
	if b.o.NetworkID == "" {
		b.fault(flag, strings.Join(ids, ","), "need --network-id, the network that they are in")
	}
	if len(ids) != len(zones) {
		b.fault(flag, strings.Join(ids, ","), "give one for each of the %d zones, in their order: %s", len(zones), strings.Join(zones, ", "))
		return make([]string, len(zones))
	}
	return ids
}

// group adds an instance group of a fixed size.
func (b *builder) group(name string, role Role, size int32, subnets ...string) *InstanceGroup {
	g := &InstanceGroup{
		TypeMeta: TypeMeta{Version, KindInstanceGroup},
		Metadata: ObjectMeta{Name: name},
		Spec:     InstanceGroupSpec{Role: role, Subnets: subnets, MinSize: new(size), MaxSize: new(size), Image: b.o.Image},
	}
	b.m.Groups = append(b.m.Groups, g)
	return g
}

func (b *builder) controlPlaneGroups(counts []zoneCount) {
	o := b.o
	for _, c := range counts {
		for i := range c.count {
			name := controlPlanePrefix + c.zone
			if c.count > 1 {
				name = fmt.Sprintf("%s-%d", name, i+1)
			}
			s := &b.group(name, RoleControlPlane, 1, c.zone).Spec
			s.MachineType, s.Tenancy = o.ControlPlaneSize, o.ControlPlaneTenancy
			s.SecurityGroups, s.AssociatePublicIP = slices.Clone(o.ControlPlaneSecurityGroups), o.AssociatePublicIP
			s.RootVolume = rootVolume(o.ControlPlaneVolumeSize, o.ControlPlaneVolumeType)
			if o.ControlPlaneImage != "" {
				s.Image = o.ControlPlaneImage
			}
		}
	}
}

func (b *builder) nodeGroups() {
	o := b.o
	for i, z := range o.Zones {
		s := &b.group(nodesPrefix+z, RoleNode, b.perNG[i], z).Spec
		s.MachineType, s.Tenancy = o.NodeSize, o.NodeTenancy
		s.SecurityGroups, s.AssociatePublicIP = slices.Clone(o.NodeSecurityGroups), o.AssociatePublicIP
		s.RootVolume = rootVolume(o.NodeVolumeSize, o.NodeVolumeType)
		if o.NodeImage != "" {
			s.Image = o.NodeImage
		}
	}
}

func rootVolume(size int32, kind string) *RootVolume {
	if size == 0 && kind == "" {
		return nil
	}
	return &RootVolume{Size: size, Type: kind}
}

// bastion adds a way in where machines have no public addresses.
func (b *builder) bastion() {
	if !b.o.Bastion {
		return
	}
	if b.m.Cluster.Spec.Networking.Topology != TopologyPrivate {
		b.fault("--bastion", "", "needs --topology private; with public topology machines have addresses of their own")
		return
	}
	var subnets []string
	for _, s := range b.m.Cluster.Spec.Networking.Subnets {
		if s.Type == SubnetUtility && slices.Contains(b.o.Zones, s.Zone) {
			subnets = append(subnets, s.Name)
		}
	}
	b.m.Cluster.Spec.Bastion = &Bastion{}
	s := &b.group(bastionGroup, RoleBastion, 1, subnets...).Spec
	s.MachineType = b.o.BastionSize
	if b.o.BastionImage != "" {
		s.Image = b.o.BastionImage
	}
}

// etcd names the etcd clusters; their members follow from the groups.
func (b *builder) etcd() {
	o := b.o
	if twice := duplicate(o.EtcdClusters); twice != "" {
		b.fault("--etcd-clusters", twice, "stands twice")
		return
	}
	names := o.EtcdClusters
	if len(names) == 0 {
		names = []string{"main", "events"}
	}
	for _, name := range names {
		members := defaultMembers(b.m, b.facts)
		for i := range members {
			members[i].VolumeType, members[i].EncryptedVolume = o.EtcdVolumeType, o.EncryptEtcd
		}
		b.m.Cluster.Spec.EtcdClusters = append(b.m.Cluster.Spec.EtcdClusters, EtcdCluster{Name: name, Members: members})
	}
}

func (b *builder) sshKey() {
	if b.o.SSHPublicKey == "" {
		return
	}
	b.m.SSHKeys = append(b.m.SSHKeys, &SSHPublicKey{
		TypeMeta: TypeMeta{Version, KindSSHPublicKey},
		Metadata: ObjectMeta{Name: sshKeyName},
		Spec:     SSHPublicKeySpec{PublicKey: strings.TrimSpace(b.o.SSHPublicKey)},
	})
}
