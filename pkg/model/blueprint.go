// SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/netip"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// Blueprint is what a cluster needs of any cloud: plain data, in a stable order,
// printable and golden-tested. What one cloud alone has is read by that cloud's
// lowering from Spec and never stands here.
type Blueprint struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"` // the user's cloudLabels

	Network    Network    `json:"network"`
	Subnets    []Subnet   `json:"subnets"`
	Firewall   []Allow    `json:"firewall"`
	Identities []Identity `json:"identities"`
	SSHKeys    []SSHKey   `json:"sshKeys,omitempty"`
	Volumes    []Volume   `json:"volumes"`
	Endpoints  []Endpoint `json:"endpoints,omitempty"`
	Zone       *Zone      `json:"zone,omitempty"` // nil with DNS none
	Records    []Record   `json:"records,omitempty"`
	Pools      []Pool     `json:"pools"`
	Objects    []Object   `json:"objects,omitempty"` // store objects, content-addressed

	// Sealing is the key that keysets are sealed with, where the cloud keeps it.
	Sealing *SealingKey `json:"sealing,omitempty"`

	Store string `json:"store"` // URL of the state store, for identities and pointers

	Spec   *api.Cluster         `json:"-"`
	Groups []*api.InstanceGroup `json:"-"`
}

// Network is the cluster's address space. With ID it exists already and is kept.
type Network struct {
	ID     string         `json:"id,omitempty"`
	Ranges []netip.Prefix `json:"ranges"` // the first is the primary one
}

// SubnetKind says how machines in a subnet reach the outside.
type SubnetKind string

// The kinds of subnet.
const (
	SubnetPublic  SubnetKind = "public"  // public addresses, straight out
	SubnetPrivate SubnetKind = "private" // out through the zone's NAT
	SubnetUtility SubnetKind = "utility" // public; only for NAT, load balancers and bastions
)

// Subnet is one range in one zone. With ID it exists already and is kept.
type Subnet struct {
	Name   string       `json:"name"`
	Zone   string       `json:"zone"`
	Kind   SubnetKind   `json:"kind"`
	Range  netip.Prefix `json:"range"`
	ID     string       `json:"id,omitempty"`
	Egress string       `json:"egress,omitempty"` // an existing way out, in the cloud's words
	// ExternalLB and InternalLB say that services' load balancers may be placed here.
	ExternalLB bool `json:"externalLB,omitempty"`
	InternalLB bool `json:"internalLB,omitempty"`
	// Tag false (only with ID) leaves the subnet's tags alone.
	Tag bool `json:"tag"`
}

// Party is one side of a firewall intent: a role's machines, the API endpoint, or a
// range of addresses.
type Party struct {
	Role     api.Role     `json:"role,omitempty"`
	Endpoint string       `json:"endpoint,omitempty"` // name of an Endpoint
	Range    netip.Prefix `json:"range,omitzero"`
}

// Allow is one firewall intent: From may reach To on these ports. All that is not
// allowed is denied; every party may reach out.
type Allow struct {
	Name  string `json:"name"` // stable, unique: the ownership mark of the rule
	From  Party  `json:"from"`
	To    Party  `json:"to"`              // a Role or an Endpoint
	Proto string `json:"proto"`           // tcp, udp, icmp, icmpv6, ipip, any
	Ports [2]int `json:"ports,omitempty"` // first and last; {0,0} with any and ipip; icmp: type and code
	Why   string `json:"why"`
}

// Grant is a right that an identity needs, in neutral words; each cloud lowers it to
// its own policy language with the narrowest resources and conditions.
type Grant string

// The grants.
const (
	GrantReadStore      Grant = "read-store"      // all of the cluster's prefix in the store
	GrantWriteBackups   Grant = "write-backups"   // backups/etcd/ of the cluster in the store
	GrantReadAssets     Grant = "read-assets"     // assets/ of the store: the only prefix nodes read
	GrantAttachVolumes  Grant = "attach-volumes"  // the cluster's own etcd volumes
	GrantDescribe       Grant = "describe"        // read machines, volumes, networks of the region
	GrantWriteRecords   Grant = "write-records"   // the cluster's records in its zone
	GrantCloudControl   Grant = "cloud-control"   // routes, node addresses, services' load balancers
	GrantVerifyIdentity Grant = "verify-identity" // look up machines that ask for certificates
	GrantPullImages     Grant = "pull-images"     // the cloud's container registry
	GrantOpenKeysets    Grant = "open-keysets"    // decrypt with the key that keysets are sealed with
)

// Identity is what machines of a role are to the cloud.
type Identity struct {
	Role     api.Role `json:"role"`
	Grants   []Grant  `json:"grants,omitempty"`
	Inline   string   `json:"inline,omitempty"`   // the user's extra policy, in the cloud's language
	Attached []string `json:"attached,omitempty"` // existing policies by the cloud's id
}

// SSHKey is a public key for the machines. With Existing nothing is made.
type SSHKey struct {
	Name      string `json:"name"`
	PublicKey string `json:"publicKey,omitempty"`
	Existing  string `json:"existing,omitempty"`
}

// SealingKey is a key of the cloud's key management service. Without Key it is one that
// the cluster owns.
type SealingKey struct {
	Key string `json:"key,omitempty"`
}

// Volume is a disk that outlives machines: one etcd member's data.
type Volume struct {
	Etcd       string   `json:"etcd"`    // etcd cluster's name
	Member     string   `json:"member"`  // this member's name
	Members    []string `json:"members"` // all members of that etcd cluster
	Pool       string   `json:"pool"`    // the group whose machine attaches it
	Zone       string   `json:"zone"`
	SizeGiB    int32    `json:"sizeGiB"`
	Type       string   `json:"type,omitempty"`
	IOPS       int32    `json:"iops,omitempty"`
	Throughput int32    `json:"throughput,omitempty"` // MiB/s
	Encrypted  bool     `json:"encrypted"`
	Key        string   `json:"key,omitempty"`
}

// Endpoint is a load balancer in front of a role's machines.
type Endpoint struct {
	Name      string   `json:"name"` // "api" or "bastion"
	Public    bool     `json:"public"`
	To        api.Role `json:"to"`
	Subnets   []string `json:"subnets"` // one per zone
	Listeners []Listen `json:"listeners"`
	CrossZone bool     `json:"crossZone"`
}

// Listen is one port of an Endpoint, forwarded to Target on the machines.
type Listen struct {
	Name   string `json:"name"` // "https", "bootstrap", "ssh"
	Port   int    `json:"port"`
	Target int    `json:"target"`
	Health string `json:"health"` // "tcp" or "https:/path"
}

// Zone is the DNS zone that holds the records; it exists already and is kept.
type Zone struct {
	Name    string `json:"name,omitempty"` // empty with ID
	ID      string `json:"id,omitempty"`
	Private bool   `json:"private"`
}

// Record is one DNS name. With Endpoint it points at that load balancer; without, the
// control planes keep it themselves and the cloud side only owns and deletes it.
type Record struct {
	Name     string `json:"name"` // full, no final dot
	Endpoint string `json:"endpoint,omitempty"`
	Internal bool   `json:"internal,omitempty"` // wanted by machines, not by people
}

// Pool is one instance group.
type Pool struct {
	Name       string            `json:"name"`
	Role       api.Role          `json:"role"`
	Min        int32             `json:"min"`
	Max        int32             `json:"max"`
	Machine    string            `json:"machine"`
	Image      string            `json:"image"`
	Subnets    []string          `json:"subnets"`
	PublicIP   bool              `json:"publicIP"`
	RootGiB    int32             `json:"rootGiB"`
	RootType   string            `json:"rootType,omitempty"`
	Encrypted  bool              `json:"encrypted"`
	Endpoints  []string          `json:"endpoints,omitempty"` // endpoints that its machines serve
	Labels     map[string]string `json:"labels,omitempty"`    // the group's cloudLabels over the cluster's
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	Taints     []string          `json:"taints,omitempty"`
	SSHKey     string            `json:"sshKey,omitempty"` // name of an SSHKey

	// Pointer is the user data's content; the address of the API that only apply can
	// tell is filled in by the cloud. Bastions have none.
	Pointer *nodeconfig.Pointer       `json:"pointer,omitempty"`
	Extra   []nodeconfig.UserDataPart `json:"extra,omitempty"`

	Group *api.InstanceGroup `json:"-"`
}

// Object is a managed object of the store below the cluster's prefix.
type Object struct {
	Key     string `json:"key"` // relative to <cluster>/
	Content []byte `json:"content"`
}
