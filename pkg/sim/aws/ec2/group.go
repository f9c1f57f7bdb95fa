// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// SecurityGroup is a set of rules; the rules are rows of their own.
type SecurityGroup struct {
	GroupId             string
	GroupName           string
	Description         string `wire:"groupDescription"`
	VpcId               string
	OwnerId             string
	SecurityGroupArn    string
	IpPermissions       []IPPermission
	IpPermissionsEgress []IPPermission
	Tags                []Tag `wire:"tagSet"`
}

const (
	defaultGroupQuota = 2500
	maxGroupName      = 255
	groupAlphabet     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._-:/()#,@[]+=&;{}!$*"
)

func newGroupKind(s *Service, w *world.World) (*kind[SecurityGroup], error) {
	return newKind(s, w, kind[SecurityGroup]{
		resource: "security-group", prefix: "sg-", notFound: "InvalidGroup.NotFound", word: "security group",
		id:   func(g *SecurityGroup) string { return g.GroupId },
		tags: func(g *SecurityGroup) *[]Tag { return &g.Tags },
		filters: map[string]func(*SecurityGroup) []string{
			"group-id": one(func(g *SecurityGroup) string { return g.GroupId }), "group-name": one(func(g *SecurityGroup) string { return g.GroupName }),
			"vpc-id": one(func(g *SecurityGroup) string { return g.VpcId }), "owner-id": one(func(g *SecurityGroup) string { return g.OwnerId }),
			"description": one(func(g *SecurityGroup) string { return g.Description }),
			"ip-permission.cidr": func(g *SecurityGroup) []string {
				var values []string
				for _, r := range s.rulesOf(g, false) {
					values = append(values, r.CidrIpv4)
				}
				return values
			},
			"ip-permission.group-id": func(g *SecurityGroup) []string {
				var values []string
				for _, r := range s.rulesOf(g, false) {
					if r.ReferencedGroupInfo != nil {
						values = append(values, r.ReferencedGroupInfo.GroupId)
					}
				}
				return values
			},
		},
	})
}

func (s *Service) groupOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateSecurityGroup": op(s.createGroup), "DescribeSecurityGroups": op(s.describeGroups), "DeleteSecurityGroup": op(s.deleteGroup),
		"DescribeSecurityGroupRules": op(s.describeRules), "ModifySecurityGroupRules": op(s.modifyRules),
		"AuthorizeSecurityGroupIngress": op(s.authorizeIngress), "AuthorizeSecurityGroupEgress": op(s.authorizeEgress),
		"RevokeSecurityGroupIngress": op(s.revokeIngress), "RevokeSecurityGroupEgress": op(s.revokeEgress),
		"UpdateSecurityGroupRuleDescriptionsIngress": op(s.describeIngressRules), "UpdateSecurityGroupRuleDescriptionsEgress": op(s.describeEgressRules),
	}
}

type createGroupIn struct {
	GroupName         string `wire:"GroupName,required"`
	GroupDescription  string `wire:"GroupDescription,required"`
	VpcId             string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type createGroupOut struct {
	Return           bool
	GroupId          string
	SecurityGroupArn string
	Tags             []Tag `wire:"tagSet"`
}

func groupText(field, text string) *wire.Error {
	if text == "" || len(text) > maxGroupName || strings.Trim(text, groupAlphabet) != "" {
		return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It takes 1 to %d characters of a-z, A-Z, 0-9, spaces and ._-:/()#,@[]+=&;{}!$*", text, field, maxGroupName)
	}
	for _, r := range text {
		if !strings.ContainsRune(groupAlphabet, r) {
			return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. Character sets beyond a-z, A-Z, 0-9, spaces and ._-:/()#,@[]+=&;{}!$* are not allowed", text, field)
		}
	}
	return nil
}

func (s *Service) createGroup(c *wire.Call, in *createGroupIn) (*createGroupOut, error) {
	if in.VpcId == "" {
		return nil, wire.Errorf("VPCIdNotSpecified", "No default VPC for this user")
	}
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	if err := groupText("groupName", in.GroupName); err != nil {
		return nil, err
	}
	if err := groupText("groupDescription", in.GroupDescription); err != nil {
		return nil, err
	}
	if strings.HasPrefix(in.GroupName, "sg-") {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter groupName is invalid. Group names may not begin with sg-", in.GroupName)
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "security-group")
	if tagErr != nil {
		return nil, tagErr
	}
	if in.GroupName == "default" || s.groups.first(c, func(g *SecurityGroup) bool { return g.VpcId == v.VpcId && g.GroupName == in.GroupName }) != nil {
		return nil, wire.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", in.GroupName, v.VpcId)
	}
	if limit := c.Quota("security-groups", defaultGroupQuota); len(s.groups.all(c)) >= limit {
		return nil, wire.Errorf("SecurityGroupLimitExceeded", "The maximum number of security groups has been reached: %d of %d.", limit, limit)
	}
	g := s.makeGroup(c, v.VpcId, in.GroupName, in.GroupDescription, tags)
	return &createGroupOut{true, g.GroupId, g.SecurityGroupArn, g.Tags}, nil
}

// makeGroup makes a group with the rule that lets everything out.
func (s *Service) makeGroup(c *wire.Call, vpc, name, description string, tags []Tag) *SecurityGroup {
	g := &SecurityGroup{GroupId: s.newID("sg-"), GroupName: name, Description: description, VpcId: vpc, OwnerId: s.account, Tags: tags}
	g.SecurityGroupArn = s.arn(c, "security-group", g.GroupId)
	s.groups.put(c, g)
	s.addRule(c, &Rule{GroupId: g.GroupId, GroupOwnerId: s.account, IsEgress: true, IpProtocol: "-1", FromPort: -1, ToPort: -1, CidrIpv4: "0.0.0.0/0"})
	if v := s.vpcs.table.Get(c.Region, vpc); v != nil && len(v.Ipv6CidrBlocks) > 0 {
		s.addRule(c, &Rule{GroupId: g.GroupId, GroupOwnerId: s.account, IsEgress: true, IpProtocol: "-1", FromPort: -1, ToPort: -1, CidrIpv6: "::/0"})
	}
	return g
}

func (s *Service) dropGroup(c *wire.Call, g *SecurityGroup) {
	for _, r := range s.rulesOf(g, true) {
		s.rules.remove(c, r)
	}
	for _, r := range s.rulesOf(g, false) {
		s.rules.remove(c, r)
	}
	s.groups.remove(c, g)
}

type describeGroupsIn struct {
	GroupIds   []string `wire:"GroupId"`
	GroupNames []string `wire:"GroupName"`
	describe
}

type describeGroupsOut struct {
	NextToken string
	Groups    []SecurityGroup `wire:"securityGroupInfo"`
}

func (s *Service) describeGroups(c *wire.Call, in *describeGroupsIn) (*describeGroupsOut, error) {
	if len(in.GroupNames) > 0 {
		return nil, wire.Errorf("VPCIdNotSpecified", "No default VPC for this user: use the group-name filter")
	}
	rows, next, err := s.groups.list(c, in.GroupIds, in.describe)
	if err != nil {
		return nil, err
	}
	out := &describeGroupsOut{NextToken: next}
	for _, g := range rows {
		shown := *g
		shown.IpPermissions = permissions(s.rulesOf(g, false), s.account)
		shown.IpPermissionsEgress = permissions(s.rulesOf(g, true), s.account)
		out.Groups = append(out.Groups, shown)
	}
	return out, nil
}

type deleteGroupOut struct {
	Return  bool
	GroupId string
}

func (s *Service) deleteGroup(c *wire.Call, in *struct{ GroupId, GroupName string }) (*deleteGroupOut, error) {
	g, err := s.groupIn(c, in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	if g.GroupName == "default" {
		return nil, wire.Errorf("CannotDelete", "the specified group: \"%s\" name: \"default\" cannot be deleted by a user", g.GroupId)
	}
	used := s.interfaces.first(c, func(i *NetworkInterface) bool {
		for _, id := range i.Groups {
			if id.GroupId == g.GroupId {
				return true
			}
		}
		return false
	}) != nil
	used = used || s.rules.first(c, func(r *Rule) bool {
		return r.GroupId != g.GroupId && r.ReferencedGroupInfo != nil && r.ReferencedGroupInfo.GroupId == g.GroupId
	}) != nil
	if used {
		return nil, wire.Errorf("DependencyViolation", "resource %s has a dependent object", g.GroupId)
	}
	s.dropGroup(c, g)
	return &deleteGroupOut{true, g.GroupId}, nil
}

// groupIn finds the group that a call names; names alone serve only default networks, which the simulator has none of.
func (s *Service) groupIn(c *wire.Call, id, name string) (*SecurityGroup, *wire.Error) {
	if id == "" {
		if name == "" {
			return nil, wire.Errorf("MissingParameter", "The request must contain the parameter groupName or groupId")
		}
		return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", name)
	}
	if g := s.groups.table.Get(c.Region, id); g != nil {
		return g, nil
	}
	if !strings.HasPrefix(id, "sg-") {
		return nil, wire.Errorf("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
	}
	return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}
