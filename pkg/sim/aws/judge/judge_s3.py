# SPDX-License-Identifier: Apache-2.0
"""Every operation of the simulated S3, once or more."""
import json

SERVICE = "s3"
# The model has no names for S3's documents; these are the ones of its API reference.
ROOTS = {
    "GetBucketLocation": "LocationConstraint", "ListBuckets": "ListAllMyBucketsResult", "GetBucketAcl": "AccessControlPolicy",
    "GetObjectAcl": "AccessControlPolicy", "GetBucketTagging": "Tagging", "GetObjectTagging": "Tagging", "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult", "GetBucketVersioning": "VersioningConfiguration", "ListObjectVersions": "ListVersionsResult",
    "CreateMultipartUpload": "InitiateMultipartUploadResult", "ListParts": "ListPartsResult", "ListMultipartUploads": "ListMultipartUploadsResult",
    "CompleteMultipartUpload": "CompleteMultipartUploadResult", "DeleteObjects": "DeleteResult",
}

BUCKET = {"Bucket": "judge"}


def settings(call):
    call("GetBucketLocation", **BUCKET)
    call("HeadBucket", **BUCKET)
    call("ListBuckets")
    call("GetPublicAccessBlock", **BUCKET)
    call("DeletePublicAccessBlock", **BUCKET)
    call.refused("NoSuchPublicAccessBlockConfiguration", "GetPublicAccessBlock", **BUCKET)
    call("PutPublicAccessBlock", PublicAccessBlockConfiguration={"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": True}, **BUCKET)
    call("GetBucketOwnershipControls", **BUCKET)
    call("PutBucketOwnershipControls", OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}, **BUCKET)
    call("GetBucketAcl", **BUCKET)
    call("PutBucketAcl", ACL="private", **BUCKET)
    call("DeleteBucketOwnershipControls", **BUCKET)
    call("GetBucketEncryption", **BUCKET)
    call("PutBucketEncryption", ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]}, **BUCKET)
    call("DeleteBucketEncryption", **BUCKET)
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::judge/*", "Condition": {"Bool": {"aws:SecureTransport": "x"}}}]}
    call("PutBucketPolicy", Policy=json.dumps(policy), **BUCKET)
    call("GetBucketPolicy", **BUCKET)
    call("DeleteBucketPolicy", **BUCKET)
    call("PutBucketTagging", Tagging={"TagSet": [{"Key": "Name", "Value": "judge"}]}, **BUCKET)
    call("GetBucketTagging", **BUCKET)
    call("DeleteBucketTagging", **BUCKET)


def objects(call):
    one = {"Key": "dir/one", **BUCKET}
    call("PutObject", Body=b"content", IfNoneMatch="*", Tagging="a=b", **one)
    call.refused("PreconditionFailed", "PutObject", Body=b"other", IfNoneMatch="*", **one)
    call("GetObject", ChecksumMode="ENABLED", **one)["Body"].read()
    call("HeadObject", **one)
    call("GetObjectAcl", **one)
    call("PutObjectAcl", ACL="bucket-owner-full-control", **one)
    call("GetObjectTagging", **one)
    call("PutObjectTagging", Tagging={"TagSet": [{"Key": "c", "Value": "d"}]}, **one)
    call("DeleteObjectTagging", **one)
    call("CopyObject", CopySource="judge/dir/one", Key="two", **BUCKET)
    call("ListObjects", Delimiter="/", **BUCKET)
    call("ListObjectsV2", Delimiter="/", FetchOwner=True, **BUCKET)
    call("ListObjectsV2", MaxKeys=1, **BUCKET)
    call("GetBucketVersioning", **BUCKET)
    call("PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"}, **BUCKET)
    call("GetBucketVersioning", **BUCKET)
    call("PutObject", Body=b"again", **one)
    call("DeleteObject", **one)
    call("ListObjectVersions", MaxKeys=1, **BUCKET)


def uploads(call):
    big = {"Key": "big", **BUCKET}
    upload = {"UploadId": call("CreateMultipartUpload", ChecksumAlgorithm="CRC32", **big)["UploadId"], **big}
    first = call("UploadPart", PartNumber=1, Body=b"x" * (5 << 20), **upload)
    second = call("UploadPartCopy", PartNumber=2, CopySource="judge/two", **upload)["CopyPartResult"]
    call("ListParts", **upload)
    call("ListMultipartUploads", **BUCKET)
    parts = [{"PartNumber": 1, "ETag": first["ETag"], "ChecksumCRC32": first["ChecksumCRC32"]}, {"PartNumber": 2, "ETag": second["ETag"], "ChecksumCRC32": second["ChecksumCRC32"]}]
    call("CompleteMultipartUpload", MultipartUpload={"Parts": parts}, **upload)
    gone = call("CreateMultipartUpload", Key="gone", **BUCKET)["UploadId"]
    call("AbortMultipartUpload", Key="gone", UploadId=gone, **BUCKET)


def scenario(call):
    call("CreateBucket", **BUCKET)
    settings(call)
    objects(call)
    uploads(call)
    states = call("ListObjectVersions", **BUCKET)
    call.refused("BucketNotEmpty", "DeleteBucket", **BUCKET)
    targets = [{"Key": s["Key"], "VersionId": s["VersionId"]} for s in states["Versions"] + states["DeleteMarkers"]]
    call("DeleteObjects", Delete={"Objects": targets}, **BUCKET)
    call("DeleteBucket", **BUCKET)
