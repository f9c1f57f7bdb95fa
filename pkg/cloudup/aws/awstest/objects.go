// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// Objects lists every object of the account, by its kind and id. The values are JSON, as
// AWS shows the object; what AWS itself keeps (the main route table, the default group)
// is there too, and what is gone and only still shown is not.
func (w *World) Objects(ctx context.Context) (map[string]string, error) {
	l := &lister{ctx: ctx, w: w, out: map[string]string{}}
	for _, list := range []func(){l.network, l.rules, l.machines, l.balancing, l.identities, l.zones, l.keys} {
		if list(); l.err != nil {
			return nil, fmt.Errorf("list the world: %w", l.err)
		}
	}
	return l.out, nil
}

type lister struct {
	ctx context.Context
	w   *World
	out map[string]string
	err error
}

// put adds an object.
func (l *lister) put(kind, id string, v any) {
	b, err := json.Marshal(v)
	if err != nil && l.err == nil {
		l.err = err
	}
	l.out[kind+" "+id] = string(b)
}

func (l *lister) failed(err error) bool {
	if err != nil && l.err == nil {
		l.err = err
	}
	return l.err != nil
}

// each reads all pages of a list.
func each[O, F any](l *lister, p interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*F)) (*O, error)
}, take func(*O)) {
	for l.err == nil && p.HasMorePages() {
		page, err := p.NextPage(l.ctx)
		if l.failed(err) {
			return
		}
		take(page)
	}
}

func (l *lister) network() {
	c := l.w.EC2
	each(l, ec2.NewDescribeVpcsPaginator(c, &ec2.DescribeVpcsInput{}), func(p *ec2.DescribeVpcsOutput) {
		for _, v := range p.Vpcs {
			l.put("vpc", *v.VpcId, v)
			for _, attr := range []ec2types.VpcAttributeName{ec2types.VpcAttributeNameEnableDnsHostnames, ec2types.VpcAttributeNameEnableDnsSupport} {
				a, err := c.DescribeVpcAttribute(l.ctx, &ec2.DescribeVpcAttributeInput{VpcId: v.VpcId, Attribute: attr})
				if l.failed(err) {
					return
				}
				l.put("vpc-"+string(attr), *v.VpcId, []any{v.VpcId, a.EnableDnsHostnames, a.EnableDnsSupport})
			}
		}
	})
	each(l, ec2.NewDescribeSubnetsPaginator(c, &ec2.DescribeSubnetsInput{}), func(p *ec2.DescribeSubnetsOutput) {
		for _, v := range p.Subnets {
			v.AvailableIpAddressCount = nil // machines come and go
			l.put("subnet", *v.SubnetId, v)
		}
	})
	each(l, ec2.NewDescribeInternetGatewaysPaginator(c, &ec2.DescribeInternetGatewaysInput{}), func(p *ec2.DescribeInternetGatewaysOutput) {
		for _, v := range p.InternetGateways {
			l.put("internet-gateway", *v.InternetGatewayId, v)
		}
	})
	each(l, ec2.NewDescribeNatGatewaysPaginator(c, &ec2.DescribeNatGatewaysInput{}), func(p *ec2.DescribeNatGatewaysOutput) {
		for _, v := range p.NatGateways {
			if v.State != ec2types.NatGatewayStateDeleted {
				v.State = "" // pending, then available
				l.put("nat-gateway", *v.NatGatewayId, v)
			}
		}
	})
	each(l, ec2.NewDescribeRouteTablesPaginator(c, &ec2.DescribeRouteTablesInput{}), func(p *ec2.DescribeRouteTablesOutput) {
		for _, v := range p.RouteTables {
			l.put("route-table", *v.RouteTableId, v)
		}
	})
	each(l, ec2.NewDescribeDhcpOptionsPaginator(c, &ec2.DescribeDhcpOptionsInput{}), func(p *ec2.DescribeDhcpOptionsOutput) {
		for _, v := range p.DhcpOptions {
			l.put("dhcp-options", *v.DhcpOptionsId, v)
		}
	})
	addresses, err := c.DescribeAddresses(l.ctx, &ec2.DescribeAddressesInput{})
	if l.failed(err) {
		return
	}
	for _, v := range addresses.Addresses {
		l.put("address", *v.AllocationId, v)
	}
}

func (l *lister) rules() {
	c := l.w.EC2
	each(l, ec2.NewDescribeSecurityGroupsPaginator(c, &ec2.DescribeSecurityGroupsInput{}), func(p *ec2.DescribeSecurityGroupsOutput) {
		for _, v := range p.SecurityGroups {
			v.IpPermissions, v.IpPermissionsEgress = nil, nil // listed below, one by one
			l.put("security-group", *v.GroupId, v)
		}
	})
	each(l, ec2.NewDescribeSecurityGroupRulesPaginator(c, &ec2.DescribeSecurityGroupRulesInput{}), func(p *ec2.DescribeSecurityGroupRulesOutput) {
		for _, v := range p.SecurityGroupRules {
			l.put("rule", *v.SecurityGroupRuleId, v)
		}
	})
	keys, err := c.DescribeKeyPairs(l.ctx, &ec2.DescribeKeyPairsInput{})
	if l.failed(err) {
		return
	}
	for _, v := range keys.KeyPairs {
		l.put("key-pair", *v.KeyPairId, v)
	}
}

func (l *lister) machines() {
	each(l, ec2.NewDescribeVolumesPaginator(l.w.EC2, &ec2.DescribeVolumesInput{}), func(p *ec2.DescribeVolumesOutput) {
		for _, v := range p.Volumes {
			if len(v.Attachments) == 0 { // a machine's own disks go with it
				l.put("volume", *v.VolumeId, v)
			}
		}
	})
	var templates []string
	each(l, ec2.NewDescribeLaunchTemplatesPaginator(l.w.EC2, &ec2.DescribeLaunchTemplatesInput{}), func(p *ec2.DescribeLaunchTemplatesOutput) {
		for _, v := range p.LaunchTemplates {
			templates = append(templates, *v.LaunchTemplateId)
			l.put("launch-template", *v.LaunchTemplateId, v)
		}
	})
	for _, id := range templates {
		each(l, ec2.NewDescribeLaunchTemplateVersionsPaginator(l.w.EC2, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id}), func(p *ec2.DescribeLaunchTemplateVersionsOutput) {
			for _, v := range p.LaunchTemplateVersions {
				l.put("launch-template-version", fmt.Sprintf("%s/%d", id, *v.VersionNumber), v)
			}
		})
	}
	each(l, autoscaling.NewDescribeAutoScalingGroupsPaginator(l.w.Scaling, &autoscaling.DescribeAutoScalingGroupsInput{}), func(p *autoscaling.DescribeAutoScalingGroupsOutput) {
		for _, v := range p.AutoScalingGroups {
			v.Instances = nil // they are listed below, by themselves
			if v.Status != nil {
				continue // its deletion has begun
			}
			l.put("auto-scaling-group", *v.AutoScalingGroupName, v)
		}
	})
	each(l, ec2.NewDescribeInstancesPaginator(l.w.EC2, &ec2.DescribeInstancesInput{}), func(p *ec2.DescribeInstancesOutput) {
		for _, r := range p.Reservations {
			for _, v := range r.Instances {
				if v.State.Name != ec2types.InstanceStateNameTerminated && v.State.Name != ec2types.InstanceStateNameShuttingDown {
					l.put("instance", *v.InstanceId, v.Tags)
				}
			}
		}
	})
}

func (l *lister) balancing() {
	c := l.w.ELB
	var arns []string
	each(l, elb.NewDescribeLoadBalancersPaginator(c, &elb.DescribeLoadBalancersInput{}), func(p *elb.DescribeLoadBalancersOutput) {
		for _, v := range p.LoadBalancers {
			v.State = nil
			l.put("load-balancer", *v.LoadBalancerArn, v)
			arns = append(arns, *v.LoadBalancerArn)
		}
	})
	for _, arn := range slices.Clone(arns) {
		a, err := c.DescribeLoadBalancerAttributes(l.ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &arn})
		if l.failed(err) {
			return
		}
		l.put("load-balancer-attributes", arn, []any{arn, a.Attributes})
		each(l, elb.NewDescribeListenersPaginator(c, &elb.DescribeListenersInput{LoadBalancerArn: &arn}), func(p *elb.DescribeListenersOutput) {
			for _, v := range p.Listeners {
				l.put("listener", *v.ListenerArn, v)
				arns = append(arns, *v.ListenerArn)
			}
		})
	}
	each(l, elb.NewDescribeTargetGroupsPaginator(c, &elb.DescribeTargetGroupsInput{}), func(p *elb.DescribeTargetGroupsOutput) {
		for _, v := range p.TargetGroups {
			l.put("target-group", *v.TargetGroupArn, v)
			arns = append(arns, *v.TargetGroupArn)
		}
	})
	for part := range slices.Chunk(arns, 20) {
		tags, err := c.DescribeTags(l.ctx, &elb.DescribeTagsInput{ResourceArns: part})
		if l.failed(err) {
			return
		}
		for _, v := range tags.TagDescriptions {
			l.put("balancing-tags", *v.ResourceArn, v)
		}
	}
}

func (l *lister) identities() {
	c := l.w.IAM
	var roles []string
	each(l, iam.NewListRolesPaginator(c, &iam.ListRolesInput{}), func(p *iam.ListRolesOutput) {
		for _, v := range p.Roles {
			if !strings.HasPrefix(*v.Path, "/aws-service-role/") { // those are AWS's own
				roles = append(roles, *v.RoleName)
			}
		}
	})
	for _, name := range roles {
		role, err := c.GetRole(l.ctx, &iam.GetRoleInput{RoleName: &name})
		if l.failed(err) {
			return
		}
		l.put("role", name, role.Role)
		inline, err := c.ListRolePolicies(l.ctx, &iam.ListRolePoliciesInput{RoleName: &name})
		if l.failed(err) {
			return
		}
		for _, policy := range inline.PolicyNames {
			doc, err := c.GetRolePolicy(l.ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &policy})
			if l.failed(err) {
				return
			}
			text, err := url.QueryUnescape(*doc.PolicyDocument)
			if l.failed(err) {
				return
			}
			l.put("role-policy", name+"/"+policy, []any{name, policy, text})
		}
		attached, err := c.ListAttachedRolePolicies(l.ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
		if l.failed(err) {
			return
		}
		l.put("role-attached", name, []any{name, attached.AttachedPolicies})
	}
	each(l, iam.NewListInstanceProfilesPaginator(c, &iam.ListInstanceProfilesInput{}), func(p *iam.ListInstanceProfilesOutput) {
		for _, v := range p.InstanceProfiles {
			tags, err := c.ListInstanceProfileTags(l.ctx, &iam.ListInstanceProfileTagsInput{InstanceProfileName: v.InstanceProfileName})
			if l.failed(err) {
				return
			}
			for i := range v.Roles {
				v.Roles[i].AssumeRolePolicyDocument = nil
			}
			v.Tags = tags.Tags
			l.put("instance-profile", *v.InstanceProfileName, v)
		}
	})
}

func (l *lister) zones() {
	each(l, route53.NewListHostedZonesPaginator(l.w.Route53, &route53.ListHostedZonesInput{}), func(p *route53.ListHostedZonesOutput) {
		for _, v := range p.HostedZones {
			v.ResourceRecordSetCount = nil
			zone, err := l.w.Route53.GetHostedZone(l.ctx, &route53.GetHostedZoneInput{Id: v.Id})
			if l.failed(err) {
				return
			}
			l.put("zone", *v.Id, []any{v, zone.VPCs})
			each(l, route53.NewListResourceRecordSetsPaginator(l.w.Route53, &route53.ListResourceRecordSetsInput{HostedZoneId: v.Id}), func(p *route53.ListResourceRecordSetsOutput) {
				for _, r := range p.ResourceRecordSets {
					l.put("record", fmt.Sprintf("%s/%s/%s", *v.Id, aws.ToString(r.Name), r.Type), []any{v.Id, r})
				}
			})
		}
	})
}

// keys lists the keys whose deletion is not pending: those are gone but for the wait.
func (l *lister) keys() {
	c := l.w.KMS
	each(l, kms.NewListAliasesPaginator(c, &kms.ListAliasesInput{}), func(p *kms.ListAliasesOutput) {
		for _, v := range p.Aliases {
			if !strings.HasPrefix(aws.ToString(v.AliasName), "alias/aws/") {
				l.put("key-alias", *v.AliasName, []any{v.AliasName, v.TargetKeyId})
			}
		}
	})
	each(l, kms.NewListKeysPaginator(c, &kms.ListKeysInput{}), func(p *kms.ListKeysOutput) {
		for _, v := range p.Keys {
			key, err := c.DescribeKey(l.ctx, &kms.DescribeKeyInput{KeyId: v.KeyId})
			if l.failed(err) || key.KeyMetadata.KeyState == kmstypes.KeyStatePendingDeletion {
				continue
			}
			rotation, err := c.GetKeyRotationStatus(l.ctx, &kms.GetKeyRotationStatusInput{KeyId: v.KeyId})
			if l.failed(err) {
				return
			}
			policy, err := c.GetKeyPolicy(l.ctx, &kms.GetKeyPolicyInput{KeyId: v.KeyId, PolicyName: aws.String("default")})
			if l.failed(err) {
				return
			}
			tags, err := c.ListResourceTags(l.ctx, &kms.ListResourceTagsInput{KeyId: v.KeyId})
			if l.failed(err) {
				return
			}
			m := key.KeyMetadata
			l.put("key", *v.KeyId, []any{m.KeyId, m.KeyState, m.Description, rotation.KeyRotationEnabled, policy.Policy, tags.Tags})
		}
	})
}
