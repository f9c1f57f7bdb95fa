// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// SecurityGroup is the firewall round the machines of a role or round a load balancer.
// One that is given by id is kept, its rules too.
type SecurityGroup struct {
	resource
	vpc    *VPC
	shared string
}

func newSecurityGroup(s *survey, vpc *VPC, key, shared string) *SecurityGroup {
	g := &SecurityGroup{
		resource: resource{s: s, kind: "securitygroup", key: key, deps: []tasks.Task{vpc}},
		vpc:      vpc, shared: shared,
	}
	if shared == "" {
		g.tags = s.tagsFor(key, key+"."+s.cluster, nil)
	}
	return g
}

func (g *SecurityGroup) description() string { return "Slipway: " + g.key + " of " + g.s.cluster }

// Observe finds the group. Every party may reach out, so the rule that AWS puts into a
// new group is part of it.
func (g *SecurityGroup) Observe(ctx context.Context) (tasks.Change, error) {
	if g.shared != "" {
		return g.verify(ctx)
	}
	o, exists, err := g.s.groups.find(ctx, g.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Fixed("vpc", aws.ToString(o.Value.VpcId), g.vpc.CloudID.Plan())
	d.Field("egress", egressAll(o.Value), allAddresses)
	diffTags(d, o.Tags, g.tags)
	return found(&g.resource, g.s.groups, o, exists, d), nil
}

func (g *SecurityGroup) verify(ctx context.Context) (tasks.Change, error) {
	out, err := g.s.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{g.shared}})
	if gone(err) || err == nil && len(out.SecurityGroups) == 0 {
		return tasks.Change{}, fmt.Errorf("there is no security group %s in %s: correct the spec's securityGroupOverride", g.shared, g.s.region)
	}
	if err != nil {
		return tasks.Change{}, fmt.Errorf("read security group %s: %w", g.shared, err)
	}
	return kept(&g.resource, g.shared, out.SecurityGroups[0]), nil
}

// egressAll returns 0.0.0.0/0 when a group lets everything out.
func egressAll(g ec2types.SecurityGroup) string {
	for _, p := range g.IpPermissionsEgress {
		for _, r := range p.IpRanges {
			if aws.ToString(p.IpProtocol) == "-1" && aws.ToString(r.CidrIp) == allAddresses {
				return allAddresses
			}
		}
	}
	return ""
}

// Apply makes the group, or opens its way out and changes its tags.
func (g *SecurityGroup) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.SecurityGroup])
	if c.Action == tasks.Update {
		if c.Has("egress") {
			if err := g.openEgress(ctx, o.ID); err != nil {
				return err
			}
		}
		return g.s.applyTags(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := g.s.retire(ctx, o.ID, g.key); err != nil {
			return err
		}
	}
	id, err := g.s.groups.makeOnce(ctx, g.key, func(ctx context.Context) (string, error) {
		out, err := g.s.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			VpcId:             aws.String(g.vpc.CloudID.Value()),
			GroupName:         aws.String(g.tags["Name"]),
			Description:       aws.String(g.description()),
			TagSpecifications: tagSpec(ec2types.ResourceTypeSecurityGroup, g.tags),
		})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.GroupId), nil
	})
	if is(err, "InvalidGroup.Duplicate") {
		return fmt.Errorf("create security group %s: one of that name, which is not this cluster's, is in the VPC: %w", g.key, err)
	}
	if err != nil {
		return fmt.Errorf("create security group %s: %w", g.key, err)
	}
	g.CloudID.Set(id)
	return nil
}

func (g *SecurityGroup) openEgress(ctx context.Context, id string) error {
	_, err := g.s.ec2.AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{
		GroupId: &id,
		IpPermissions: []ec2types.IpPermission{{
			IpProtocol: aws.String("-1"), IpRanges: []ec2types.IpRange{{CidrIp: aws.String(allAddresses)}},
		}},
	})
	if err != nil && !is(err, "InvalidPermission.Duplicate") {
		return fmt.Errorf("let security group %s reach out: %w", g.key, err)
	}
	return nil
}

// listGroups reads the groups that the cluster owns. Their incoming rules are objects of
// their own.
func (s *survey) listGroups(ctx context.Context) ([]owned[ec2types.SecurityGroup], error) {
	var out []owned[ec2types.SecurityGroup]
	err := pages(ctx, ec2.NewDescribeSecurityGroupsPaginator(s.ec2, &ec2.DescribeSecurityGroupsInput{Filters: s.mine()}),
		func(page *ec2.DescribeSecurityGroupsOutput) {
			for _, g := range page.SecurityGroups {
				if o, ours := ownedEC2(s, g.GroupId, g.Tags, g); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeGroup(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &l.ID})
	return s.blocked(ctx, ifThere(err), "group-id", l.ID)
}

// Export writes the group and its way out: Terraform takes away the rule that AWS puts
// into a new group.
func (g *SecurityGroup) Export(ctx context.Context, m *terraform.Module) error {
	if g.shared != "" {
		g.CloudID.Set(g.shared)
		return nil
	}
	b := g.export(m, "aws_security_group")
	b.SetText("name", g.tags["Name"])
	b.SetText("description", g.description())
	b.SetText("vpc_id", g.vpc.CloudID.Value())
	g.exportTags(b)
	m.Output("security_group_"+terraform.Label(g.key)+"_id", "The security group of "+g.key+".", b.Ref("id"))
	out := m.Resource("aws_vpc_security_group_egress_rule", g.key)
	out.Set("security_group_id", b.Ref("id"))
	out.SetText("ip_protocol", "-1")
	out.SetText("cidr_ipv4", allAddresses)
	if m.Imports && g.importID != "" {
		id, err := g.s.egressRule(ctx, g.importID)
		if err != nil {
			return err
		}
		out.Import(id)
	}
	return nil
}

// egressRule returns the id of the rule that lets everything out of a group, or "".
func (s *survey) egressRule(ctx context.Context, group string) (string, error) {
	id := ""
	err := pages(ctx, ec2.NewDescribeSecurityGroupRulesPaginator(s.ec2, &ec2.DescribeSecurityGroupRulesInput{
		Filters: []ec2types.Filter{{Name: aws.String("group-id"), Values: []string{group}}},
	}), func(page *ec2.DescribeSecurityGroupRulesOutput) {
		for _, r := range page.SecurityGroupRules {
			if aws.ToBool(r.IsEgress) && aws.ToString(r.IpProtocol) == "-1" && aws.ToString(r.CidrIpv4) == allAddresses {
				id = aws.ToString(r.SecurityGroupRuleId)
			}
		}
	})
	if err != nil {
		return "", fmt.Errorf("read the rules of security group %s: %w", group, err)
	}
	return id, nil
}
