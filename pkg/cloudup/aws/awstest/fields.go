// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
)

// The groups of the suite's cluster.
const (
	controlPlane = "control-plane-us-east-1a"
	nodes        = "nodes-us-east-1a"
)

// set makes a field of one or more assignments: "cluster path=value", "nodes... path=value".
func set(shown string, assignments ...string) cloudtest.Field {
	return cloudtest.Field{Shown: shown, Set: func(m *api.Manifest) {
		for _, a := range assignments {
			object, rest, _ := strings.Cut(a, " ")
			path, value, _ := strings.Cut(rest, "=")
			if err := api.Set(m, object, path, value); err != nil {
				panic(fmt.Sprintf("%s: %v", a, err)) // the list below is wrong
			}
		}
	}}
}

// node is set for a field of the group of nodes.
func node(shown, assignment string) cloudtest.Field { return set(shown, nodes+" "+assignment) }

// fields set every optional field that reaches AWS, once.
var fields = map[string]cloudtest.Field{
	"cluster.spec.additionalPolicies":                                    set("policy.additional", `cluster additionalPolicies={"node":"[{\"Effect\":\"Allow\",\"Action\":\"s3:ListAllMyBuckets\",\"Resource\":\"*\"}]"}`),
	"cluster.spec.api.access":                                            set("198.51.100.0/24", "cluster api.access=198.51.100.0/24"),
	"cluster.spec.api.additionalSANs":                                    set("userData: sha256:", "cluster api.additionalSANs=more.example.test"),
	"cluster.spec.api.loadBalancer.crossZoneLoadBalancing":               set("aws/loadbalancer/api", "cluster api.loadBalancer.type=public", "cluster api.loadBalancer.crossZoneLoadBalancing=true"),
	"cluster.spec.api.loadBalancer.type":                                 set("aws/loadbalancer/api", "cluster api.loadBalancer.type=internal"),
	"cluster.spec.api.publicName":                                        set("aws/record/k8s.ha.example.test", "cluster api.publicName=k8s.ha.example.test"),
	"cluster.spec.bastion.publicName":                                    set("aws/record/jump.ha.example.test", "cluster bastion.publicName=jump.ha.example.test"),
	"cluster.spec.cloudLabels":                                           set("tags[cost]: (none) -> 7", "cluster cloudLabels.cost=7"),
	"cluster.spec.etcdClusters[].version":                                set("userData: sha256:", "cluster etcdClusters[main].version=3.6.1"),
	"cluster.spec.externalPolicies":                                      set("attachedPolicies", `cluster externalPolicies={"node":["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]}`),
	"cluster.spec.iam.allowContainerRegistry":                            set("PullImages", "cluster iam.allowContainerRegistry=true"),
	"cluster.spec.networking.additionalNetworkCIDRs":                     set("additionalCIDRs: (none) -> 10.99.0.0/16", "cluster networking.additionalNetworkCIDRs=10.99.0.0/16"),
	"cluster.spec.networking.subnets[].egress":                           set("aws/natgateway/us-east-1a", "cluster networking.subnets[us-east-1a].egress=external"),
	"cluster.spec.nodePortAccess":                                        set("198.51.100.0/24", "cluster nodePortAccess=198.51.100.0/24"),
	"cluster.spec.sshAccess":                                             set("198.51.100.0/24", "cluster sshAccess=198.51.100.0/24"),
	"instanceGroup.spec.cloudLabels":                                     node("tags[pool]: (none) -> x", "cloudLabels.pool=x"),
	"instanceGroup.spec.cpuCredits":                                      node("cpuCredits: (none) -> unlimited", "cpuCredits=unlimited"),
	"instanceGroup.spec.detailedInstanceMonitoring":                      node("monitoring: false -> true", "detailedInstanceMonitoring=true"),
	"instanceGroup.spec.image":                                           node("    image: ami-", "image=136693071363/debian-13-amd64-*"),
	"instanceGroup.spec.instanceMetadata.httpPutResponseHopLimit":        node("metadata.hopLimit: 1 -> 3", "instanceMetadata.httpPutResponseHopLimit=3"),
	"instanceGroup.spec.instanceMetadata.httpTokens":                     node("metadata.tokens: required -> optional", "instanceMetadata.httpTokens=optional"),
	"instanceGroup.spec.instanceProtection":                              node("instanceProtection: false -> true", "instanceProtection=true"),
	"instanceGroup.spec.kubernetesVersion":                               node("userData: sha256:", "kubernetesVersion=1.35.0"),
	"instanceGroup.spec.machineType":                                     node("machineType: t3.medium -> m5.large", "machineType=m5.large"),
	"instanceGroup.spec.maxPrice":                                        node("maxPrice: (none) -> 0.2", "maxPrice=0.20"),
	"instanceGroup.spec.maxSize":                                         node("maxSize: 1 -> 4", "maxSize=4"),
	"instanceGroup.spec.minSize":                                         set("minSize: 1 -> 0", nodes+" minSize=0"),
	"instanceGroup.spec.mixedInstancesPolicy.instances":                  node("mixedInstances.machineTypes: (none) -> t3.medium,m5.large", "mixedInstancesPolicy.instances=t3.medium,m5.large"),
	"instanceGroup.spec.mixedInstancesPolicy.onDemandAboveBase":          node("mixedInstances.onDemandAboveBase: (none) -> 10", `mixedInstancesPolicy={"onDemandAboveBase":10}`),
	"instanceGroup.spec.mixedInstancesPolicy.onDemandAllocationStrategy": node("mixedInstances.onDemandAllocation: (none) -> lowest-price", `mixedInstancesPolicy={"onDemandAllocationStrategy":"lowest-price"}`),
	"instanceGroup.spec.mixedInstancesPolicy.onDemandBase":               node("mixedInstances.onDemandBase: (none) -> 1", `mixedInstancesPolicy={"onDemandBase":1}`),
	"instanceGroup.spec.mixedInstancesPolicy.spotAllocationStrategy":     node("mixedInstances.spotAllocation: (none) -> capacity-optimized", `mixedInstancesPolicy={"spotAllocationStrategy":"capacity-optimized"}`),
	"instanceGroup.spec.mixedInstancesPolicy.spotInstancePools":          node("mixedInstances.spotPools: (none) -> 3", `mixedInstancesPolicy={"spotInstancePools":3}`),
	"instanceGroup.spec.nodeLabels":                                      node("label/pool]: (none) -> x", "nodeLabels.pool=x"),
	"instanceGroup.spec.rootVolume.encryption":                           node("rootVolume.encrypted: true -> false", "rootVolume.encryption=false"),
	"instanceGroup.spec.rootVolume.encryptionKey":                        node("rootVolume.key: (none) -> arn:aws:kms:us-east-1:111122223333:key/12345678-1234-1234-1234-123456789012", "rootVolume.encryptionKey=arn:aws:kms:us-east-1:111122223333:key/12345678-1234-1234-1234-123456789012"),
	"instanceGroup.spec.rootVolume.iops":                                 node("rootVolume.iops: (none) -> 4000", "rootVolume.iops=4000"),
	"instanceGroup.spec.rootVolume.size":                                 node("rootVolume.size: 128 -> 140", "rootVolume.size=140"),
	"instanceGroup.spec.rootVolume.throughput":                           node("rootVolume.throughput: (none) -> 200", "rootVolume.throughput=200"),
	"instanceGroup.spec.rootVolume.type":                                 node("rootVolume.type: gp3 -> gp2", "rootVolume.type=gp2"),
	"instanceGroup.spec.suspendProcesses":                                node("suspendedProcesses: (none) -> AZRebalance", "suspendProcesses=AZRebalance"),
	"instanceGroup.spec.taints":                                          node("taint/only]: (none) -> this:NoSchedule", "taints=only=this:NoSchedule"),
	"instanceGroup.spec.tenancy":                                         node("tenancy: (none) -> dedicated", "tenancy=dedicated"),
}

// Reasons that several fields share.
const (
	forLife   = "is fixed for the life of what it describes: a change is refused (api.TestValidateChange)"
	elsewhere = "needs objects that are there before: TestGroupFields, TestIdentityFields, TestSharedGroup, TestAttachedPolicies"
	noObject  = "says how machines are replaced, and is no property of an object"
)

// silent are the optional fields that the suite does not set, each with the reason.
var silent = map[string]string{
	"cluster.spec.api.loadBalancer.additionalSecurityGroups":     elsewhere,
	"cluster.spec.api.loadBalancer.securityGroupOverride":        elsewhere,
	"cluster.spec.api.dns":                                       "says that no load balancer is wanted where one would be the default: TestNewLoadBalancer",
	"cluster.spec.sealing.method":                                "kms.txtar",
	"cluster.spec.cloudProvider.aws.region":                      forLife,
	"cluster.spec.clusterDNSDomain":                              forLife,
	"cluster.spec.dnsZone":                                       "another zone holds other records: TestRecords",
	"cluster.spec.etcdClusters[].etcdMembers[].encryptedVolume":  forLife,
	"cluster.spec.etcdClusters[].etcdMembers[].kmsKeyID":         forLife,
	"cluster.spec.etcdClusters[].etcdMembers[].volumeIOPS":       "is reported and not taken back, since AWS takes one change in six hours: TestVolumeLife",
	"cluster.spec.etcdClusters[].etcdMembers[].volumeSize":       "a volume grows and does not shrink: TestVolumeLife",
	"cluster.spec.etcdClusters[].etcdMembers[].volumeThroughput": "TestVolumeLife, as volumeIOPS",
	"cluster.spec.etcdClusters[].etcdMembers[].volumeType":       "TestVolumeLife, as volumeIOPS",
	"cluster.spec.iam.permissionsBoundary":                       elsewhere,
	"cluster.spec.kubernetesVersion":                             "a control plane does not go back a minor: lifecycle.txtar goes forward",
	"cluster.spec.networking.cni.calico":                         forLife,
	"cluster.spec.networking.cni.cilium":                         forLife,
	"cluster.spec.networking.cni.external":                       forLife,
	"cluster.spec.networking.cni.flannel":                        forLife,
	"cluster.spec.networking.cni.routes":                         forLife,
	"cluster.spec.networking.dns":                                "moves names between zones: TestRecords",
	"cluster.spec.networking.networkCIDR":                        forLife,
	"cluster.spec.networking.networkID":                          forLife,
	"cluster.spec.networking.podCIDR":                            forLife,
	"cluster.spec.networking.serviceClusterIPRange":              forLife,
	"cluster.spec.networking.subnets[].cidr":                     forLife,
	"cluster.spec.networking.subnets[].id":                       forLife,
	"cluster.spec.networking.subnets[].type":                     forLife,
	"cluster.spec.networking.subnets[].zone":                     forLife,
	"cluster.spec.networking.tagSubnets":                         "is for shared subnets: TestSubnetMarks",
	"cluster.spec.networking.topology":                           "is what the subnets' types come from at creation",
	"cluster.spec.rollingUpdate.maxSurge":                        noObject,
	"cluster.spec.rollingUpdate.maxUnavailable":                  noObject,
	"cluster.spec.sealing.kmsKey":                                "kms.txtar",
	"cluster.spec.sshKeyName":                                    elsewhere,
	"instanceGroup.spec.additionalSecurityGroups":                elsewhere,
	"instanceGroup.spec.associatePublicIP":                       "reaches nothing in a private subnet and is refused there: TestGroupFields",
	"instanceGroup.spec.iam.profile":                             elsewhere,
	"instanceGroup.spec.instanceMetadata.instanceMetadataTags":   "cannot go with our own tags and is refused: TestCheckMachines",
	"instanceGroup.spec.role":                                    forLife,
	"instanceGroup.spec.rollingUpdate.maxSurge":                  noObject,
	"instanceGroup.spec.rollingUpdate.maxUnavailable":            noObject,
}
