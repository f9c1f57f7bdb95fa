// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// SecurityGroupRule is one incoming rule of one of our groups: one firewall intent. Rules
// that do not carry our tags are never looked at.
type SecurityGroupRule struct {
	resource
	allow model.Allow
	to    *SecurityGroup
	from  *SecurityGroup // nil: allow.From.Range
}

func newSecurityGroupRule(s *survey, a model.Allow, to, from *SecurityGroup) *SecurityGroupRule {
	r := &SecurityGroupRule{
		resource: resource{
			s: s, kind: "securitygrouprule", key: a.Name, deps: []tasks.Task{to},
			tags: s.tagsFor(a.Name, a.Name, nil),
		},
		allow: a, to: to, from: from,
	}
	if from != nil && from != to {
		r.deps = append(r.deps, from)
	}
	return r
}

// Describe says why the rule is there.
func (r *SecurityGroupRule) Describe() string { return r.allow.Why }

// Observe finds the rule. Its ports and its source can be edited, its group and the kind
// of its source cannot. The description is for people and not compared: a better wording
// is no reason to touch every rule.
func (r *SecurityGroupRule) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := r.s.rules.find(ctx, r.key)
	if err != nil {
		return tasks.Change{}, err
	}
	want := r.request()
	d := tasks.NewDiff(exists)
	d.Fixed("group", aws.ToString(o.Value.GroupId), r.to.CloudID.Plan())
	d.Field("protocol", aws.ToString(o.Value.IpProtocol), aws.ToString(want.IpProtocol))
	d.Field("ports", portText(o.Value.FromPort, o.Value.ToPort), portText(want.FromPort, want.ToPort))
	have, kind := sourceOf(o.Value)
	if kind != r.kindOfSource() {
		d.Fixed("source", have, r.source())
	} else {
		d.Field("source", have, r.source())
	}
	diffTags(d, o.Tags, r.tags)
	return found(&r.resource, r.s.rules, o, exists, d), nil
}

func (r *SecurityGroupRule) source() tasks.Value {
	if r.from != nil {
		return r.from.CloudID.Plan()
	}
	return tasks.V(r.allow.From.Range.String())
}

func (r *SecurityGroupRule) kindOfSource() string {
	switch {
	case r.from != nil:
		return "group"
	case r.allow.From.Range.Addr().Is4():
		return "IPv4"
	default:
		return "IPv6"
	}
}

// sourceOf returns whom a rule lets in, and the kind of that: a rule of one kind cannot
// become one of another.
func sourceOf(r ec2types.SecurityGroupRule) (text, kind string) {
	switch {
	case r.ReferencedGroupInfo != nil && aws.ToString(r.ReferencedGroupInfo.GroupId) != "":
		return *r.ReferencedGroupInfo.GroupId, "group"
	case aws.ToString(r.CidrIpv6) != "":
		return *r.CidrIpv6, "IPv6"
	case aws.ToString(r.PrefixListId) != "":
		return *r.PrefixListId, "list"
	default:
		return aws.ToString(r.CidrIpv4), "IPv4"
	}
}

// portText writes a range of ports; -1 and absence both mean all.
func portText(from, to *int32) string {
	f, t := aws.ToInt32(from), aws.ToInt32(to)
	switch {
	case from == nil, f == -1 && t == -1:
		return "all"
	case f == t:
		return fmt.Sprint(f)
	default:
		return fmt.Sprintf("%d-%d", f, t)
	}
}

// request is the wanted rule as EC2 takes it; an unknown source is left out.
func (r *SecurityGroupRule) request() ec2types.SecurityGroupRuleRequest {
	a := r.allow
	req := ec2types.SecurityGroupRuleRequest{
		IpProtocol: aws.String(protocol(a.Proto)),
		FromPort:   aws.Int32(-1), ToPort: aws.Int32(-1), // all, where there are ports at all
		Description: aws.String(ruleText(a.Why)),
	}
	switch a.Proto {
	case "tcp", "udp", "icmp":
		req.FromPort, req.ToPort = aws.Int32(int32(a.Ports[0])), aws.Int32(int32(a.Ports[1]))
	}
	if r.from != nil {
		req.ReferencedGroupId = aws.String(r.from.CloudID.Value())
	} else if a.From.Range.Addr().Is4() {
		req.CidrIpv4 = aws.String(a.From.Range.String())
	} else {
		req.CidrIpv6 = aws.String(a.From.Range.String())
	}
	return req
}

func protocol(neutral string) string {
	switch neutral {
	case "any":
		return "-1"
	case "ipip":
		return "4"
	default:
		return neutral
	}
}

// ruleText keeps what EC2 takes in the description of a rule: 255 characters of a small
// alphabet.
func ruleText(s string) string {
	const allowed = " ._-:/()#,@[]+=&;{}!$*"
	s = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(allowed, c) {
			return c
		}
		return '-'
	}, s)
	return s[:min(len(s), 255)]
}

// Apply allows it, or changes what is allowed.
func (r *SecurityGroupRule) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.SecurityGroupRule])
	if c.Action == tasks.Update {
		return r.update(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := r.s.retire(ctx, o.ID, r.key); err != nil {
			return err
		}
	}
	id, err := r.s.rules.makeOnce(ctx, r.key, r.create)
	if is(err, "InvalidPermission.Duplicate") {
		id, err = r.adopt(ctx)
	}
	if is(err, "RulesPerSecurityGroupLimitExceeded") {
		return fmt.Errorf("allow %s: security group %s is full; lists of CIDRs in the spec count one rule each: %w", r.key, r.to.key, err)
	}
	if err != nil {
		return fmt.Errorf("allow %s: %w", r.key, err)
	}
	r.CloudID.Set(id)
	return nil
}

func (r *SecurityGroupRule) create(ctx context.Context) (string, error) {
	out, err := r.s.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId:           aws.String(r.to.CloudID.Value()),
		IpPermissions:     []ec2types.IpPermission{r.permission()},
		TagSpecifications: tagSpec(ec2types.ResourceTypeSecurityGroupRule, r.tags),
	})
	if err != nil {
		return "", err
	}
	if len(out.SecurityGroupRules) == 0 {
		return "", tasks.Retry(fmt.Errorf("AWS answered without the rule"))
	}
	return aws.ToString(out.SecurityGroupRules[0].SecurityGroupRuleId), nil
}

// permission is the wanted rule in the form in which it is created.
func (r *SecurityGroupRule) permission() ec2types.IpPermission {
	req := r.request()
	p := ec2types.IpPermission{IpProtocol: req.IpProtocol, FromPort: req.FromPort, ToPort: req.ToPort}
	switch {
	case req.ReferencedGroupId != nil:
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: req.ReferencedGroupId, Description: req.Description}}
	case req.CidrIpv4 != nil:
		p.IpRanges = []ec2types.IpRange{{CidrIp: req.CidrIpv4, Description: req.Description}}
	default:
		p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: req.CidrIpv6, Description: req.Description}}
	}
	return p
}

// adopt takes over a rule in our own group that already says the same: AWS allows no
// second one.
func (r *SecurityGroupRule) adopt(ctx context.Context) (string, error) {
	group, want := r.to.CloudID.Value(), r.request()
	id := ""
	err := pages(ctx, ec2.NewDescribeSecurityGroupRulesPaginator(r.s.ec2, &ec2.DescribeSecurityGroupRulesInput{
		Filters: []ec2types.Filter{{Name: aws.String("group-id"), Values: []string{group}}},
	}), func(page *ec2.DescribeSecurityGroupRulesOutput) {
		for _, o := range page.SecurityGroupRules {
			source, _ := sourceOf(o)
			if !aws.ToBool(o.IsEgress) && source == r.source().Text && aws.ToString(o.IpProtocol) == *want.IpProtocol &&
				portText(o.FromPort, o.ToPort) == portText(want.FromPort, want.ToPort) {
				id = aws.ToString(o.SecurityGroupRuleId)
			}
		}
	})
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", tasks.Retry(fmt.Errorf("the rule is said to exist in %s and is not found there", group))
	}
	return id, r.s.setTags(ctx, id, r.tags)
}

func (r *SecurityGroupRule) update(ctx context.Context, id string, c tasks.Change) error {
	if c.Has("protocol") || c.Has("ports") || c.Has("source") {
		req := r.request()
		_, err := r.s.ec2.ModifySecurityGroupRules(ctx, &ec2.ModifySecurityGroupRulesInput{
			GroupId:            aws.String(r.to.CloudID.Value()),
			SecurityGroupRules: []ec2types.SecurityGroupRuleUpdate{{SecurityGroupRuleId: &id, SecurityGroupRule: &req}},
		})
		if err != nil {
			return fmt.Errorf("change rule %s: %w", r.key, err)
		}
	}
	return r.s.applyTags(ctx, id, c)
}

// listRules reads the rules that the cluster owns, of all groups.
func (s *survey) listRules(ctx context.Context) ([]owned[ec2types.SecurityGroupRule], error) {
	var out []owned[ec2types.SecurityGroupRule]
	err := pages(ctx, ec2.NewDescribeSecurityGroupRulesPaginator(s.ec2, &ec2.DescribeSecurityGroupRulesInput{Filters: s.mine()}),
		func(page *ec2.DescribeSecurityGroupRulesOutput) {
			for _, r := range page.SecurityGroupRules {
				if o, ours := ownedEC2(s, r.SecurityGroupRuleId, r.Tags, r); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeRule(ctx context.Context, l leftover) error {
	r := l.Value.(ec2types.SecurityGroupRule)
	_, err := s.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{
		GroupId: r.GroupId, SecurityGroupRuleIds: []string{l.ID},
	})
	return ifThere(err)
}

// Export writes the rule.
func (r *SecurityGroupRule) Export(_ context.Context, m *terraform.Module) error {
	b, want := r.export(m, "aws_vpc_security_group_ingress_rule"), r.request()
	b.SetText("security_group_id", r.to.CloudID.Value())
	b.SetText("description", aws.ToString(want.Description))
	b.SetText("ip_protocol", aws.ToString(want.IpProtocol))
	if *want.FromPort != -1 {
		b.Set("from_port", terraform.Number(int64(*want.FromPort)))
		b.Set("to_port", terraform.Number(int64(*want.ToPort)))
	}
	b.SetText("referenced_security_group_id", aws.ToString(want.ReferencedGroupId))
	b.SetText("cidr_ipv4", aws.ToString(want.CidrIpv4))
	b.SetText("cidr_ipv6", aws.ToString(want.CidrIpv6))
	r.exportTags(b)
	return nil
}
