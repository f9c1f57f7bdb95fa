// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// Protocols of firewall intents.
const (
	protoAny    = "any"
	protoTCP    = "tcp"
	protoUDP    = "udp"
	protoICMP   = "icmp"
	protoICMPv6 = "icmpv6"
	protoIPIP   = "ipip"
)

var (
	// pathMTU is ICMP "fragmentation needed" and pathMTUv6 ICMPv6 "packet too big":
	// without them large packets vanish.
	pathMTU   = [2]int{3, 4}
	pathMTUv6 = [2]int{2, 0}
	echo      = [2]int{8, 0} // ICMP echo request
	nodePorts = [2]int{30000, 32767}
	allPorts  = [2]int{}
)

var (
	controlPlanes = Party{Role: api.RoleControlPlane}
	nodes         = Party{Role: api.RoleNode}
	bastions      = Party{Role: api.RoleBastion}
)

// firewall says who may reach whom. Control planes and nodes trust their own kind;
// nodes reach control planes on a short list of ports that etcd is not on; the world
// reaches what the spec's ranges open and nothing else.
func firewall(in input, b *Blueprint) error {
	b.allow(controlPlanes, controlPlanes, protoAny, allPorts, "etcd members, API servers and controllers reach each other")
	if len(in.groups(api.RoleNode)) > 0 {
		b.allow(controlPlanes, nodes, protoAny, allPorts, "kubelets, webhooks and aggregated APIs are called by API servers")
		b.allow(nodes, nodes, protoAny, allPorts, "pods reach pods, whatever the pod network")
		nodesToControlPlanes(in, b)
	}
	throughEndpoints(in, b)
	fromBastions(in, b)
	return fromRanges(in, b)
}

// nodesToControlPlanes is a list of what is needed, not "all but etcd": an etcd port that
// moves stays closed.
func nodesToControlPlanes(in input, b *Blueprint) {
	b.allow(nodes, controlPlanes, protoTCP, port(PortAPI), "kubelets and pods use the API")
	b.allow(nodes, controlPlanes, protoTCP, port(PortBootstrap), "new nodes ask for their certificate and config")
	b.allow(nodes, controlPlanes, protoTCP, port(10250), "metrics-server on a node reads the control planes' kubelets, which authenticate every call")
	b.allow(nodes, controlPlanes, protoICMP, pathMTU, "path MTU discovery")

	cni := in.spec.Networking.CNI
	switch {
	case cni == nil || cni.Routes != nil:
		dnsPods(b)
	case cni.Flannel != nil:
		b.allow(nodes, controlPlanes, protoUDP, port(8472), "flannel's vxlan carries pod traffic")
	case cni.Cilium != nil:
		b.allow(nodes, controlPlanes, protoUDP, port(8472), "Cilium's vxlan carries pod traffic")
		b.allow(nodes, controlPlanes, protoTCP, port(4240), "Cilium's agents check each other's health")
		b.allow(nodes, controlPlanes, protoTCP, port(4244), "Hubble's relay reads the flows of every agent")
		b.allow(nodes, controlPlanes, protoICMP, echo, "Cilium's agents check each other's health")
	case cni.Calico != nil:
		b.allow(nodes, controlPlanes, protoIPIP, allPorts, "Calico's IP-in-IP carries pod traffic")
		b.allow(nodes, controlPlanes, protoUDP, port(4789), "Calico's vxlan carries pod traffic")
		b.allow(nodes, controlPlanes, protoTCP, port(179), "Calico's BGP sessions exchange pod routes")
		b.allow(nodes, controlPlanes, protoTCP, port(5473), "Calico's agents read from Typha, which may run on a control plane")
	default:
		dnsPods(b)
		b.allow(nodes, controlPlanes, protoUDP, port(4789), "vxlan on its registered port, for the pod network you bring")
		b.allow(nodes, controlPlanes, protoUDP, port(6081), "geneve, for the pod network you bring")
		b.allow(nodes, controlPlanes, protoUDP, port(8472), "vxlan on Linux's port, for the pod network you bring")
	}
}

// dnsPods opens DNS where pod traffic is not encapsulated, so that the firewall sees the
// pod's own port.
func dnsPods(b *Blueprint) {
	for _, proto := range []string{protoUDP, protoTCP} {
		b.allow(nodes, controlPlanes, proto, port(53), "cluster DNS may run on a control plane")
	}
}

// throughEndpoints lets machines reach the API's load balancer, and load balancers the
// machines behind them. The bootstrap port opens to nodes alone: on a public load
// balancer that keeps it closed to the world.
func throughEndpoints(in input, b *Blueprint) {
	for _, e := range b.Endpoints {
		at, behind := Party{Endpoint: e.Name}, Party{Role: e.To}
		if e.Name == EndpointAPI {
			if len(in.groups(api.RoleNode)) > 0 {
				b.allow(nodes, at, protoTCP, port(PortAPI), "kubelets and pods use the API")
				b.allow(nodes, at, protoTCP, port(PortBootstrap), "new nodes ask for their certificate and config")
			}
			b.allow(controlPlanes, at, protoTCP, port(PortAPI), "pods on control planes may use the API's public name")
		}
		for _, l := range e.Listeners {
			b.allow(at, behind, protoTCP, port(l.Target), "the load balancer forwards "+l.Name+" and checks its health")
		}
		b.allow(at, behind, protoICMP, pathMTU, "path MTU discovery")
	}
}

func fromBastions(in input, b *Blueprint) {
	if len(in.groups(api.RoleBastion)) == 0 {
		return
	}
	b.allow(bastions, controlPlanes, protoTCP, port(PortSSH), "SSH through the bastion")
	if len(in.groups(api.RoleNode)) > 0 {
		b.allow(bastions, nodes, protoTCP, port(PortSSH), "SSH through the bastion")
	}
}

// fromRanges opens what the spec's lists of ranges name; an empty list opens nothing.
func fromRanges(in input, b *Blueprint) error {
	hasNodes, hasBastions := len(in.groups(api.RoleNode)) > 0, len(in.groups(api.RoleBastion)) > 0

	toAPI := controlPlanes
	if b.Endpoint(EndpointAPI) != nil {
		toAPI = Party{Endpoint: EndpointAPI}
	}
	toSSH := []Party{controlPlanes}
	switch {
	case b.Endpoint(EndpointBastion) != nil:
		toSSH = []Party{{Endpoint: EndpointBastion}}
	case hasBastions:
		toSSH = []Party{bastions}
	case hasNodes:
		toSSH = append(toSSH, nodes)
	}
	var toNodePorts []Party
	if hasNodes {
		toNodePorts = []Party{nodes}
	}
	for _, o := range []struct {
		path   string
		cidrs  []string
		to     []Party
		protos []string
		ports  [2]int
		why    string
	}{
		{"spec.api.access", in.spec.API.Access, []Party{toAPI}, []string{protoTCP}, port(PortAPI), "api.access opens the API"},
		{"spec.sshAccess", in.spec.SSHAccess, toSSH, []string{protoTCP}, port(PortSSH), "sshAccess opens SSH"},
		{"spec.nodePortAccess", in.spec.NodePortAccess, toNodePorts, []string{protoTCP, protoUDP}, nodePorts, "nodePortAccess opens node ports"},
	} {
		ranges, err := prefixes(o.path, o.cidrs)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			for _, to := range o.to {
				for _, proto := range o.protos {
					b.allow(Party{Range: r}, to, proto, o.ports, o.why)
				}
				if r.Addr().Is4() {
					b.allow(Party{Range: r}, to, protoICMP, pathMTU, "path MTU discovery")
				} else {
					b.allow(Party{Range: r}, to, protoICMPv6, pathMTUv6, "path MTU discovery")
				}
			}
		}
	}
	return nil
}

// allow adds an intent once. Its name says all that it opens, so a changed intent is
// another one, and the order of a list does not matter.
func (b *Blueprint) allow(from, to Party, proto string, ports [2]int, why string) {
	name := partyName(from) + "-to-" + partyName(to) + "-" + proto
	switch {
	case proto == protoAny || proto == protoIPIP:
	case (proto == protoTCP || proto == protoUDP) && ports[0] == ports[1]:
		name += fmt.Sprintf("-%d", ports[0])
	default:
		name += fmt.Sprintf("-%d-%d", ports[0], ports[1])
	}
	if slices.ContainsFunc(b.Firewall, func(a Allow) bool { return a.Name == name }) {
		return
	}
	b.Firewall = append(b.Firewall, Allow{Name: name, From: from, To: to, Proto: proto, Ports: ports, Why: why})
}

func port(n int) [2]int { return [2]int{n, n} }

func partyName(p Party) string {
	switch {
	case p.Range != netip.Prefix{}:
		return p.Range.String()
	case p.Endpoint != "":
		return p.Endpoint + "-endpoint"
	case p.Role == api.RoleControlPlane:
		return "control-planes"
	case p.Role == api.RoleBastion:
		return "bastions"
	default:
		return "nodes"
	}
}
