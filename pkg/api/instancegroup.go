// SPDX-License-Identifier: Apache-2.0

package api

// InstanceGroup is a set of machines of one shape.
type InstanceGroup struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta        `json:"metadata"`
	Spec     InstanceGroupSpec `json:"spec"`
}

// Role is what the machines of a group are for.
type Role string

// The roles.
const (
	RoleControlPlane Role = "ControlPlane"
	RoleNode         Role = "Node"
	RoleBastion      Role = "Bastion"
)

// InstanceGroupSpec is what a user says of a group of machines.
type InstanceGroupSpec struct {
	Role        Role     `json:"role,omitempty"` // default Node
	Subnets     []string `json:"subnets"`        // names of spec.networking.subnets
	MinSize     *int32   `json:"minSize,omitempty"`
	MaxSize     *int32   `json:"maxSize,omitempty"`
	MachineType string   `json:"machineType,omitempty"`
	// Image is "<owner>/<name or pattern>" or the cloud's own image id. The default is the
	// newest Ubuntu LTS for the machine type's architecture.
	Image string `json:"image,omitempty"`
	// KubernetesVersion pins the group below the control plane, within the skew policy.
	KubernetesVersion  string            `json:"kubernetesVersion,omitempty"`
	RootVolume         *RootVolume       `json:"rootVolume,omitempty"`
	AssociatePublicIP  *bool             `json:"associatePublicIP,omitempty"` // default: by subnet type
	SecurityGroups     []string          `json:"additionalSecurityGroups,omitempty"`
	CloudLabels        map[string]string `json:"cloudLabels,omitempty"`
	NodeLabels         map[string]string `json:"nodeLabels,omitempty"`
	Taints             []string          `json:"taints,omitempty"`                    // "key=value:Effect"
	MaxPrice           string            `json:"maxPrice,omitempty" slipway:"number"` // spot, in the cloud's currency per hour
	MixedInstances     *MixedInstances   `json:"mixedInstancesPolicy,omitempty"`
	InstanceMetadata   *InstanceMetadata `json:"instanceMetadata,omitempty"`
	DetailedMonitoring bool              `json:"detailedInstanceMonitoring,omitempty"`
	InstanceProtection bool              `json:"instanceProtection,omitempty"`
	SuspendProcesses   []string          `json:"suspendProcesses,omitempty"`
	Tenancy            string            `json:"tenancy,omitempty"`    // default, dedicated, host
	CPUCredits         string            `json:"cpuCredits,omitempty"` // standard, unlimited
	AdditionalUserData []UserDataPart    `json:"additionalUserData,omitempty"`
	IAM                *GroupIAM         `json:"iam,omitempty"`
	RollingUpdate      *RollingUpdate    `json:"rollingUpdate,omitempty"`
}

// RootVolume is a machine's boot disk.
type RootVolume struct {
	Size          int32  `json:"size,omitempty"` // GiB; default 64 control plane, 128 node, 32 bastion
	Type          string `json:"type,omitempty"` // default gp3
	IOPS          int32  `json:"iops,omitempty"`
	Throughput    int32  `json:"throughput,omitempty"` // MiB/s
	Encrypted     *bool  `json:"encryption,omitempty"` // default true
	EncryptionKey string `json:"encryptionKey,omitempty"`
}

// MixedInstances spreads a group over machine types and over spot and on demand.
type MixedInstances struct {
	Instances                  []string `json:"instances,omitempty"`
	OnDemandAllocationStrategy string   `json:"onDemandAllocationStrategy,omitempty"`
	OnDemandBase               *int32   `json:"onDemandBase,omitempty"`
	OnDemandAboveBase          *int32   `json:"onDemandAboveBase,omitempty"` // percent
	SpotAllocationStrategy     string   `json:"spotAllocationStrategy,omitempty"`
	SpotInstancePools          *int32   `json:"spotInstancePools,omitempty"`
}

// InstanceMetadata tunes the metadata service. Version 2 is always required unless
// httpTokens says otherwise.
type InstanceMetadata struct {
	HTTPTokens              string `json:"httpTokens,omitempty"` // required (default), optional
	HTTPPutResponseHopLimit *int32 `json:"httpPutResponseHopLimit,omitempty"`
	InstanceMetadataTags    bool   `json:"instanceMetadataTags,omitempty"`
}

// UserDataPart is an extra part of the machines' user data.
type UserDataPart struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // such as text/x-shellscript
	Content string `json:"content"`
}

// GroupIAM gives a group an existing identity instead of ours.
type GroupIAM struct {
	Profile string `json:"profile,omitempty"`
}
