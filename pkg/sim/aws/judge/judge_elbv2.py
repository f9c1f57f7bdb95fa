# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated Elastic Load Balancing, once or more."""
from ground import network, template, wait

SERVICE = "elbv2"
SIGNING = "elasticloadbalancing"

TAGS = [{"Key": "Name", "Value": "judge"}, {"Key": "empty", "Value": ""}]


def balancer(call, subnets, group):
    made = call("CreateLoadBalancer", Name="judge", Type="network", Subnets=subnets, SecurityGroups=[group], Tags=TAGS)["LoadBalancers"][0]
    arn = made["LoadBalancerArn"]
    call.refused("DuplicateLoadBalancerName", "CreateLoadBalancer", Name="judge", Type="network", Subnets=subnets[:1])
    call("DescribeLoadBalancers", Names=["judge"])
    wait(lambda: call("DescribeLoadBalancers", LoadBalancerArns=[arn]), lambda a: a["LoadBalancers"][0]["State"]["Code"] == "active")
    call("ModifyLoadBalancerAttributes", LoadBalancerArn=arn, Attributes=[{"Key": "load_balancing.cross_zone.enabled", "Value": "true"}])
    call("DescribeLoadBalancerAttributes", LoadBalancerArn=arn)
    call("SetSubnets", LoadBalancerArn=arn, Subnets=subnets[:1])
    call("SetSecurityGroups", LoadBalancerArn=arn, SecurityGroups=[group])
    call("SetIpAddressType", LoadBalancerArn=arn, IpAddressType="ipv4")
    return arn


def targets(call, ec2, vpc, subnets):
    made = call("CreateTargetGroup", Name="judge", Protocol="TCP", Port=443, VpcId=vpc, HealthCheckProtocol="HTTPS", HealthCheckPath="/readyz", Tags=TAGS)
    arn = made["TargetGroups"][0]["TargetGroupArn"]
    call("DescribeTargetGroups", Names=["judge"])
    call("ModifyTargetGroup", TargetGroupArn=arn, HealthCheckIntervalSeconds=10)
    call("ModifyTargetGroupAttributes", TargetGroupArn=arn, Attributes=[{"Key": "preserve_client_ip.enabled", "Value": "false"}])
    call("DescribeTargetGroupAttributes", TargetGroupArn=arn)
    lt = template(ec2, "elb-judge")
    vm = ec2.run_instances(MinCount=1, MaxCount=1, SubnetId=subnets[0], LaunchTemplate={"LaunchTemplateId": lt})["Instances"][0]["InstanceId"]
    running = lambda a: a["Reservations"][0]["Instances"][0]["State"]["Name"] == "running"
    wait(lambda: ec2.describe_instances(InstanceIds=[vm]), running)
    call("RegisterTargets", TargetGroupArn=arn, Targets=[{"Id": vm}])
    call("DescribeTargetHealth", TargetGroupArn=arn)
    return arn, vm


def listeners(call, lb, tg):
    action = [{"Type": "forward", "TargetGroupArn": tg}]
    arn = call("CreateListener", LoadBalancerArn=lb, Protocol="TCP", Port=443, DefaultActions=action, Tags=TAGS)["Listeners"][0]["ListenerArn"]
    call.refused("DuplicateListener", "CreateListener", LoadBalancerArn=lb, Protocol="TCP", Port=443, DefaultActions=action)
    call("DescribeListeners", LoadBalancerArn=lb)
    call("ModifyListener", ListenerArn=arn, Port=8443)
    call("ModifyListenerAttributes", ListenerArn=arn, Attributes=[{"Key": "tcp.idle_timeout.seconds", "Value": "400"}])
    call("DescribeListenerAttributes", ListenerArn=arn)
    wait(lambda: call("DescribeTargetHealth", TargetGroupArn=tg), lambda a: a["TargetHealthDescriptions"][0]["TargetHealth"]["State"] == "healthy")
    call.refused("ResourceInUse", "DeleteTargetGroup", TargetGroupArn=tg)
    return arn


def scenario(call):
    ec2 = call.client("ec2")
    vpc, subnets, group = network(ec2)
    lb = balancer(call, subnets, group)
    tg, vm = targets(call, ec2, vpc, subnets)
    listener = listeners(call, lb, tg)
    call("AddTags", ResourceArns=[lb, tg, listener], Tags=[{"Key": "more", "Value": "x"}])
    call("DescribeTags", ResourceArns=[lb, tg, listener])
    call("RemoveTags", ResourceArns=[lb, tg, listener], TagKeys=["more"])
    call("DeleteListener", ListenerArn=listener)
    call("DeregisterTargets", TargetGroupArn=tg, Targets=[{"Id": vm}])
    call("DeleteTargetGroup", TargetGroupArn=tg)
    call("DeleteLoadBalancer", LoadBalancerArn=lb)
    call.refused("LoadBalancerNotFound", "DescribeLoadBalancers", Names=["judge"])
