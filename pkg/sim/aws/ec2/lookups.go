// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"slices"

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

// Stop parks a running instance, as a warm pool does.
func (s *Service) Stop(c *wire.Call, vm *Instance) {
	if vm.State.Name == "running" {
		vm.enter("stopping", c.Now.Add(s.delay))
		s.instances.put(c, vm)
	}
}

// Start starts a stopped instance.
func (s *Service) Start(c *wire.Call, vm *Instance) {
	if vm.State.Name == "stopped" {
		vm.enter("pending", c.Now.Add(s.delay))
		s.instances.put(c, vm)
	}
}

// TypeFact is what the other services ask of an instance type; memory in MiB.
type TypeFact struct {
	Name          string
	VCPUs, Memory int
	Arch          string
	Old, Bare     bool
	GPUs, Disks   int
}

// OfferedTypes are the types that can be launched in a zone, the smallest first.
func OfferedTypes(region, zoneName string) []TypeFact {
	var out []TypeFact
	for name, t := range instanceTypes {
		if offered(region, zoneName, name) {
			out = append(out, TypeFact{name, t.vcpus, t.memory, t.arch, t.old, t.bare, t.gpus, t.disks})
		}
	}
	slices.SortFunc(out, func(a, b TypeFact) int {
		return cmp.Or(a.VCPUs-b.VCPUs, a.Memory-b.Memory, cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Untag takes one tag off an instance, a reserved one too.
func (s *Service) Untag(c *wire.Call, id, key string) {
	if vm := s.Instance(c, id); vm != nil {
		vm.Tags = slices.DeleteFunc(slices.Clone(vm.Tags), func(t Tag) bool { return t.Key == key })
		s.instances.put(c, vm)
	}
}

// Mark puts one tag on an instance, a reserved one too.
func (s *Service) Mark(c *wire.Call, id, key, value string) {
	if vm := s.Instance(c, id); vm != nil {
		vm.Tags = append(slices.DeleteFunc(slices.Clone(vm.Tags), func(t Tag) bool { return t.Key == key }), Tag{key, value})
		s.instances.put(c, vm)
	}
}
