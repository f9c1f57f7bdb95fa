// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// volumes wants one disk for each etcd member, in the zone of the member's group.
func volumes(in input, b *Blueprint) error {
	for _, e := range in.spec.EtcdClusters {
		var members []string
		groups := map[string]string{}
		for _, m := range e.Members {
			members = append(members, m.Name)
			if other, twice := groups[m.InstanceGroup]; twice {
				return fmt.Errorf("etcd cluster %s: members %s and %s are both in group %s: each needs a group of its own",
					e.Name, other, m.Name, m.InstanceGroup)
			}
			groups[m.InstanceGroup] = m.Name
		}
		for _, m := range e.Members {
			zone, err := memberZone(in, b, m.InstanceGroup)
			if err != nil {
				return fmt.Errorf("etcd cluster %s: member %s: %w", e.Name, m.Name, err)
			}
			b.Volumes = append(b.Volumes, Volume{
				Etcd: e.Name, Member: m.Name, Members: members, Pool: m.InstanceGroup, Zone: zone,
				SizeGiB: positive(m.VolumeSize, 20), Type: m.VolumeType,
				IOPS: m.VolumeIOPS, Throughput: m.VolumeThroughput,
				Encrypted: or(m.EncryptedVolume, true), Key: m.KMSKeyID,
			})
		}
	}
	return nil
}

// memberZone finds the one zone of a member's group: a disk cannot follow its machine
// into another one.
func memberZone(in input, b *Blueprint, group string) (string, error) {
	g := in.Group(group)
	if g == nil {
		return "", fmt.Errorf("there is no group %q", group)
	}
	zones, err := zonesOf(b, []*api.InstanceGroup{g})
	if err != nil {
		return "", err
	}
	if len(zones) != 1 {
		return "", fmt.Errorf("group %s is in the zones %v: a group with etcd members has exactly one", group, zones)
	}
	return zones[0], nil
}

func positive(n, otherwise int32) int32 {
	if n > 0 {
		return n
	}
	return otherwise
}
