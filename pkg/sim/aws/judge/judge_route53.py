# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated Route 53, once or more."""
from ground import network, wait

SERVICE = "route53"


def change(action, name, kind, *values, **more):
    record = {"Name": name, "Type": kind, **more}
    if values:
        record.update(TTL=60, ResourceRecords=[{"Value": v} for v in values])
    return {"Action": action, "ResourceRecordSet": record}


def records(call, zone):
    def submit(*changes):
        return call("ChangeResourceRecordSets", HostedZoneId=zone, ChangeBatch={"Comment": "judge", "Changes": list(changes)})["ChangeInfo"]

    weighted = change("CREATE", "w.example.com", "A", "192.0.2.1", SetIdentifier="one", Weight=10)
    alias = change("CREATE", "api.example.com", "A", AliasTarget={
        "HostedZoneId": "Z26RNL4JYFTOTI", "DNSName": "x.elb.us-east-1.amazonaws.com", "EvaluateTargetHealth": False})
    made = [change("CREATE", "a.example.com", "A", "192.0.2.1", "192.0.2.2"), change("UPSERT", "*.example.com", "TXT", '"x"'), weighted, alias]
    info = submit(*made)
    wait(lambda: call("GetChange", Id=info["Id"]), lambda a: a["ChangeInfo"]["Status"] == "INSYNC")
    call("ListResourceRecordSets", HostedZoneId=zone)
    call("ListResourceRecordSets", HostedZoneId=zone, MaxItems="1")
    call.refused("InvalidChangeBatch", "ChangeResourceRecordSets", HostedZoneId=zone, ChangeBatch={"Changes": [change("CREATE", "a.example.com", "A", "192.0.2.3")]})
    call.refused("HostedZoneNotEmpty", "DeleteHostedZone", Id=zone)
    submit(*[{**c, "Action": "DELETE"} for c in made])


def scenario(call):
    vpc, _, _ = network(call.client("ec2"), gateway=False)
    more, _, _ = network(call.client("ec2"), gateway=False)
    zone = call("CreateHostedZone", Name="example.com", CallerReference="judge", HostedZoneConfig={"Comment": "of the judge", "PrivateZone": False})["HostedZone"]["Id"]
    call.refused("HostedZoneAlreadyExists", "CreateHostedZone", Name="example.com", CallerReference="judge")
    here = {"VPCRegion": "us-east-1", "VPCId": vpc}
    # Not judged: a private zone has no delegation set, which the model requires of every answer.
    private = call.client("route53").create_hosted_zone(Name="example.com", CallerReference="judge-2", VPC=here)["HostedZone"]["Id"]
    call("AssociateVPCWithHostedZone", HostedZoneId=private, VPC={"VPCRegion": "us-east-1", "VPCId": more})
    call("GetHostedZone", Id=private)
    call("DisassociateVPCFromHostedZone", HostedZoneId=private, VPC={"VPCRegion": "us-east-1", "VPCId": more})
    call("GetHostedZone", Id=zone)
    call("ListHostedZones")
    call("ListHostedZonesByName", DNSName="example.com", MaxItems="1")
    call("ListHostedZonesByVPC", **here)
    call("GetHostedZoneCount")
    call("UpdateHostedZoneComment", Id=zone, Comment="changed")
    short = zone.rsplit("/", 1)[-1]
    call("ChangeTagsForResource", ResourceType="hostedzone", ResourceId=short, AddTags=[{"Key": "Name", "Value": "judge"}])
    call("ListTagsForResource", ResourceType="hostedzone", ResourceId=short)
    call("ListTagsForResources", ResourceType="hostedzone", ResourceIds=[short])
    records(call, zone)
    call("DeleteHostedZone", Id=zone)
    call("DeleteHostedZone", Id=private)
