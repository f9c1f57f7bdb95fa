// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"slices"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
)

// networkKinds holds the inventories of the network's kinds.
type networkKinds struct {
	vpcs      *inventory[ec2types.Vpc]
	dhcp      *inventory[ec2types.DhcpOptions]
	subnets   *inventory[ec2types.Subnet]
	shared    *sharedSubnets
	gateways  *inventory[ec2types.InternetGateway]
	addresses *inventory[ec2types.Address]
	nats      *inventory[ec2types.NatGateway]
	tables    *inventory[ec2types.RouteTable]
	groups    *inventory[ec2types.SecurityGroup]
	rules     *inventory[ec2types.SecurityGroupRule]
}

func newNetworkKinds(s *survey) networkKinds {
	return networkKinds{
		vpcs:      newInventory("VPC", s.listVPCs),
		dhcp:      newInventory("set of DHCP options", s.listDHCP),
		subnets:   newInventory("subnet", s.listSubnets),
		shared:    newSharedSubnets(s),
		gateways:  newInventory("internet gateway", s.listGateways).preferring(func(g ec2types.InternetGateway) bool { return len(g.Attachments) > 0 }),
		addresses: newInventory("address", s.listAddresses).preferring(func(a ec2types.Address) bool { return a.AssociationId != nil }),
		nats:      newInventory("NAT gateway", s.listNATs),
		tables:    newInventory("route table", s.listTables).preferring(func(t ec2types.RouteTable) bool { return len(t.Associations) > 0 }),
		groups:    newInventory("security group", s.listGroups),
		rules:     newInventory("security group rule", s.listRules),
	}
}

// networkRemovables lists how the network's kinds are removed: after the machines and
// load balancers in it, from the inside out.
func (s *survey) networkRemovables() []removable {
	return []removable{
		{kind: "securitygrouprule", list: s.rules.leftovers, remove: s.removeRule, after: []string{"autoscalinggroup", "loadbalancer"}},
		{kind: "securitygroup", list: s.groups.leftovers, remove: s.removeGroup, after: []string{"securitygrouprule", "autoscalinggroup", "loadbalancer"}},
		{kind: "natgateway", list: s.nats.leftovers, remove: s.removeNAT, after: []string{"autoscalinggroup"}},
		{kind: "address", list: s.addresses.leftovers, remove: s.removeAddress, after: []string{"natgateway", "loadbalancer"}},
		{kind: "subnet", list: s.subnets.leftovers, remove: s.removeSubnet, after: []string{"natgateway", "autoscalinggroup", "loadbalancer"}},
		{kind: "routetable", list: s.tables.leftovers, remove: s.removeTable, after: []string{"subnet", "natgateway"}},
		{kind: "internetgateway", list: s.gateways.leftovers, remove: s.removeGateway, after: []string{"natgateway", "address", "autoscalinggroup", "loadbalancer"}},
		{kind: "vpc", list: s.vpcs.leftovers, remove: s.removeVPC, after: []string{"subnet", "routetable", "internetgateway", "securitygroup", "zone-association"}},
		{kind: "dhcpoptions", list: s.dhcp.leftovers, remove: s.removeDHCP, after: []string{"vpc"}},
	}
}

// lowerNetwork adds the VPC, its subnets, and the ways in and out of them.
func lowerNetwork(l *lowering) error {
	b := l.blueprint
	l.vpc = newVPC(l.survey, b.Network)
	if err := l.add(l.vpc); err != nil {
		return err
	}
	if b.Network.ID == "" {
		if err := l.add(newDHCPOptions(l.survey, l.vpc)); err != nil {
			return err
		}
	}
	for _, m := range b.Subnets {
		if err := l.lowerSubnet(m); err != nil {
			return err
		}
	}
	if err := l.lowerPublic(); err != nil {
		return err
	}
	for _, zone := range zonesOf(b.Subnets) {
		if err := l.lowerPrivate(zone); err != nil {
			return err
		}
	}
	return nil
}

// lowerSubnet adds a subnet, ours or shared.
func (l *lowering) lowerSubnet(m model.Subnet) error {
	if m.ID != "" {
		n := newSharedSubnet(l.survey, l.vpc, m)
		l.subnets[m.Name] = n
		return l.add(n)
	}
	n := newSubnet(l.survey, l.vpc, m)
	l.subnets[m.Name], l.ownSubnets[m.Name] = n, n
	return l.add(n)
}

// lowerPublic adds the internet gateway and the one route table of our public subnets.
func (l *lowering) lowerPublic() error {
	var public []*Subnet
	for _, m := range l.blueprint.Subnets {
		if own := l.ownSubnets[m.Name]; own != nil && m.Kind != model.SubnetPrivate {
			public = append(public, own)
		}
	}
	if len(public) == 0 {
		return nil
	}
	l.gateway = newInternetGateway(l.survey, l.vpc)
	table := newRouteTable(l.survey, l.vpc, "public", allAddresses)
	if err := l.add(l.gateway); err != nil {
		return err
	}
	return l.lowerTable(table, public, newRoute(l.survey, table, allAddresses, l.gateway, ""))
}

// lowerTable adds a route table, its route if there is one, and the subnets that use it.
func (l *lowering) lowerTable(table *RouteTable, subnets []*Subnet, route *Route) error {
	if err := l.add(table); err != nil {
		return err
	}
	if route != nil {
		if err := l.add(route); err != nil {
			return err
		}
	}
	for _, n := range subnets {
		if err := l.add(newAssociation(l.survey, table, n)); err != nil {
			return err
		}
	}
	return nil
}

// lowerPrivate adds the way out of a zone's private subnets that are ours.
func (l *lowering) lowerPrivate(zone string) error {
	var private []*Subnet
	egress := ""
	for _, m := range l.blueprint.Subnets {
		own := l.ownSubnets[m.Name]
		if m.Zone != zone || m.Kind != model.SubnetPrivate || own == nil {
			continue
		}
		if len(private) > 0 && m.Egress != egress {
			return fmt.Errorf("the private subnets of %s name different ways out (%q and %q): they share a route table", zone, egress, m.Egress)
		}
		egress, private = m.Egress, append(private, own)
	}
	if len(private) == 0 {
		return nil
	}
	key := "private-" + zone
	switch {
	case egress == "external": // someone else routes; the table is theirs to fill
		return l.lowerTable(newRouteTable(l.survey, l.vpc, key), private, nil)
	case egress != "" && prefixOf(egress) != "eipalloc":
		table := newRouteTable(l.survey, l.vpc, key, allAddresses)
		return l.lowerTable(table, private, newRoute(l.survey, table, allAddresses, nil, egress))
	}
	nat, err := l.lowerNAT(zone, egress)
	if err != nil {
		return err
	}
	table := newRouteTable(l.survey, l.vpc, key, allAddresses)
	return l.lowerTable(table, private, newRoute(l.survey, table, allAddresses, nat, ""))
}

// lowerNAT adds a zone's NAT gateway, with an address of its own unless one is given.
func (l *lowering) lowerNAT(zone, given string) (*NATGateway, error) {
	home := natHome(l.blueprint.Subnets, zone)
	if home == "" {
		return nil, fmt.Errorf("zone %s has private subnets and no public or utility subnet for their NAT gateway: add one, or set egress", zone)
	}
	var address *Address
	if given == "" {
		address = newAddress(l.survey, zone)
		if err := l.add(address); err != nil {
			return nil, err
		}
	}
	nat := newNATGateway(l.survey, zone, l.subnets[home], address, given, l.gateway)
	return nat, l.add(nat)
}

// natHome returns the subnet that a zone's NAT gateway stands in: a utility one first.
func natHome(subnets []model.Subnet, zone string) string {
	home := ""
	for _, m := range subnets {
		switch {
		case m.Zone != zone:
		case m.Kind == model.SubnetUtility:
			return m.Name
		case m.Kind == model.SubnetPublic && home == "":
			home = m.Name
		}
	}
	return home
}

// zonesOf returns the zones of subnets, each once, in their order.
func zonesOf(subnets []model.Subnet) []string {
	var out []string
	for _, m := range subnets {
		if !slices.Contains(out, m.Zone) {
			out = append(out, m.Zone)
		}
	}
	return out
}

// lowerFirewall adds a security group for each role and endpoint, and the rules between
// them. Groups that are given by id keep the rules that they have.
func lowerFirewall(l *lowering) error {
	for _, key := range firewallParties(l.blueprint) {
		g := newSecurityGroup(l.survey, l.vpc, key, l.givenGroup(key))
		l.groupOf[key] = g
		if err := l.add(g); err != nil {
			return err
		}
	}
	for _, a := range l.blueprint.Firewall {
		to := l.groupOf[partyKey(a.To)]
		if to == nil {
			return fmt.Errorf("firewall %s: its target is neither a role nor an endpoint", a.Name)
		}
		if to.shared != "" {
			continue
		}
		if err := l.add(newSecurityGroupRule(l.survey, a, to, l.groupOf[partyKey(a.From)])); err != nil {
			return err
		}
	}
	return nil
}

// givenGroup returns the id of an existing group that stands in for one of ours.
func (l *lowering) givenGroup(key string) string {
	lb := l.blueprint.Spec.Spec.API.LoadBalancer
	if key == partyKey(model.Party{Endpoint: "api"}) && lb != nil {
		return lb.SecurityGroupOverride
	}
	return ""
}

// partyKey is the key of a party's security group; a range has none.
func partyKey(p model.Party) string {
	switch {
	case p.Endpoint != "":
		return "endpoint-" + p.Endpoint
	case p.Role != "":
		return roleKey(p.Role)
	default:
		return ""
	}
}

// firewallParties returns the keys of all security groups that a blueprint needs, each
// once: of its pools' roles, of its endpoints, and of whatever its firewall names.
func firewallParties(b *model.Blueprint) []string {
	var out []string
	need := func(p model.Party) {
		if key := partyKey(p); key != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	for _, p := range b.Pools {
		need(model.Party{Role: p.Role})
	}
	for _, e := range b.Endpoints {
		need(model.Party{Endpoint: e.Name})
	}
	for _, a := range b.Firewall {
		need(a.From)
		need(a.To)
	}
	return out
}
