// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// AddGroup adds an instance group to a manifest.
func AddGroup(m *api.Manifest, g *api.InstanceGroup) error {
	if m.Group(g.Metadata.Name) != nil {
		return &GroupExistsError{Group: g.Metadata.Name, Cluster: m.Cluster.Metadata.Name}
	}
	m.Groups = append(m.Groups, g)
	return nil
}

// GroupExistsError says that a group cannot be added since it is there.
type GroupExistsError struct{ Group, Cluster string }

// Error says how to change the group instead.
func (e *GroupExistsError) Error() string {
	return fmt.Sprintf("instance group %[1]s is already in cluster %[2]s: change it with `slipway edit instancegroup %[1]s --cluster %[2]s`", e.Group, e.Cluster)
}

// RemoveGroup takes an instance group out of a manifest.
func RemoveGroup(m *api.Manifest, name string) error {
	if m.Group(name) == nil {
		return &GroupNotFoundError{Group: name, Cluster: m.Cluster.Metadata.Name, Known: GroupNames(m)}
	}
	m.Groups = slices.DeleteFunc(m.Groups, func(g *api.InstanceGroup) bool { return g.Metadata.Name == name })
	return nil
}

// GroupNames returns the names of a manifest's groups, in its order.
func GroupNames(m *api.Manifest) []string {
	var names []string
	for _, g := range m.Groups {
		names = append(names, g.Metadata.Name)
	}
	return names
}

// GroupNotFoundError names a group that a cluster does not have.
type GroupNotFoundError struct {
	Group, Cluster string
	Known          []string
}

// Error lists the groups that are there.
func (e *GroupNotFoundError) Error() string {
	return fmt.Sprintf("cluster %s has no instance group %s; it has %s", e.Cluster, e.Group, strings.Join(e.Known, ", "))
}

// SetSSHKey makes key the cluster's only public key: the cloud's key pair holds one.
func SetSSHKey(m *api.Manifest, name, publicKey string) {
	m.SSHKeys = []*api.SSHPublicKey{{
		TypeMeta: api.TypeMeta{APIVersion: api.Version, Kind: api.KindSSHPublicKey},
		Metadata: api.ObjectMeta{Name: name},
		Spec:     api.SSHPublicKeySpec{PublicKey: strings.TrimSpace(publicKey)},
	}}
}

// ReplaceParts puts the groups and keys of parts in the place of a manifest's own of
// the same name; a group that is not there is an error.
func ReplaceParts(m, parts *api.Manifest) error {
	for _, g := range parts.Groups {
		at := slices.IndexFunc(m.Groups, func(old *api.InstanceGroup) bool { return old.Metadata.Name == g.Metadata.Name })
		if at < 0 {
			return &GroupNotFoundError{Group: g.Metadata.Name, Cluster: m.Cluster.Metadata.Name, Known: GroupNames(m)}
		}
		m.Groups[at] = g
	}
	for _, k := range parts.SSHKeys {
		SetSSHKey(m, k.Metadata.Name, k.Spec.PublicKey)
	}
	return nil
}
