// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) interfaceOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateNetworkInterface": op(s.createInterface), "DescribeNetworkInterfaces": op(s.describeInterfaces), "DeleteNetworkInterface": op(s.deleteInterface),
		"AttachNetworkInterface": op(s.attachInterface), "DetachNetworkInterface": op(s.detachInterface),
		"ModifyNetworkInterfaceAttribute": op(s.modifyInterface),
	}
}

type createInterfaceIn struct {
	SubnetId          string `wire:"SubnetId,required"`
	Description       string
	PrivateIpAddress  string
	GroupIds          []string `wire:"SecurityGroupId"`
	Ipv6AddressCount  int
	InterfaceType     string
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type interfaceOut struct {
	ClientToken      string
	NetworkInterface NetworkInterface
}

func (s *Service) createInterface(c *wire.Call, in *createInterfaceIn) (*interfaceOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "network-interface")
	if tagErr != nil {
		return nil, tagErr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		i, err := s.CreateInterface(c, InterfaceSpec{
			SubnetId: in.SubnetId, Description: in.Description, GroupIds: in.GroupIds, PrivateIP: in.PrivateIpAddress,
			IPv6Count: in.Ipv6AddressCount, InterfaceType: in.InterfaceType, Tags: tags,
		})
		if err != nil {
			return "", err
		}
		return i.NetworkInterfaceId, nil
	})
	if err != nil {
		return nil, err
	}
	i, err := s.interfaces.get(c, id)
	if err != nil {
		return nil, err
	}
	shown := *i
	shown.Status = "pending"
	return &interfaceOut{in.ClientToken, shown}, nil
}

type describeInterfacesIn struct {
	Ids []string `wire:"NetworkInterfaceId"`
	describe
}

type describeInterfacesOut struct {
	NextToken  string
	Interfaces []*NetworkInterface `wire:"networkInterfaceSet"`
}

func (s *Service) describeInterfaces(c *wire.Call, in *describeInterfacesIn) (*describeInterfacesOut, error) {
	rows, next, err := s.interfaces.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeInterfacesOut{next, rows}, nil
}

func (s *Service) deleteInterface(c *wire.Call, in *struct {
	Id string `wire:"NetworkInterfaceId,required"`
}) (*done, error) {
	i, err := s.interfaces.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	if i.RequesterManaged {
		return nil, wire.Errorf("OperationNotPermitted", "You do not have permission to delete the interface '%s': another service manages it.", in.Id)
	}
	if i.Attachment != nil {
		return nil, wire.Errorf("InvalidParameterValue", "Network interface '%s' is currently in use.", in.Id)
	}
	s.DeleteInterface(c, in.Id)
	return ok()
}

type attachInterfaceIn struct {
	NetworkInterfaceId string `wire:"NetworkInterfaceId,required"`
	InstanceId         string `wire:"InstanceId,required"`
	DeviceIndex        int    `wire:"DeviceIndex,required"`
	NetworkCardIndex   int
}

type attachInterfaceOut struct {
	AttachmentId     string
	NetworkCardIndex int
}

func (s *Service) attachInterface(c *wire.Call, in *attachInterfaceIn) (*attachInterfaceOut, error) {
	i, err := s.interfaces.get(c, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	if i.Attachment != nil || i.RequesterManaged {
		return nil, wire.Errorf("InvalidNetworkInterface.InUse", "Interface: [%s] in use.", i.NetworkInterfaceId)
	}
	if i.AvailabilityZone != vm.Placement.AvailabilityZone {
		return nil, wire.Errorf("InvalidParameterCombination", "The interface %s and the instance %s are in different zones", i.NetworkInterfaceId, vm.InstanceId)
	}
	have := s.InterfacesOf(c, vm.InstanceId)
	for _, other := range have {
		if other.Attachment.DeviceIndex == in.DeviceIndex {
			return nil, wire.Errorf("InvalidParameterValue", "Instance '%s' already has an interface attached at device index '%d'.", vm.InstanceId, in.DeviceIndex)
		}
	}
	if t := instanceTypes[vm.InstanceType]; len(have) >= t.interfaces {
		return nil, wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(have)+1, vm.InstanceType)
	}
	s.attach(c, i, vm, in.DeviceIndex, false)
	return &attachInterfaceOut{AttachmentId: i.Attachment.AttachmentId}, nil
}

// attach joins an interface to an instance.
func (s *Service) attach(c *wire.Call, i *NetworkInterface, vm *Instance, index int, deleteOnTermination bool) {
	i.Status = "in-use"
	i.Attachment = &InterfaceAttachment{
		AttachmentId: s.newID("eni-attach-"), InstanceId: vm.InstanceId, InstanceOwnerId: s.account, DeviceIndex: index,
		Status: "attached", AttachTime: c.Now.UTC(), DeleteOnTermination: deleteOnTermination,
	}
	s.interfaces.put(c, i)
}

func (s *Service) detachInterface(c *wire.Call, in *struct {
	AttachmentId string `wire:"AttachmentId,required"`
	Force        bool
}) (*done, error) {
	i := s.interfaces.first(c, func(i *NetworkInterface) bool {
		return i.Attachment != nil && i.Attachment.AttachmentId == in.AttachmentId
	})
	if i == nil {
		return nil, wire.Errorf("InvalidAttachmentID.NotFound", "The networkInterface attachment ID '%s' does not exist", in.AttachmentId)
	}
	if i.Attachment.DeviceIndex == 0 {
		return nil, wire.Errorf("OperationNotPermitted", "The network interface at device index 0 cannot be detached.")
	}
	i.Attachment, i.Status = nil, "available"
	s.interfaces.put(c, i)
	return ok()
}

type modifyInterfaceIn struct {
	NetworkInterfaceId string     `wire:"NetworkInterfaceId,required"`
	SourceDestCheck    *boolValue `wire:"SourceDestCheck"`
	Description        *struct{ Value string }
	GroupIds           []string `wire:"SecurityGroupId"`
}

func (s *Service) modifyInterface(c *wire.Call, in *modifyInterfaceIn) (*done, error) {
	i, err := s.interfaces.get(c, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if in.SourceDestCheck != nil {
		i.SourceDestCheck = in.SourceDestCheck.Value
	}
	if in.Description != nil {
		i.Description = in.Description.Value
	}
	if len(in.GroupIds) > 0 {
		if i.Groups, err = s.groupsFor(c, i.VpcId, in.GroupIds, i.InterfaceType); err != nil {
			return nil, err
		}
	}
	s.interfaces.put(c, i)
	return ok()
}
