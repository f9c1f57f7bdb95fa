// SPDX-License-Identifier: Apache-2.0

package model

// network takes the cluster's address space from the spec.
func network(in input, b *Blueprint) error {
	n := in.spec.Networking
	b.Network.ID = n.NetworkID
	primary, err := prefixes("spec.networking.networkCIDR", []string{n.NetworkCIDR})
	if err != nil {
		return err
	}
	more, err := prefixes("spec.networking.additionalNetworkCIDRs", n.AdditionalNetworkCIDRs)
	if err != nil {
		return err
	}
	b.Network.Ranges = primary
	for _, p := range more {
		if p != primary[0] {
			b.Network.Ranges = append(b.Network.Ranges, p)
		}
	}
	return nil
}
