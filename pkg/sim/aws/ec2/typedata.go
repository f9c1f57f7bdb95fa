// SPDX-License-Identifier: Apache-2.0

package ec2

// machineType is what the simulator knows of an instance type.
type machineType struct {
	vcpus, memory         int // memory in MiB
	arch                  string
	interfaces, addresses int  // network interfaces, IPv4 addresses on each
	xen                   bool // not on the Nitro hypervisor
	old                   bool // not of a current generation
	disks, diskSize       int  // local NVMe disks and their size in GB
	gpus                  int
	bare                  bool
}

// size is a step of an instance family.
type size struct {
	name                  string
	vcpus                 int
	interfaces, addresses int
}

var (
	tSizes = []size{{"nano", 2, 2, 2}, {"micro", 2, 2, 2}, {"small", 2, 3, 4}, {"medium", 2, 3, 6}, {"large", 2, 3, 12}, {"xlarge", 4, 4, 15}, {"2xlarge", 8, 4, 15}}
	mSizes = []size{{"large", 2, 3, 10}, {"xlarge", 4, 4, 15}, {"2xlarge", 8, 4, 15}, {"4xlarge", 16, 8, 30}, {"8xlarge", 32, 8, 30}}
	gSizes = append([]size{{"medium", 1, 2, 4}}, mSizes...)
)

// tMemory is the memory of the burstable sizes in MiB.
var tMemory = map[string]int{"nano": 512, "micro": 1024, "small": 2048, "medium": 4096, "large": 8192, "xlarge": 16384, "2xlarge": 32768}

// instanceTypes are the usual types: a choice, with the real figures for
// processors, memory and interfaces.
var instanceTypes = buildTypes()

func buildTypes() map[string]machineType {
	types := map[string]machineType{}
	family := func(name, arch string, sizes []size, perCPU int, disk bool, old bool) {
		for _, z := range sizes {
			m := machineType{vcpus: z.vcpus, memory: perCPU * z.vcpus, arch: arch, interfaces: z.interfaces, addresses: z.addresses, old: old}
			if perCPU == 0 {
				m.memory = tMemory[z.name]
			}
			if disk {
				m.disks, m.diskSize = 1, max(59, z.vcpus*75/2)
			}
			types[name+"."+z.name] = m
		}
	}
	const g = 1024
	family("t3", "x86_64", tSizes, 0, false, false)
	family("t3a", "x86_64", tSizes, 0, false, false)
	family("t4g", "arm64", tSizes, 0, false, false)
	family("m5", "x86_64", mSizes, 4*g, false, false)
	family("m5d", "x86_64", mSizes, 4*g, true, false)
	family("m6i", "x86_64", mSizes, 4*g, false, false)
	family("m6a", "x86_64", mSizes, 4*g, false, false)
	family("m6g", "arm64", gSizes, 4*g, false, false)
	family("m7i", "x86_64", mSizes, 4*g, false, false)
	family("m7a", "x86_64", gSizes, 4*g, false, false)
	family("m7g", "arm64", gSizes, 4*g, false, false)
	family("m8g", "arm64", gSizes, 4*g, false, false)
	family("c5", "x86_64", mSizes[:4], 2*g, false, false)
	family("c6i", "x86_64", mSizes, 2*g, false, false)
	family("c6g", "arm64", gSizes, 2*g, false, false)
	family("c7i", "x86_64", mSizes, 2*g, false, false)
	family("c7g", "arm64", gSizes, 2*g, false, false)
	family("r5", "x86_64", mSizes, 8*g, false, false)
	family("r6i", "x86_64", mSizes, 8*g, false, false)
	family("r6g", "arm64", gSizes, 8*g, false, false)
	family("r7g", "arm64", gSizes, 8*g, false, false)
	family("m4", "x86_64", []size{{"large", 2, 2, 10}, {"xlarge", 4, 4, 15}}, 4*g, false, true)
	types["t2.micro"] = machineType{vcpus: 1, memory: 1024, arch: "x86_64", interfaces: 2, addresses: 2, xen: true}
	types["t2.medium"] = machineType{vcpus: 2, memory: 4096, arch: "x86_64", interfaces: 3, addresses: 6, xen: true}
	types["m1.small"] = machineType{vcpus: 1, memory: 1740, arch: "x86_64", interfaces: 2, addresses: 4, xen: true, old: true}
	types["g4dn.xlarge"] = machineType{vcpus: 4, memory: 16384, arch: "x86_64", interfaces: 3, addresses: 10, disks: 1, diskSize: 125, gpus: 1}
	types["m5.metal"] = machineType{vcpus: 96, memory: 393216, arch: "x86_64", interfaces: 15, addresses: 50, bare: true}
	return types
}

// gaps are zones where a type or family is missing, on purpose: a caller that
// does not ask first shall find out here rather than in an account. By zone,
// then type or "family.".
var gaps = map[string][]string{
	"us-east-1e":      {"m7i.", "m7a.", "m7g.", "m8g.", "c7i.", "c7g.", "r7g.", "m6g.", "c6g.", "r6g.", "t3a.", "t4g.", "g4dn."},
	"us-east-1f":      {"m8g.", "m5.metal"},
	"us-west-2d":      {"m8g.", "m5d.", "t3a.2xlarge"},
	"eu-central-1a":   {"m8g.medium"},
	"ca-central-1d":   {"m7a.", "m8g.", "g4dn."},
	"ap-northeast-1d": {"m8g.", "g4dn."},
	"sa-east-1b":      {"m7a.", "c7g."},
}

// newFamilies are missing in opt-in regions.
var newFamilies = []string{"m8g.", "m7a.", "g4dn.", "m5.metal"}
