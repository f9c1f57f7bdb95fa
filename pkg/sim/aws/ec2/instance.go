// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Instance is a machine, as a record.
type Instance struct {
	InstanceId            string
	ImageId               string
	State                 InstanceState `wire:"instanceState"`
	PrivateDnsName        string        `wire:"privateDnsName,keep"`
	PublicDnsName         string        `wire:"dnsName,keep"`
	Reason                string        `wire:"reason,keep"`
	KeyName               string
	AmiLaunchIndex        int
	InstanceType          string
	LaunchTime            time.Time
	Placement             Placement
	Monitoring            MonitoringState
	SubnetId              string
	VpcId                 string
	PrivateIpAddress      string
	PublicIpAddress       string `wire:"ipAddress"`
	Ipv6Address           string
	StateReason           *StateReason
	Architecture          string
	RootDeviceType        string
	RootDeviceName        string
	BlockDevices          []AttachedDevice `wire:"blockDeviceMapping"`
	VirtualizationType    string
	InstanceLifecycle     string
	ClientToken           string            `wire:"clientToken,keep"`
	Tags                  []Tag             `wire:"tagSet"`
	SecurityGroups        []GroupIdentifier `wire:"groupSet"`
	SourceDestCheck       bool
	Hypervisor            string
	Cards                 []InstanceCard `wire:"networkInterfaceSet"`
	IamInstanceProfile    *ProfileID
	EbsOptimized          bool
	EnaSupport            bool
	MetadataOptions       MetadataOptions
	PrivateDnsNameOptions *DNSNameOptions
	MaintenanceOptions    Maintenance
	PlatformDetails       string
	UsageOperation        string

	ReservationId         string    `wire:"-"`
	UserData              string    `wire:"-"` // base64
	DisableApiTermination bool      `wire:"-"`
	DisableApiStop        bool      `wire:"-"`
	ShutdownBehavior      string    `wire:"-"`
	Due                   time.Time `wire:"-"` // when the state moves on
}

// InstanceState is 0 pending, 16 running, 32 shutting-down, 48 terminated, 64 stopping, 80 stopped.
type InstanceState struct {
	Code int
	Name string
}

// StateReason says why an instance is in its state.
type StateReason struct{ Code, Message string }

// MonitoringState is disabled or enabled.
type MonitoringState struct{ State string }

// ProfileID is an instance profile by ARN and id.
type ProfileID struct{ Arn, Id string }

// AttachedDevice is a disk of an instance.
type AttachedDevice struct {
	DeviceName string
	Ebs        AttachedVolume
}

// AttachedVolume is the volume of an AttachedDevice.
type AttachedVolume struct {
	VolumeId            string
	Status              string
	AttachTime          time.Time
	DeleteOnTermination bool
}

// InstanceCard is a network interface as an instance shows it.
type InstanceCard struct {
	NetworkInterfaceId string
	SubnetId           string
	VpcId              string
	Description        string `wire:"description,keep"`
	OwnerId            string
	Status             string
	MacAddress         string
	PrivateIpAddress   string
	PrivateDnsName     string
	SourceDestCheck    bool
	InterfaceType      string
	Groups             []GroupIdentifier `wire:"groupSet"`
	Attachment         cardAttachment
	Association        *cardAssociation
	PrivateIpAddresses []cardIP        `wire:"privateIpAddressesSet"`
	Ipv6Addresses      []InterfaceIPv6 `wire:"ipv6AddressesSet"`
}

type cardAttachment struct {
	AttachmentId        string
	DeviceIndex         int
	NetworkCardIndex    int
	Status              string
	AttachTime          time.Time
	DeleteOnTermination bool
}

type cardAssociation struct{ PublicIp, PublicDnsName, IpOwnerId string }

type cardIP struct {
	PrivateIpAddress string
	PrivateDnsName   string
	Primary          bool
	Association      *cardAssociation
}

var stateCodes = map[string]int{"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

func (vm *Instance) enter(state string, due time.Time) {
	vm.State = InstanceState{stateCodes[state], state}
	vm.Due = due
}

// Passing says whether the instance is only still answered for.
func (vm *Instance) Passing() bool { return vm.State.Name == "terminated" }

// Alive says whether the instance is neither going nor gone.
func (vm *Instance) Alive() bool {
	return vm.State.Name != "shutting-down" && vm.State.Name != "terminated"
}

func newInstanceKind(s *Service, w *world.World) (*kind[Instance], error) {
	k, err := newKind(s, w, kind[Instance]{
		resource: "instance", prefix: "i-", notFound: "InvalidInstanceID.NotFound", word: "instance ID",
		id:   func(vm *Instance) string { return vm.InstanceId },
		tags: func(vm *Instance) *[]Tag { return &vm.Tags },
		filters: map[string]func(*Instance) []string{
			"instance-id": one(func(vm *Instance) string { return vm.InstanceId }), "image-id": one(func(vm *Instance) string { return vm.ImageId }),
			"instance-state-name": one(func(vm *Instance) string { return vm.State.Name }),
			"instance-state-code": func(vm *Instance) []string { return []string{itoa(vm.State.Code)} },
			"instance-type":       one(func(vm *Instance) string { return vm.InstanceType }), "availability-zone": one(func(vm *Instance) string { return vm.Placement.AvailabilityZone }),
			"vpc-id": one(func(vm *Instance) string { return vm.VpcId }), "subnet-id": one(func(vm *Instance) string { return vm.SubnetId }),
			"key-name": one(func(vm *Instance) string { return vm.KeyName }), "private-ip-address": one(func(vm *Instance) string { return vm.PrivateIpAddress }),
			"private-dns-name": one(func(vm *Instance) string { return vm.PrivateDnsName }), "ip-address": one(func(vm *Instance) string { return vm.PublicIpAddress }),
			"dns-name": one(func(vm *Instance) string { return vm.PublicDnsName }), "architecture": one(func(vm *Instance) string { return vm.Architecture }),
			"client-token": one(func(vm *Instance) string { return vm.ClientToken }), "reservation-id": one(func(vm *Instance) string { return vm.ReservationId }),
			"instance-lifecycle": one(func(vm *Instance) string { return vm.InstanceLifecycle }), "root-device-name": one(func(vm *Instance) string { return vm.RootDeviceName }),
			"launch-time":          one(func(vm *Instance) string { return vm.LaunchTime.Format(wire.TimeFormat) }),
			"tenancy":              one(func(vm *Instance) string { return vm.Placement.Tenancy }),
			"placement-group-name": one(func(vm *Instance) string { return vm.Placement.GroupName }),
			"instance.group-id":    many(func(vm *Instance) []GroupIdentifier { return vm.SecurityGroups }, func(g GroupIdentifier) string { return g.GroupId }),
			"instance.group-name":  many(func(vm *Instance) []GroupIdentifier { return vm.SecurityGroups }, func(g GroupIdentifier) string { return g.GroupName }),
			"iam-instance-profile.arn": one(func(vm *Instance) string {
				if vm.IamInstanceProfile == nil {
					return ""
				}
				return vm.IamInstanceProfile.Arn
			}),
			"block-device-mapping.volume-id":                 many(func(vm *Instance) []AttachedDevice { return vm.BlockDevices }, func(b AttachedDevice) string { return b.Ebs.VolumeId }),
			"block-device-mapping.device-name":               many(func(vm *Instance) []AttachedDevice { return vm.BlockDevices }, func(b AttachedDevice) string { return b.DeviceName }),
			"network-interface.network-interface-id":         many(func(vm *Instance) []InstanceCard { return vm.Cards }, func(i InstanceCard) string { return i.NetworkInterfaceId }),
			"network-interface.addresses.private-ip-address": many(func(vm *Instance) []InstanceCard { return vm.Cards }, func(i InstanceCard) string { return i.PrivateIpAddress }),
		},
	})
	return k, err
}

func (s *Service) instanceOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"RunInstances": op(s.runInstances), "DescribeInstances": op(s.describeInstances), "TerminateInstances": op(s.terminateInstances),
		"StopInstances": op(s.stopInstances), "StartInstances": op(s.startInstances), "RebootInstances": op(s.rebootInstances),
		"DescribeInstanceStatus": op(s.describeInstanceStatus), "ModifyInstanceAttribute": op(s.modifyInstanceAttribute),
		"DescribeInstanceAttribute": op(s.describeInstanceAttribute), "ModifyInstanceMetadataOptions": op(s.modifyMetadata),
	}
}

// refresh copies what the interfaces say onto an instance: addresses, groups, cards.
func (s *Service) refresh(c *wire.Call, vm *Instance) { vm.wear(s.InterfacesOf(c, vm.InstanceId)) }

// refreshAll is refresh for the whole region, reading the interfaces once.
func (s *Service) refreshAll(c *wire.Call) {
	byInstance := map[string][]*NetworkInterface{}
	for _, i := range s.interfaces.all(c) {
		if i.Attachment != nil {
			byInstance[i.Attachment.InstanceId] = append(byInstance[i.Attachment.InstanceId], i)
		}
	}
	for _, vm := range s.instances.all(c) {
		vm.wear(byInstance[vm.InstanceId])
	}
}

func (vm *Instance) wear(cards []*NetworkInterface) {
	vm.Cards, vm.PublicIpAddress, vm.PublicDnsName, vm.Ipv6Address = nil, "", "", ""
	if len(cards) == 0 {
		vm.PrivateIpAddress, vm.PrivateDnsName, vm.SecurityGroups = "", "", nil
		return
	}
	for _, i := range cards {
		card := InstanceCard{
			i.NetworkInterfaceId, i.SubnetId, i.VpcId, i.Description, i.OwnerId, i.Status, i.MacAddress, i.PrivateIpAddress, i.PrivateDnsName, i.SourceDestCheck,
			i.InterfaceType, i.Groups, cardAttachment{i.Attachment.AttachmentId, i.Attachment.DeviceIndex, 0, i.Attachment.Status, i.Attachment.AttachTime, i.Attachment.DeleteOnTermination},
			nil, nil, i.Ipv6Addresses,
		}
		if a := i.Association; a != nil {
			card.Association = &cardAssociation{a.PublicIp, a.PublicDnsName, a.IpOwnerId}
		}
		for _, p := range i.PrivateIpAddresses {
			card.PrivateIpAddresses = append(card.PrivateIpAddresses, cardIP{p.PrivateIpAddress, p.PrivateDnsName, p.Primary, card.Association})
		}
		vm.Cards = append(vm.Cards, card)
		if i.Attachment.DeviceIndex != 0 {
			continue
		}
		vm.PrivateIpAddress, vm.PrivateDnsName, vm.SecurityGroups, vm.SourceDestCheck = i.PrivateIpAddress, i.PrivateDnsName, i.Groups, i.SourceDestCheck
		if o := vm.PrivateDnsNameOptions; o != nil && o.HostnameType == "resource-name" {
			vm.PrivateDnsName = vm.InstanceId + "." + internalDomain(vm.Placement.AvailabilityZone[:len(vm.Placement.AvailabilityZone)-1])
		}
		if i.Association != nil {
			vm.PublicIpAddress, vm.PublicDnsName = i.Association.PublicIp, i.Association.PublicDnsName
		}
		if len(i.Ipv6Addresses) > 0 {
			vm.Ipv6Address = i.Ipv6Addresses[0].Ipv6Address
		}
	}
}

// Settle moves what changes with time: instances and NAT gateways.
func (s *Service) Settle(now time.Time) {
	for _, region := range s.nats.table.Scopes() {
		c := s.clockCall(region, now)
		for _, n := range s.nats.all(c) {
			s.settleNat(c, n)
		}
	}
	for _, region := range s.instances.table.Scopes() {
		c := s.clockCall(region, now)
		for _, vm := range s.instances.all(c) {
			if !vm.Due.IsZero() && !now.Before(vm.Due) {
				s.settleInstance(c, vm)
			}
		}
	}
}

// clockCall stands in for a request where the clock does the work.
func (s *Service) clockCall(region string, now time.Time) *wire.Call {
	return &wire.Call{Service: s.ServiceName, Region: region, Account: s.account, Now: now}
}

func (s *Service) settleInstance(c *wire.Call, vm *Instance) {
	switch vm.State.Name {
	case "pending":
		vm.enter("running", time.Time{})
	case "stopping":
		vm.enter("stopped", time.Time{})
	case "shutting-down":
		s.releaseParts(c, vm)
		vm.enter("terminated", c.Now.Add(goneFor))
	case "terminated":
		s.instances.remove(c, vm)
		return
	}
	s.instances.put(c, vm)
}

// releaseParts deletes or frees what a terminated instance held.
func (s *Service) releaseParts(c *wire.Call, vm *Instance) {
	for _, i := range s.InterfacesOf(c, vm.InstanceId) {
		if i.Attachment.DeleteOnTermination {
			s.DeleteInterface(c, i.NetworkInterfaceId)
			continue
		}
		i.Attachment, i.Status = nil, "available"
		s.interfaces.put(c, i)
	}
	for _, b := range vm.BlockDevices {
		v := s.volumes.table.Get(c.Region, b.Ebs.VolumeId)
		switch {
		case v == nil:
		case b.Ebs.DeleteOnTermination:
			s.volumes.remove(c, v)
		default:
			v.Attachments, v.Status = nil, "available"
			s.volumes.put(c, v)
		}
	}
	vm.BlockDevices = nil
	s.refresh(c, vm)
}
