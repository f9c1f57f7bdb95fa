// SPDX-License-Identifier: Apache-2.0

package autoscaling_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	asg "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/autoscaling"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/awstest"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/elbv2"
)

// rig is a cloud with a network of two zones and a launch template.
type rig struct {
	*awstest.Server
	t        *testing.T
	asg      *asg.Client
	ec2      *awsec2.Client
	elb      *elb.Client
	vpc      string
	subnets  string
	template string
	image    string
}

func serve(t *testing.T, dir string) *rig {
	t.Helper()
	s := awstest.Serve(t, dir, func(c *simaws.Cloud) error {
		compute, err := ec2.New(c.World, ec2.Options{Account: simaws.Account})
		if err != nil {
			return err
		}
		balancers, err := elbv2.New(c.World, compute, elbv2.Options{Account: simaws.Account})
		if err != nil {
			return err
		}
		groups, err := autoscaling.New(c.World, compute, balancers, autoscaling.Options{Account: simaws.Account})
		c.Register(compute, balancers, groups)
		return err
	})
	who := credentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, "")
	return &rig{Server: s, t: t,
		asg: asg.New(asg.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1, Credentials: who}),
		ec2: awsec2.New(awsec2.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1, Credentials: who}),
		elb: elb.New(elb.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1, Credentials: who})}
}

// fresh is a rig with its network and template made.
func fresh(t *testing.T) *rig {
	t.Helper()
	r := serve(t, t.TempDir())
	r.build("us-east-1a", "us-east-1b")
	return r
}

func (r *rig) build(zones ...string) {
	r.t.Helper()
	t, ctx := r.t, r.t.Context()
	r.vpc = *must[*awsec2.CreateVpcOutput](t)(r.ec2.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})).Vpc.VpcId
	for i, zone := range zones {
		n := must[*awsec2.CreateSubnetOutput](t)(r.ec2.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/20", i*16)), AvailabilityZone: &zone}))
		if i > 0 {
			r.subnets += ","
		}
		r.subnets += *n.Subnet.SubnetId
	}
	images := must[*awsec2.DescribeImagesOutput](t)(r.ec2.DescribeImages(ctx, &awsec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}}))
	r.image = *images.Images[0].ImageId
	r.template = r.launchTemplate("nodes", func(*types.RequestLaunchTemplateData) {})
}

func (r *rig) launchTemplate(name string, edit func(*types.RequestLaunchTemplateData)) string {
	r.t.Helper()
	d := &types.RequestLaunchTemplateData{ImageId: &r.image, InstanceType: "m5.large", UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("hello")))}
	edit(d)
	out := must[*awsec2.CreateLaunchTemplateOutput](r.t)(r.ec2.CreateLaunchTemplate(r.t.Context(), &awsec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: d}))
	return *out.LaunchTemplate.LaunchTemplateId
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

func (r *rig) groupIn(name string, size int32, edit ...func(*asg.CreateAutoScalingGroupInput)) *asg.CreateAutoScalingGroupInput {
	in := &asg.CreateAutoScalingGroupInput{AutoScalingGroupName: &name, MinSize: aws.Int32(0), MaxSize: aws.Int32(10), DesiredCapacity: &size,
		VPCZoneIdentifier: &r.subnets, LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template, Version: aws.String("$Latest")},
		Tags: []asgtypes.Tag{{Key: aws.String("team"), Value: aws.String("x"), PropagateAtLaunch: aws.Bool(true)}}}
	for _, e := range edit {
		e(in)
	}
	return in
}

func (r *rig) create(name string, size int32, edit ...func(*asg.CreateAutoScalingGroupInput)) {
	r.t.Helper()
	must[*asg.CreateAutoScalingGroupOutput](r.t)(r.asg.CreateAutoScalingGroup(r.t.Context(), r.groupIn(name, size, edit...)))
}

// group describes a group, nil when there is none.
func (r *rig) group(name string) *asgtypes.AutoScalingGroup {
	r.t.Helper()
	out := must[*asg.DescribeAutoScalingGroupsOutput](r.t)(r.asg.DescribeAutoScalingGroups(r.t.Context(), &asg.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}}))
	if len(out.AutoScalingGroups) == 0 {
		return nil
	}
	return &out.AutoScalingGroups[0]
}

// states counts a group's instances by lifecycle state.
func (r *rig) states(name string) map[asgtypes.LifecycleState]int {
	r.t.Helper()
	out := map[asgtypes.LifecycleState]int{}
	for _, i := range r.group(name).Instances {
		out[i.LifecycleState]++
	}
	return out
}

func (r *rig) wantStates(name string, want map[asgtypes.LifecycleState]int) {
	r.t.Helper()
	if got := r.states(name); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("group %s has %v, want %v", name, got, want)
	}
}

func (r *rig) instances(name string) []types.Instance {
	r.t.Helper()
	out := must[*awsec2.DescribeInstancesOutput](r.t)(r.ec2.DescribeInstances(r.t.Context(), &awsec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("tag:aws:autoscaling:groupName"), Values: []string{name}}}}))
	var list []types.Instance
	for _, res := range out.Reservations {
		list = append(list, res.Instances...)
	}
	return list
}
