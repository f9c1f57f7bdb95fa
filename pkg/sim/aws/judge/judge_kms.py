# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated KMS, once or more."""
import json

SERVICE = "kms"

CONTEXT = {"cluster": "demo.example.com", "keyset": "ca"}
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*", "Resource": "*"}]})


def keys(call):
    key = call("CreateKey", Policy=POLICY, Description="of the judge", Tags=[{"TagKey": "Name", "TagValue": "judge"}, {"TagKey": "empty", "TagValue": ""}])["KeyMetadata"]
    call("CreateKey", KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")
    call("CreateKey", KeySpec="HMAC_256", KeyUsage="GENERATE_VERIFY_MAC")
    call.refused("MalformedPolicyDocumentException", "CreateKey", Policy="{}")
    call.refused("TagException", "CreateKey", Tags=[{"TagKey": "aws:x", "TagValue": ""}])
    call("DescribeKey", KeyId=key["Arn"])
    call.refused("NotFoundException", "DescribeKey", KeyId="alias/none")
    call("ListKeys", Limit=1)
    call.refused("InvalidMarkerException", "ListKeys", Marker="x")
    call("UpdateKeyDescription", KeyId=key["KeyId"], Description="")
    call("TagResource", KeyId=key["KeyId"], Tags=[{"TagKey": "more", "TagValue": "x"}])
    call("ListResourceTags", KeyId=key["KeyId"])
    call("UntagResource", KeyId=key["KeyId"], TagKeys=["more"])
    call("GetKeyPolicy", KeyId=key["KeyId"], PolicyName="default")
    call("PutKeyPolicy", KeyId=key["KeyId"], PolicyName="default", Policy=POLICY)
    call("ListKeyPolicies", KeyId=key["KeyId"])
    call("EnableKeyRotation", KeyId=key["KeyId"], RotationPeriodInDays=100)
    call("GetKeyRotationStatus", KeyId=key["KeyId"])
    call("DisableKeyRotation", KeyId=key["KeyId"])
    call("GetKeyRotationStatus", KeyId=key["KeyId"])
    return key


def aliases(call, key):
    call("CreateAlias", AliasName="alias/judge", TargetKeyId=key["KeyId"])
    call.refused("AlreadyExistsException", "CreateAlias", AliasName="alias/judge", TargetKeyId=key["KeyId"])
    call("ListAliases")
    call("ListAliases", KeyId=key["Arn"])
    call("UpdateAlias", AliasName="alias/judge", TargetKeyId=key["Arn"])


def crypto(call, key):
    sealed = call("Encrypt", KeyId="alias/judge", Plaintext=b"x" * 4096, EncryptionContext=CONTEXT)["CiphertextBlob"]
    call("Decrypt", CiphertextBlob=sealed, EncryptionContext=CONTEXT, KeyId=key["Arn"])
    call.refused("InvalidCiphertextException", "Decrypt", CiphertextBlob=sealed)
    call.refused("ValidationException", "Encrypt", KeyId="alias/judge", Plaintext=b"x" * 4097)
    call("ReEncrypt", CiphertextBlob=sealed, SourceEncryptionContext=CONTEXT, DestinationKeyId=key["KeyId"])
    call("GenerateDataKey", KeyId=key["KeyId"], KeySpec="AES_256", EncryptionContext=CONTEXT)
    call("GenerateDataKeyWithoutPlaintext", KeyId=key["KeyId"], NumberOfBytes=64)
    call("GenerateRandom", NumberOfBytes=8)


def grants(call, key):
    who = "arn:aws:iam::111122223333:user/slipway-operator"
    grant = {"KeyId": key["KeyId"], "GranteePrincipal": who, "Operations": ["Decrypt", "RetireGrant"]}
    first = call("CreateGrant", Name="one", RetiringPrincipal=who, Constraints={"EncryptionContextSubset": {"a": "b"}}, **grant)
    second = call("CreateGrant", **grant)
    call("ListGrants", KeyId=key["KeyId"])
    call("RevokeGrant", KeyId=key["KeyId"], GrantId=first["GrantId"])
    call("RetireGrant", GrantToken=second["GrantToken"])
    call.refused("NotFoundException", "RevokeGrant", KeyId=key["KeyId"], GrantId=first["GrantId"])


def scenario(call):
    key = keys(call)
    aliases(call, key)
    crypto(call, key)
    grants(call, key)
    call("DisableKey", KeyId=key["KeyId"])
    call.refused("DisabledException", "GenerateDataKey", KeyId=key["KeyId"], KeySpec="AES_256")
    call("EnableKey", KeyId=key["KeyId"])
    call("ScheduleKeyDeletion", KeyId=key["KeyId"], PendingWindowInDays=7)
    call("DescribeKey", KeyId=key["KeyId"])
    call.refused("KMSInvalidStateException", "Encrypt", KeyId=key["KeyId"], Plaintext=b"x")
    call("CancelKeyDeletion", KeyId=key["KeyId"])
    call("DeleteAlias", AliasName="alias/judge")
