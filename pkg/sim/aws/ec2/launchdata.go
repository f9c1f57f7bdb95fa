// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"encoding/base64"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// LaunchData says how an instance is launched: a launch template's content, and
// most of what RunInstances takes. What is not set stays nil or empty.
type LaunchData struct {
	EbsOptimized                      *bool
	IamInstanceProfile                *ProfileRef
	BlockDeviceMappings               []BlockDevice `wire:"BlockDeviceMapping|blockDeviceMappingSet,omitempty"`
	NetworkInterfaces                 []LaunchCard  `wire:"NetworkInterface|networkInterfaceSet,omitempty"`
	ImageId                           string
	InstanceType                      string
	KeyName                           string
	Monitoring                        *MonitoringSpec
	Placement                         *Placement
	DisableApiTermination             *bool
	DisableApiStop                    *bool
	InstanceInitiatedShutdownBehavior string
	UserData                          string             // base64
	TagSpecifications                 []TagSpecification `wire:"TagSpecification|tagSpecificationSet,omitempty"`
	SecurityGroupIds                  []string           `wire:"SecurityGroupId|securityGroupIdSet,omitempty"`
	InstanceMarketOptions             *MarketOptions
	CreditSpecification               *CreditSpec
	CpuOptions                        *CPUOptions
	CapacityReservationSpecification  *ReservationSpec
	HibernationOptions                *Hibernation
	MetadataOptions                   *MetadataOptions
	EnclaveOptions                    *Enclave
	InstanceRequirements              *Requirements
	PrivateDnsNameOptions             *DNSNameOptions
	MaintenanceOptions                *Maintenance
}

// ProfileRef names an instance profile by name or ARN.
type ProfileRef struct{ Arn, Name string }

// BlockDevice is a disk at launch.
type BlockDevice struct {
	DeviceName  string
	VirtualName string
	NoDevice    *string
	Ebs         *EbsDevice
}

// EbsDevice is the volume of a BlockDevice; sizes in GiB.
type EbsDevice struct {
	Encrypted           *bool
	DeleteOnTermination *bool
	Iops                *int
	KmsKeyId            string
	SnapshotId          string
	VolumeSize          *int
	VolumeType          string
	Throughput          *int
}

// LaunchCard is a network interface at launch.
type LaunchCard struct {
	AssociatePublicIpAddress *bool
	DeleteOnTermination      *bool
	Description              string
	DeviceIndex              *int
	Groups                   []string `wire:"SecurityGroupId|groupSet,omitempty,item=groupId"`
	InterfaceType            string
	Ipv6AddressCount         *int
	NetworkInterfaceId       string
	PrivateIpAddress         string
	SubnetId                 string
	NetworkCardIndex         *int
	Ipv4PrefixCount          *int
	Ipv6PrefixCount          *int
	PrimaryIpv6              *bool
}

// MonitoringSpec turns detailed monitoring on.
type MonitoringSpec struct{ Enabled *bool }

// Placement is where an instance goes.
type Placement struct {
	AvailabilityZone   string
	AvailabilityZoneId string
	GroupName          string
	GroupId            string
	Tenancy            string
	HostId             string
	Affinity           string
	PartitionNumber    *int
}

// MarketOptions ask for a spot instance.
type MarketOptions struct {
	MarketType  string
	SpotOptions *SpotOptions
}

// SpotOptions are a spot instance's terms.
type SpotOptions struct {
	MaxPrice                     string
	SpotInstanceType             string
	BlockDurationMinutes         *int
	ValidUntil                   *time.Time
	InstanceInterruptionBehavior string
}

// CreditSpec is the credit option of burstable types.
type CreditSpec struct{ CpuCredits string }

// CPUOptions restrict an instance's processor.
type CPUOptions struct {
	CoreCount, ThreadsPerCore *int
	AmdSevSnp                 string
}

// ReservationSpec is an instance's choice of capacity reservation.
type ReservationSpec struct {
	CapacityReservationPreference string
	CapacityReservationTarget     *ReservationTarget
}

// ReservationTarget names a capacity reservation.
type ReservationTarget struct{ CapacityReservationId, CapacityReservationResourceGroupArn string }

// Hibernation lets an instance hibernate.
type Hibernation struct{ Configured *bool }

// MetadataOptions are those of the instance metadata service.
type MetadataOptions struct {
	State                   string
	HttpTokens              string
	HttpPutResponseHopLimit *int
	HttpEndpoint            string
	HttpProtocolIpv6        string
	InstanceMetadataTags    string
}

// Enclave turns Nitro enclaves on.
type Enclave struct{ Enabled *bool }

// Requirements choose instance types by attributes.
type Requirements struct {
	VCpuCount             *IntRange
	MemoryMiB             *IntRange `wire:"MemoryMiB|memoryMiB"`
	CpuManufacturers      []string  `wire:"CpuManufacturer|cpuManufacturerSet,omitempty"`
	ExcludedInstanceTypes []string  `wire:"ExcludedInstanceType|excludedInstanceTypeSet,omitempty"`
	AllowedInstanceTypes  []string  `wire:"AllowedInstanceType|allowedInstanceTypeSet,omitempty"`
	InstanceGenerations   []string  `wire:"InstanceGeneration|instanceGenerationSet,omitempty"`
	BareMetal             string
	BurstablePerformance  string
	LocalStorage          string
}

// IntRange is from Min to Max, both included.
type IntRange struct{ Min, Max *int }

// DNSNameOptions are an instance's names.
type DNSNameOptions struct {
	HostnameType                    string
	EnableResourceNameDnsARecord    *bool
	EnableResourceNameDnsAAAARecord *bool
}

// Maintenance is an instance's recovery setting.
type Maintenance struct{ AutoRecovery string }

// maxUserData bounds decoded user data, in bytes.
const maxUserData = 16384

// over returns d with what o sets on top, as a RunInstances request goes over its template.
func (d LaunchData) over(o LaunchData) LaunchData {
	set(&d.EbsOptimized, o.EbsOptimized)
	set(&d.IamInstanceProfile, o.IamInstanceProfile)
	set(&d.Monitoring, o.Monitoring)
	set(&d.Placement, o.Placement)
	set(&d.DisableApiTermination, o.DisableApiTermination)
	set(&d.DisableApiStop, o.DisableApiStop)
	set(&d.InstanceMarketOptions, o.InstanceMarketOptions)
	set(&d.CreditSpecification, o.CreditSpecification)
	set(&d.CpuOptions, o.CpuOptions)
	set(&d.CapacityReservationSpecification, o.CapacityReservationSpecification)
	set(&d.HibernationOptions, o.HibernationOptions)
	set(&d.MetadataOptions, o.MetadataOptions)
	set(&d.EnclaveOptions, o.EnclaveOptions)
	set(&d.InstanceRequirements, o.InstanceRequirements)
	set(&d.PrivateDnsNameOptions, o.PrivateDnsNameOptions)
	set(&d.MaintenanceOptions, o.MaintenanceOptions)
	for _, p := range [][2]*string{
		{&d.ImageId, &o.ImageId}, {&d.InstanceType, &o.InstanceType}, {&d.KeyName, &o.KeyName},
		{&d.InstanceInitiatedShutdownBehavior, &o.InstanceInitiatedShutdownBehavior}, {&d.UserData, &o.UserData},
	} {
		if *p[1] != "" {
			*p[0] = *p[1]
		}
	}
	setList(&d.BlockDeviceMappings, o.BlockDeviceMappings)
	setList(&d.NetworkInterfaces, o.NetworkInterfaces)
	setList(&d.SecurityGroupIds, o.SecurityGroupIds)
	setList(&d.TagSpecifications, o.TagSpecifications)
	return d
}

func set[T any](dst **T, src *T) {
	if src != nil {
		*dst = src
	}
}

func setList[T any](dst *[]T, src []T) {
	if len(src) > 0 {
		*dst = src
	}
}

// check refuses what EC2 refuses when a template is stored, and at launch.
func (d *LaunchData) check() *wire.Error {
	raw, err := base64.StdEncoding.DecodeString(d.UserData)
	if err != nil {
		return wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(raw) > maxUserData {
		return wire.Errorf("InvalidParameterValue", "User data is limited to %d bytes", maxUserData)
	}
	if d.InstanceType != "" && d.InstanceRequirements != nil {
		return wire.Errorf("InvalidParameterCombination", "InstanceType and InstanceRequirements may not both be given")
	}
	for _, spec := range d.TagSpecifications {
		switch spec.ResourceType {
		case "instance", "volume", "network-interface", "spot-instances-request":
		default:
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", spec.ResourceType)
		}
		if err := checkTags(spec.Tags); err != nil {
			return err
		}
	}
	for _, b := range d.BlockDeviceMappings {
		if b.Ebs == nil {
			continue
		}
		if t := b.Ebs.VolumeType; t != "" && volumeLimits[t].maxSize == 0 {
			return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter volumeType is invalid.", t)
		}
	}
	return d.checkMetadata()
}

func (d *LaunchData) checkMetadata() *wire.Error {
	m := d.MetadataOptions
	if m == nil {
		return nil
	}
	for _, f := range []struct{ name, value, a, b string }{
		{"httpTokens", m.HttpTokens, "optional", "required"}, {"httpEndpoint", m.HttpEndpoint, "enabled", "disabled"},
		{"httpProtocolIpv6", m.HttpProtocolIpv6, "enabled", "disabled"}, {"instanceMetadataTags", m.InstanceMetadataTags, "enabled", "disabled"},
	} {
		if f.value != "" && f.value != f.a && f.value != f.b {
			return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be %s or %s", f.value, f.name, f.a, f.b)
		}
	}
	if h := m.HttpPutResponseHopLimit; h != nil && (*h < 1 || *h > 64) {
		return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter httpPutResponseHopLimit is invalid. It must be from 1 to 64", *h)
	}
	return nil
}

// tagsOf returns the tags that the launch puts on one kind of resource.
func (d *LaunchData) tagsOf(resource string) []Tag {
	tags := []Tag{}
	for _, spec := range d.TagSpecifications {
		if spec.ResourceType == resource {
			tags = append(tags, spec.Tags...)
		}
	}
	return tags
}
