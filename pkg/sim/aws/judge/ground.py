# SPDX-License-Identifier: Apache-2.0
"""What scenarios of several services need beforehand in the simulated EC2."""
import time


def wait(ask, good):
    """Asks until the answer is good, for five seconds at most."""
    for _ in range(100):
        answer = ask()
        if good(answer):
            return answer
        time.sleep(0.05)
    raise AssertionError(f"state never came: {answer}")


def network(ec2, gateway=True):
    """Makes a network with two subnets in two zones; returns their ids and a security group's."""
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    if gateway:
        igw = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(VpcId=vpc, InternetGatewayId=igw)
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{i}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for i, zone in enumerate(["us-east-1a", "us-east-1b"])
    ]
    group = ec2.create_security_group(GroupName="judge", Description="judge", VpcId=vpc)["GroupId"]
    return vpc, subnets, group


def template(ec2, name):
    """Makes a launch template and returns its id."""
    image = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"][0]["ImageId"]
    data = {"ImageId": image, "InstanceType": "m5.large"}
    return ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"]["LaunchTemplateId"]
