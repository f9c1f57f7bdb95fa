// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// addVpcDefaults makes what every new network comes with: a main route table,
// a default security group and a default network ACL.
func (s *Service) addVpcDefaults(c *wire.Call, v *Vpc) {
	t := &RouteTable{RouteTableId: s.newID("rtb-"), VpcId: v.VpcId, OwnerId: s.account}
	t.Associations = []RouteTableAssociation{{s.newID("rtbassoc-"), t.RouteTableId, "", true, AssociationState{State: "associated"}}}
	s.routeTables.put(c, t)
	g := s.makeGroup(c, v.VpcId, "default", "default VPC security group", nil)
	s.addRule(c, &Rule{GroupId: g.GroupId, GroupOwnerId: s.account, IpProtocol: "-1", FromPort: -1, ToPort: -1, ReferencedGroupInfo: &ReferencedGroup{GroupId: g.GroupId, UserId: s.account}})
	s.acls.put(c, &NetworkACL{
		NetworkAclId: s.newID("acl-"), VpcId: v.VpcId, OwnerId: s.account, Default: true,
		Entries: []ACLEntry{
			{CidrBlock: "0.0.0.0/0", Egress: true, Protocol: "-1", RuleAction: "allow", RuleNumber: 100},
			{CidrBlock: "0.0.0.0/0", Egress: true, Protocol: "-1", RuleAction: "deny", RuleNumber: 32767},
			{CidrBlock: "0.0.0.0/0", Protocol: "-1", RuleAction: "allow", RuleNumber: 100},
			{CidrBlock: "0.0.0.0/0", Protocol: "-1", RuleAction: "deny", RuleNumber: 32767},
		},
	})
}

// dropVpcDefaults removes what goes with a network, and the region's own DHCP
// options with the last one.
func (s *Service) dropVpcDefaults(c *wire.Call, vpc string) {
	for _, t := range s.routeTables.all(c) {
		if t.VpcId == vpc {
			s.routeTables.remove(c, t)
		}
	}
	for _, g := range s.groups.all(c) {
		if g.VpcId == vpc {
			s.dropGroup(c, g)
		}
	}
	for _, a := range s.acls.all(c) {
		if a.VpcId == vpc {
			s.acls.remove(c, a)
		}
	}
	if d := s.dhcp.first(c, func(d *DhcpOptions) bool { return d.Default }); d != nil && len(s.vpcs.all(c)) == 1 && len(d.Tags) == 0 {
		s.dhcp.remove(c, d)
	}
}

// vpcInUse says whether anything but the defaults is left in a network.
func (s *Service) vpcInUse(c *wire.Call, vpc string) bool {
	return s.subnets.first(c, func(n *Subnet) bool { return n.VpcId == vpc }) != nil ||
		s.gatewayOf(c, vpc) != nil ||
		s.egressOnly.first(c, func(g *EgressOnlyGateway) bool { return g.Attachments[0].VpcId == vpc }) != nil ||
		s.interfaces.first(c, func(i *NetworkInterface) bool { return i.VpcId == vpc }) != nil ||
		s.endpoints.first(c, func(e *VpcEndpoint) bool { return e.VpcId == vpc }) != nil ||
		s.groups.first(c, func(g *SecurityGroup) bool { return g.VpcId == vpc && g.GroupName != "default" }) != nil ||
		s.routeTables.first(c, func(t *RouteTable) bool { return t.VpcId == vpc && !t.isMain() }) != nil
}

func (t *RouteTable) isMain() bool {
	for _, a := range t.Associations {
		if a.Main {
			return true
		}
	}
	return false
}
