// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type stringValue struct{ Value string }

type modifyInstanceIn struct {
	InstanceId            string       `wire:"InstanceId,required"`
	SourceDestCheck       *boolValue   `wire:"SourceDestCheck"`
	DisableApiTermination *boolValue   `wire:"DisableApiTermination"`
	DisableApiStop        *boolValue   `wire:"DisableApiStop"`
	EbsOptimized          *boolValue   `wire:"EbsOptimized"`
	InstanceType          *stringValue `wire:"InstanceType"`
	UserData              *stringValue `wire:"UserData"`
	ShutdownBehavior      *stringValue `wire:"InstanceInitiatedShutdownBehavior"`
	GroupIds              []string     `wire:"GroupId"`
}

func (s *Service) modifyInstanceAttribute(c *wire.Call, in *modifyInstanceIn) (*done, error) {
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	if (in.InstanceType != nil || in.UserData != nil) && vm.State.Name != "stopped" {
		return nil, wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'stopped' state.", vm.InstanceId)
	}
	cards := s.InterfacesOf(c, vm.InstanceId)
	if len(in.GroupIds) > 0 && len(cards) > 0 {
		groups, err := s.groupsFor(c, vm.VpcId, in.GroupIds, "interface")
		if err != nil {
			return nil, err
		}
		cards[0].Groups = groups
		s.interfaces.put(c, cards[0])
	}
	if in.SourceDestCheck != nil && len(cards) > 0 {
		cards[0].SourceDestCheck = in.SourceDestCheck.Value
		s.interfaces.put(c, cards[0])
	}
	for _, p := range []struct {
		to   *bool
		from *boolValue
	}{{&vm.DisableApiTermination, in.DisableApiTermination}, {&vm.DisableApiStop, in.DisableApiStop}, {&vm.EbsOptimized, in.EbsOptimized}} {
		if p.from != nil {
			*p.to = p.from.Value
		}
	}
	if in.InstanceType != nil {
		t, known := instanceTypes[in.InstanceType.Value]
		if !known || t.arch != vm.Architecture {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", in.InstanceType.Value)
		}
		vm.InstanceType = in.InstanceType.Value
	}
	if in.UserData != nil {
		d := LaunchData{UserData: in.UserData.Value}
		if err := d.check(); err != nil {
			return nil, err
		}
		vm.UserData = in.UserData.Value
	}
	if in.ShutdownBehavior != nil {
		vm.ShutdownBehavior = in.ShutdownBehavior.Value
	}
	s.instances.put(c, vm)
	return ok()
}

type instanceAttributeOut struct {
	InstanceId            string
	DisableApiTermination *boolValue
	DisableApiStop        *boolValue
	EbsOptimized          *boolValue
	SourceDestCheck       *boolValue
	EnaSupport            *boolValue
	InstanceType          *stringValue
	UserData              *stringValue
	RootDeviceName        *stringValue
	ShutdownBehavior      *stringValue      `wire:"instanceInitiatedShutdownBehavior"`
	Groups                []GroupIdentifier `wire:"groupSet,omitempty"`
	BlockDevices          []AttachedDevice  `wire:"blockDeviceMapping,omitempty"`
}

func (s *Service) describeInstanceAttribute(c *wire.Call, in *struct {
	InstanceId string `wire:"InstanceId,required"`
	Attribute  string `wire:"Attribute,required"`
}) (*instanceAttributeOut, error) {
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	s.refresh(c, vm)
	out := &instanceAttributeOut{InstanceId: vm.InstanceId}
	switch in.Attribute {
	case "disableApiTermination":
		out.DisableApiTermination = &boolValue{vm.DisableApiTermination}
	case "disableApiStop":
		out.DisableApiStop = &boolValue{vm.DisableApiStop}
	case "ebsOptimized":
		out.EbsOptimized = &boolValue{vm.EbsOptimized}
	case "sourceDestCheck":
		out.SourceDestCheck = &boolValue{vm.SourceDestCheck}
	case "enaSupport":
		out.EnaSupport = &boolValue{vm.EnaSupport}
	case "instanceType":
		out.InstanceType = &stringValue{vm.InstanceType}
	case "userData":
		out.UserData = &stringValue{vm.UserData}
	case "rootDeviceName":
		out.RootDeviceName = &stringValue{vm.RootDeviceName}
	case "instanceInitiatedShutdownBehavior":
		out.ShutdownBehavior = &stringValue{vm.ShutdownBehavior}
	case "groupSet":
		out.Groups = vm.SecurityGroups
	case "blockDeviceMapping":
		out.BlockDevices = vm.BlockDevices
	default:
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter attribute is invalid. Unknown attribute.", in.Attribute)
	}
	return out, nil
}

type modifyMetadataIn struct {
	InstanceId              string `wire:"InstanceId,required"`
	HttpTokens              string
	HttpPutResponseHopLimit *int
	HttpEndpoint            string
	HttpProtocolIpv6        string
	InstanceMetadataTags    string
}

type modifyMetadataOut struct {
	InstanceId              string
	InstanceMetadataOptions MetadataOptions
}

func (s *Service) modifyMetadata(c *wire.Call, in *modifyMetadataIn) (*modifyMetadataOut, error) {
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	m := MetadataOptions{"", in.HttpTokens, in.HttpPutResponseHopLimit, in.HttpEndpoint, in.HttpProtocolIpv6, in.InstanceMetadataTags}
	if err := (&LaunchData{MetadataOptions: &m}).checkMetadata(); err != nil {
		return nil, err
	}
	if m.InstanceMetadataTags == "enabled" {
		for _, t := range vm.Tags {
			if strings.Contains(t.Key, "/") {
				return nil, wire.Errorf("InvalidParameterValue", "'%s' is not a valid tag key for instance tags in metadata.", t.Key)
			}
		}
	}
	for _, p := range [][2]*string{
		{&vm.MetadataOptions.HttpTokens, &m.HttpTokens}, {&vm.MetadataOptions.HttpEndpoint, &m.HttpEndpoint},
		{&vm.MetadataOptions.HttpProtocolIpv6, &m.HttpProtocolIpv6}, {&vm.MetadataOptions.InstanceMetadataTags, &m.InstanceMetadataTags},
	} {
		if *p[1] != "" {
			*p[0] = *p[1]
		}
	}
	set(&vm.MetadataOptions.HttpPutResponseHopLimit, m.HttpPutResponseHopLimit)
	s.instances.put(c, vm)
	shown := vm.MetadataOptions
	shown.State = "pending"
	return &modifyMetadataOut{vm.InstanceId, shown}, nil
}
