// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Subnet finds a subnet, for the other simulated services.
func (s *Service) Subnet(c *wire.Call, id string) (*Subnet, *wire.Error) { return s.subnets.get(c, id) }

// Instance finds an instance that is on record, terminated or not; nil when
// there is none.
func (s *Service) Instance(c *wire.Call, id string) *Instance {
	return s.instances.table.Get(c.Region, id)
}

// HasVPC tells whether a region has a network.
func (s *Service) HasVPC(region, id string) bool { return s.vpcs.table.Get(region, id) != nil }

// HasGateway tells whether a network has an internet gateway.
func (s *Service) HasGateway(c *wire.Call, vpc string) bool { return s.gatewayOf(c, vpc) != nil }

// HasZone tells whether a region has an availability zone of this name.
func HasZone(region, name string) bool {
	z := zoneByName(region, name)
	return z != nil && z.ZoneType == "availability-zone"
}

// CheckGroups refuses security groups that do not exist or are of another network.
func (s *Service) CheckGroups(c *wire.Call, vpc string, ids []string) *wire.Error {
	_, err := s.groupsFor(c, vpc, ids, "interface")
	return err
}

// SetGroups gives an interface other security groups.
func (s *Service) SetGroups(c *wire.Call, interfaceID string, ids []string) *wire.Error {
	i, err := s.interfaces.get(c, interfaceID)
	if err != nil {
		return err
	}
	groups, err := s.groupsFor(c, i.VpcId, ids, i.InterfaceType)
	if err != nil {
		return err
	}
	i.Groups = groups
	s.interfaces.put(c, i)
	return nil
}

// BindAddress gives an interface an allocated address that is free, and
// returns the address.
func (s *Service) BindAddress(c *wire.Call, allocation, interfaceID string) (string, *wire.Error) {
	a, err := s.addresses.get(c, allocation)
	if err != nil {
		return "", err
	}
	if a.AssociationId != "" {
		return "", wire.Errorf("Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", allocation, a.AssociationId)
	}
	i, err := s.interfaces.get(c, interfaceID)
	if err != nil {
		return "", err
	}
	s.bind(c, a, i)
	return a.PublicIp, nil
}
