// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// policyVersion is the version of the policy language.
const policyVersion = "2012-10-17"

// policy is a document of IAM's language.
type policy struct {
	Version   string      `json:"Version"`
	Statement []statement `json:"Statement"`
}

// statement grants actions on resources.
type statement struct {
	Sid       string                         `json:"Sid"`
	Effect    string                         `json:"Effect"`
	Action    []string                       `json:"Action"`
	Resource  []string                       `json:"Resource"`
	Condition map[string]map[string][]string `json:"Condition,omitempty"`
}

// text returns the document, compact and the same for the same statements.
func (p policy) text() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return "" // strings and maps of strings always encode
	}
	return strings.TrimSpace(b.String())
}

// policyMaker lowers grants to statements.
type policyMaker struct {
	partition, region string
	cluster, uid      string
	store             string // URL
	zone              string // hosted zone's id, "" without one
	records           []string
	sealing           *model.SealingKey
}

// policy returns the document of an identity's grants; ok is false when they need none.
func (m policyMaker) policy(grants []model.Grant) (doc policy, ok bool, err error) {
	doc.Version = policyVersion
	for _, g := range grants {
		make, known := m.makers()[g]
		if !known {
			return policy{}, false, fmt.Errorf("no policy is known for the grant %q", g)
		}
		doc.Statement = append(doc.Statement, make()...)
	}
	return doc, len(doc.Statement) > 0, nil
}

func (m policyMaker) makers() map[model.Grant]func() []statement {
	return map[model.Grant]func() []statement{
		model.GrantReadStore:      m.readStore,
		model.GrantWriteBackups:   m.writeBackups,
		model.GrantReadAssets:     m.readAssets,
		model.GrantAttachVolumes:  m.attachVolumes,
		model.GrantDescribe:       m.describe,
		model.GrantWriteRecords:   m.writeRecords,
		model.GrantCloudControl:   m.cloudControl,
		model.GrantVerifyIdentity: m.verifyIdentity,
		model.GrantPullImages:     m.pullImages,
		model.GrantOpenKeysets:    m.openKeysets,
	}
}

func allow(sid string, actions []string, resources ...string) statement {
	slices.Sort(actions)
	return statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources}
}

// where adds a condition: the key has one of the values.
func (s statement) where(key string, values ...string) statement {
	return s.whereOp("StringEquals", key, values...)
}

func (s statement) whereOp(op, key string, values ...string) statement {
	all := map[string]map[string][]string{}
	for o, keys := range s.Condition {
		all[o] = keys
	}
	keys := map[string][]string{key: values}
	for k, v := range all[op] {
		keys[k] = v
	}
	all[op] = keys
	s.Condition = all
	return s
}

// ours restricts a statement to objects that carry the cluster's UID; tagged, to those
// that the cluster's controllers or we made, by the tag that controllers know.
func (m policyMaker) ours(s statement) statement { return s.where("aws:ResourceTag/"+tagUID, m.uid) }
func (m policyMaker) tagged(s statement) statement {
	return s.where("aws:ResourceTag/KubernetesCluster", m.cluster)
}
func (m policyMaker) tagging(s statement) statement {
	return s.where("aws:RequestTag/KubernetesCluster", m.cluster)
}

// in restricts EC2's lists, which take no resource, to the cluster's region.
func (m policyMaker) in(s statement) statement { return s.where("ec2:Region", m.region) }

// arn names things of a service in the cluster's region, of any account: that a role
// acts in is its own.
func (m policyMaker) arn(service, resource string) string {
	return "arn:" + m.partition + ":" + service + ":" + m.region + ":*:" + resource
}

// bucket splits the store's URL; ok is false when the store is not S3.
func (m policyMaker) bucket() (name, prefix string, ok bool) {
	u, err := url.Parse(m.store)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return "", "", false
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return u.Host, prefix, true
}

func (m policyMaker) readStore() []statement {
	bucket, prefix, ok := m.bucket()
	if !ok {
		return nil
	}
	arn := "arn:" + m.partition + ":s3:::" + bucket
	mine := prefix + m.cluster + "/"
	return []statement{
		allow("ReadStore", []string{"s3:GetObject"}, arn+"/"+mine+"*"),
		allow("ListStore", []string{"s3:ListBucket"}, arn).whereOp("StringLike", "s3:prefix", mine+"*"),
	}
}

func (m policyMaker) writeBackups() []statement {
	bucket, prefix, ok := m.bucket()
	if !ok {
		return nil
	}
	return []statement{allow("WriteBackups",
		[]string{"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"},
		"arn:"+m.partition+":s3:::"+bucket+"/"+prefix+m.cluster+"/backups/etcd/*")}
}

func (m policyMaker) readAssets() []statement {
	bucket, prefix, ok := m.bucket()
	if !ok {
		return nil
	}
	return []statement{allow("ReadAssets", []string{"s3:GetObject"},
		"arn:"+m.partition+":s3:::"+bucket+"/"+prefix+"assets/*")}
}

func (m policyMaker) attachVolumes() []statement {
	return []statement{m.ours(allow("AttachVolumes", []string{"ec2:AttachVolume", "ec2:DetachVolume"},
		m.arn("ec2", "instance/*"), m.arn("ec2", "volume/*")))}
}

func (m policyMaker) describe() []statement {
	return []statement{m.in(allow("Describe", []string{
		"ec2:DescribeAvailabilityZones", "ec2:DescribeInstances", "ec2:DescribeInstanceTypes",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DescribeTags", "ec2:DescribeVolumes",
	}, "*"))}
}

func (m policyMaker) verifyIdentity() []statement {
	return []statement{
		m.in(allow("VerifyMachines", []string{"ec2:DescribeInstances"}, "*")),
		allow("VerifyMembership", []string{"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances"}, "*"),
	}
}

// writeRecords covers the names that control planes keep themselves.
func (m policyMaker) writeRecords() []statement {
	if m.zone == "" || len(m.records) == 0 {
		return nil
	}
	zone := "arn:" + m.partition + ":route53:::hostedzone/" + m.zone
	return []statement{
		allow("WriteRecords", []string{"route53:ChangeResourceRecordSets"}, zone).
			whereOp("ForAllValues:StringEquals", "route53:ChangeResourceRecordSetsNormalizedRecordNames", m.records...).
			whereOp("ForAllValues:StringEquals", "route53:ChangeResourceRecordSetsRecordTypes", "A", "AAAA"),
		allow("ListRecords", []string{"route53:ListResourceRecordSets"}, zone),
		allow("AwaitRecords", []string{"route53:GetChange"}, "arn:"+m.partition+":route53:::change/*"),
	}
}

// openKeysets lets the role decrypt what was sealed for this cluster, whatever else the key
// seals: with the cluster's own key, known by its tags, or with the one that was given.
func (m policyMaker) openKeysets() []statement {
	if m.sealing == nil {
		return nil
	}
	s := allow("OpenKeysets", []string{"kms:Decrypt"}, m.sealing.Key)
	if m.sealing.Key == "" {
		s = m.ours(allow("OpenKeysets", []string{"kms:Decrypt"}, m.arn("kms", "key/*")))
	}
	return []statement{s.where("kms:EncryptionContext:"+pki.ContextCluster, m.uid)}
}

func (m policyMaker) pullImages() []statement {
	return []statement{
		allow("RegistryLogin", []string{"ecr:GetAuthorizationToken"}, "*"),
		allow("PullImages", []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
			"arn:"+m.partition+":ecr:*:*:repository/*"),
	}
}
