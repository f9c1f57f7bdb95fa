// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
)

// Harness is AWS for the conformance suite, on the simulated cloud.
func Harness() cloudtest.Harness {
	return cloudtest.Harness{
		Start:      func(t testing.TB, clock *cloudtest.Clock) cloudtest.World { return Simulated(t, clock) },
		Zones:      []string{Region + "a", Region + "b", Region + "c"},
		Volatile:   volatile,
		HostedZone: hostedZone, Network: network, Foreign: foreign,
		Drifts: drifts, Stray: stray, Fields: fields, Silent: silent,
	}
}

// volatile are times, addresses that AWS hands out, and names that it invents.
var volatile = []string{
	"CreateTime", "CreatedTime", "CreateDate", "LaunchTime", "AttachTime", "LastUsedDate", "RoleLastUsed", "RoleId", "InstanceProfileId",
	"PublicIp", "PrivateIp", "PrivateIpAddress", "NetworkInterfaceId", "LoadBalancerAddresses", "CallerReference", "AvailableIpAddressCount",
}

func hostedZone(t testing.TB, w cloudtest.World, name string) {
	t.Helper()
	c := w.(*World).Route53
	out, err := c.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String("test")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: out.HostedZone.Id,
		ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{
			Action: r53types.ChangeActionCreate,
			ResourceRecordSet: &r53types.ResourceRecordSet{
				Name: aws.String("www." + name), Type: r53types.RRTypeA, TTL: aws.Int64(60),
				ResourceRecords: []r53types.ResourceRecord{{Value: aws.String("192.0.2.10")}},
			},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tagged is someone else's mark.
func tagged(kind ec2types.ResourceType, pairs ...string) []ec2types.TagSpecification {
	s := ec2types.TagSpecification{ResourceType: kind, Tags: []ec2types.Tag{{Key: aws.String("Owner"), Value: aws.String("netteam")}}}
	for i := 0; i < len(pairs); i += 2 {
		s.Tags = append(s.Tags, ec2types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return []ec2types.TagSpecification{s}
}

// network is a VPC of someone else with a public subnet in each zone.
func network(t testing.TB, w cloudtest.World, o *api.CreateOptions) {
	t.Helper()
	c, ctx := w.(*World).EC2, t.Context()
	vpc, err := c.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.40.0.0/16"), TagSpecifications: tagged("vpc")})
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := c.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: tagged("internet-gateway")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{VpcId: vpc.Vpc.VpcId, InternetGatewayId: gateway.InternetGateway.InternetGatewayId}); err != nil {
		t.Fatal(err)
	}
	o.NetworkID = *vpc.Vpc.VpcId
	for i, zone := range o.Zones {
		n, err := c.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: vpc.Vpc.VpcId, AvailabilityZone: &zone, TagSpecifications: tagged("subnet"),
			CidrBlock: aws.String([]string{"10.40.0.0/20", "10.40.16.0/20", "10.40.32.0/20"}[i]),
		})
		if err != nil {
			t.Fatal(err)
		}
		o.SubnetIDs = append(o.SubnetIDs, *n.Subnet.SubnetId)
	}
}

// foreign makes objects of nobody that bear a cluster's name in every way but its UID.
func foreign(t testing.TB, w cloudtest.World, cluster string) {
	t.Helper()
	c, ctx := w.(*World), t.Context()
	look := []string{"Name", cluster, "KubernetesCluster", cluster, "kubernetes.io/cluster/" + cluster, "owned"}
	vpc, err := c.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.50.0.0/16"), TagSpecifications: tagged("vpc", "Name", cluster)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		VpcId: vpc.Vpc.VpcId, GroupName: aws.String("nodes." + cluster), Description: aws.String("x"), TagSpecifications: tagged("security-group", look...),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.EC2.CreateVolume(ctx, &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(Region + "a"), Size: aws.Int32(1), TagSpecifications: tagged("volume", look...),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.IAM.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName:                 aws.String("more-nodes." + cluster),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	}); err != nil {
		t.Fatal(err)
	}
}
