// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"maps"
	"strings"
)

// groupRules returns the rules of a version's InstanceGroup.
func groupRules(version string) rules {
	by := map[string]rule{}
	maps.Copy(by, sharedGroup)
	if version == "v1alpha2" {
		maps.Copy(by, groupAlpha2)
	} else {
		maps.Copy(by, groupAlpha3)
	}
	return rules{by: by}
}

var sharedGroup = map[string]rule{
	"role":                       {to: "role", value: role},
	"subnets":                    {to: "subnets"},
	"zones":                      {left: "a group's zones are those of its subnets"},
	"minSize":                    {to: "minSize"},
	"maxSize":                    {to: "maxSize"},
	"machineType":                {to: "machineType"},
	"image":                      {to: "image", value: image},
	"additionalSecurityGroups":   {to: "additionalSecurityGroups"},
	"cloudLabels":                {to: "cloudLabels"},
	"nodeLabels":                 {do: nodeLabels},
	"taints":                     {to: "taints"},
	"maxPrice":                   {to: "maxPrice"},
	"detailedInstanceMonitoring": {to: "detailedInstanceMonitoring"},
	"instanceProtection":         {to: "instanceProtection"},
	"suspendProcesses":           {to: "suspendProcesses"},
	"tenancy":                    {to: "tenancy"},
	"cpuCredits":                 {to: "cpuCredits"},
	"additionalUserData":         {to: "additionalUserData"},
	"iam.profile":                {to: "iam.profile"},
	"rollingUpdate":              {to: "rollingUpdate"},
	"compressUserData":           {left: "user data is a small pointer; parts of yours are measured against the limit at plan"},
	"manager":                    {value: only("CloudGroup", "only groups that the cloud scales are supported yet; CloudGroup"), to: "-"},
	"autoscale":                  {value: only("true", "whether the autoscaler scales a group is said to the autoscaler; remove it"), to: "-"},

	"mixedInstancesPolicy.instances":                  {to: "mixedInstancesPolicy.instances"},
	"mixedInstancesPolicy.onDemandAllocationStrategy": {to: "mixedInstancesPolicy.onDemandAllocationStrategy"},
	"mixedInstancesPolicy.onDemandBase":               {to: "mixedInstancesPolicy.onDemandBase"},
	"mixedInstancesPolicy.onDemandAboveBase":          {to: "mixedInstancesPolicy.onDemandAboveBase"},
	"mixedInstancesPolicy.spotAllocationStrategy":     {to: "mixedInstancesPolicy.spotAllocationStrategy"},
	"mixedInstancesPolicy.spotInstancePools":          {to: "mixedInstancesPolicy.spotInstancePools"},
	"instanceMetadata.httpTokens":                     {to: "instanceMetadata.httpTokens"},
	"instanceMetadata.httpPutResponseHopLimit":        {to: "instanceMetadata.httpPutResponseHopLimit"},

	"rootVolume.size":          {to: "rootVolume.size"},
	"rootVolume.type":          {to: "rootVolume.type"},
	"rootVolume.iops":          {to: "rootVolume.iops"},
	"rootVolume.throughput":    {to: "rootVolume.throughput"},
	"rootVolume.encryption":    {to: "rootVolume.encryption"},
	"rootVolume.encryptionKey": {to: "rootVolume.encryptionKey"},

	"kubelet.**":    {no: byMachines},
	"containerd.**": {no: byMachines},
	"hooks":         {no: byMachines},
	"fileAssets":    {no: byMachines},
	"kubelet":       {no: byMachines},
}

var groupAlpha2 = map[string]rule{
	"associatePublicIp":       {to: "associatePublicIP"},
	"rootVolumeSize":          {to: "rootVolume.size"},
	"rootVolumeType":          {to: "rootVolume.type"},
	"rootVolumeIops":          {to: "rootVolume.iops"},
	"rootVolumeThroughput":    {to: "rootVolume.throughput"},
	"rootVolumeEncryption":    {to: "rootVolume.encryption"},
	"rootVolumeEncryptionKey": {to: "rootVolume.encryptionKey"},
	"rootVolumeOptimization":  {left: "current machine types are always optimised for EBS"},
}

var groupAlpha3 = map[string]rule{
	"associatePublicIP":       {to: "associatePublicIP"},
	"rootVolume.optimization": {left: "current machine types are always optimised for EBS"},
}

func role(v any) (any, string) {
	switch v {
	case "Master", "ControlPlane":
		return "ControlPlane", ""
	case "Node", "Bastion":
		return v, ""
	}
	return nil, "is not supported yet; Master, ControlPlane, Node and Bastion are"
}

// image names the owner of an image that is given by its name alone: Canonical's, which
// is what the established tool takes it for.
func image(v any) (any, string) {
	s, ok := v.(string)
	if !ok {
		return nil, "must be a text"
	}
	if strings.HasPrefix(s, "ubuntu/") {
		return "099720109477/" + s, ""
	}
	return s, ""
}

// nodeLabels leaves out the label by which the established tool knows its groups.
func nodeLabels(w *walk, path string, v any, _ []int) {
	m, ok := v.(map[string]any)
	if !ok {
		w.fault(path, v, "must be a map")
		return
	}
	out := maps.Clone(m)
	if _, there := out["kops.k8s.io/instancegroup"]; there {
		w.warn(path+"[kops.k8s.io/instancegroup]", "a group's machines carry its name as slipway.dev/group")
		delete(out, "kops.k8s.io/instancegroup")
	}
	if len(out) > 0 {
		w.set("nodeLabels", out)
	}
}
