// SPDX-License-Identifier: Apache-2.0

// Package nodeconfig is the contract between the cluster side, which writes it, and
// the machines, which read it: the small pointer in a machine's user data and the node
// config that it points to. It is versioned: an older agent refuses a newer form.
package nodeconfig

// Version is the form that this package writes.
const Version = "slipway.dev/node/v1"

// Pointer is what user data holds: no secret, and small.
type Pointer struct {
	Version string `json:"version"`
	Cluster string `json:"cluster"`
	UID     string `json:"uid"`
	Group   string `json:"group"`
	Role    string `json:"role"`
	// Store is the state store's URL, for roles that may read it (control planes).
	Store string `json:"store,omitempty"`
	// Bootstrap is the address (host:port) of the bootstrap server, for the others. It
	// is filled in when the cloud knows it.
	Bootstrap []string `json:"bootstrap,omitempty"`
	// Config is the node config's key below the cluster's prefix, and its digest.
	Config       string `json:"config"`
	ConfigSHA256 string `json:"configSHA256"`
	// Agent has the agent's source by architecture (amd64, arm64).
	Agent map[string]Asset `json:"agent,omitempty"`
	// CA is the bundle (PEM) that store-independent connections are trusted by.
	CA string `json:"ca,omitempty"`
}

// Asset is a file that a machine fetches and verifies.
type Asset struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256,omitempty"` // empty: unresolved, a machine refuses it
}

// UserDataPart is an extra part of the user data.
type UserDataPart struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Config is a machine's configuration, content-addressed in the store.
type Config struct {
	Version           string            `json:"version"`
	Cluster           string            `json:"cluster"`
	UID               string            `json:"uid"`
	Group             string            `json:"group"`
	Role              string            `json:"role"`
	KubernetesVersion string            `json:"kubernetesVersion"`
	Networking        Networking        `json:"networking"`
	NodeLabels        map[string]string `json:"nodeLabels,omitempty"`
	Taints            []string          `json:"taints,omitempty"`
	Etcd              []EtcdMember      `json:"etcd,omitempty"` // members this group's machine runs
	APIServer         *APIServer        `json:"apiServer,omitempty"`
}

// Networking is what a machine knows of the cluster's ranges.
type Networking struct {
	NetworkCIDR string `json:"networkCIDR"`
	PodCIDR     string `json:"podCIDR"`
	ServiceCIDR string `json:"serviceCIDR"`
	DNSDomain   string `json:"dnsDomain"`
	CNI         string `json:"cni"`
}

// EtcdMember is one member that a control plane runs.
type EtcdMember struct {
	Cluster string   `json:"cluster"`
	Member  string   `json:"member"`
	Members []string `json:"members"`
	Version string   `json:"version,omitempty"` // empty: the one that goes with the Kubernetes version
}

// APIServer is what a control plane's API server answers to.
type APIServer struct {
	InternalName string   `json:"internalName"`
	SANs         []string `json:"sans,omitempty"`
}
