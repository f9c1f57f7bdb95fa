// SPDX-License-Identifier: Apache-2.0

// Package api is what a user writes: the types of a cluster's spec, their strict
// loading, defaults and validation. Every command and the model read it; it does no
// I/O and knows no cloud's SDK.
package api

// Version is the apiVersion of every kind of this package.
const Version = "slipway.dev/v1"

// The kinds that a manifest may hold.
const (
	KindCluster       = "Cluster"
	KindInstanceGroup = "InstanceGroup"
	KindSSHPublicKey  = "SSHPublicKey"
)

// ClusterLabel is the metadata label of an InstanceGroup or SSHPublicKey that names
// its cluster, for files that hold several.
const ClusterLabel = "slipway.dev/cluster"

// TypeMeta says which kind an object is.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// ObjectMeta names an object.
type ObjectMeta struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid,omitempty"` // cluster only; set when it is created, never by a user
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SSHPublicKey is a key that may log in to the machines of a cluster.
type SSHPublicKey struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta       `json:"metadata"`
	Spec     SSHPublicKeySpec `json:"spec"`
}

// SSHPublicKeySpec holds one public key in authorized_keys form.
type SSHPublicKeySpec struct {
	PublicKey string `json:"publicKey"`
}

// Manifest is everything that one revision of a cluster holds.
type Manifest struct {
	Cluster *Cluster
	Groups  []*InstanceGroup // in the order of the file
	SSHKeys []*SSHPublicKey
	// Objects are other Kubernetes objects that the cluster gets (raw documents).
	Objects []map[string]any
}

// Group returns the instance group of that name, or nil.
func (m *Manifest) Group(name string) *InstanceGroup {
	for _, g := range m.Groups {
		if g.Metadata.Name == name {
			return g
		}
	}
	return nil
}
