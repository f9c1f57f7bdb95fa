// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// sealing says whether a key of the cloud seals what is private in the store.
func sealing(in input, b *Blueprint) error {
	if s := in.spec.Sealing; s != nil && s.Method == api.SealingKMS {
		b.Sealing = &SealingKey{Key: s.KMSKey}
	}
	return nil
}

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
