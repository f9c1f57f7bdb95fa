// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// global are the condition keys of every service that the simulator evaluates:
// those that a call may carry, and those that it never does and that are always
// absent here (of calls through another service, a VPC endpoint, an organization
// or a second factor).
const global = `
	aws:CurrentTime aws:EpochTime aws:SecureTransport aws:SourceIp aws:UserAgent aws:RequestedRegion aws:ResourceAccount
	aws:PrincipalArn aws:PrincipalAccount aws:PrincipalType aws:PrincipalTag/* aws:PrincipalIsAWSService aws:userid aws:username
	aws:ViaAWSService aws:RequestTag/* aws:ResourceTag/* aws:TagKeys
	aws:CalledVia aws:CalledViaFirst aws:CalledViaLast aws:SourceArn aws:SourceAccount aws:SourceOrgID aws:SourceVpc aws:SourceVpce
	aws:VpcSourceIp aws:PrincipalOrgID aws:PrincipalOrgPaths aws:PrincipalServiceName aws:ResourceOrgID aws:ResourceOrgPaths
	aws:MultiFactorAuthPresent aws:MultiFactorAuthAge aws:FederatedProvider`

// Evaluated are the condition keys of each service that the simulator gives its
// calls where AWS does, by the prefix of actions. A key of a service that stands
// in another one's list (iam in sts) is written there too.
var Evaluated = map[string]string{
	"ec2": `ec2:Region ec2:ResourceTag/* ec2:CreateAction ec2:Vpc ec2:Subnet ec2:AvailabilityZone ec2:InstanceType
		ec2:Encrypted ec2:VolumeType ec2:VolumeSize ec2:InstanceProfile`,
	"autoscaling":          `autoscaling:ResourceTag/*`,
	"elasticloadbalancing": `elasticloadbalancing:ResourceTag/* elasticloadbalancing:CreateAction`,
	"iam":                  `iam:ResourceTag/* iam:PermissionsBoundary iam:PolicyARN iam:PassedToService`,
	"sts":                  `sts:ExternalId sts:RoleSessionName sts:SourceIdentity iam:ResourceTag/*`,
	"route53": `route53:ChangeResourceRecordSetsNormalizedRecordNames route53:ChangeResourceRecordSetsRecordTypes
		route53:ChangeResourceRecordSetsActions`,
	"s3": `s3:prefix s3:delimiter s3:max-keys s3:x-amz-acl s3:x-amz-server-side-encryption
		s3:x-amz-server-side-encryption-aws-kms-key-id s3:x-amz-copy-source s3:if-match s3:if-none-match s3:ResourceAccount`,
	"kms": `kms:CallerAccount kms:ViaService kms:EncryptionAlgorithm kms:EncryptionContext:* kms:EncryptionContextKeys kms:RequestAlias
		kms:ResourceAliases kms:KeySpec kms:KeyUsage kms:KeyOrigin kms:GranteePrincipal kms:GrantOperations kms:RetiringPrincipal
		kms:GrantIsForAWSResource kms:BypassPolicyLockoutSafetyCheck kms:ScheduleKeyDeletionPendingWindowInDays`,
}

var known = func() map[string][]string {
	out := map[string][]string{}
	for service, list := range Evaluated {
		out[service] = strings.Fields(strings.ToLower(list + " " + global))
	}
	return out
}()

// Known tells whether the simulator evaluates a condition key for an action's
// service. A known key that the action does not support is absent, as in AWS.
func Known(action, key string) bool {
	service, _, _ := strings.Cut(strings.ToLower(action), ":")
	key = strings.ToLower(key)
	for _, k := range known[service] {
		if k == key {
			return true
		}
		if prefix, open := strings.CutSuffix(k, "*"); open && strings.HasPrefix(key, prefix) && len(key) > len(prefix) {
			return true
		}
	}
	return false
}
