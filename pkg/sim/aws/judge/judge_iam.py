# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated IAM, once or more."""
import json

SERVICE = "iam"
# IAM answers Policy, though its model's enum has only PermissionsBoundaryPolicy.
BEYOND_MODEL = {"PermissionsBoundary.PermissionsBoundaryType": ["Policy"]}

TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]})
ALLOW = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]})
TAGS = [{"Key": "Name", "Value": "judge"}, {"Key": "empty", "Value": ""}]
MANAGED = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"


def tagged(call, kind, **target):
    call("Tag" + kind, Tags=[{"Key": "more", "Value": "x"}], **target)
    call(f"List{kind}Tags", **target)
    call("Untag" + kind, TagKeys=["more"], **target)


def roles(call):
    call("CreateRole", RoleName="judge", AssumeRolePolicyDocument=TRUST, Description="of the judge", Tags=TAGS, PermissionsBoundary=MANAGED)
    call.refused("EntityAlreadyExists", "CreateRole", RoleName="judge", AssumeRolePolicyDocument=TRUST)
    call.refused("MalformedPolicyDocument", "CreateRole", RoleName="other", AssumeRolePolicyDocument=ALLOW)
    call("GetRole", RoleName="judge")
    call.refused("NoSuchEntity", "GetRole", RoleName="none")
    call("ListRoles", MaxItems=1)
    call("UpdateRole", RoleName="judge", MaxSessionDuration=7200)
    call("UpdateAssumeRolePolicy", RoleName="judge", PolicyDocument=TRUST)
    call("PutRolePermissionsBoundary", RoleName="judge", PermissionsBoundary=MANAGED)
    call("DeleteRolePermissionsBoundary", RoleName="judge")
    tagged(call, "Role", RoleName="judge")
    call("PutRolePolicy", RoleName="judge", PolicyName="inline", PolicyDocument=ALLOW)
    call("GetRolePolicy", RoleName="judge", PolicyName="inline")
    call("ListRolePolicies", RoleName="judge")
    call("AttachRolePolicy", RoleName="judge", PolicyArn=MANAGED)
    call("ListAttachedRolePolicies", RoleName="judge")


def profiles(call):
    call("CreateInstanceProfile", InstanceProfileName="judge", Tags=TAGS)
    call("AddRoleToInstanceProfile", InstanceProfileName="judge", RoleName="judge")
    call.refused("LimitExceeded", "AddRoleToInstanceProfile", InstanceProfileName="judge", RoleName="judge")
    call("GetInstanceProfile", InstanceProfileName="judge")
    call("ListInstanceProfiles")
    call("ListInstanceProfilesForRole", RoleName="judge")
    tagged(call, "InstanceProfile", InstanceProfileName="judge")
    call.refused("DeleteConflict", "DeleteRole", RoleName="judge")
    call("RemoveRoleFromInstanceProfile", InstanceProfileName="judge", RoleName="judge")
    call("DeleteInstanceProfile", InstanceProfileName="judge")


def policies(call):
    arn = call("CreatePolicy", PolicyName="judge", PolicyDocument=ALLOW, Description="of the judge", Tags=TAGS)["Policy"]["Arn"]
    call("GetPolicy", PolicyArn=arn)
    call("GetPolicy", PolicyArn=MANAGED)
    call("ListPolicies", Scope="All")
    tagged(call, "Policy", PolicyArn=arn)
    call("CreatePolicyVersion", PolicyArn=arn, PolicyDocument=ALLOW)
    call("ListPolicyVersions", PolicyArn=arn)
    call("GetPolicyVersion", PolicyArn=arn, VersionId="v2")
    call("SetDefaultPolicyVersion", PolicyArn=arn, VersionId="v2")
    call("DeletePolicyVersion", PolicyArn=arn, VersionId="v1")
    call("DeletePolicy", PolicyArn=arn)


def users(call):
    call("CreateUser", UserName="judge", Tags=TAGS)
    call("GetUser")
    call("GetUser", UserName="judge")
    call("ListUsers")
    tagged(call, "User", UserName="judge")
    call("PutUserPolicy", UserName="judge", PolicyName="inline", PolicyDocument=ALLOW)
    call("GetUserPolicy", UserName="judge", PolicyName="inline")
    call("ListUserPolicies", UserName="judge")
    call("DeleteUserPolicy", UserName="judge", PolicyName="inline")
    call("AttachUserPolicy", UserName="judge", PolicyArn=MANAGED)
    call("ListAttachedUserPolicies", UserName="judge")
    call("DetachUserPolicy", UserName="judge", PolicyArn=MANAGED)
    key = call("CreateAccessKey", UserName="judge")["AccessKey"]["AccessKeyId"]
    call("ListAccessKeys", UserName="judge")
    call("UpdateAccessKey", UserName="judge", AccessKeyId=key, Status="Inactive")
    call("DeleteAccessKey", UserName="judge", AccessKeyId=key)
    call("DeleteUser", UserName="judge")
    call("GetAccountSummary")


def providers(call):
    arn = call("CreateOpenIDConnectProvider", Url="https://oidc.example.com/judge", ClientIDList=["sts.amazonaws.com"], ThumbprintList=["a" * 40], Tags=TAGS)["OpenIDConnectProviderArn"]
    target = {"OpenIDConnectProviderArn": arn}
    call("GetOpenIDConnectProvider", **target)
    call("ListOpenIDConnectProviders")
    call("UpdateOpenIDConnectProviderThumbprint", ThumbprintList=["b" * 40], **target)
    call("AddClientIDToOpenIDConnectProvider", ClientID="more", **target)
    call("RemoveClientIDFromOpenIDConnectProvider", ClientID="more", **target)
    tagged(call, "OpenIDConnectProvider", **target)
    call("DeleteOpenIDConnectProvider", **target)


def scenario(call):
    roles(call)
    profiles(call)
    policies(call)
    users(call)
    providers(call)
    call("DetachRolePolicy", RoleName="judge", PolicyArn=MANAGED)
    call("DeleteRolePolicy", RoleName="judge", PolicyName="inline")
    call("DeleteRole", RoleName="judge")
