// SPDX-License-Identifier: Apache-2.0

package ec2_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
)

// rig is a served EC2 with a client and a clock.
type rig struct {
	*sdk.Client
	t     *testing.T
	ctx   context.Context
	clock *awstest.Clock
}

func serve(t *testing.T) *rig {
	t.Helper()
	s := awstest.Serve(t, t.TempDir(), func(c *aws.Cloud) error {
		service, err := ec2.New(c.World, ec2.Options{Account: aws.Account})
		if err == nil {
			c.Register(service)
		}
		return err
	})
	client := sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &s.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(aws.OperatorAccessKey, aws.OperatorSecret, ""),
	})
	return &rig{client, t, t.Context(), s.Clock}
}

// refused checks the error code of a call that must fail.
func refused[T any](r *rig, code string) func(T, error) {
	return func(_ T, err error) {
		r.t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code {
			r.t.Errorf("got %v, want %s", err, code)
		}
	}
}

// must takes the answer of a call that must work.
func must[T any](r *rig) func(T, error) T {
	return func(out T, err error) T {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		return out
	}
}

func ptr[T any](v T) *T { return &v }

func (r *rig) vpc(cidr string) string {
	r.t.Helper()
	return *must[*sdk.CreateVpcOutput](r)(r.CreateVpc(r.ctx, &sdk.CreateVpcInput{CidrBlock: &cidr})).Vpc.VpcId
}

func (r *rig) subnet(vpc, cidr, zone string) string {
	r.t.Helper()
	return *must[*sdk.CreateSubnetOutput](r)(r.CreateSubnet(r.ctx, &sdk.CreateSubnetInput{VpcId: &vpc, CidrBlock: &cidr, AvailabilityZone: &zone})).Subnet.SubnetId
}

func (r *rig) group(vpc, name string) string {
	r.t.Helper()
	return *must[*sdk.CreateSecurityGroupOutput](r)(r.CreateSecurityGroup(r.ctx, &sdk.CreateSecurityGroupInput{VpcId: &vpc, GroupName: &name, Description: ptr("test")})).GroupId
}

func (r *rig) image(arch string) string {
	r.t.Helper()
	out := must[*sdk.DescribeImagesOutput](r)(r.DescribeImages(r.ctx, &sdk.DescribeImagesInput{
		Owners: []string{"136693071363"}, Filters: []types.Filter{{Name: ptr("architecture"), Values: []string{arch}}, {Name: ptr("name"), Values: []string{"debian-13-*"}}},
	}))
	if len(out.Images) == 0 {
		r.t.Fatal("no image for " + arch)
	}
	return *out.Images[0].ImageId
}

func TestSubnetRanges(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	r.subnet(vpc, "10.0.1.0/24", "us-east-1a")
	for cidr, code := range map[string]string{"10.0.1.128/25": "InvalidSubnet.Conflict", "10.1.0.0/24": "InvalidSubnet.Range", "10.0.2.0/29": "InvalidSubnet.Range", "10.0.2.0": "InvalidParameterValue"} {
		refused[*sdk.CreateSubnetOutput](r, code)(r.CreateSubnet(r.ctx, &sdk.CreateSubnetInput{VpcId: &vpc, CidrBlock: &cidr}))
	}
	refused[*sdk.CreateVpcOutput](r, "InvalidVpc.Range")(r.CreateVpc(r.ctx, &sdk.CreateVpcInput{CidrBlock: ptr("10.0.0.0/8")}))
	out := must[*sdk.DescribeSubnetsOutput](r)(r.DescribeSubnets(r.ctx, &sdk.DescribeSubnetsInput{}))
	if got := *out.Subnets[0].AvailableIpAddressCount; got != 251 {
		t.Errorf("%d free addresses in a /24, want 251", got)
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	subnet := r.subnet(vpc, "10.0.1.0/24", "us-east-1a")
	igw := *must[*sdk.CreateInternetGatewayOutput](r)(r.CreateInternetGateway(r.ctx, &sdk.CreateInternetGatewayInput{})).InternetGateway.InternetGatewayId
	must[*sdk.AttachInternetGatewayOutput](r)(r.AttachInternetGateway(r.ctx, &sdk.AttachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &igw}))
	refused[*sdk.AttachInternetGatewayOutput](r, "Resource.AlreadyAssociated")(r.AttachInternetGateway(r.ctx, &sdk.AttachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &igw}))
	address := *must[*sdk.AllocateAddressOutput](r)(r.AllocateAddress(r.ctx, &sdk.AllocateAddressInput{})).AllocationId
	nat := *must[*sdk.CreateNatGatewayOutput](r)(r.CreateNatGateway(r.ctx, &sdk.CreateNatGatewayInput{SubnetId: &subnet, AllocationId: &address})).NatGateway.NatGatewayId

	refused[*sdk.DeleteSubnetOutput](r, "DependencyViolation")(r.DeleteSubnet(r.ctx, &sdk.DeleteSubnetInput{SubnetId: &subnet}))
	refused[*sdk.ReleaseAddressOutput](r, "InvalidIPAddress.InUse")(r.ReleaseAddress(r.ctx, &sdk.ReleaseAddressInput{AllocationId: &address}))
	refused[*sdk.DetachInternetGatewayOutput](r, "DependencyViolation")(r.DetachInternetGateway(r.ctx, &sdk.DetachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &igw}))
	refused[*sdk.DeleteInternetGatewayOutput](r, "DependencyViolation")(r.DeleteInternetGateway(r.ctx, &sdk.DeleteInternetGatewayInput{InternetGatewayId: &igw}))
	refused[*sdk.DeleteVpcOutput](r, "DependencyViolation")(r.DeleteVpc(r.ctx, &sdk.DeleteVpcInput{VpcId: &vpc}))

	state := func() types.NatGatewayState {
		return must[*sdk.DescribeNatGatewaysOutput](r)(r.DescribeNatGateways(r.ctx, &sdk.DescribeNatGatewaysInput{NatGatewayIds: []string{nat}})).NatGateways[0].State
	}
	if s := state(); s != types.NatGatewayStatePending {
		t.Errorf("a new gateway is %s", s)
	}
	r.clock.Advance(2 * time.Second)
	if s := state(); s != types.NatGatewayStateAvailable {
		t.Errorf("after its time the gateway is %s", s)
	}
	must[*sdk.DeleteNatGatewayOutput](r)(r.DeleteNatGateway(r.ctx, &sdk.DeleteNatGatewayInput{NatGatewayId: &nat}))
	refused[*sdk.DeleteSubnetOutput](r, "DependencyViolation")(r.DeleteSubnet(r.ctx, &sdk.DeleteSubnetInput{SubnetId: &subnet}))
	r.clock.Advance(2 * time.Second)
	must[*sdk.DeleteSubnetOutput](r)(r.DeleteSubnet(r.ctx, &sdk.DeleteSubnetInput{SubnetId: &subnet}))
	must[*sdk.ReleaseAddressOutput](r)(r.ReleaseAddress(r.ctx, &sdk.ReleaseAddressInput{AllocationId: &address}))
	must[*sdk.DetachInternetGatewayOutput](r)(r.DetachInternetGateway(r.ctx, &sdk.DetachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &igw}))
	must[*sdk.DeleteVpcOutput](r)(r.DeleteVpc(r.ctx, &sdk.DeleteVpcInput{VpcId: &vpc}))
}

func TestNatFailsLikeAWS(t *testing.T) {
	t.Parallel()
	r := serve(t)
	subnet := r.subnet(r.vpc("10.0.0.0/16"), "10.0.1.0/24", "us-east-1a")
	address := *must[*sdk.AllocateAddressOutput](r)(r.AllocateAddress(r.ctx, &sdk.AllocateAddressInput{})).AllocationId
	must[*sdk.CreateNatGatewayOutput](r)(r.CreateNatGateway(r.ctx, &sdk.CreateNatGatewayInput{SubnetId: &subnet, AllocationId: &address}))
	r.clock.Advance(2 * time.Second)
	nat := must[*sdk.DescribeNatGatewaysOutput](r)(r.DescribeNatGateways(r.ctx, &sdk.DescribeNatGatewaysInput{})).NatGateways[0]
	if nat.State != types.NatGatewayStateFailed || *nat.FailureCode != "Gateway.NotAttached" {
		t.Errorf("without an internet gateway: %s %v", nat.State, nat.FailureCode)
	}
}

func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	a, b := r.group(vpc, "a"), r.group(vpc, "b")
	refused[*sdk.CreateSecurityGroupOutput](r, "InvalidGroup.Duplicate")(r.CreateSecurityGroup(r.ctx, &sdk.CreateSecurityGroupInput{VpcId: &vpc, GroupName: ptr("a"), Description: ptr("x")}))
	refused[*sdk.CreateSecurityGroupOutput](r, "InvalidParameterValue")(r.CreateSecurityGroup(r.ctx, &sdk.CreateSecurityGroupInput{VpcId: &vpc, GroupName: ptr(strings.Repeat("x", 256)), Description: ptr("x")}))
	fromB := []types.IpPermission{{IpProtocol: ptr("tcp"), FromPort: ptr[int32](443), ToPort: ptr[int32](443), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &b}}}}
	allow := &sdk.AuthorizeSecurityGroupIngressInput{GroupId: &a, IpPermissions: fromB}
	must[*sdk.AuthorizeSecurityGroupIngressOutput](r)(r.AuthorizeSecurityGroupIngress(r.ctx, allow))
	refused[*sdk.AuthorizeSecurityGroupIngressOutput](r, "InvalidPermission.Duplicate")(r.AuthorizeSecurityGroupIngress(r.ctx, allow))
	refused[*sdk.DeleteSecurityGroupOutput](r, "DependencyViolation")(r.DeleteSecurityGroup(r.ctx, &sdk.DeleteSecurityGroupInput{GroupId: &b}))
	must[*sdk.RevokeSecurityGroupIngressOutput](r)(r.RevokeSecurityGroupIngress(r.ctx, &sdk.RevokeSecurityGroupIngressInput{GroupId: &a, IpPermissions: fromB}))
	refused[*sdk.RevokeSecurityGroupIngressOutput](r, "InvalidPermission.NotFound")(r.RevokeSecurityGroupIngress(r.ctx, &sdk.RevokeSecurityGroupIngressInput{GroupId: &a, IpPermissions: fromB}))
	must[*sdk.DeleteSecurityGroupOutput](r)(r.DeleteSecurityGroup(r.ctx, &sdk.DeleteSecurityGroupInput{GroupId: &b}))

	many := types.IpPermission{IpProtocol: ptr("tcp"), FromPort: ptr[int32](22), ToPort: ptr[int32](22)}
	for i := range 61 {
		many.IpRanges = append(many.IpRanges, types.IpRange{CidrIp: ptr(fmt.Sprintf("192.0.2.%d/32", i))})
	}
	refused[*sdk.AuthorizeSecurityGroupIngressOutput](r, "RulesPerSecurityGroupLimitExceeded")(r.AuthorizeSecurityGroupIngress(r.ctx, &sdk.AuthorizeSecurityGroupIngressInput{GroupId: &a, IpPermissions: []types.IpPermission{many}}))
}

func TestTagLimits(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	tag := func(tags ...types.Tag) (*sdk.CreateTagsOutput, error) {
		return r.CreateTags(r.ctx, &sdk.CreateTagsInput{Resources: []string{vpc}, Tags: tags})
	}
	refused[*sdk.CreateTagsOutput](r, "InvalidParameterValue")(tag(types.Tag{Key: ptr("aws:x"), Value: ptr("")}))
	refused[*sdk.CreateTagsOutput](r, "InvalidParameterValue")(tag(types.Tag{Key: ptr(strings.Repeat("k", 129)), Value: ptr("")}))
	refused[*sdk.CreateTagsOutput](r, "InvalidParameterValue")(tag(types.Tag{Key: ptr("k"), Value: ptr(strings.Repeat("v", 257))}))
	var fifty []types.Tag
	for i := range 50 {
		fifty = append(fifty, types.Tag{Key: ptr(fmt.Sprintf("k%d", i)), Value: ptr("v")})
	}
	must[*sdk.CreateTagsOutput](r)(tag(fifty...))
	must[*sdk.CreateTagsOutput](r)(tag(fifty[0])) // no new key
	refused[*sdk.CreateTagsOutput](r, "TagLimitExceeded")(tag(types.Tag{Key: ptr("one-more"), Value: ptr("v")}))
}

func TestPagesAndFilters(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	for i := range 12 {
		r.subnet(vpc, fmt.Sprintf("10.0.%d.0/24", i), "us-east-1a")
	}
	refused[*sdk.DescribeSubnetsOutput](r, "InvalidParameterValue")(r.DescribeSubnets(r.ctx, &sdk.DescribeSubnetsInput{MaxResults: ptr[int32](4)}))
	refused[*sdk.DescribeSubnetsOutput](r, "InvalidParameterValue")(r.DescribeSubnets(r.ctx, &sdk.DescribeSubnetsInput{Filters: []types.Filter{{Name: ptr("colour"), Values: []string{"red"}}}}))
	pages, seen := 0, map[string]bool{}
	p := sdk.NewDescribeSubnetsPaginator(r.Client, &sdk.DescribeSubnetsInput{MaxResults: ptr[int32](5)})
	for p.HasMorePages() {
		out := must[*sdk.DescribeSubnetsOutput](r)(p.NextPage(r.ctx))
		pages++
		for _, s := range out.Subnets {
			seen[*s.SubnetId] = true
		}
	}
	if pages != 3 || len(seen) != 12 {
		t.Errorf("%d pages with %d subnets, want 3 with 12", pages, len(seen))
	}
	out := must[*sdk.DescribeSubnetsOutput](r)(r.DescribeSubnets(r.ctx, &sdk.DescribeSubnetsInput{Filters: []types.Filter{{Name: ptr("cidr-block"), Values: []string{"10.0.1?.0/24"}}}}))
	if len(out.Subnets) != 2 {
		t.Errorf("%d subnets match 10.0.1?.0/24, want 2", len(out.Subnets))
	}
}

func TestClientTokens(t *testing.T) {
	t.Parallel()
	r := serve(t)
	data := &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeT3Small}
	in := &sdk.CreateLaunchTemplateInput{LaunchTemplateName: ptr("once"), ClientToken: ptr("token"), LaunchTemplateData: data}
	first := must[*sdk.CreateLaunchTemplateOutput](r)(r.CreateLaunchTemplate(r.ctx, in))
	again := must[*sdk.CreateLaunchTemplateOutput](r)(r.CreateLaunchTemplate(r.ctx, in))
	if *first.LaunchTemplate.LaunchTemplateId != *again.LaunchTemplate.LaunchTemplateId {
		t.Error("the same token made two templates")
	}
	in.VersionDescription = ptr("other")
	refused[*sdk.CreateLaunchTemplateOutput](r, "IdempotentParameterMismatch")(r.CreateLaunchTemplate(r.ctx, in))
	in.ClientToken = ptr("another")
	refused[*sdk.CreateLaunchTemplateOutput](r, "InvalidLaunchTemplateName.AlreadyExistsException")(r.CreateLaunchTemplate(r.ctx, in))
	in.LaunchTemplateName = ptr("a b")
	refused[*sdk.CreateLaunchTemplateOutput](r, "InvalidLaunchTemplateName.MalformedException")(r.CreateLaunchTemplate(r.ctx, in))
	in.LaunchTemplateName, data.UserData = ptr("big"), ptr(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
	refused[*sdk.CreateLaunchTemplateOutput](r, "InvalidParameterValue")(r.CreateLaunchTemplate(r.ctx, in))
}

func TestLaunchRefusals(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	a, e := r.subnet(vpc, "10.0.1.0/24", "us-east-1a"), r.subnet(vpc, "10.0.2.0/24", "us-east-1e")
	amd, arm := r.image("x86_64"), r.image("arm64")
	for _, x := range []struct {
		code, image, machine, subnet string
		change                       func(*sdk.RunInstancesInput)
	}{
		{"InvalidAMIID.NotFound", "ami-0123456789abcdef0", "t3.small", a, nil},
		{"InvalidAMIID.Malformed", "ami-1", "t3.small", a, nil},
		{"InvalidParameterValue", arm, "t3.small", a, nil},
		{"Unsupported", amd, "m7i.large", e, nil},
		{"InvalidSubnetID.NotFound", amd, "t3.small", "subnet-0123456789abcdef0", nil},
		{"InvalidKeyPair.NotFound", amd, "t3.small", a, func(in *sdk.RunInstancesInput) { in.KeyName = ptr("none") }},
		{"InvalidParameterValue", amd, "t3.small", a, func(in *sdk.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: ptr("none")}
		}},
		{"InvalidParameterValue", amd, "t3.small", a, func(in *sdk.RunInstancesInput) {
			in.MetadataOptions = &types.InstanceMetadataOptionsRequest{InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled}
			in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: ptr("kubernetes.io/cluster/x"), Value: ptr("owned")}}}}
		}},
	} {
		in := &sdk.RunInstancesInput{ImageId: &x.image, InstanceType: types.InstanceType(x.machine), SubnetId: &x.subnet, MinCount: ptr[int32](1), MaxCount: ptr[int32](1)}
		if x.change != nil {
			x.change(in)
		}
		refused[*sdk.RunInstancesOutput](r, x.code)(r.RunInstances(r.ctx, in))
	}
	if out := must[*sdk.DescribeInstancesOutput](r)(r.DescribeInstances(r.ctx, &sdk.DescribeInstancesInput{})); len(out.Reservations) != 0 {
		t.Error("a refused launch left an instance")
	}
	if out := must[*sdk.DescribeNetworkInterfacesOutput](r)(r.DescribeNetworkInterfaces(r.ctx, &sdk.DescribeNetworkInterfacesInput{})); len(out.NetworkInterfaces) != 0 {
		t.Error("a refused launch left an interface")
	}
}

func TestInstanceLife(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc := r.vpc("10.0.0.0/16")
	subnet, group := r.subnet(vpc, "10.0.1.0/24", "us-east-1a"), r.group(vpc, "vm")
	run := must[*sdk.RunInstancesOutput](r)(r.RunInstances(r.ctx, &sdk.RunInstancesInput{
		ImageId: ptr(r.image("x86_64")), InstanceType: types.InstanceTypeT3Small, SubnetId: &subnet, SecurityGroupIds: []string{group}, MinCount: ptr[int32](2), MaxCount: ptr[int32](2),
	}))
	ids := []string{*run.Instances[0].InstanceId, *run.Instances[1].InstanceId}
	if run.Instances[0].State.Name != types.InstanceStateNamePending || *run.Instances[0].PrivateIpAddress == *run.Instances[1].PrivateIpAddress {
		t.Errorf("new instances: %+v", run.Instances)
	}
	refused[*sdk.DeleteSecurityGroupOutput](r, "DependencyViolation")(r.DeleteSecurityGroup(r.ctx, &sdk.DeleteSecurityGroupInput{GroupId: &group}))
	r.clock.Advance(2 * time.Second)
	must[*sdk.TerminateInstancesOutput](r)(r.TerminateInstances(r.ctx, &sdk.TerminateInstancesInput{InstanceIds: ids}))
	refused[*sdk.DeleteSubnetOutput](r, "DependencyViolation")(r.DeleteSubnet(r.ctx, &sdk.DeleteSubnetInput{SubnetId: &subnet}))
	r.clock.Advance(2 * time.Second)
	must[*sdk.DeleteSubnetOutput](r)(r.DeleteSubnet(r.ctx, &sdk.DeleteSubnetInput{SubnetId: &subnet}))
	must[*sdk.DeleteSecurityGroupOutput](r)(r.DeleteSecurityGroup(r.ctx, &sdk.DeleteSecurityGroupInput{GroupId: &group}))
	if out := must[*sdk.DescribeVolumesOutput](r)(r.DescribeVolumes(r.ctx, &sdk.DescribeVolumesInput{})); len(out.Volumes) != 0 {
		t.Error("root volumes outlived their instances")
	}
	out := must[*sdk.DescribeInstancesOutput](r)(r.DescribeInstances(r.ctx, &sdk.DescribeInstancesInput{InstanceIds: ids}))
	if s := out.Reservations[0].Instances[0].State.Name; s != types.InstanceStateNameTerminated {
		t.Errorf("state %s, want terminated", s)
	}
	r.clock.Advance(2 * time.Hour)
	if out := must[*sdk.DescribeInstancesOutput](r)(r.DescribeInstances(r.ctx, &sdk.DescribeInstancesInput{})); len(out.Reservations) != 0 {
		t.Error("terminated instances stay for ever")
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	r := serve(t)
	vpc, other := r.vpc("10.0.0.0/16"), r.vpc("10.1.0.0/16")
	subnet := r.subnet(vpc, "10.0.1.0/24", "us-east-1a")
	igw := must[*sdk.CreateInternetGatewayOutput](r)(r.CreateInternetGateway(r.ctx, &sdk.CreateInternetGatewayInput{})).InternetGateway.InternetGatewayId
	must[*sdk.AttachInternetGatewayOutput](r)(r.AttachInternetGateway(r.ctx, &sdk.AttachInternetGatewayInput{VpcId: &other, InternetGatewayId: igw}))
	table := must[*sdk.CreateRouteTableOutput](r)(r.CreateRouteTable(r.ctx, &sdk.CreateRouteTableInput{VpcId: &vpc})).RouteTable.RouteTableId
	out := &sdk.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: ptr("0.0.0.0/0"), GatewayId: igw}
	refused[*sdk.CreateRouteOutput](r, "InvalidParameterValue")(r.CreateRoute(r.ctx, out))
	must[*sdk.DetachInternetGatewayOutput](r)(r.DetachInternetGateway(r.ctx, &sdk.DetachInternetGatewayInput{VpcId: &other, InternetGatewayId: igw}))
	must[*sdk.AttachInternetGatewayOutput](r)(r.AttachInternetGateway(r.ctx, &sdk.AttachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: igw}))
	must[*sdk.CreateRouteOutput](r)(r.CreateRoute(r.ctx, out))
	refused[*sdk.CreateRouteOutput](r, "RouteAlreadyExists")(r.CreateRoute(r.ctx, out))
	must[*sdk.AssociateRouteTableOutput](r)(r.AssociateRouteTable(r.ctx, &sdk.AssociateRouteTableInput{RouteTableId: table, SubnetId: &subnet}))
	refused[*sdk.AssociateRouteTableOutput](r, "Resource.AlreadyAssociated")(r.AssociateRouteTable(r.ctx, &sdk.AssociateRouteTableInput{RouteTableId: table, SubnetId: &subnet}))
	refused[*sdk.DeleteRouteTableOutput](r, "DependencyViolation")(r.DeleteRouteTable(r.ctx, &sdk.DeleteRouteTableInput{RouteTableId: table}))
	must[*sdk.DetachInternetGatewayOutput](r)(r.DetachInternetGateway(r.ctx, &sdk.DetachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: igw}))
	routes := must[*sdk.DescribeRouteTablesOutput](r)(r.DescribeRouteTables(r.ctx, &sdk.DescribeRouteTablesInput{RouteTableIds: []string{*table}})).RouteTables[0].Routes
	if len(routes) != 2 || routes[1].State != types.RouteStateBlackhole {
		t.Errorf("routes after the gateway left: %+v", routes)
	}
}

func TestKeyFingerprints(t *testing.T) {
	t.Parallel()
	r := serve(t)
	key := []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfY9bJq3z5b8Z4oPp8RkMPcAyS7xT9KZ4J6WbJZr0yB test")
	out := must[*sdk.ImportKeyPairOutput](r)(r.ImportKeyPair(r.ctx, &sdk.ImportKeyPairInput{KeyName: ptr("k"), PublicKeyMaterial: key}))
	if len(*out.KeyFingerprint) != 44 {
		t.Errorf("fingerprint %q", awssdk.ToString(out.KeyFingerprint))
	}
	refused[*sdk.ImportKeyPairOutput](r, "InvalidKeyPair.Duplicate")(r.ImportKeyPair(r.ctx, &sdk.ImportKeyPairInput{KeyName: ptr("k"), PublicKeyMaterial: key}))
	refused[*sdk.ImportKeyPairOutput](r, "InvalidKey.Format")(r.ImportKeyPair(r.ctx, &sdk.ImportKeyPairInput{KeyName: ptr("l"), PublicKeyMaterial: []byte("nonsense")}))
}
