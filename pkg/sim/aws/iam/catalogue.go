// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// awsManaged are the AWS-managed policies that clusters and their operators
// commonly attach. Their text here is our own summary of what they allow: it
// is good enough to attach and to read, not a copy of AWS's.
var awsManaged = catalogue(map[string]string{
	"AdministratorAccess":                            "*",
	"PowerUserAccess":                                "ec2:* s3:* autoscaling:* elasticloadbalancing:* route53:* sqs:* events:* kms:*",
	"ReadOnlyAccess":                                 "ec2:Describe* s3:Get* s3:List* autoscaling:Describe* iam:Get* iam:List* route53:Get* route53:List*",
	"IAMFullAccess":                                  "iam:*",
	"AmazonEC2FullAccess":                            "ec2:* elasticloadbalancing:* autoscaling:* cloudwatch:*",
	"AmazonEC2ReadOnlyAccess":                        "ec2:Describe* elasticloadbalancing:Describe* autoscaling:Describe*",
	"AmazonS3FullAccess":                             "s3:*",
	"AmazonS3ReadOnlyAccess":                         "s3:Get* s3:List*",
	"AmazonVPCFullAccess":                            "ec2:*",
	"AmazonRoute53FullAccess":                        "route53:*",
	"AmazonSQSFullAccess":                            "sqs:*",
	"AmazonEventBridgeFullAccess":                    "events:*",
	"AmazonSSMManagedInstanceCore":                   "ssm:* ssmmessages:* ec2messages:*",
	"AmazonEC2ContainerRegistryReadOnly":             "ecr:Get* ecr:BatchGetImage ecr:BatchCheckLayerAvailability ecr:Describe* ecr:List*",
	"AmazonEC2ContainerRegistryPullOnly":             "ecr:GetAuthorizationToken ecr:BatchGetImage ecr:BatchCheckLayerAvailability ecr:GetDownloadUrlForLayer",
	"AmazonEKS_CNI_Policy":                           "ec2:*NetworkInterface* ec2:*PrivateIpAddresses ec2:Describe* ec2:CreateTags",
	"CloudWatchAgentServerPolicy":                    "cloudwatch:PutMetricData logs:* ec2:DescribeTags ec2:DescribeVolumes ssm:GetParameter",
	"CloudWatchLogsFullAccess":                       "logs:*",
	"service-role/AmazonEBSCSIDriverPolicy":          "ec2:*Volume* ec2:*Snapshot* ec2:Describe* ec2:CreateTags ec2:DeleteTags",
	"service-role/AmazonEFSCSIDriverPolicy":          "elasticfilesystem:* ec2:DescribeAvailabilityZones",
	"service-role/AmazonSSMAutomationRole":           "ssm:* ec2:Describe* ec2:RunInstances ec2:StartInstances ec2:StopInstances",
	"service-role/AutoScalingNotificationAccessRole": "sqs:SendMessage sqs:GetQueueUrl sns:Publish",
	"AutoScalingFullAccess":                          "autoscaling:* ec2:Describe* elasticloadbalancing:Describe* cloudwatch:PutMetricAlarm",
	"ElasticLoadBalancingFullAccess":                 "elasticloadbalancing:* ec2:Describe*",
	"AWSKeyManagementServicePowerUser":               "kms:*",
	"job-function/ViewOnlyAccess":                    "ec2:Describe* s3:ListAllMyBuckets autoscaling:Describe* iam:List* route53:List*",
	"AmazonEKSWorkerNodePolicy":                      "ec2:Describe* eks:DescribeCluster",
	"AmazonEKSClusterPolicy":                         "autoscaling:* ec2:* elasticloadbalancing:* kms:DescribeKey",
	"AmazonElasticFileSystemFullAccess":              "elasticfilesystem:* ec2:Describe* kms:DescribeKey",
	"SecretsManagerReadWrite":                        "secretsmanager:* kms:DescribeKey kms:ListAliases",
	"AmazonSSMReadOnlyAccess":                        "ssm:Describe* ssm:Get* ssm:List*",
	"AmazonEC2SpotFleetTaggingRole":                  "ec2:RequestSpotInstances ec2:TerminateInstances ec2:Describe* ec2:CreateTags ec2:RunInstances",
})

func catalogue(actions map[string]string) map[string]*managedPolicy {
	born := time.Date(2015, 2, 6, 18, 40, 0, 0, time.UTC)
	out := map[string]*managedPolicy{}
	for full, list := range actions {
		path, name := "/", full
		if dir, base, ok := strings.Cut(full, "/"); ok {
			path, name = "/"+dir+"/", base
		}
		text := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["` + strings.Join(strings.Fields(list), `","`) + `"],"Resource":"*"}]}`
		arn := "arn:aws:iam::aws:policy/" + full
		out[arn] = &managedPolicy{Name: name, ID: "ANPA" + managedID(full), Path: path, ARN: arn, Created: born, Updated: born,
			Default: "v1", Versions: []policyVersion{{"v1", text, born}}}
	}
	return out
}

// managedID spells a stable id out of a name.
func managedID(name string) string {
	var sum uint64 = 14695981039346656037
	out := make([]byte, 17)
	for i := range out {
		for _, b := range []byte(name) {
			sum = (sum ^ uint64(b)) * 1099511628211
		}
		out[i] = idAlphabet[sum>>32%32]
	}
	return string(out)
}

func awsPolicies() []*managedPolicy {
	var out []*managedPolicy
	for _, arn := range slices.Sorted(maps.Keys(awsManaged)) {
		out = append(out, awsManaged[arn])
	}
	return out
}
