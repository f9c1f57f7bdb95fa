// SPDX-License-Identifier: Apache-2.0

package api

// Cluster is one Kubernetes cluster.
type Cluster struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta  `json:"metadata"`
	Spec     ClusterSpec `json:"spec"`
}

// ClusterSpec is what a user says of a cluster. Fields that matter and were not
// given are filled in at creation and stored.
type ClusterSpec struct {
	// KubernetesVersion is the control plane's version, such as "1.36.1".
	KubernetesVersion string        `json:"kubernetesVersion,omitempty"`
	CloudProvider     CloudProvider `json:"cloudProvider"`
	// CloudLabels are put on every cloud object that carries tags and is ours.
	CloudLabels  map[string]string `json:"cloudLabels,omitempty"`
	Networking   Networking        `json:"networking"`
	API          APIAccess         `json:"api,omitempty"`
	EtcdClusters []EtcdCluster     `json:"etcdClusters,omitempty"`
	// SSHAccess lists the CIDRs that may reach port 22; empty means none.
	SSHAccess []string `json:"sshAccess,omitempty"`
	// NodePortAccess lists the CIDRs that may reach node ports; empty means none.
	NodePortAccess []string `json:"nodePortAccess,omitempty"`
	// SSHKeyName is an existing key pair of the cloud, used instead of our own.
	SSHKeyName string `json:"sshKeyName,omitempty"`
	// DNSZone is the zone that holds the cluster's records: a name or a zone id.
	DNSZone          string   `json:"dnsZone,omitempty"`
	ClusterDNSDomain string   `json:"clusterDNSDomain,omitempty"` // default cluster.local
	IAM              *IAM     `json:"iam,omitempty"`
	Sealing          *Sealing `json:"sealing,omitempty"`
	Bastion          *Bastion `json:"bastion,omitempty"`
	// RollingUpdate is the default for every group.
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
	// AdditionalPolicies are extra inline policies in the cloud's language, by role
	// ("controlPlane", "node", "bastion").
	AdditionalPolicies map[string]string `json:"additionalPolicies,omitempty"`
	// ExternalPolicies are existing policies attached to a role, by role.
	ExternalPolicies map[string][]string `json:"externalPolicies,omitempty"`
}

// CloudProvider selects the cloud; exactly one member is set.
type CloudProvider struct {
	AWS *AWS `json:"aws,omitempty"`
}

// AWS holds what only Amazon Web Services has.
type AWS struct {
	Region string `json:"region,omitempty"` // derived from the zones and stored
}

// Topology says whether machines of a cluster have public addresses.
type Topology string

// The topologies.
const (
	TopologyPublic  Topology = "public"
	TopologyPrivate Topology = "private"
)

// DNSMode says where the cluster's names live.
type DNSMode string

// The DNS modes. With none, no zone is needed and names are only in hosts files.
const (
	DNSPublic  DNSMode = "public"
	DNSPrivate DNSMode = "private"
	DNSNone    DNSMode = "none"
)

// Networking is the cluster's network. Ranges are fixed for a cluster's life.
type Networking struct {
	NetworkID              string   `json:"networkID,omitempty"`   // an existing network, kept and shared
	NetworkCIDR            string   `json:"networkCIDR,omitempty"` // default 172.20.0.0/16
	AdditionalNetworkCIDRs []string `json:"additionalNetworkCIDRs,omitempty"`
	Subnets                []Subnet `json:"subnets"`
	PodCIDR                string   `json:"podCIDR,omitempty"`               // default 100.96.0.0/11
	ServiceClusterIPRange  string   `json:"serviceClusterIPRange,omitempty"` // default 100.64.0.0/13
	Topology               Topology `json:"topology,omitempty"`              // default public
	DNS                    DNSMode  `json:"dns,omitempty"`                   // default none
	CNI                    *CNI     `json:"cni,omitempty"`
	// TagSubnets false leaves the tags of shared subnets alone; default true.
	TagSubnets *bool `json:"tagSubnets,omitempty"`
}

// CNI selects the pod network; exactly one member is set.
type CNI struct {
	Routes   *struct{} `json:"routes,omitempty"`   // the default: bridge plus cloud routes, no daemon
	Flannel  *struct{} `json:"flannel,omitempty"`  // vxlan
	Cilium   *struct{} `json:"cilium,omitempty"`   // by chart
	Calico   *struct{} `json:"calico,omitempty"`   // by chart
	External *struct{} `json:"external,omitempty"` // bring your own
}

// SubnetType says what a subnet is for.
type SubnetType string

// The subnet types. A utility subnet is a public one that holds only NAT gateways,
// load balancers and bastions.
const (
	SubnetPublic  SubnetType = "public"
	SubnetPrivate SubnetType = "private"
	SubnetUtility SubnetType = "utility"
)

// Subnet is one range in one zone.
type Subnet struct {
	Name string     `json:"name"`
	Zone string     `json:"zone,omitempty"`
	Type SubnetType `json:"type,omitempty"`
	CIDR string     `json:"cidr,omitempty"` // allocated and stored when not given
	ID   string     `json:"id,omitempty"`   // an existing subnet, kept and shared
	// Egress is an existing way out for a private subnet: "nat-...", "eipalloc-..."
	// (an own NAT gateway with that address), "tgw-...", "i-..." or "external".
	Egress string `json:"egress,omitempty"`
}

// APIAccess is how the Kubernetes API is reached.
type APIAccess struct {
	// Access lists the CIDRs that may reach the API from outside; empty means none.
	Access       []string         `json:"access,omitempty"`
	LoadBalancer *APILoadBalancer `json:"loadBalancer,omitempty"`
	// DNS chooses the API's records alone, without a load balancer, where one would be
	// the default.
	DNS *struct{} `json:"dns,omitempty"`
	// PublicName is the API's DNS name; default api.<cluster> unless DNS is none.
	PublicName     string   `json:"publicName,omitempty"`
	AdditionalSANs []string `json:"additionalSANs,omitempty"`
}

// LoadBalancerType says where a load balancer listens.
type LoadBalancerType string

// The types of load balancer.
const (
	LoadBalancerPublic   LoadBalancerType = "public"
	LoadBalancerInternal LoadBalancerType = "internal"
)

// APILoadBalancer is the load balancer in front of the API servers. It is the
// default with more than one control plane, and with DNS none.
type APILoadBalancer struct {
	Type                     LoadBalancerType `json:"type,omitempty"` // default public; closed all the same without api.access
	CrossZone                *bool            `json:"crossZoneLoadBalancing,omitempty"`
	AdditionalSecurityGroups []string         `json:"additionalSecurityGroups,omitempty"`
	SecurityGroupOverride    string           `json:"securityGroupOverride,omitempty"`
}

// EtcdCluster is one etcd cluster: "main", "events" or another by name.
type EtcdCluster struct {
	Name    string       `json:"name"`
	Members []EtcdMember `json:"etcdMembers"`
	Version string       `json:"version,omitempty"`
}

// EtcdMember is one member and its volume.
type EtcdMember struct {
	Name             string `json:"name"`
	InstanceGroup    string `json:"instanceGroup"`
	VolumeType       string `json:"volumeType,omitempty"`       // default gp3
	VolumeSize       int32  `json:"volumeSize,omitempty"`       // GiB, default 20
	VolumeIOPS       int32  `json:"volumeIOPS,omitempty"`       // only for types that take it
	VolumeThroughput int32  `json:"volumeThroughput,omitempty"` // MiB/s, gp3
	EncryptedVolume  *bool  `json:"encryptedVolume,omitempty"`  // default true
	KMSKeyID         string `json:"kmsKeyID,omitempty"`
}

// IAM tunes the identities of machines.
type IAM struct {
	PermissionsBoundary    string `json:"permissionsBoundary,omitempty"`
	AllowContainerRegistry bool   `json:"allowContainerRegistry,omitempty"`
}

// SealingMethod says with what private keys and secrets are sealed.
type SealingMethod string

// The methods. With none the store's own encryption is all.
const (
	SealingKMS  SealingMethod = "kms"
	SealingAge  SealingMethod = "age"
	SealingNone SealingMethod = "none"
)

// Sealing says how private keys and secrets are sealed in the state store. A change is
// followed by `slipway reseal`.
type Sealing struct {
	// Method is kms, age or none. At creation it is kms where the cloud has a key management
	// service and the store is an object store, otherwise age.
	Method SealingMethod `json:"method,omitempty"`
	// KMSKey is an existing key of the cloud's service: ARN, id or alias, stored as ARN.
	// Without it, kms uses a key that the cluster owns.
	KMSKey string `json:"kmsKey,omitempty"`
}

// Bastion is the way in by SSH for machines without public addresses.
type Bastion struct {
	PublicName string `json:"publicName,omitempty"`
}

// RollingUpdate bounds how machines are replaced: a number or a percentage.
type RollingUpdate struct {
	MaxUnavailable string `json:"maxUnavailable,omitempty" slipway:"number"`
	MaxSurge       string `json:"maxSurge,omitempty" slipway:"number"`
}
