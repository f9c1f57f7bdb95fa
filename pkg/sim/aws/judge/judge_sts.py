# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated STS, once or more."""
import json

SERVICE = "sts"


def scenario(call):
    me = call("GetCallerIdentity")
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": me["Account"]}, "Action": "sts:AssumeRole"}]}
    iam = call.client("iam")
    role = iam.create_role(RoleName="sts-judge", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    call("AssumeRole", RoleArn=role, RoleSessionName="judge")
    call.refused("ValidationError", "AssumeRole", RoleArn=role, RoleSessionName="judge", DurationSeconds=43200)
    call.refused("AccessDenied", "AssumeRole", RoleArn=role + "-none", RoleSessionName="judge")
    call("GetSessionToken", DurationSeconds=900)
    iam.delete_role(RoleName="sts-judge")
