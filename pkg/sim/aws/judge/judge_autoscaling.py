# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated Auto Scaling, once or more."""
from ground import network, template, wait

SERVICE = "autoscaling"

NAME = {"AutoScalingGroupName": "judge"}


def tag(key):
    return {"ResourceId": "judge", "ResourceType": "auto-scaling-group", "Key": key, "Value": "v", "PropagateAtLaunch": True}


def settled(call, count, state="InService"):
    """Waits until the group has that many instances, all in one state."""
    def good(answer):
        found = [i["LifecycleState"] for i in answer["AutoScalingGroups"][0]["Instances"]]
        return len(found) == count and set(found) <= {state}

    return wait(lambda: call("DescribeAutoScalingGroups", AutoScalingGroupNames=["judge"]), good)["AutoScalingGroups"][0]["Instances"]


def create(call, subnets, lt):
    call("CreateAutoScalingGroup", MinSize=0, MaxSize=6, DesiredCapacity=2, VPCZoneIdentifier=",".join(subnets), Tags=[tag("team")],
         LaunchTemplate={"LaunchTemplateId": lt, "Version": "$Latest"}, MaxInstanceLifetime=86400, CapacityRebalance=True, NewInstancesProtectedFromScaleIn=False,
         InstanceMaintenancePolicy={"MinHealthyPercentage": 90, "MaxHealthyPercentage": 110}, DefaultInstanceWarmup=0, **NAME)
    call.refused("AlreadyExists", "CreateAutoScalingGroup", MinSize=0, MaxSize=1, VPCZoneIdentifier=subnets[0], LaunchTemplate={"LaunchTemplateId": lt}, **NAME)
    mixed = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateId": lt},
            "Overrides": [{"InstanceRequirements": {"VCpuCount": {"Min": 2, "Max": 4}, "MemoryMiB": {"Min": 4096}, "ExcludedInstanceTypes": ["t*"]}}],
        },
        "InstancesDistribution": {"OnDemandPercentageAboveBaseCapacity": 50, "SpotAllocationStrategy": "price-capacity-optimized"},
    }
    call("CreateAutoScalingGroup", AutoScalingGroupName="mixed", MinSize=2, MaxSize=2, VPCZoneIdentifier=subnets[0], MixedInstancesPolicy=mixed)
    call("DescribeAutoScalingGroups", Filters=[{"Name": "tag:team", "Values": ["v"]}])
    call("DescribeAutoScalingGroups")
    call("DescribeAccountLimits")
    settled(call, 2)


def settings(call):
    call("UpdateAutoScalingGroup", MaxSize=5, HealthCheckType="ELB", HealthCheckGracePeriod=60, **NAME)
    call("SuspendProcesses", ScalingProcesses=["AZRebalance"], **NAME)
    call("EnableMetricsCollection", Granularity="1Minute", **NAME)
    call("DescribeAutoScalingGroups", AutoScalingGroupNames=["judge"])
    call("DisableMetricsCollection", **NAME)
    call("ResumeProcesses", **NAME)
    call("CreateOrUpdateTags", Tags=[tag("more")])
    call("DescribeTags", Filters=[{"Name": "auto-scaling-group", "Values": ["judge"]}])
    call("DeleteTags", Tags=[tag("more")])


def traffic(call, vpc):
    elb = call.client("elbv2")
    arn = elb.create_target_group(Name="asg-judge", Protocol="TCP", Port=443, VpcId=vpc)["TargetGroups"][0]["TargetGroupArn"]
    call("AttachLoadBalancerTargetGroups", TargetGroupARNs=[arn], **NAME)
    call("DescribeLoadBalancerTargetGroups", **NAME)
    call("DescribeTrafficSources", **NAME)
    call("DetachLoadBalancerTargetGroups", TargetGroupARNs=[arn], **NAME)
    call("AttachTrafficSources", TrafficSources=[{"Identifier": arn, "Type": "elbv2"}], **NAME)
    call("DetachTrafficSources", TrafficSources=[{"Identifier": arn, "Type": "elbv2"}], **NAME)


def members(call):
    one = settled(call, 2)[0]["InstanceId"]
    call("DescribeAutoScalingInstances", InstanceIds=[one])
    call("SetInstanceProtection", InstanceIds=[one], ProtectedFromScaleIn=True, **NAME)
    call("SetInstanceProtection", InstanceIds=[one], ProtectedFromScaleIn=False, **NAME)
    call("EnterStandby", InstanceIds=[one], ShouldDecrementDesiredCapacity=True, **NAME)
    call("ExitStandby", InstanceIds=[one], **NAME)
    call("DetachInstances", InstanceIds=[one], ShouldDecrementDesiredCapacity=True, **NAME)
    call("AttachInstances", InstanceIds=[one], **NAME)
    call("TerminateInstanceInAutoScalingGroup", InstanceId=one, ShouldDecrementDesiredCapacity=False)
    other = settled(call, 2)[0]["InstanceId"]
    call("SetInstanceHealth", InstanceId=other, HealthStatus="Unhealthy")
    settled(call, 2)
    call("SetDesiredCapacity", DesiredCapacity=1, **NAME)
    settled(call, 1)
    call("DescribeScalingActivities", **NAME)


def hooks(call):
    hook = {"LifecycleHookName": "judge", **NAME}
    call("PutLifecycleHook", LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING", HeartbeatTimeout=60, DefaultResult="CONTINUE", **hook)
    call("DescribeLifecycleHooks", **NAME)
    call("DescribeLifecycleHookTypes")
    call("SetDesiredCapacity", DesiredCapacity=2, **NAME)
    waiting = lambda a: [i for i in a["AutoScalingGroups"][0]["Instances"] if i["LifecycleState"] == "Pending:Wait"]
    held = waiting(wait(lambda: call("DescribeAutoScalingGroups", AutoScalingGroupNames=["judge"]), waiting))[0]["InstanceId"]
    call("RecordLifecycleActionHeartbeat", InstanceId=held, **hook)
    call("CompleteLifecycleAction", InstanceId=held, LifecycleActionResult="CONTINUE", **hook)
    call("DeleteLifecycleHook", **hook)
    settled(call, 2)


def pool_and_refresh(call):
    call("PutWarmPool", MinSize=1, PoolState="Running", InstanceReusePolicy={"ReuseOnScaleIn": True}, **NAME)
    call("DescribeWarmPool", **NAME)
    call("DescribeAutoScalingGroups", AutoScalingGroupNames=["judge"])
    call("DeleteWarmPool", ForceDelete=True, **NAME)
    call("StartInstanceRefresh", Preferences={"MinHealthyPercentage": 50, "SkipMatching": False}, **NAME)
    call("DescribeInstanceRefreshes", **NAME)
    call("CancelInstanceRefresh", **NAME)


def scenario(call):
    ec2 = call.client("ec2")
    vpc, subnets, _ = network(ec2, gateway=False)
    create(call, subnets, template(ec2, "asg-judge"))
    settings(call)
    traffic(call, vpc)
    members(call)
    hooks(call)
    pool_and_refresh(call)
    call.refused("ResourceInUse", "DeleteAutoScalingGroup", **NAME)
    call("DeleteAutoScalingGroup", ForceDelete=True, **NAME)
    call("DeleteAutoScalingGroup", AutoScalingGroupName="mixed", ForceDelete=True)
    call("DescribeAutoScalingGroups")
    wait(lambda: call("DescribeAutoScalingGroups"), lambda a: not a["AutoScalingGroups"])
