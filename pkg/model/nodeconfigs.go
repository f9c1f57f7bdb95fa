// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// nodeConfigs writes what the machines of each pool read, as store objects named by
// their content, and points the pools' user data to them. A bastion reads nothing.
func nodeConfigs(in input, b *Blueprint) error {
	for i := range b.Pools {
		p := &b.Pools[i]
		if p.Role == api.RoleBastion {
			continue
		}
		data, err := nodeconfig.Marshal(nodeConfig(in, b, p))
		if err != nil {
			return err
		}
		digest := nodeconfig.Digest(data)
		key := nodeconfig.Key(p.Name, digest)
		b.Objects = append(b.Objects, Object{Key: key, Content: data})
		p.Pointer = &nodeconfig.Pointer{
			Version: nodeconfig.Version, Cluster: b.Name, UID: b.UID, Group: p.Name, Role: string(p.Role),
			Config: key, ConfigSHA256: digest, Agent: in.options.Agent,
		}
		if err := reachStore(in, b, p); err != nil {
			return err
		}
	}
	slices.SortFunc(b.Objects, func(x, y Object) int { return cmp.Compare(x.Key, y.Key) })
	return nil
}

// reachStore tells a machine where to begin. Control planes read the store; the others
// ask the bootstrap server, by the internal name when DNS has one, or else at addresses
// that only apply can tell.
func reachStore(in input, b *Blueprint, p *Pool) error {
	if p.Role == api.RoleControlPlane {
		if b.Store == "" {
			return fmt.Errorf("group %s: control planes need the URL of the state store", p.Name)
		}
		p.Pointer.Store = b.Store
		return nil
	}
	name := internalName(in)
	if slices.ContainsFunc(b.Records, func(r Record) bool { return r.Name == name }) {
		p.Pointer.Bootstrap = []string{net.JoinHostPort(name, strconv.Itoa(PortBootstrap))}
	}
	return nil
}

func nodeConfig(in input, b *Blueprint, p *Pool) *nodeconfig.Config {
	n := in.spec.Networking
	c := &nodeconfig.Config{
		Version: nodeconfig.Version, Cluster: b.Name, UID: b.UID, Group: p.Name, Role: string(p.Role),
		KubernetesVersion: cmp.Or(p.Group.Spec.KubernetesVersion, in.spec.KubernetesVersion),
		Networking: nodeconfig.Networking{
			NetworkCIDR: b.Network.Ranges[0].String(),
			PodCIDR:     n.PodCIDR, ServiceCIDR: n.ServiceClusterIPRange,
			DNSDomain: cmp.Or(in.spec.ClusterDNSDomain, "cluster.local"),
			CNI:       cniName(n.CNI),
		},
		NodeLabels: p.NodeLabels, Taints: p.Taints,
	}
	if p.Role != api.RoleControlPlane {
		return c
	}
	for _, v := range b.Volumes {
		if v.Pool == p.Name {
			c.Etcd = append(c.Etcd, nodeconfig.EtcdMember{
				Cluster: v.Etcd, Member: v.Member, Members: v.Members, Version: etcdVersion(in, v.Etcd),
			})
		}
	}
	c.APIServer = &nodeconfig.APIServer{InternalName: internalName(in), SANs: serverNames(in)}
	return c
}

// etcdVersion is the version that the spec asks for of an etcd cluster, "" for none.
func etcdVersion(in input, name string) string {
	for _, e := range in.spec.EtcdClusters {
		if e.Name == name {
			return e.Version
		}
	}
	return ""
}

// serverNames lists the names and addresses that the API's certificate carries besides
// the internal name and the machine's own, each once.
func serverNames(in input) []string {
	var out []string
	for _, name := range append([]string{publicName(in)}, in.spec.API.AdditionalSANs...) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func cniName(c *api.CNI) string {
	switch {
	case c == nil || c.Routes != nil:
		return "routes"
	case c.Flannel != nil:
		return "flannel"
	case c.Cilium != nil:
		return "cilium"
	case c.Calico != nil:
		return "calico"
	default:
		return "external"
	}
}
