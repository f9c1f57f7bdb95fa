// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// permissionsIn is what the calls on a group's rules take: permissions, or one
// of them spelt out flat.
type permissionsIn struct {
	GroupId       string
	GroupName     string
	IpPermissions []IPPermission
	IpProtocol    string
	FromPort      *int
	ToPort        *int
	CidrIp        string
}

func (in *permissionsIn) list() []IPPermission {
	if in.IpProtocol == "" && in.CidrIp == "" {
		return in.IpPermissions
	}
	return append(in.IpPermissions, IPPermission{IpProtocol: in.IpProtocol, FromPort: in.FromPort, ToPort: in.ToPort, IpRanges: []IPRange{{CidrIp: in.CidrIp}}})
}

// rulesIn reads the group and the rules that a call means.
func (s *Service) rulesIn(c *wire.Call, in *permissionsIn, egress bool) (*SecurityGroup, []*Rule, *wire.Error) {
	g, err := s.groupIn(c, in.GroupId, in.GroupName)
	if err != nil {
		return nil, nil, err
	}
	var rules []*Rule
	for _, p := range in.list() {
		more, err := s.expand(c, g, egress, p)
		if err != nil {
			return nil, nil, err
		}
		rules = append(rules, more...)
	}
	return g, rules, nil
}

type authorizeIn struct {
	permissionsIn
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type rulesOut struct {
	Return bool
	Rules  []*Rule `wire:"securityGroupRuleSet"`
}

func (s *Service) authorizeIngress(c *wire.Call, in *authorizeIn) (*rulesOut, error) {
	return s.authorize(c, in, false)
}

func (s *Service) authorizeEgress(c *wire.Call, in *authorizeIn) (*rulesOut, error) {
	return s.authorize(c, in, true)
}

func (s *Service) authorize(c *wire.Call, in *authorizeIn, egress bool) (*rulesOut, error) {
	g, rules, err := s.rulesIn(c, &in.permissionsIn, egress)
	if err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, wire.Errorf("MissingParameter", "Either 'ipPermissions' or 'securityGroupRuleIds' should be provided.")
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "security-group-rule")
	if tagErr != nil {
		return nil, tagErr
	}
	have := s.rulesOf(g, egress)
	for _, r := range rules {
		for _, old := range have {
			if old.same(r) {
				return nil, wire.Errorf("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", r.text())
			}
		}
		have = append(have, r)
	}
	if err := checkRuleCount(c, have); err != nil {
		return nil, err
	}
	for _, r := range rules {
		r.Tags = append([]Tag{}, tags...)
		s.addRule(c, r)
	}
	return &rulesOut{true, rules}, nil
}

type revokeIn struct {
	permissionsIn
	RuleIds []string `wire:"SecurityGroupRuleId"`
}

// revokedRule is a rule that a revocation took away.
type revokedRule struct {
	SecurityGroupRuleId string
	GroupId             string
	IsEgress            bool
	IpProtocol          string
	FromPort            int
	ToPort              int
	CidrIpv4            string
	CidrIpv6            string
	PrefixListId        string
	ReferencedGroupId   string
	Description         string
}

type revokeOut struct {
	Return  bool
	Revoked []revokedRule `wire:"revokedSecurityGroupRuleSet"`
}

func (s *Service) revokeIngress(c *wire.Call, in *revokeIn) (*revokeOut, error) {
	return s.revoke(c, in, false)
}

func (s *Service) revokeEgress(c *wire.Call, in *revokeIn) (*revokeOut, error) {
	return s.revoke(c, in, true)
}

func (s *Service) revoke(c *wire.Call, in *revokeIn, egress bool) (*revokeOut, error) {
	g, wanted, err := s.rulesIn(c, &in.permissionsIn, egress)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 && len(in.RuleIds) == 0 {
		return nil, wire.Errorf("MissingParameter", "Either 'ipPermissions' or 'securityGroupRuleIds' should be provided.")
	}
	have := s.rulesOf(g, egress)
	var gone []*Rule
	for _, w := range wanted {
		found := false
		for _, r := range have {
			if r.same(w) {
				gone, found = append(gone, r), true
			}
		}
		if !found {
			return nil, wire.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
	}
	for _, id := range in.RuleIds {
		r, err := s.rules.get(c, id)
		if err != nil {
			return nil, err
		}
		if r.GroupId != g.GroupId || r.IsEgress != egress {
			return nil, s.rules.missing(id)
		}
		gone = append(gone, r)
	}
	out := &revokeOut{Return: true}
	for _, r := range gone {
		x := revokedRule{r.SecurityGroupRuleId, r.GroupId, r.IsEgress, r.IpProtocol, r.FromPort, r.ToPort, r.CidrIpv4, r.CidrIpv6, r.PrefixListId, "", r.Description}
		if r.ReferencedGroupInfo != nil {
			x.ReferencedGroupId = r.ReferencedGroupInfo.GroupId
		}
		out.Revoked = append(out.Revoked, x)
		s.rules.remove(c, r)
	}
	return out, nil
}

type describeRulesIn struct {
	Ids []string `wire:"SecurityGroupRuleId"`
	describe
}

type describeRulesOut struct {
	NextToken string
	Rules     []*Rule `wire:"securityGroupRuleSet"`
}

func (s *Service) describeRules(c *wire.Call, in *describeRulesIn) (*describeRulesOut, error) {
	rows, next, err := s.rules.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeRulesOut{next, rows}, nil
}

type modifyRulesIn struct {
	GroupId string `wire:"GroupId,required"`
	Rules   []struct {
		Id   string `wire:"SecurityGroupRuleId,required"`
		Rule struct {
			IpProtocol                                                       string
			FromPort, ToPort                                                 *int
			CidrIpv4, CidrIpv6, PrefixListId, ReferencedGroupId, Description string
		} `wire:"SecurityGroupRule"`
	} `wire:"SecurityGroupRule,required"`
}

func (s *Service) modifyRules(c *wire.Call, in *modifyRulesIn) (*done, error) {
	g, err := s.groupIn(c, in.GroupId, "")
	if err != nil {
		return nil, err
	}
	type change struct{ old, new *Rule }
	var changes []change
	for _, m := range in.Rules {
		old, err := s.rules.get(c, m.Id)
		if err != nil {
			return nil, err
		}
		p := IPPermission{IpProtocol: m.Rule.IpProtocol, FromPort: m.Rule.FromPort, ToPort: m.Rule.ToPort}
		switch {
		case m.Rule.CidrIpv4 != "":
			p.IpRanges = []IPRange{{m.Rule.CidrIpv4, m.Rule.Description}}
		case m.Rule.CidrIpv6 != "":
			p.Ipv6Ranges = []IPv6Range{{m.Rule.CidrIpv6, m.Rule.Description}}
		case m.Rule.PrefixListId != "":
			p.PrefixListIds = []PrefixListID{{m.Rule.PrefixListId, m.Rule.Description}}
		case m.Rule.ReferencedGroupId != "":
			p.Groups = []GroupPair{{GroupId: m.Rule.ReferencedGroupId, Description: m.Rule.Description}}
		}
		rules, err := s.expand(c, g, old.IsEgress, p)
		if err != nil {
			return nil, err
		}
		for _, other := range s.rulesOf(g, old.IsEgress) {
			if other != old && other.same(rules[0]) {
				return nil, wire.Errorf("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", rules[0].text())
			}
		}
		changes = append(changes, change{old, rules[0]})
	}
	for _, ch := range changes {
		ch.new.SecurityGroupRuleId, ch.new.SecurityGroupRuleArn, ch.new.Tags = ch.old.SecurityGroupRuleId, ch.old.SecurityGroupRuleArn, ch.old.Tags
		*ch.old = *ch.new
		s.rules.put(c, ch.old)
	}
	return ok()
}

type ruleDescriptionsIn struct {
	GroupId       string
	GroupName     string
	IpPermissions []IPPermission
	Descriptions  []struct {
		SecurityGroupRuleId string `wire:"SecurityGroupRuleId,required"`
		Description         string
	} `wire:"SecurityGroupRuleDescription"`
}

func (s *Service) describeIngressRules(c *wire.Call, in *ruleDescriptionsIn) (*done, error) {
	return s.setDescriptions(c, in, false)
}

func (s *Service) describeEgressRules(c *wire.Call, in *ruleDescriptionsIn) (*done, error) {
	return s.setDescriptions(c, in, true)
}

func (s *Service) setDescriptions(c *wire.Call, in *ruleDescriptionsIn, egress bool) (*done, error) {
	g, wanted, err := s.rulesIn(c, &permissionsIn{GroupId: in.GroupId, GroupName: in.GroupName, IpPermissions: in.IpPermissions}, egress)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		found := false
		for _, r := range s.rulesOf(g, egress) {
			if r.same(w) {
				r.Description, found = w.Description, true
				s.rules.put(c, r)
			}
		}
		if !found {
			return nil, wire.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
	}
	for _, d := range in.Descriptions {
		r, err := s.rules.get(c, d.SecurityGroupRuleId)
		if err != nil {
			return nil, err
		}
		r.Description = d.Description
		s.rules.put(c, r)
	}
	return ok()
}
