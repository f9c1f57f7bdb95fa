// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/slipway-k8s/slipway/pkg/api"

// identities gives each role in use an identity with the rights that its machines need.
// A bastion's has none: without an identity of its own it could be given a wider one.
func identities(in input, b *Blueprint) error {
	for _, role := range []api.Role{api.RoleControlPlane, api.RoleNode, api.RoleBastion} {
		if len(in.groups(role)) == 0 {
			continue
		}
		key := policyKey(role)
		b.Identities = append(b.Identities, Identity{
			Role:     role,
			Grants:   grants(in, role),
			Inline:   in.spec.AdditionalPolicies[key],
			Attached: in.spec.ExternalPolicies[key],
		})
	}
	return nil
}

func grants(in input, role api.Role) []Grant {
	var out []Grant
	switch role {
	case api.RoleControlPlane:
		out = []Grant{
			GrantReadStore, GrantReadAssets, GrantWriteBackups, GrantAttachVolumes,
			GrantDescribe, GrantCloudControl, GrantVerifyIdentity,
		}
		if in.spec.Sealing != nil && in.spec.Sealing.Method == api.SealingKMS {
			out = append(out, GrantOpenKeysets)
		}
		if usesZone(in.spec) {
			out = append(out, GrantWriteRecords)
		}
	case api.RoleNode:
		out = []Grant{GrantReadAssets}
	default:
		return nil
	}
	if in.spec.IAM != nil && in.spec.IAM.AllowContainerRegistry {
		out = append(out, GrantPullImages)
	}
	return out
}

// policyKey is how a spec names a role in additionalPolicies and externalPolicies.
func policyKey(role api.Role) string {
	switch role {
	case api.RoleControlPlane:
		return "controlPlane"
	case api.RoleBastion:
		return "bastion"
	default:
		return "node"
	}
}
