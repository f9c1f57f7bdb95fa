# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated EC2, once or more."""
import base64
import ipaddress
import time

SERVICE = "ec2"
# Values that EC2 answers though its own model does not list them.
BEYOND_MODEL = {
    "InternetGateways[].Attachments[].State": ["available"],
    "VpcEndpoint.State": ["available"],
    "VpcEndpoints[].State": ["available"],
    "NetworkInterface.Status": ["pending"],
    "NetworkInterfaces[].InterfaceType": ["nat_gateway"],
}

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfY9bJq3z5b8Z4oPp8RkMPcAyS7xT9KZ4J6WbJZr0yB judge"


def tags(kind, **more):
    return [{"ResourceType": kind, "Tags": [{"Key": "Name", "Value": "judge"}, {"Key": "empty", "Value": ""}]}]


def wait(call, operation, state, **params):
    for _ in range(100):
        answer = call(operation, **params)
        if state(answer):
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{operation} {params}: state never came: {answer}")


def regions(call):
    call("DescribeRegions", AllRegions=True)
    call("DescribeAvailabilityZones", AllAvailabilityZones=True)
    call("DescribeAccountAttributes")
    call("DescribeInstanceTypes", MaxResults=100)
    call("DescribeInstanceTypes", InstanceTypes=["g4dn.xlarge", "m5d.large", "t2.micro"])
    call("DescribeInstanceTypeOfferings", LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["m7g.*"]}])
    call("DescribeImages", Owners=["099720109477"], Filters=[{"Name": "architecture", "Values": ["arm64"]}])


def network(call):
    w = {}
    w["vpc"] = call("CreateVpc", CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True, TagSpecifications=tags("vpc"))["Vpc"]
    vpc = w["vpc"]["VpcId"]
    call("ModifyVpcAttribute", VpcId=vpc, EnableDnsHostnames={"Value": True})
    call("DescribeVpcAttribute", VpcId=vpc, Attribute="enableDnsHostnames")
    extra = call("AssociateVpcCidrBlock", VpcId=vpc, CidrBlock="10.1.0.0/16")["CidrBlockAssociation"]["AssociationId"]
    call("DisassociateVpcCidrBlock", AssociationId=extra)
    more = call("AssociateVpcCidrBlock", VpcId=vpc, AmazonProvidedIpv6CidrBlock=True)["Ipv6CidrBlockAssociation"]["AssociationId"]
    call("DisassociateVpcCidrBlock", AssociationId=more)
    v6 = w["vpc"]["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    first, second = [str(n) for n in list(ipaddress.ip_network(v6).subnets(new_prefix=64))[:2]]
    w["subnet"] = call("CreateSubnet", VpcId=vpc, CidrBlock="10.0.0.0/24", Ipv6CidrBlock=first, AvailabilityZone="us-east-1a", TagSpecifications=tags("subnet"))["Subnet"]["SubnetId"]
    call("ModifySubnetAttribute", SubnetId=w["subnet"], MapPublicIpOnLaunch={"Value": True})
    other = call("CreateSubnet", VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZoneId="use1-az2")["Subnet"]["SubnetId"]
    association = call("AssociateSubnetCidrBlock", SubnetId=other, Ipv6CidrBlock=second)["Ipv6CidrBlockAssociation"]["AssociationId"]
    call("DescribeSubnets", Filters=[{"Name": "ipv6-cidr-block-association.association-id", "Values": [association]}])
    call("DisassociateSubnetCidrBlock", AssociationId=association)
    call("DeleteSubnet", SubnetId=other)
    call("DescribeVpcs", VpcIds=[vpc])
    call("DescribeNetworkAcls")
    dhcp = call("CreateDhcpOptions", DhcpConfigurations=[{"Key": "domain-name", "Values": ["judge.test"]}], TagSpecifications=tags("dhcp-options"))["DhcpOptions"]["DhcpOptionsId"]
    call("AssociateDhcpOptions", DhcpOptionsId=dhcp, VpcId=vpc)
    call("DescribeDhcpOptions")
    call.refused("DependencyViolation", "DeleteDhcpOptions", DhcpOptionsId=dhcp)
    call("AssociateDhcpOptions", DhcpOptionsId="default", VpcId=vpc)
    call("DeleteDhcpOptions", DhcpOptionsId=dhcp)
    return w


def gateways(call, w):
    vpc = w["vpc"]["VpcId"]
    w["igw"] = call("CreateInternetGateway", TagSpecifications=tags("internet-gateway"))["InternetGateway"]["InternetGatewayId"]
    call("AttachInternetGateway", InternetGatewayId=w["igw"], VpcId=vpc)
    call("DescribeInternetGateways")
    w["eigw"] = call("CreateEgressOnlyInternetGateway", VpcId=vpc, TagSpecifications=tags("egress-only-internet-gateway"))["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"]
    call("DescribeEgressOnlyInternetGateways")
    w["eip"] = call("AllocateAddress", Domain="vpc", TagSpecifications=tags("elastic-ip"))["AllocationId"]
    w["nat"] = call("CreateNatGateway", SubnetId=w["subnet"], AllocationId=w["eip"], TagSpecifications=tags("natgateway"))["NatGateway"]["NatGatewayId"]
    wait(call, "DescribeNatGateways", lambda a: a["NatGateways"][0]["State"] == "available", NatGatewayIds=[w["nat"]])
    call("DescribeAddresses")
    w["rtb"] = call("CreateRouteTable", VpcId=vpc, TagSpecifications=tags("route-table"))["RouteTable"]["RouteTableId"]
    call("CreateRoute", RouteTableId=w["rtb"], DestinationCidrBlock="0.0.0.0/0", GatewayId=w["igw"])
    call("CreateRoute", RouteTableId=w["rtb"], DestinationIpv6CidrBlock="::/0", EgressOnlyInternetGatewayId=w["eigw"])
    call("ReplaceRoute", RouteTableId=w["rtb"], DestinationCidrBlock="0.0.0.0/0", NatGatewayId=w["nat"])
    association = call("AssociateRouteTable", RouteTableId=w["rtb"], SubnetId=w["subnet"])["AssociationId"]
    other = call("CreateRouteTable", VpcId=vpc)["RouteTable"]["RouteTableId"]
    association = call("ReplaceRouteTableAssociation", AssociationId=association, RouteTableId=other)["NewAssociationId"]
    call("DescribeRouteTables")
    call("DisassociateRouteTable", AssociationId=association)
    call("DeleteRouteTable", RouteTableId=other)
    endpoint = call("CreateVpcEndpoint", VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[w["rtb"]], TagSpecifications=tags("vpc-endpoint"))["VpcEndpoint"]["VpcEndpointId"]
    private = call("CreateVpcEndpoint", VpcId=vpc, ServiceName="com.amazonaws.us-east-1.ec2", VpcEndpointType="Interface", SubnetIds=[w["subnet"]])["VpcEndpoint"]["VpcEndpointId"]
    call("DescribeVpcEndpoints")
    call("DeleteVpcEndpoints", VpcEndpointIds=[endpoint, private, "vpce-00000000000000000"])
    transit = call("CreateTransitGateway", Description="judge")["TransitGateway"]["TransitGatewayId"]
    call("DescribeTransitGateways")
    call("DeleteTransitGateway", TransitGatewayId=transit)


def groups(call, w):
    vpc = w["vpc"]["VpcId"]
    w["sg"] = call("CreateSecurityGroup", GroupName="judge", Description="judge", VpcId=vpc, TagSpecifications=tags("security-group"))["GroupId"]
    w["pl"] = call("CreateManagedPrefixList", PrefixListName="judge", AddressFamily="IPv4", MaxEntries=3, Entries=[{"Cidr": "192.0.2.0/24", "Description": "test"}])["PrefixList"]["PrefixListId"]
    call("DescribeManagedPrefixLists")
    call("GetManagedPrefixListEntries", PrefixListId=w["pl"])
    permission = {
        "IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "192.0.2.0/24", "Description": "test"}],
        "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}], "UserIdGroupPairs": [{"GroupId": w["sg"]}], "PrefixListIds": [{"PrefixListId": w["pl"]}],
    }
    rules = call("AuthorizeSecurityGroupIngress", GroupId=w["sg"], IpPermissions=[permission], TagSpecifications=tags("security-group-rule"))["SecurityGroupRules"]
    call("AuthorizeSecurityGroupEgress", GroupId=w["sg"], IpPermissions=[{"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}])
    call("DescribeSecurityGroups", GroupIds=[w["sg"]])
    call("DescribeSecurityGroupRules", Filters=[{"Name": "group-id", "Values": [w["sg"]]}])
    call("ModifySecurityGroupRules", GroupId=w["sg"], SecurityGroupRules=[{"SecurityGroupRuleId": rules[0]["SecurityGroupRuleId"], "SecurityGroupRule": {"IpProtocol": "tcp", "FromPort": 444, "ToPort": 444, "CidrIpv4": "192.0.2.0/24"}}])
    call("UpdateSecurityGroupRuleDescriptionsIngress", GroupId=w["sg"], SecurityGroupRuleDescriptions=[{"SecurityGroupRuleId": rules[0]["SecurityGroupRuleId"], "Description": "again"}])
    call("UpdateSecurityGroupRuleDescriptionsEgress", GroupId=w["sg"], IpPermissions=[{"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "dns"}]}])
    call("RevokeSecurityGroupIngress", GroupId=w["sg"], SecurityGroupRuleIds=[r["SecurityGroupRuleId"] for r in rules])
    call("RevokeSecurityGroupEgress", GroupId=w["sg"], IpPermissions=[{"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}])
    call("DeleteManagedPrefixList", PrefixListId=w["pl"])


def template_data(w):
    return {
        "ImageId": w["image"], "InstanceType": "t3.small", "KeyName": "judge", "EbsOptimized": True, "DisableApiTermination": False,
        "UserData": base64.b64encode(b"#!/bin/sh\n").decode(), "Monitoring": {"Enabled": True}, "InstanceInitiatedShutdownBehavior": "terminate",
        "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 20, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125, "Encrypted": True, "DeleteOnTermination": True}}],
        "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True, "DeleteOnTermination": True, "Groups": [w["sg"]], "SubnetId": w["subnet"], "Ipv6AddressCount": 1}],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2, "HttpEndpoint": "enabled"}, "Placement": {"Tenancy": "default"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "a/b", "Value": "c"}]}, {"ResourceType": "volume", "Tags": [{"Key": "d", "Value": ""}]}],
        "CreditSpecification": {"CpuCredits": "standard"}, "MaintenanceOptions": {"AutoRecovery": "default"}, "PrivateDnsNameOptions": {"HostnameType": "resource-name"},
    }


def templates(call, w):
    w["image"] = call("DescribeImages", Filters=[{"Name": "name", "Values": ["ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"]}])["Images"][0]["ImageId"]
    call("ImportKeyPair", KeyName="judge", PublicKeyMaterial=KEY.encode(), TagSpecifications=tags("key-pair"))
    call("DescribeKeyPairs", IncludePublicKey=True)
    w["lt"] = call("CreateLaunchTemplate", LaunchTemplateName="judge", LaunchTemplateData=template_data(w), TagSpecifications=tags("launch-template"))["LaunchTemplate"]["LaunchTemplateId"]
    spot = {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.1", "SpotInstanceType": "one-time"}}, "SecurityGroupIds": [w["sg"]], "CpuOptions": {"CoreCount": 1, "ThreadsPerCore": 2}}
    call("CreateLaunchTemplateVersion", LaunchTemplateId=w["lt"], VersionDescription="spot", LaunchTemplateData=spot)
    call("CreateLaunchTemplateVersion", LaunchTemplateId=w["lt"], SourceVersion="1", LaunchTemplateData={"InstanceType": "t3.medium"})
    call("ModifyLaunchTemplate", LaunchTemplateId=w["lt"], DefaultVersion="3")
    call("DescribeLaunchTemplates", LaunchTemplateNames=["judge"])
    call("DescribeLaunchTemplateVersions", LaunchTemplateId=w["lt"])
    call("DescribeLaunchTemplateVersions", Versions=["$Latest", "$Default"])
    call("DeleteLaunchTemplateVersions", LaunchTemplateId=w["lt"], Versions=["2", "3", "9"])


def disks(call, w):
    call("EnableEbsEncryptionByDefault")
    call("GetEbsEncryptionByDefault")
    w["volume"] = call("CreateVolume", AvailabilityZone="us-east-1a", Size=10, VolumeType="gp3", TagSpecifications=tags("volume"))["VolumeId"]
    call("DisableEbsEncryptionByDefault")
    call("ModifyVolume", VolumeId=w["volume"], Size=20, VolumeType="io2", Iops=1000)
    call("DescribeVolumesModifications", VolumeIds=[w["volume"]])


def instances(call, w):
    call("CreatePlacementGroup", GroupName="judge", Strategy="partition", PartitionCount=2, TagSpecifications=tags("placement-group"))
    call("DescribePlacementGroups")
    reservation = call("CreateCapacityReservation", InstanceType="m5.large", InstancePlatform="Linux/UNIX", InstanceCount=1, AvailabilityZone="us-east-1a")["CapacityReservation"]["CapacityReservationId"]
    call("DescribeCapacityReservations")
    call("CancelCapacityReservation", CapacityReservationId=reservation)
    vm = call("RunInstances", MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateId": w["lt"], "Version": "3"})["Instances"][0]["InstanceId"]
    wait(call, "DescribeInstances", lambda a: a["Reservations"][0]["Instances"][0]["State"]["Name"] == "running", InstanceIds=[vm])
    call("DescribeInstanceStatus", InstanceIds=[vm])
    call("AttachVolume", VolumeId=w["volume"], InstanceId=vm, Device="/dev/sdf")
    call("DescribeVolumes", VolumeIds=[w["volume"]])
    call("DescribeInstances", InstanceIds=[vm])
    call("DetachVolume", VolumeId=w["volume"])
    call("DeleteVolume", VolumeId=w["volume"])
    card = call("CreateNetworkInterface", SubnetId=w["subnet"], Description="second", Groups=[w["sg"]], TagSpecifications=tags("network-interface"))["NetworkInterface"]["NetworkInterfaceId"]
    call("ModifyNetworkInterfaceAttribute", NetworkInterfaceId=card, SourceDestCheck={"Value": False})
    attachment = call("AttachNetworkInterface", NetworkInterfaceId=card, InstanceId=vm, DeviceIndex=1)["AttachmentId"]
    address = call("AllocateAddress")["AllocationId"]
    association = call("AssociateAddress", AllocationId=address, NetworkInterfaceId=card)["AssociationId"]
    call("DescribeNetworkInterfaces")
    call("DescribeInstances", InstanceIds=[vm])
    call("DisassociateAddress", AssociationId=association)
    call("ReleaseAddress", AllocationId=address)
    call("DetachNetworkInterface", AttachmentId=attachment)
    call("DeleteNetworkInterface", NetworkInterfaceId=card)
    call("ModifyInstanceAttribute", InstanceId=vm, SourceDestCheck={"Value": False})
    call("ModifyInstanceMetadataOptions", InstanceId=vm, HttpTokens="optional")
    for attribute in ("disableApiTermination", "userData", "groupSet", "blockDeviceMapping", "instanceType", "sourceDestCheck"):
        call("DescribeInstanceAttribute", InstanceId=vm, Attribute=attribute)
    image = call("CreateImage", InstanceId=vm, Name="judge-baked", TagSpecifications=tags("image"))["ImageId"]
    own = call("RegisterImage", Name="judge-registered", Architecture="arm64", VirtualizationType="hvm", RootDeviceName="/dev/xvda", BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 4}}])["ImageId"]
    call("DescribeImages", Owners=["self"])
    call("DeregisterImage", ImageId=image)
    call("DeregisterImage", ImageId=own)
    call("RebootInstances", InstanceIds=[vm])
    call("StopInstances", InstanceIds=[vm])
    wait(call, "DescribeInstances", lambda a: a["Reservations"][0]["Instances"][0]["State"]["Name"] == "stopped", InstanceIds=[vm])
    call("StartInstances", InstanceIds=[vm])
    call("CreateTags", Resources=[vm, w["vpc"]["VpcId"]], Tags=[{"Key": "more", "Value": ""}])
    call("DescribeTags")
    call("DeleteTags", Resources=[vm], Tags=[{"Key": "more"}])
    call("TerminateInstances", InstanceIds=[vm])
    wait(call, "DescribeInstances", lambda a: a["Reservations"][0]["Instances"][0]["State"]["Name"] == "terminated", InstanceIds=[vm])
    call("DeletePlacementGroup", GroupName="judge")


def clean(call, w):
    vpc = w["vpc"]["VpcId"]
    call.refused("DependencyViolation", "DeleteVpc", VpcId=vpc)
    call("DeleteLaunchTemplate", LaunchTemplateId=w["lt"])
    call("DeleteKeyPair", KeyName="judge")
    call("DeleteSecurityGroup", GroupId=w["sg"])
    call("DeleteRoute", RouteTableId=w["rtb"], DestinationCidrBlock="0.0.0.0/0")
    call("DeleteRouteTable", RouteTableId=w["rtb"])
    call.refused("DependencyViolation", "DeleteSubnet", SubnetId=w["subnet"])
    call("DeleteNatGateway", NatGatewayId=w["nat"])
    wait(call, "DescribeNatGateways", lambda a: a["NatGateways"][0]["State"] == "deleted", NatGatewayIds=[w["nat"]])
    call("ReleaseAddress", AllocationId=w["eip"])
    call("DetachInternetGateway", InternetGatewayId=w["igw"], VpcId=vpc)
    call("DeleteInternetGateway", InternetGatewayId=w["igw"])
    call("DeleteEgressOnlyInternetGateway", EgressOnlyInternetGatewayId=w["eigw"])
    call("DeleteSubnet", SubnetId=w["subnet"])
    call("DeleteVpc", VpcId=vpc)


def scenario(call):
    regions(call)
    w = network(call)
    gateways(call, w)
    groups(call, w)
    templates(call, w)
    disks(call, w)
    instances(call, w)
    clean(call, w)
