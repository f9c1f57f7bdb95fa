// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// offered says whether the type can be launched in the zone.
func offered(region, zoneName, typeName string) bool {
	missing := gaps[zoneName]
	if regions[region].optIn {
		missing = append(slices.Clone(missing), newFamilies...)
	}
	for _, m := range missing {
		if m == typeName || strings.HasSuffix(m, ".") && strings.HasPrefix(typeName, m) {
			return false
		}
	}
	z := zoneByName(region, zoneName)
	return z != nil && z.ZoneType == "availability-zone"
}

// OfferedIn lists the zones of a region where the type can be launched.
func OfferedIn(region, typeName string) []string {
	var zones []string
	if _, known := instanceTypes[typeName]; !known {
		return nil
	}
	for _, z := range zonesOf(region) {
		if offered(region, z.ZoneName, typeName) {
			zones = append(zones, z.ZoneName)
		}
	}
	return zones
}

// TypeFacts returns a type's processors, memory in MiB and architecture (x86_64
// or arm64); ok is false for one that does not exist.
func TypeFacts(typeName string) (vcpus, memory int, arch string, ok bool) {
	t, ok := instanceTypes[typeName]
	return t.vcpus, t.memory, t.arch, ok
}

type typeInfo struct {
	InstanceType                  string
	CurrentGeneration             bool
	FreeTierEligible              bool
	SupportedUsageClasses         []string
	SupportedRootDeviceTypes      []string
	SupportedVirtualizationTypes  []string
	BareMetal                     bool
	Hypervisor                    string
	ProcessorInfo                 processorInfo
	VCpuInfo                      vcpuInfo `wire:"vCpuInfo"`
	MemoryInfo                    memoryInfo
	InstanceStorageSupported      bool
	InstanceStorageInfo           *storageInfo
	EbsInfo                       ebsInfo
	NetworkInfo                   networkInfo
	GpuInfo                       *gpuInfo
	PlacementGroupInfo            placementInfo
	HibernationSupported          bool
	BurstablePerformanceSupported bool
	DedicatedHostsSupported       bool
	AutoRecoverySupported         bool
	SupportedBootModes            []string
}

type processorInfo struct {
	SupportedArchitectures   []string
	SustainedClockSpeedInGhz float64
	Manufacturer             string
}

type vcpuInfo struct {
	DefaultVCpus          int
	DefaultCores          int
	DefaultThreadsPerCore int
}

type memoryInfo struct {
	SizeInMiB int
}

type storageInfo struct {
	TotalSizeInGB int
	Disks         []diskInfo
	NvmeSupport   string
}

type diskInfo struct {
	SizeInGB int
	Count    int
	Type     string
}

type ebsInfo struct {
	EbsOptimizedSupport   string
	EncryptionSupport     string
	NvmeSupport           string
	MaximumEbsAttachments int
	AttachmentLimitType   string
}

type networkInfo struct {
	NetworkPerformance        string
	MaximumNetworkInterfaces  int
	MaximumNetworkCards       int
	DefaultNetworkCardIndex   int
	Ipv4AddressesPerInterface int
	Ipv6AddressesPerInterface int
	Ipv6Supported             bool
	EnaSupport                string
	EfaSupported              bool
}

type gpuInfo struct {
	Gpus                []gpu
	TotalGpuMemoryInMiB int
}

type gpu struct {
	Name, Manufacturer string
	Count              int
	MemoryInfo         memoryInfo
}

type placementInfo struct{ SupportedStrategies []string }

func describeType(name string, t machineType) *typeInfo {
	threads, hypervisor, nvme, maker := 2, "nitro", "required", "Intel"
	family, _, _ := strings.Cut(name, ".")
	if strings.HasSuffix(family, "a") {
		maker = "AMD"
	}
	if t.arch == "arm64" {
		threads, maker = 1, "AWS"
	}
	if t.xen || t.vcpus == 1 {
		threads = 1
	}
	ena := "required"
	if t.xen {
		hypervisor, nvme, ena = "xen", "unsupported", "unsupported"
	}
	if t.bare {
		hypervisor = ""
	}
	info := &typeInfo{
		InstanceType: name, CurrentGeneration: !t.old, FreeTierEligible: strings.HasSuffix(name, ".micro"), SupportedUsageClasses: []string{"on-demand", "spot"},
		SupportedRootDeviceTypes: []string{"ebs"}, SupportedVirtualizationTypes: []string{"hvm"}, BareMetal: t.bare, Hypervisor: hypervisor,
		ProcessorInfo: processorInfo{[]string{t.arch}, 2.5, maker}, VCpuInfo: vcpuInfo{t.vcpus, t.vcpus / threads, threads}, MemoryInfo: memoryInfo{t.memory},
		InstanceStorageSupported: t.disks > 0, EbsInfo: ebsInfo{"default", "supported", nvme, 28, "shared"},
		NetworkInfo:        networkInfo{"Up to 10 Gigabit", t.interfaces, 1, 0, t.addresses, t.addresses, true, ena, false},
		PlacementGroupInfo: placementInfo{[]string{"cluster", "partition", "spread"}}, HibernationSupported: false,
		BurstablePerformanceSupported: strings.HasPrefix(name, "t"), DedicatedHostsSupported: !strings.HasPrefix(name, "t"), AutoRecoverySupported: !t.bare,
		SupportedBootModes: []string{"legacy-bios", "uefi"},
	}
	if t.arch == "arm64" {
		info.SupportedBootModes = []string{"uefi"}
	}
	if t.disks > 0 {
		info.InstanceStorageInfo = &storageInfo{t.disks * t.diskSize, []diskInfo{{t.diskSize, t.disks, "ssd"}}, "required"}
	}
	if t.gpus > 0 {
		info.GpuInfo = &gpuInfo{[]gpu{{"T4", "NVIDIA", t.gpus, memoryInfo{16384}}}, 16384 * t.gpus}
	}
	return info
}

var typeFilters = map[string]func(*typeInfo) []string{
	"instance-type":                         one(func(t *typeInfo) string { return t.InstanceType }),
	"current-generation":                    flag(func(t *typeInfo) bool { return t.CurrentGeneration }),
	"bare-metal":                            flag(func(t *typeInfo) bool { return t.BareMetal }),
	"hypervisor":                            one(func(t *typeInfo) string { return t.Hypervisor }),
	"processor-info.supported-architecture": many(func(t *typeInfo) []string { return t.ProcessorInfo.SupportedArchitectures }, func(a string) string { return a }),
	"vcpu-info.default-vcpus":               one(func(t *typeInfo) string { return itoa(t.VCpuInfo.DefaultVCpus) }),
	"memory-info.size-in-mib":               one(func(t *typeInfo) string { return itoa(t.MemoryInfo.SizeInMiB) }),
	"burstable-performance-supported":       flag(func(t *typeInfo) bool { return t.BurstablePerformanceSupported }),
	"instance-storage-supported":            flag(func(t *typeInfo) bool { return t.InstanceStorageSupported }),
	"free-tier-eligible":                    flag(func(t *typeInfo) bool { return t.FreeTierEligible }),
	"supported-usage-class":                 many(func(t *typeInfo) []string { return t.SupportedUsageClasses }, func(a string) string { return a }),
}

func typeOps() map[string]wire.Handler {
	return map[string]wire.Handler{"DescribeInstanceTypes": op(describeTypes), "DescribeInstanceTypeOfferings": op(describeOfferings)}
}

type describeTypesIn struct {
	InstanceTypes []string `wire:"InstanceType"`
	describe
}

type describeTypesOut struct {
	NextToken string
	Types     []*typeInfo `wire:"instanceTypeSet"`
}

func describeTypes(c *wire.Call, in *describeTypesIn) (*describeTypesOut, error) {
	if len(in.InstanceTypes) > 100 {
		return nil, wire.Errorf("InvalidParameterValue", "At most 100 instance types can be named")
	}
	names := in.InstanceTypes
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(instanceTypes))
	}
	var rows []*typeInfo
	var unknown []string
	for _, name := range names {
		t, known := instanceTypes[name]
		switch {
		case known && len(OfferedIn(c.Region, name)) > 0:
			rows = append(rows, describeType(name, t))
		case len(in.InstanceTypes) > 0:
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(unknown, ", "))
	}
	rows, err := filter(rows, in.Filters, typeFilters, nil)
	if err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, wire.Bounds{Min: 5, Max: 100, Default: 100})
	if err != nil {
		return nil, err
	}
	return &describeTypesOut{next, page}, nil
}

type offering struct{ InstanceType, LocationType, Location string }

var offeringFilters = map[string]func(*offering) []string{
	"instance-type": one(func(o *offering) string { return o.InstanceType }),
	"location":      one(func(o *offering) string { return o.Location }),
}

type describeOfferingsIn struct {
	LocationType string
	describe
}

type describeOfferingsOut struct {
	NextToken string
	Offerings []*offering `wire:"instanceTypeOfferingSet"`
}

func describeOfferings(c *wire.Call, in *describeOfferingsIn) (*describeOfferingsOut, error) {
	kind := in.LocationType
	if kind == "" {
		kind = "region"
	}
	var rows []*offering
	for _, name := range slices.Sorted(maps.Keys(instanceTypes)) {
		zones := OfferedIn(c.Region, name)
		switch kind {
		case "region":
			if len(zones) > 0 {
				rows = append(rows, &offering{name, kind, c.Region})
			}
		case "availability-zone":
			for _, z := range zones {
				rows = append(rows, &offering{name, kind, z})
			}
		case "availability-zone-id":
			for _, z := range zones {
				rows = append(rows, &offering{name, kind, zoneByName(c.Region, z).ZoneId})
			}
		default:
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter locationType is invalid.", in.LocationType)
		}
	}
	rows, err := filter(rows, in.Filters, offeringFilters, nil)
	if err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, wire.Bounds{Min: 5, Max: 1000, Default: 1000})
	if err != nil {
		return nil, err
	}
	return &describeOfferingsOut{next, page}, nil
}
