// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Rule is one line of a security group.
type Rule struct {
	SecurityGroupRuleId  string
	SecurityGroupRuleArn string
	GroupId              string
	GroupOwnerId         string
	IsEgress             bool
	IpProtocol           string
	FromPort             int
	ToPort               int
	CidrIpv4             string
	CidrIpv6             string
	PrefixListId         string
	ReferencedGroupInfo  *ReferencedGroup
	Description          string
	Tags                 []Tag `wire:"tagSet"`
}

// ReferencedGroup is the group that a rule speaks of.
type ReferencedGroup struct{ GroupId, UserId string }

// IPPermission is the older form: a protocol and ports with all their peers.
type IPPermission struct {
	IpProtocol    string
	FromPort      *int
	ToPort        *int
	Groups        []GroupPair    `wire:"Groups|groups"`
	IpRanges      []IPRange      `wire:"IpRanges|ipRanges"`
	Ipv6Ranges    []IPv6Range    `wire:"Ipv6Ranges|ipv6Ranges"`
	PrefixListIds []PrefixListID `wire:"PrefixListIds|prefixListIds"`
}

// GroupPair is a peer group of a permission.
type GroupPair struct {
	UserId, GroupId, GroupName, VpcId, Description string
}

// IPRange is an IPv4 peer.
type IPRange struct{ CidrIp, Description string }

// IPv6Range is an IPv6 peer.
type IPv6Range struct{ CidrIpv6, Description string }

// PrefixListID is a prefix list as peer.
type PrefixListID struct{ PrefixListId, Description string }

const maxRules = 60

func newRuleKind(s *Service, w *world.World) (*kind[Rule], error) {
	return newKind(s, w, kind[Rule]{
		resource: "security-group-rule", prefix: "sgr-", notFound: "InvalidSecurityGroupRuleId.NotFound", word: "security group rule ID",
		id:   func(r *Rule) string { return r.SecurityGroupRuleId },
		tags: func(r *Rule) *[]Tag { return &r.Tags },
		filters: map[string]func(*Rule) []string{
			"group-id": one(func(r *Rule) string { return r.GroupId }), "security-group-rule-id": one(func(r *Rule) string { return r.SecurityGroupRuleId }),
		},
	})
}

// rulesOf returns a group's rules of one direction, oldest first. The region
// stands in the group's ARN.
func (s *Service) rulesOf(g *SecurityGroup, egress bool) []*Rule {
	var list []*Rule
	for _, r := range s.rules.table.All(strings.Split(g.SecurityGroupArn, ":")[3]) {
		if r.GroupId == g.GroupId && r.IsEgress == egress {
			list = append(list, r)
		}
	}
	return list
}

func (s *Service) addRule(c *wire.Call, r *Rule) {
	r.SecurityGroupRuleId = s.newID("sgr-")
	r.SecurityGroupRuleArn = s.arn(c, "security-group-rule", r.SecurityGroupRuleId)
	s.rules.put(c, r)
}

// permissions groups rules by protocol and ports, as DescribeSecurityGroups shows them.
func permissions(rules []*Rule, account string) []IPPermission {
	list := []IPPermission{}
	index := map[string]int{}
	for _, r := range rules {
		key := fmt.Sprintf("%s/%d/%d", r.IpProtocol, r.FromPort, r.ToPort)
		i, known := index[key]
		if !known {
			i = len(list)
			index[key] = i
			p := IPPermission{IpProtocol: r.IpProtocol}
			if r.IpProtocol != "-1" {
				p.FromPort, p.ToPort = &r.FromPort, &r.ToPort
			}
			list = append(list, p)
		}
		p := &list[i]
		switch {
		case r.CidrIpv4 != "":
			p.IpRanges = append(p.IpRanges, IPRange{r.CidrIpv4, r.Description})
		case r.CidrIpv6 != "":
			p.Ipv6Ranges = append(p.Ipv6Ranges, IPv6Range{r.CidrIpv6, r.Description})
		case r.PrefixListId != "":
			p.PrefixListIds = append(p.PrefixListIds, PrefixListID{r.PrefixListId, r.Description})
		case r.ReferencedGroupInfo != nil:
			p.Groups = append(p.Groups, GroupPair{UserId: account, GroupId: r.ReferencedGroupInfo.GroupId, Description: r.Description})
		}
	}
	return list
}

var protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}

// expand turns a permission into the rules it means.
func (s *Service) expand(c *wire.Call, g *SecurityGroup, egress bool, p IPPermission) ([]*Rule, *wire.Error) {
	base, err := ports(p)
	if err != nil {
		return nil, err
	}
	base.GroupId, base.GroupOwnerId, base.IsEgress = g.GroupId, s.account, egress
	var rules []*Rule
	add := func(description string, set func(*Rule)) {
		r := base
		r.Description = description
		set(&r)
		rules = append(rules, &r)
	}
	for _, x := range p.IpRanges {
		cidr, err := canonicalCidr(x.CidrIp, true)
		if err != nil {
			return nil, err
		}
		add(x.Description, func(r *Rule) { r.CidrIpv4 = cidr })
	}
	for _, x := range p.Ipv6Ranges {
		cidr, err := canonicalCidr(x.CidrIpv6, false)
		if err != nil {
			return nil, err
		}
		add(x.Description, func(r *Rule) { r.CidrIpv6 = cidr })
	}
	for _, x := range p.PrefixListIds {
		if _, err := s.prefixLists.get(c, x.PrefixListId); err != nil {
			return nil, err
		}
		add(x.Description, func(r *Rule) { r.PrefixListId = x.PrefixListId })
	}
	for _, x := range p.Groups {
		peer, err := s.groupIn(c, x.GroupId, x.GroupName)
		if err != nil {
			return nil, err
		}
		if peer.VpcId != g.VpcId {
			return nil, wire.Errorf("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
		}
		add(x.Description, func(r *Rule) { r.ReferencedGroupInfo = &ReferencedGroup{peer.GroupId, s.account} })
	}
	if len(rules) == 0 {
		return nil, wire.Errorf("InvalidParameterValue", "A permission must have a peer: an IP range, a prefix list or a group")
	}
	for _, r := range rules {
		if len(r.Description) > 255 {
			return nil, wire.Errorf("InvalidParameterValue", "The description of a rule takes 255 characters at most")
		}
	}
	return rules, nil
}

func ports(p IPPermission) (Rule, *wire.Error) {
	protocol := strings.ToLower(p.IpProtocol)
	if name, known := protocolNames[protocol]; known {
		protocol = name
	}
	r := Rule{IpProtocol: protocol, FromPort: -1, ToPort: -1}
	switch protocol {
	case "":
		return r, wire.Errorf("MissingParameter", "The request must contain the parameter ipProtocol")
	case "tcp", "udp":
		if p.FromPort == nil || p.ToPort == nil {
			return r, wire.Errorf("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		if *p.FromPort < 0 || *p.ToPort > 65535 || *p.FromPort > *p.ToPort {
			return r, wire.Errorf("InvalidParameterValue", "Invalid TCP/UDP port range (%d:%d)", *p.FromPort, *p.ToPort)
		}
		r.FromPort, r.ToPort = *p.FromPort, *p.ToPort
	case "icmp", "icmpv6":
		if p.FromPort != nil {
			r.FromPort = *p.FromPort
		}
		if p.ToPort != nil {
			r.ToPort = *p.ToPort
		}
	case "-1":
	default:
		var n int
		if _, err := fmt.Sscanf(protocol, "%d", &n); err != nil || n < 0 || n > 255 {
			return r, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.", p.IpProtocol)
		}
	}
	return r, nil
}

func canonicalCidr(text string, v4 bool) (string, *wire.Error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4() != v4 {
		return "", wire.Errorf("InvalidParameterValue", "CIDR block %s is malformed", text)
	}
	return p.Masked().String(), nil
}

// same says whether two rules let the same through.
func (r *Rule) same(o *Rule) bool {
	return r.IpProtocol == o.IpProtocol && r.FromPort == o.FromPort && r.ToPort == o.ToPort && r.peer() == o.peer()
}

func (r *Rule) peer() string {
	if r.ReferencedGroupInfo != nil {
		return r.ReferencedGroupInfo.GroupId
	}
	return r.CidrIpv4 + r.CidrIpv6 + r.PrefixListId
}

// text is how AWS's messages spell a rule.
func (r *Rule) text() string {
	return fmt.Sprintf("peer: %s, %s, from port: %d, to port: %d, ALLOW", r.peer(), strings.ToUpper(r.IpProtocol), r.FromPort, r.ToPort)
}

// checkRuleCount applies the limit, which holds for IPv4 and IPv6 separately.
func checkRuleCount(c *wire.Call, rules []*Rule) *wire.Error {
	v4, v6 := 0, 0
	for _, r := range rules {
		if r.CidrIpv6 == "" {
			v4++
		}
		if r.CidrIpv4 == "" {
			v6++
		}
	}
	if limit := c.Quota("rules-per-group", maxRules); v4 > limit || v6 > limit {
		return wire.Errorf("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached: %d of %d.", max(v4, v6), limit)
	}
	return nil
}
