// SPDX-License-Identifier: Apache-2.0

package aws

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// networkKinds holds the inventories of the network's kinds.
type networkKinds struct {
	vpcs *inventory[ec2types.Vpc]
}

func newNetworkKinds(s *survey) networkKinds {
	return networkKinds{
		vpcs: newInventory("VPC", s.listVPCs),
	}
}

// networkRemovables lists how the network's kinds are removed.
func (s *survey) networkRemovables() []removable {
	return []removable{
		{kind: "vpc", list: s.vpcs.leftovers, remove: s.removeVPC},
	}
}

// lowerNetwork adds the VPC, its subnets, and the ways in and out.
func lowerNetwork(l *lowering) error {
	l.vpc = newVPC(l.survey, l.blueprint.Network)
	return l.add(l.vpc)
}
