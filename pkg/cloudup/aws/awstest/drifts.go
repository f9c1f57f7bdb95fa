// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
)

// hand is someone who changes a cluster's objects behind its back. It fails the test at
// the first error.
type hand struct {
	testing.TB
	*World
	ctx          context.Context
	cluster, uid string
}

func (h hand) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// mine is the filter of one object of the cluster's by its key; "" is all of a kind.
func (h hand) mine(key string) []ec2types.Filter {
	f := []ec2types.Filter{{Name: aws.String("tag:slipway.dev/cluster-uid"), Values: []string{h.uid}}}
	if key != "" {
		f = append(f, ec2types.Filter{Name: aws.String("tag:slipway.dev/id"), Values: []string{key}})
	}
	return f
}

// by makes a drift of what a hand does.
func by(name, shown string, do func(h hand)) cloudtest.Drift {
	return cloudtest.Drift{Name: name, Shown: shown, Make: func(t testing.TB, w cloudtest.World, cluster, uid string) {
		t.Helper()
		do(hand{t, w.(*World), t.Context(), cluster, uid})
	}}
}

func renewing(d cloudtest.Drift) cloudtest.Drift {
	d.Renews = true
	return d
}

func (h hand) vpc() *string {
	out, err := h.EC2.DescribeVpcs(h.ctx, &ec2.DescribeVpcsInput{Filters: h.mine("")})
	h.ok(err)
	return out.Vpcs[0].VpcId
}

func (h hand) group(name string) *string {
	out, err := h.EC2.DescribeSecurityGroups(h.ctx, &ec2.DescribeSecurityGroupsInput{Filters: h.mine(name)})
	h.ok(err)
	return out.SecurityGroups[0].GroupId
}

func (h hand) balancer() elbtypes.LoadBalancer {
	out, err := h.ELB.DescribeLoadBalancers(h.ctx, &elb.DescribeLoadBalancersInput{})
	h.ok(err)
	return out.LoadBalancers[0]
}

func (h hand) scalingGroup() *string {
	out, err := h.Scaling.DescribeAutoScalingGroups(h.ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
	h.ok(err)
	return out.AutoScalingGroups[len(out.AutoScalingGroups)-1].AutoScalingGroupName
}

func (h hand) role() *string {
	out, err := h.IAM.ListInstanceProfiles(h.ctx, &iam.ListInstanceProfilesInput{})
	h.ok(err)
	for _, p := range out.InstanceProfiles {
		if strings.HasPrefix(*p.Roles[0].RoleName, "control-plane") {
			return p.Roles[0].RoleName
		}
	}
	h.Fatal("there is no role of control planes")
	return nil
}

// key is the cluster's own KMS key.
func (h hand) key() *string {
	out, err := h.KMS.ListAliases(h.ctx, &kms.ListAliasesInput{})
	h.ok(err)
	for _, a := range out.Aliases {
		if strings.HasPrefix(*a.AliasName, "alias/slipway/") {
			return a.TargetKeyId
		}
	}
	h.Fatal("there is no key of the cluster's")
	return nil
}

// drifts are changes of each kind of object that the suite's private cluster has.
var drifts = []cloudtest.Drift{
	by("vpc attribute", "dnsHostnames", func(h hand) {
		_, err := h.EC2.ModifyVpcAttribute(h.ctx, &ec2.ModifyVpcAttributeInput{VpcId: h.vpc(), EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}})
		h.ok(err)
	}),
	by("key disabled", "state", func(h hand) {
		_, err := h.KMS.DisableKey(h.ctx, &kms.DisableKeyInput{KeyId: h.key()})
		h.ok(err)
	}),
	by("key to be deleted", "state", func(h hand) {
		_, err := h.KMS.ScheduleKeyDeletion(h.ctx, &kms.ScheduleKeyDeletionInput{KeyId: h.key()})
		h.ok(err)
	}),
	by("key description", "description", func(h hand) {
		_, err := h.KMS.UpdateKeyDescription(h.ctx, &kms.UpdateKeyDescriptionInput{KeyId: h.key(), Description: aws.String("mine")})
		h.ok(err)
	}),
	by("key tag", "tags[team]", func(h hand) {
		_, err := h.KMS.UntagResource(h.ctx, &kms.UntagResourceInput{KeyId: h.key(), TagKeys: []string{"team"}})
		h.ok(err)
	}),
	by("vpc tag", "tags[team]", func(h hand) {
		_, err := h.EC2.DeleteTags(h.ctx, &ec2.DeleteTagsInput{Resources: []string{*h.vpc()}, Tags: []ec2types.Tag{{Key: aws.String("team")}}})
		h.ok(err)
	}),
	by("route removed", "+ aws/route/", func(h hand) {
		out, err := h.EC2.DescribeRouteTables(h.ctx, &ec2.DescribeRouteTablesInput{Filters: h.mine("")})
		h.ok(err)
		_, err = h.EC2.DeleteRoute(h.ctx, &ec2.DeleteRouteInput{RouteTableId: out.RouteTables[0].RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0")})
		h.ok(err)
	}),
	by("rule removed", "+ aws/securitygrouprule/", func(h hand) {
		out, err := h.EC2.DescribeSecurityGroupRules(h.ctx, &ec2.DescribeSecurityGroupRulesInput{Filters: h.mine("")})
		h.ok(err)
		for _, r := range out.SecurityGroupRules {
			if !*r.IsEgress {
				_, err = h.EC2.RevokeSecurityGroupIngress(h.ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: r.GroupId, SecurityGroupRuleIds: []string{*r.SecurityGroupRuleId}})
				h.ok(err)
				return
			}
		}
	}),
	by("key pair removed", "+ aws/keypair/", func(h hand) {
		out, err := h.EC2.DescribeKeyPairs(h.ctx, &ec2.DescribeKeyPairsInput{})
		h.ok(err)
		_, err = h.EC2.DeleteKeyPair(h.ctx, &ec2.DeleteKeyPairInput{KeyPairId: out.KeyPairs[0].KeyPairId})
		h.ok(err)
	}),
	by("role policy removed", "aws/iam-role/", func(h hand) {
		_, err := h.IAM.DeleteRolePolicy(h.ctx, &iam.DeleteRolePolicyInput{RoleName: h.role(), PolicyName: aws.String("slipway")})
		h.ok(err)
	}),
	by("role taken from its profile", "aws/instance-profile/", func(h hand) {
		out, err := h.IAM.ListInstanceProfiles(h.ctx, &iam.ListInstanceProfilesInput{})
		h.ok(err)
		p := out.InstanceProfiles[0]
		_, err = h.IAM.RemoveRoleFromInstanceProfile(h.ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: p.InstanceProfileName, RoleName: p.Roles[0].RoleName})
		h.ok(err)
	}),
	by("group size", "maxSize: 4 -> 1", func(h hand) {
		_, err := h.Scaling.UpdateAutoScalingGroup(h.ctx, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: h.scalingGroup(), MaxSize: aws.Int32(4)})
		h.ok(err)
	}),
	by("group removed", "+ aws/autoscalinggroup/", func(h hand) {
		_, err := h.Scaling.DeleteAutoScalingGroup(h.ctx, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: h.scalingGroup(), ForceDelete: aws.Bool(true)})
		h.ok(err)
	}),
	by("listener removed", "+ aws/listener/", func(h hand) {
		out, err := h.ELB.DescribeListeners(h.ctx, &elb.DescribeListenersInput{LoadBalancerArn: h.balancer().LoadBalancerArn})
		h.ok(err)
		_, err = h.ELB.DeleteListener(h.ctx, &elb.DeleteListenerInput{ListenerArn: out.Listeners[0].ListenerArn})
		h.ok(err)
	}),
	by("balancer's security groups", "securityGroups", func(h hand) {
		_, err := h.ELB.SetSecurityGroups(h.ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: h.balancer().LoadBalancerArn, SecurityGroups: []string{*h.group("node")}})
		h.ok(err)
	}),
	by("record removed", "+ aws/record/", func(h hand) {
		zones, err := h.Route53.ListHostedZones(h.ctx, &route53.ListHostedZonesInput{})
		h.ok(err)
		sets, err := h.Route53.ListResourceRecordSets(h.ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: zones.HostedZones[0].Id})
		h.ok(err)
		for _, s := range sets.ResourceRecordSets {
			if s.AliasTarget != nil {
				_, err = h.Route53.ChangeResourceRecordSets(h.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: zones.HostedZones[0].Id,
					ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionDelete, ResourceRecordSet: &s}}}})
				h.ok(err)
				return
			}
		}
		h.Fatal("there is no alias record")
	}),
	by("volume's tag", "tags[Name]", func(h hand) {
		out, err := h.EC2.DescribeVolumes(h.ctx, &ec2.DescribeVolumesInput{Filters: h.mine("")})
		h.ok(err)
		_, err = h.EC2.CreateTags(h.ctx, &ec2.CreateTagsInput{Resources: []string{*out.Volumes[0].VolumeId}, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String("mine")}}})
		h.ok(err)
	}),
	renewing(by("template's default version", "aws/launchtemplate/", func(h hand) {
		out, err := h.EC2.DescribeLaunchTemplates(h.ctx, &ec2.DescribeLaunchTemplatesInput{Filters: h.mine("")})
		h.ok(err)
		id := out.LaunchTemplates[0].LaunchTemplateId
		_, err = h.EC2.CreateLaunchTemplateVersion(h.ctx, &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: id, SourceVersion: aws.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{EbsOptimized: aws.Bool(true), InstanceType: "m5.large"},
		})
		h.ok(err)
	})),
	by("NAT gateway removed", "+ aws/natgateway/", func(h hand) {
		out, err := h.EC2.DescribeNatGateways(h.ctx, &ec2.DescribeNatGatewaysInput{Filter: h.mine("")})
		h.ok(err)
		_, err = h.EC2.DeleteNatGateway(h.ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: out.NatGateways[0].NatGatewayId})
		h.ok(err)
	}),
}

// stray is an address that carries the cluster's marks and that nothing wants.
func stray(t testing.TB, w cloudtest.World, cluster, uid string) {
	t.Helper()
	spec := tagged(ec2types.ResourceTypeElasticIp, "slipway.dev/cluster-uid", uid, "slipway.dev/id", "stray", "KubernetesCluster", cluster)
	if _, err := w.(*World).EC2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{TagSpecifications: spec}); err != nil {
		t.Fatal(err)
	}
}
