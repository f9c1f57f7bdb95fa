// SPDX-License-Identifier: Apache-2.0

package autoscaling_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asg "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

type states = map[asgtypes.LifecycleState]int

func TestGroupLife(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	r := serve(t, dir)
	r.build("us-east-1a", "us-east-1b")
	r.create("g", 2)
	_, err := r.asg.CreateAutoScalingGroup(ctx, r.groupIn("g", 1))
	wantCode(t, err, "AlreadyExists")
	r.wantStates("g", states{"Pending": 2})
	r.Stop()

	r = serve(t, dir)
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{"InService": 2})
	zones := map[string]bool{}
	for _, vm := range r.instances("g") {
		zones[*vm.Placement.AvailabilityZone] = true
		tags := map[string]string{}
		for _, tag := range vm.Tags {
			tags[*tag.Key] = *tag.Value
		}
		if tags["team"] != "x" || tags["aws:ec2launchtemplate:version"] != "1" {
			t.Errorf("tags %v", tags)
		}
	}
	if len(zones) != 2 {
		t.Errorf("zones %v", zones)
	}
	_, err = r.asg.DeleteAutoScalingGroup(ctx, &asg.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("g")})
	wantCode(t, err, "ResourceInUse")
	must[*asg.SetDesiredCapacityOutput](t)(r.asg.SetDesiredCapacity(ctx, &asg.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(1)}))
	r.wantStates("g", states{"InService": 1, "Terminating": 1})
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{"InService": 1})
	_, err = r.asg.SetDesiredCapacity(ctx, &asg.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(11)})
	wantCode(t, err, "ValidationError")
	must[*asg.DeleteAutoScalingGroupOutput](t)(r.asg.DeleteAutoScalingGroup(ctx, &asg.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("g"), ForceDelete: aws.Bool(true)}))
	if g := r.group("g"); g == nil || aws.ToString(g.Status) != "Delete in progress" {
		t.Errorf("group %+v", g)
	}
	r.Clock.Advance(time.Second)
	if g := r.group("g"); g != nil {
		t.Errorf("group %+v is still there", g)
	}
}

func TestLostInstancesAreReplaced(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	r.create("g", 2)
	r.Clock.Advance(2 * time.Second)
	victim := *r.group("g").Instances[0].InstanceId
	must[*awsec2.TerminateInstancesOutput](t)(r.ec2.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{victim}}))
	r.wantStates("g", states{"InService": 1, "Terminating": 1, "Pending": 1})
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{"InService": 2})
	out := must[*asg.TerminateInstanceInAutoScalingGroupOutput](t)(r.asg.TerminateInstanceInAutoScalingGroup(ctx, &asg.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: r.group("g").Instances[0].InstanceId, ShouldDecrementDesiredCapacity: aws.Bool(true)}))
	if !strings.HasPrefix(*out.Activity.Description, "Terminating EC2 instance") {
		t.Errorf("activity %+v", out.Activity)
	}
	if g := r.group("g"); *g.DesiredCapacity != 1 {
		t.Errorf("desired %d", *g.DesiredCapacity)
	}
	r.Clock.Advance(2 * time.Second)
	stay := *r.group("g").Instances[0].InstanceId
	must[*asg.DetachInstancesOutput](t)(r.asg.DetachInstances(ctx, &asg.DetachInstancesInput{AutoScalingGroupName: aws.String("g"), InstanceIds: []string{stay}, ShouldDecrementDesiredCapacity: aws.Bool(false)}))
	r.Clock.Advance(2 * time.Second)
	if g := r.group("g"); len(g.Instances) != 1 || *g.Instances[0].InstanceId == stay {
		t.Errorf("instances %+v", g.Instances)
	}
}

func TestFailedLaunchIsToldInActivities(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	// A type that is not offered in a zone leaves the group empty there.
	offers := must[*awsec2.DescribeInstanceTypeOfferingsOutput](t)(r.ec2.DescribeInstanceTypeOfferings(ctx, &awsec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{{Name: aws.String("location"), Values: []string{"us-east-1e"}}}}))
	for _, o := range offers.InstanceTypeOfferings {
		if o.InstanceType == "m7i.large" {
			t.Skip("m7i.large is offered everywhere")
		}
	}
	n := must[*awsec2.CreateSubnetOutput](t)(r.ec2.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: &r.vpc, CidrBlock: aws.String("10.0.96.0/20"), AvailabilityZone: aws.String("us-east-1e")}))
	lt := r.launchTemplate("gap", func(d *types.RequestLaunchTemplateData) { d.InstanceType = "m7i.large" })
	r.create("g", 1, func(in *asg.CreateAutoScalingGroupInput) {
		in.VPCZoneIdentifier, in.LaunchTemplate.LaunchTemplateId = n.Subnet.SubnetId, &lt
	})
	acts := must[*asg.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(ctx, &asg.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("g")})).Activities
	if len(acts) != 1 || acts[0].StatusCode != asgtypes.ScalingActivityStatusCodeFailed || !strings.Contains(*acts[0].StatusMessage, "not supported in your requested Availability Zone") {
		t.Errorf("activities %+v", acts)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	spot := r.launchTemplate("spot", func(d *types.RequestLaunchTemplateData) {
		d.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: "spot"}
	})
	mixed := func(id string) *asgtypes.MixedInstancesPolicy {
		return &asgtypes.MixedInstancesPolicy{LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &id}}}
	}
	for name, edit := range map[string]func(*asg.CreateAutoScalingGroupInput){
		"colon": func(in *asg.CreateAutoScalingGroupInput) { in.AutoScalingGroupName = aws.String("a:b") },
		"long name": func(in *asg.CreateAutoScalingGroupInput) {
			in.AutoScalingGroupName = aws.String(strings.Repeat("x", 256))
		},
		"both": func(in *asg.CreateAutoScalingGroupInput) { in.MixedInstancesPolicy = mixed(r.template) },
		"spot mixed": func(in *asg.CreateAutoScalingGroupInput) {
			in.LaunchTemplate, in.MixedInstancesPolicy = nil, mixed(spot)
		},
		"no template": func(in *asg.CreateAutoScalingGroupInput) { in.LaunchTemplate = nil },
		"bad template": func(in *asg.CreateAutoScalingGroupInput) {
			in.LaunchTemplate.LaunchTemplateId = aws.String("lt-00000000000000000")
		},
		"bad version": func(in *asg.CreateAutoScalingGroupInput) { in.LaunchTemplate.Version = aws.String("7") },
		"subnet": func(in *asg.CreateAutoScalingGroupInput) {
			in.VPCZoneIdentifier = aws.String("subnet-00000000000000000")
		},
		"no subnet":    func(in *asg.CreateAutoScalingGroupInput) { in.VPCZoneIdentifier = nil },
		"sizes":        func(in *asg.CreateAutoScalingGroupInput) { in.MinSize = aws.Int32(11) },
		"lifetime":     func(in *asg.CreateAutoScalingGroupInput) { in.MaxInstanceLifetime = aws.Int32(5) },
		"target group": func(in *asg.CreateAutoScalingGroupInput) { in.TargetGroupARNs = []string{"arn:x"} },
		"policy":       func(in *asg.CreateAutoScalingGroupInput) { in.TerminationPolicies = []string{"Youngest"} },
	} {
		_, err := r.asg.CreateAutoScalingGroup(ctx, r.groupIn("g", 1, edit))
		t.Run(name, func(t *testing.T) { wantCode(t, err, "ValidationError") })
	}
	var names []string
	for i := range 51 {
		names = append(names, fmt.Sprint("g", i))
	}
	_, err := r.asg.DescribeAutoScalingGroups(ctx, &asg.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names})
	wantCode(t, err, "ValidationError")
	_, err = r.asg.DescribeWarmPool(ctx, &asg.DescribeWarmPoolInput{AutoScalingGroupName: aws.String("none")})
	wantCode(t, err, "ValidationError")
}

func TestHooksHoldInstances(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	g := aws.String("g")
	r.create("g", 0)
	for _, h := range []string{"autoscaling:EC2_INSTANCE_LAUNCHING", "autoscaling:EC2_INSTANCE_TERMINATING"} {
		must[*asg.PutLifecycleHookOutput](t)(r.asg.PutLifecycleHook(ctx, &asg.PutLifecycleHookInput{AutoScalingGroupName: g, LifecycleHookName: aws.String("h-" + h[len(h)-5:]),
			LifecycleTransition: &h, HeartbeatTimeout: aws.Int32(60), DefaultResult: aws.String("CONTINUE")}))
	}
	size := func(n int32) {
		must[*asg.SetDesiredCapacityOutput](t)(r.asg.SetDesiredCapacity(ctx, &asg.SetDesiredCapacityInput{AutoScalingGroupName: g, DesiredCapacity: &n}))
	}
	size(1)
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{"Pending:Wait": 1})
	hooks := must[*asg.DescribeLifecycleHooksOutput](t)(r.asg.DescribeLifecycleHooks(ctx, &asg.DescribeLifecycleHooksInput{AutoScalingGroupName: g})).LifecycleHooks
	must[*asg.CompleteLifecycleActionOutput](t)(r.asg.CompleteLifecycleAction(ctx, &asg.CompleteLifecycleActionInput{AutoScalingGroupName: g, LifecycleHookName: hooks[0].LifecycleHookName,
		InstanceId: r.group("g").Instances[0].InstanceId, LifecycleActionResult: aws.String("CONTINUE")}))
	r.wantStates("g", states{"InService": 1})
	size(0)
	r.wantStates("g", states{"Terminating:Wait": 1})
	r.Clock.Advance(61 * time.Second)
	r.wantStates("g", states{"Terminating": 1})
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{})
}

func TestWarmPool(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	g := aws.String("g")
	r.create("g", 1)
	must[*asg.PutWarmPoolOutput](t)(r.asg.PutWarmPool(ctx, &asg.PutWarmPoolInput{AutoScalingGroupName: g, MaxGroupPreparedCapacity: aws.Int32(3)}))
	pool := func() string {
		var list []string
		for _, i := range must[*asg.DescribeWarmPoolOutput](t)(r.asg.DescribeWarmPool(ctx, &asg.DescribeWarmPoolInput{AutoScalingGroupName: g})).Instances {
			list = append(list, string(i.LifecycleState))
		}
		return strings.Join(list, " ")
	}
	r.Clock.Advance(2 * time.Second)
	if got := pool(); got != "Warmed:Stopped Warmed:Stopped" {
		t.Errorf("pool %s", got)
	}
	r.Clock.Advance(2 * time.Second)
	must[*asg.SetDesiredCapacityOutput](t)(r.asg.SetDesiredCapacity(ctx, &asg.SetDesiredCapacityInput{AutoScalingGroupName: g, DesiredCapacity: aws.Int32(2)}))
	r.Clock.Advance(2 * time.Second)
	r.wantStates("g", states{"InService": 2})
	if got := pool(); got != "Warmed:Stopped" {
		t.Errorf("pool %s", got)
	}
	if n := len(r.instances("g")); n != 3 {
		t.Errorf("%d instances, the warm ones were not used", n)
	}
	_, err := r.asg.DeleteWarmPool(ctx, &asg.DeleteWarmPoolInput{AutoScalingGroupName: g})
	wantCode(t, err, "ResourceInUse")
	must[*asg.DeleteWarmPoolOutput](t)(r.asg.DeleteWarmPool(ctx, &asg.DeleteWarmPoolInput{AutoScalingGroupName: g, ForceDelete: aws.Bool(true)}))
}

func TestMixedPolicy(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	r.create("g", 4, func(in *asg.CreateAutoScalingGroupInput) {
		in.LaunchTemplate = nil
		in.MixedInstancesPolicy = &asgtypes.MixedInstancesPolicy{
			LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template},
				Overrides: []asgtypes.LaunchTemplateOverrides{{InstanceType: aws.String("m5.xlarge")}, {InstanceType: aws.String("m5.large")}}},
			InstancesDistribution: &asgtypes.InstancesDistribution{OnDemandBaseCapacity: aws.Int32(1), OnDemandPercentageAboveBaseCapacity: aws.Int32(0), SpotMaxPrice: aws.String("0.15")}}
	})
	spot := 0
	for _, vm := range r.instances("g") {
		if vm.InstanceType != "m5.xlarge" {
			t.Errorf("type %s", vm.InstanceType)
		}
		if vm.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
			spot++
		}
	}
	if spot != 3 {
		t.Errorf("%d spot instances, want 3 above a base of 1", spot)
	}
	r.create("needs", 1, func(in *asg.CreateAutoScalingGroupInput) {
		in.LaunchTemplate = nil
		in.MixedInstancesPolicy = &asgtypes.MixedInstancesPolicy{LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template},
			Overrides: []asgtypes.LaunchTemplateOverrides{{InstanceRequirements: &asgtypes.InstanceRequirements{
				VCpuCount: &asgtypes.VCpuCountRequest{Min: aws.Int32(4), Max: aws.Int32(4)}, MemoryMiB: &asgtypes.MemoryMiBRequest{Min: aws.Int32(16384)}}}}}}
	})
	got := r.group("needs")
	if len(got.Instances) != 1 || !strings.HasSuffix(*got.Instances[0].InstanceType, ".xlarge") || *got.MixedInstancesPolicy.InstancesDistribution.OnDemandAllocationStrategy != "lowest-price" {
		t.Errorf("group %+v", got)
	}
	_, err := r.asg.PutWarmPool(ctx, &asg.PutWarmPoolInput{AutoScalingGroupName: aws.String("g")})
	wantCode(t, err, "ValidationError")
}

func TestTargetsFollowInstances(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	tg := must[*elb.CreateTargetGroupOutput](t)(r.elb.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{Name: aws.String("api"), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: &r.vpc})).TargetGroups[0].TargetGroupArn
	targets := func() int {
		return len(must[*elb.DescribeTargetHealthOutput](t)(r.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: tg})).TargetHealthDescriptions)
	}
	r.create("g", 2, func(in *asg.CreateAutoScalingGroupInput) { in.TargetGroupARNs = []string{*tg} })
	r.Clock.Advance(2 * time.Second)
	if n := targets(); n != 2 {
		t.Errorf("%d targets", n)
	}
	must[*asg.SetDesiredCapacityOutput](t)(r.asg.SetDesiredCapacity(ctx, &asg.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(1)}))
	if n := targets(); n != 1 {
		t.Errorf("%d targets after scale-in", n)
	}
	must[*asg.DetachTrafficSourcesOutput](t)(r.asg.DetachTrafficSources(ctx, &asg.DetachTrafficSourcesInput{AutoScalingGroupName: aws.String("g"), TrafficSources: []asgtypes.TrafficSourceIdentifier{{Identifier: tg}}}))
	if n := targets(); n != 0 {
		t.Errorf("%d targets after detaching", n)
	}
}

func TestInstanceRefresh(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), fresh(t)
	g := aws.String("g")
	r.create("g", 2)
	r.Clock.Advance(2 * time.Second)
	must[*awsec2.CreateLaunchTemplateVersionOutput](t)(r.ec2.CreateLaunchTemplateVersion(ctx, &awsec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &r.template,
		SourceVersion: aws.String("1"), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.xlarge"}}))
	must[*asg.StartInstanceRefreshOutput](t)(r.asg.StartInstanceRefresh(ctx, &asg.StartInstanceRefreshInput{AutoScalingGroupName: g}))
	_, err := r.asg.StartInstanceRefresh(ctx, &asg.StartInstanceRefreshInput{AutoScalingGroupName: g})
	wantCode(t, err, "InstanceRefreshInProgress")
	for range 12 {
		r.Clock.Advance(2 * time.Second)
		r.group("g")
	}
	out := must[*asg.DescribeInstanceRefreshesOutput](t)(r.asg.DescribeInstanceRefreshes(ctx, &asg.DescribeInstanceRefreshesInput{AutoScalingGroupName: g})).InstanceRefreshes[0]
	if out.Status != asgtypes.InstanceRefreshStatusSuccessful || *out.PercentageComplete != 100 {
		t.Errorf("refresh %+v", out)
	}
	for _, i := range r.group("g").Instances {
		if *i.LaunchTemplate.Version != "2" || *i.InstanceType != "m5.xlarge" {
			t.Errorf("instance %+v was not replaced", i)
		}
	}
	_, err = r.asg.CancelInstanceRefresh(ctx, &asg.CancelInstanceRefreshInput{AutoScalingGroupName: g})
	wantCode(t, err, "ActiveInstanceRefreshNotFound")
}

func TestTwoHundredGroupsAreQuick(t *testing.T) {
	ctx, r := t.Context(), fresh(t)
	start := time.Now()
	for i := range 200 {
		r.create(fmt.Sprintf("g%03d", i), 2)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("200 groups of 2 took %s", d)
	} else {
		t.Logf("200 groups of 2 took %s", d)
	}
	r.Clock.Advance(2 * time.Second)
	pages, groups := 0, 0
	p := asg.NewDescribeAutoScalingGroupsPaginator(r.asg, &asg.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(100), Filters: []asgtypes.Filter{{Name: aws.String("tag:team"), Values: []string{"x"}}}})
	for p.HasMorePages() {
		out := must[*asg.DescribeAutoScalingGroupsOutput](t)(p.NextPage(ctx))
		pages, groups = pages+1, groups+len(out.AutoScalingGroups)
	}
	if pages != 2 || groups != 200 {
		t.Errorf("%d groups in %d pages", groups, pages)
	}
}
