// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Label makes a name that Terraform takes for a resource: a letter or underscore first,
// then letters, digits, underscores and dashes.
func Label(key string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, key)
	if label == "" || label[0] >= '0' && label[0] <= '9' || label[0] == '-' {
		label = "_" + label
	}
	return label
}

// hashed tells a label from another key's that reads alike.
func hashed(label, key string) string {
	sum := sha256.Sum256([]byte(key))
	return label + "-" + hex.EncodeToString(sum[:3])
}
