// SPDX-License-Identifier: Apache-2.0

package elbv2_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/elbv2"
)

// rig is a cloud with a network of two zones.
type rig struct {
	*awstest.Server
	elb     *elb.Client
	ec2     *awsec2.Client
	vpc     string
	subnets []string // zones a, a, b
	group   string
}

func serve(t *testing.T, dir string) *rig {
	t.Helper()
	s := awstest.Serve(t, dir, func(c *simaws.Cloud) error {
		compute, err := ec2.New(c.World, ec2.Options{Account: simaws.Account})
		if err != nil {
			return err
		}
		balancers, err := elbv2.New(c.World, compute, elbv2.Options{Account: simaws.Account})
		c.Register(compute, balancers)
		return err
	})
	who := credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")
	return &rig{Server: s,
		elb: elb.New(elb.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1, Credentials: who}),
		ec2: awsec2.New(awsec2.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1, Credentials: who})}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}

func network(t *testing.T, r *rig) {
	t.Helper()
	ctx := t.Context()
	r.vpc = *must[*awsec2.CreateVpcOutput](t)(r.ec2.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})).Vpc.VpcId
	gw := must[*awsec2.CreateInternetGatewayOutput](t)(r.ec2.CreateInternetGateway(ctx, &awsec2.CreateInternetGatewayInput{}))
	must[*awsec2.AttachInternetGatewayOutput](t)(r.ec2.AttachInternetGateway(ctx, &awsec2.AttachInternetGatewayInput{VpcId: &r.vpc, InternetGatewayId: gw.InternetGateway.InternetGatewayId}))
	for i, zone := range []string{"us-east-1a", "us-east-1a", "us-east-1b"} {
		n := must[*awsec2.CreateSubnetOutput](t)(r.ec2.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", i)), AvailabilityZone: &zone}))
		r.subnets = append(r.subnets, *n.Subnet.SubnetId)
	}
	r.group = *must[*awsec2.CreateSecurityGroupOutput](t)(r.ec2.CreateSecurityGroup(ctx, &awsec2.CreateSecurityGroupInput{GroupName: aws.String("lb"), Description: aws.String("lb"), VpcId: &r.vpc})).GroupId
}

func (r *rig) balancer(name string, edit ...func(*elb.CreateLoadBalancerInput)) *elb.CreateLoadBalancerInput {
	in := &elb.CreateLoadBalancerInput{Name: &name, Type: types.LoadBalancerTypeEnumNetwork, Subnets: []string{r.subnets[0], r.subnets[2]}}
	for _, e := range edit {
		e(in)
	}
	return in
}

func (r *rig) targets(name string) *elb.CreateTargetGroupInput {
	return &elb.CreateTargetGroupInput{Name: &name, Protocol: types.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: &r.vpc}
}

func TestBalancerLife(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	r := serve(t, dir)
	network(t, r)
	in := r.balancer("api", func(in *elb.CreateLoadBalancerInput) {
		in.SecurityGroups = []string{r.group}
		in.Tags = []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}
	})
	lb := must[*elb.CreateLoadBalancerOutput](t)(r.elb.CreateLoadBalancer(ctx, in)).LoadBalancers[0]
	if lb.State.Code != types.LoadBalancerStateEnumProvisioning || lb.Scheme != types.LoadBalancerSchemeEnumInternetFacing || *lb.CanonicalHostedZoneId != "Z26RNL4JYFTOTI" ||
		!strings.HasPrefix(*lb.DNSName, "api-") || !strings.HasSuffix(*lb.DNSName, ".elb.us-east-1.amazonaws.com") || len(lb.AvailabilityZones) != 2 {
		t.Errorf("balancer %+v", lb)
	}
	again := must[*elb.CreateLoadBalancerOutput](t)(r.elb.CreateLoadBalancer(ctx, in)).LoadBalancers[0]
	if *again.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Error("the same request must return the same balancer")
	}
	_, err := r.elb.CreateLoadBalancer(ctx, r.balancer("api"))
	wantCode(t, err, "DuplicateLoadBalancerName")
	cards := must[*awsec2.DescribeNetworkInterfacesOutput](t)(r.ec2.DescribeNetworkInterfaces(ctx, &awsec2.DescribeNetworkInterfacesInput{}))
	if len(cards.NetworkInterfaces) != 2 || !strings.HasPrefix(*cards.NetworkInterfaces[0].Description, "ELB net/api/") {
		t.Errorf("interfaces %+v", cards.NetworkInterfaces)
	}
	r.Stop()
	old := r
	r = serve(t, dir)
	r.vpc, r.subnets, r.group = old.vpc, old.subnets, old.group
	r.Clock.Advance(time.Second)
	got := must[*elb.DescribeLoadBalancersOutput](t)(r.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{"api"}})).LoadBalancers[0]
	if got.State.Code != types.LoadBalancerStateEnumActive {
		t.Errorf("state %v", got.State)
	}
	protect := func(on string) {
		must[*elb.ModifyLoadBalancerAttributesOutput](t)(r.elb.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn,
			Attributes: []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &on}}}))
	}
	protect("true")
	del := func() error {
		_, err := r.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
		return err
	}
	wantCode(t, del(), "OperationNotPermitted")
	protect("false")
	if err := del(); err != nil {
		t.Fatal(err)
	}
	_, err = r.ec2.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: &r.subnets[0]})
	wantCode(t, err, "DependencyViolation")
	r.Clock.Advance(time.Second)
	must[*awsec2.DeleteSubnetOutput](t)(r.ec2.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: &r.subnets[0]}))
	_, err = r.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{"api"}})
	wantCode(t, err, "LoadBalancerNotFound")
}

func TestBalancerRefusals(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), serve(t, t.TempDir())
	network(t, r)
	for _, tc := range []struct {
		code string
		in   *elb.CreateLoadBalancerInput
	}{
		{"ValidationError", r.balancer(strings.Repeat("x", 33))},
		{"ValidationError", r.balancer("-x")},
		{"ValidationError", r.balancer("internal-x")},
		{"ValidationError", r.balancer("a.b")},
		{"SubnetNotFound", r.balancer("x", func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{"subnet-00000000"} })},
		{"InvalidConfigurationRequest", r.balancer("x", func(in *elb.CreateLoadBalancerInput) { in.Subnets = r.subnets })},
		{"InvalidConfigurationRequest", r.balancer("x", func(in *elb.CreateLoadBalancerInput) { in.Type = "application" })},
		{"InvalidSecurityGroup", r.balancer("x", func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-00000000"} })},
		{"ValidationError", r.balancer("x", func(in *elb.CreateLoadBalancerInput) { in.IpAddressType = "dualstack" })},
	} {
		_, err := r.elb.CreateLoadBalancer(ctx, tc.in)
		wantCode(t, err, tc.code)
	}
	bare := must[*elb.CreateLoadBalancerOutput](t)(r.elb.CreateLoadBalancer(ctx, r.balancer("bare", func(in *elb.CreateLoadBalancerInput) { in.Scheme = "internal" }))).LoadBalancers[0]
	_, err := r.elb.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: bare.LoadBalancerArn, SecurityGroups: []string{r.group}})
	wantCode(t, err, "InvalidConfigurationRequest")
	out := must[*elb.SetSubnetsOutput](t)(r.elb.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: bare.LoadBalancerArn, Subnets: []string{r.subnets[1], r.subnets[2]}}))
	if len(out.AvailabilityZones) != 2 || *out.AvailabilityZones[0].SubnetId != r.subnets[1] {
		t.Errorf("zones %+v", out.AvailabilityZones)
	}
}

func TestListenersAndTargets(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), serve(t, t.TempDir())
	network(t, r)
	lb := must[*elb.CreateLoadBalancerOutput](t)(r.elb.CreateLoadBalancer(ctx, r.balancer("api"))).LoadBalancers[0]
	tg := must[*elb.CreateTargetGroupOutput](t)(r.elb.CreateTargetGroup(ctx, r.targets("api"))).TargetGroups[0]
	other := r.targets("api")
	other.Port = aws.Int32(80)
	_, err := r.elb.CreateTargetGroup(ctx, other)
	wantCode(t, err, "DuplicateTargetGroupName")
	listen := func(port int32, proto types.ProtocolEnum, arn string) (*elb.CreateListenerOutput, error) {
		return r.elb.CreateListener(ctx, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: &port, Protocol: proto,
			DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &arn}}})
	}
	l := must[*elb.CreateListenerOutput](t)(listen(443, "TCP", *tg.TargetGroupArn)).Listeners[0]
	_, err = listen(443, "TCP", *tg.TargetGroupArn)
	wantCode(t, err, "DuplicateListener")
	_, err = listen(444, "UDP", *tg.TargetGroupArn)
	wantCode(t, err, "IncompatibleProtocols")
	_, err = listen(444, "TCP", *tg.TargetGroupArn+"x")
	wantCode(t, err, "TargetGroupNotFound")
	_, err = r.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: tg.TargetGroupArn})
	wantCode(t, err, "ResourceInUse")
	_, err = r.elb.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: tg.TargetGroupArn, Targets: []types.TargetDescription{{Id: aws.String("i-00000000")}}})
	wantCode(t, err, "InvalidTarget")
	attrs := must[*elb.DescribeTargetGroupAttributesOutput](t)(r.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: tg.TargetGroupArn}))
	if len(attrs.Attributes) < 10 {
		t.Errorf("attributes %+v", attrs.Attributes)
	}
	_, err = r.elb.ModifyTargetGroup(ctx, &elb.ModifyTargetGroupInput{TargetGroupArn: tg.TargetGroupArn, HealthCheckPath: aws.String("/healthz")})
	wantCode(t, err, "ValidationError")
	m := must[*elb.ModifyTargetGroupOutput](t)(r.elb.ModifyTargetGroup(ctx, &elb.ModifyTargetGroupInput{TargetGroupArn: tg.TargetGroupArn, HealthCheckProtocol: "HTTPS", HealthCheckPath: aws.String("/readyz"), HealthCheckIntervalSeconds: aws.Int32(10)}))
	if *m.TargetGroups[0].HealthCheckPath != "/readyz" || *m.TargetGroups[0].Matcher.HttpCode != "200-399" {
		t.Errorf("target group %+v", m.TargetGroups[0])
	}
	must[*elb.DeleteListenerOutput](t)(r.elb.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: l.ListenerArn}))
	must[*elb.DeleteTargetGroupOutput](t)(r.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: tg.TargetGroupArn}))
}

func TestTagLimits(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), serve(t, t.TempDir())
	network(t, r)
	var arns []string
	for i := range 21 {
		arns = append(arns, *must[*elb.CreateTargetGroupOutput](t)(r.elb.CreateTargetGroup(ctx, r.targets(fmt.Sprint("tg", i)))).TargetGroups[0].TargetGroupArn)
	}
	_, err := r.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: arns})
	wantCode(t, err, "ValidationError")
	var tags []types.Tag
	for i := range 51 {
		tags = append(tags, types.Tag{Key: aws.String(fmt.Sprint("k", i)), Value: aws.String("")})
	}
	_, err = r.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: arns[:2], Tags: tags})
	wantCode(t, err, "TooManyTags")
	must[*elb.AddTagsOutput](t)(r.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: arns[:2], Tags: tags[:50]}))
	must[*elb.RemoveTagsOutput](t)(r.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: arns[:1], TagKeys: []string{"k0"}}))
	out := must[*elb.DescribeTagsOutput](t)(r.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: arns[:2]}))
	if len(out.TagDescriptions[0].Tags) != 49 || len(out.TagDescriptions[1].Tags) != 50 {
		t.Errorf("tags %d and %d", len(out.TagDescriptions[0].Tags), len(out.TagDescriptions[1].Tags))
	}
	p := elb.NewDescribeTargetGroupsPaginator(r.elb, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(8)})
	pages := 0
	for ; p.HasMorePages(); pages++ {
		must[*elb.DescribeTargetGroupsOutput](t)(p.NextPage(ctx))
	}
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
}
