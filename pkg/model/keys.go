// SPDX-License-Identifier: Apache-2.0

package model

import "strings"

// keys takes the SSH keys from the manifest, or the existing one that the spec names:
// with that, none of ours is made.
func keys(in input, b *Blueprint) error {
	if name := in.spec.SSHKeyName; name != "" {
		b.SSHKeys = []SSHKey{{Name: name, Existing: name}}
		return nil
	}
	for _, k := range in.SSHKeys {
		b.SSHKeys = append(b.SSHKeys, SSHKey{
			Name:      k.Metadata.Name,
			PublicKey: strings.TrimSpace(k.Spec.PublicKey),
		})
	}
	return nil
}
