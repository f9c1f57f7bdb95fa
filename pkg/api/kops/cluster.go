// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
)

// Reasons that several rules give.
const (
	byMachines = "is not supported yet: Slipway sets what a cluster needs there itself; remove it"
	byAddons   = "is not supported yet: install it into the cluster yourself; remove it here"
	noFormat   = "the format of the store is Slipway's own"
)

// clusterRules returns the rules of a version's Cluster. What v1alpha3 moved is converted
// by the same rules under both names.
func clusterRules(version string) rules {
	by := map[string]rule{}
	maps.Copy(by, sharedCluster)
	if version == "v1alpha2" {
		maps.Copy(by, clusterAlpha2)
	} else {
		maps.Copy(by, clusterAlpha3)
	}
	return rules{by: by, finish: []func(*walk, map[string]any){serviceRanges, withoutAccess}}
}

// sharedCluster are the fields that have one name in both versions.
var sharedCluster = map[string]rule{
	"kubernetesVersion":  {to: "kubernetesVersion", value: bare("v")},
	"cloudLabels":        {to: "cloudLabels"},
	"clusterDNSDomain":   {to: "clusterDNSDomain"},
	"dnsZone":            {to: "dnsZone"},
	"sshAccess":          {do: access("sshAccess")},
	"nodePortAccess":     {do: access("nodePortAccess")},
	"sshKeyName":         {to: "sshKeyName"},
	"rollingUpdate.**":   {to: "rollingUpdate"},
	"rollingUpdate":      {to: "rollingUpdate"},
	"additionalPolicies": {to: "additionalPolicies", value: roles},
	"externalPolicies":   {to: "externalPolicies", value: roles},

	"etcdClusters[].name":                           {to: "etcdClusters[].name"},
	"etcdClusters[].version":                        {to: "etcdClusters[].version"},
	"etcdClusters[].cpuRequest":                     {left: "etcd runs as a unit of the machine, without a reservation"},
	"etcdClusters[].memoryRequest":                  {left: "etcd runs as a unit of the machine, without a reservation"},
	"etcdClusters[].provider":                       {left: "there is one way to run etcd"},
	"etcdClusters[].enableEtcdTLS":                  {value: onlyTrue, to: "-"},
	"etcdClusters[].enableTLSAuth":                  {value: onlyTrue, to: "-"},
	"etcdClusters[].etcdMembers[].name":             {to: "etcdClusters[].etcdMembers[].name"},
	"etcdClusters[].etcdMembers[].instanceGroup":    {to: "etcdClusters[].etcdMembers[].instanceGroup"},
	"etcdClusters[].etcdMembers[].volumeType":       {to: "etcdClusters[].etcdMembers[].volumeType"},
	"etcdClusters[].etcdMembers[].volumeSize":       {to: "etcdClusters[].etcdMembers[].volumeSize"},
	"etcdClusters[].etcdMembers[].volumeIops":       {to: "etcdClusters[].etcdMembers[].volumeIOPS"},
	"etcdClusters[].etcdMembers[].volumeIOPS":       {to: "etcdClusters[].etcdMembers[].volumeIOPS"},
	"etcdClusters[].etcdMembers[].volumeThroughput": {to: "etcdClusters[].etcdMembers[].volumeThroughput"},
	"etcdClusters[].etcdMembers[].encryptedVolume":  {to: "etcdClusters[].etcdMembers[].encryptedVolume"},
	"etcdClusters[].etcdMembers[].kmsKeyId":         {to: "etcdClusters[].etcdMembers[].kmsKeyID"},
	"etcdClusters[].etcdMembers[].kmsKeyID":         {to: "etcdClusters[].etcdMembers[].kmsKeyID"},

	"iam.allowContainerRegistry": {to: "iam.allowContainerRegistry"},
	"iam.permissionsBoundary":    {to: "iam.permissionsBoundary"},
	"iam.legacy":                 {value: onlyFalse("the old, wide policies are not made; set it to false"), to: "-"},

	"api.loadBalancer.type":                     {to: "api.loadBalancer.type", value: textBy(strings.ToLower)},
	"api.loadBalancer.class":                    {do: class},
	"api.loadBalancer.crossZoneLoadBalancing":   {to: "api.loadBalancer.crossZoneLoadBalancing"},
	"api.loadBalancer.additionalSecurityGroups": {to: "api.loadBalancer.additionalSecurityGroups"},
	"api.loadBalancer.securityGroupOverride":    {to: "api.loadBalancer.securityGroupOverride"},
	"api.loadBalancer.useForInternalApi":        {left: "machines always reach the API by a private path"},
	"api.loadBalancer.useForInternalAPI":        {left: "machines always reach the API by a private path"},
	"api.dns":                                   {to: "api.dns"},
	"api.loadBalancer":                          {do: emptyOr("api.loadBalancer")},

	"channel":                      {left: "image and version are fields of their own"},
	"keyStore":                     {left: noFormat},
	"secretStore":                  {left: noFormat},
	"updatePolicy":                 {left: "machines are images; what changes replaces them"},
	"containerRuntime":             {value: only("containerd", "containerd is the only runtime"), to: "-"},
	"authorization":                {do: authorization},
	"kubelet.anonymousAuth":        {value: onlyFalse("anonymous requests to the kubelet are always refused; set it to false"), to: "-"},
	"kubelet.**":                   {no: byMachines},
	"masterKubelet.**":             {no: byMachines},
	"controlPlaneKubelet.**":       {no: byMachines},
	"kubeAPIServer.**":             {no: byMachines},
	"kubeControllerManager.**":     {no: byMachines},
	"kubeScheduler.**":             {no: byMachines},
	"kubeProxy.**":                 {no: byMachines},
	"containerd.**":                {no: byMachines},
	"addons":                       {no: byAddons},
	"certManager.**":               {no: byAddons},
	"clusterAutoscaler.**":         {no: byAddons},
	"metricsServer.**":             {no: byAddons},
	"nodeTerminationHandler.**":    {no: byAddons},
	"awsLoadBalancerController.**": {no: byAddons},
	"snapshotController.**":        {no: byAddons},
	"nodeProblemDetector.**":       {no: byAddons},
	"podIdentityWebhook.**":        {no: byAddons},
	"externalDns.**":               {no: byAddons},
	"externalDNS.**":               {no: byAddons},
	"hooks":                        {no: byMachines},
	"fileAssets":                   {no: byMachines},
	"docker.**":                    {no: "containerd is the only runtime; remove it"},
}

// clusterAlpha2 are the fields of v1alpha2 that v1alpha3 has elsewhere.
var clusterAlpha2 = map[string]rule{
	"cloudProvider":          {do: cloud},
	"configBase":             {left: noFormat},
	"configStore":            {left: noFormat},
	"kubernetesApiAccess":    {do: access("api.access")},
	"additionalSans":         {to: "api.additionalSANs"},
	"masterPublicName":       {to: "api.publicName"},
	"masterInternalName":     {left: "the internal name is api.internal.<cluster>"},
	"networkID":              {to: "networking.networkID"},
	"networkCIDR":            {to: "networking.networkCIDR"},
	"additionalNetworkCIDRs": {to: "networking.additionalNetworkCIDRs"},
	"podCIDR":                {to: "networking.podCIDR"},
	"serviceClusterIPRange":  {to: "networking.serviceClusterIPRange"},
	"nonMasqueradeCIDR":      {left: "pod and service ranges are fields of their own, taken from it where it alone is given"},
	"tagSubnets":             {to: "networking.tagSubnets"},
	"isolateMasters":         {value: onlyFalse("nodes reach control planes on a short list of ports; remove it"), to: "-"},

	"subnets[].name":   {to: "networking.subnets[].name"},
	"subnets[].zone":   {to: "networking.subnets[].zone"},
	"subnets[].cidr":   {to: "networking.subnets[].cidr"},
	"subnets[].id":     {to: "networking.subnets[].id"},
	"subnets[].egress": {to: "networking.subnets[].egress", value: textBy(strings.ToLower)},
	"subnets[].type":   {to: "networking.subnets[].type", value: subnetType},

	"topology.masters":                   {to: "networking.topology", value: topology},
	"topology.nodes":                     {to: "networking.topology", value: topology},
	"topology.dns.type":                  {to: "networking.dns", value: textBy(strings.ToLower)},
	"topology.bastion.bastionPublicName": {to: "bastion.publicName"},

	"networking": {do: network},
}

// clusterAlpha3 are the same in v1alpha3.
var clusterAlpha3 = map[string]rule{
	"cloudProvider.aws":                             {do: emptyAWS},
	"configStore.**":                                {left: noFormat},
	"api.access":                                    {do: access("api.access")},
	"api.additionalSANs":                            {to: "api.additionalSANs"},
	"api.publicName":                                {to: "api.publicName"},
	"networking.networkID":                          {to: "networking.networkID"},
	"networking.networkCIDR":                        {to: "networking.networkCIDR"},
	"networking.additionalNetworkCIDRs":             {to: "networking.additionalNetworkCIDRs"},
	"networking.podCIDR":                            {to: "networking.podCIDR"},
	"networking.serviceClusterIPRange":              {to: "networking.serviceClusterIPRange"},
	"networking.nonMasqueradeCIDR":                  {left: "pod and service ranges are fields of their own, taken from it where it alone is given"},
	"networking.tagSubnets":                         {to: "networking.tagSubnets"},
	"networking.isolateControlPlane":                {value: onlyFalse("nodes reach control planes on a short list of ports; remove it"), to: "-"},
	"networking.subnets[].name":                     {to: "networking.subnets[].name"},
	"networking.subnets[].zone":                     {to: "networking.subnets[].zone"},
	"networking.subnets[].cidr":                     {to: "networking.subnets[].cidr"},
	"networking.subnets[].id":                       {to: "networking.subnets[].id"},
	"networking.subnets[].egress":                   {to: "networking.subnets[].egress", value: textBy(strings.ToLower)},
	"networking.subnets[].type":                     {to: "networking.subnets[].type", value: subnetType},
	"networking.topology.controlPlane":              {to: "networking.topology", value: topology},
	"networking.topology.nodes":                     {to: "networking.topology", value: topology},
	"networking.topology.dns":                       {to: "networking.dns", value: textBy(strings.ToLower)},
	"networking.topology.dns.type":                  {to: "networking.dns", value: textBy(strings.ToLower)},
	"networking.topology.bastion.publicName":        {to: "bastion.publicName"},
	"networking.topology.bastion.bastionPublicName": {to: "bastion.publicName"},
	"networking.cni":                                {do: plugin("external")},
	"networking.kubenet":                            {do: plugin("routes")},
	"networking.flannel":                            {do: flannel},
	"networking.calico":                             {do: plugin("calico")},
	"networking.cilium":                             {do: plugin("cilium")},
}

// serviceRanges takes pod and service ranges out of the one range that holds both, as the
// established tool does: services the first eighth, pods the upper half.
func serviceRanges(w *walk, spec map[string]any) {
	text, _ := spec["nonMasqueradeCIDR"].(string)
	if n, ok := spec["networking"].(map[string]any); ok && text == "" {
		text, _ = n["nonMasqueradeCIDR"].(string)
	}
	if text == "" {
		return
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() || p.Bits() > 20 {
		w.fault(w.where+"nonMasqueradeCIDR", text, "is no IPv4 range that holds pods and services: set podCIDR and serviceClusterIPRange")
		return
	}
	p = p.Masked()
	if w.get("networking.serviceClusterIPRange") == nil {
		w.set("networking.serviceClusterIPRange", fmt.Sprintf("%s/%d", p.Addr(), p.Bits()+3))
	}
	if w.get("networking.podCIDR") == nil {
		b := p.Addr().As4()
		bit := p.Bits() // the first bit of the host part
		b[bit/8] |= 0x80 >> (bit % 8)
		w.set("networking.podCIDR", fmt.Sprintf("%s/%d", netip.AddrFrom4(b), p.Bits()+1))
	}
}

// withoutAccess says what the established tool's defaults mean here.
func withoutAccess(w *walk, _ map[string]any) {
	if w.get("networking.dns") == nil {
		w.set("networking.dns", "public")
	}
	if w.get("networking.cni") == nil {
		w.set("networking.cni", map[string]any{"routes": map[string]any{}})
	}
}
