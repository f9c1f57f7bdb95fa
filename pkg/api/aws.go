// SPDX-License-Identifier: Apache-2.0

package api

import "regexp"

// awsFacts is what Amazon Web Services takes, from its API references; the cloud
// itself has the last word when a plan is checked.
var awsFacts = cloudFacts{
	name:       "aws",
	keyService: true,
	// Zones (us-east-1a), local zones (us-west-2-lax-1a), wavelength zones.
	zone:   regexp.MustCompile(`^([a-z]{2,5}(?:-[a-z]+)+-\d)(?:[a-z]|(?:-[a-z0-9]+)+-\d[a-z]|-wl\d(?:-[a-z]+)+-\d)$`),
	region: regexp.MustCompile(`^[a-z]{2,5}(?:-[a-z]+)+-\d$`),

	defaultVolume: "gp3",
	volumes: map[string]volumeFacts{
		"gp2":      {size: [2]int32{1, 16384}},
		"gp3":      {size: [2]int32{1, 65536}, iops: [2]int32{3000, 80000}, throughput: [2]int32{125, 2000}, iopsPerGiB: 500},
		"io1":      {size: [2]int32{4, 16384}, iops: [2]int32{100, 64000}, iopsPerGiB: 50},
		"io2":      {size: [2]int32{4, 65536}, iops: [2]int32{100, 256000}, iopsPerGiB: 1000},
		"st1":      {size: [2]int32{125, 16384}},
		"sc1":      {size: [2]int32{125, 16384}},
		"standard": {size: [2]int32{1, 1024}},
	},
	bootVolumes: []string{"gp2", "gp3", "io1", "io2", "standard"},

	// Two CPUs carry the API of a small cluster; etcd and the API server then grow
	// with the number of nodes and their pods.
	controlPlaneSizes: []sizeStep{{10, "t3.medium"}, {100, "m7i.large"}, {250, "m7i.xlarge"}, {500, "m7i.2xlarge"}, {2000, "m7i.4xlarge"}},
	nodeSize:          "t3.medium",
	bastionSize:       "t3.micro",

	networkBits: [2]int{16, 28},
	reserved:    5, // network, router, DNS, one kept, broadcast

	ids: map[string]idForm{
		"network":       {regexp.MustCompile(`^vpc-[0-9a-f]{8,17}$`), "vpc-0123456789abcdef0"},
		"subnet":        {regexp.MustCompile(`^subnet-[0-9a-f]{8,17}$`), "subnet-0123456789abcdef0"},
		"securityGroup": {regexp.MustCompile(`^sg-[0-9a-f]{8,17}$`), "sg-0123456789abcdef0"},
		"prefixList":    {regexp.MustCompile(`^pl-[0-9a-f]{8,17}$`), "pl-0123456789abcdef0"},
		"egress":        {regexp.MustCompile(`^((nat|eipalloc|tgw|i)-[0-9a-f]{8,17}|external)$`), "nat-..., eipalloc-..., tgw-..., i-... or external"},
		"policy":        {regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}|aws):policy/[\w+=,.@/-]+$`), "arn:aws:iam::123456789012:policy/NAME"},
		"profile":       {regexp.MustCompile(`^(arn:aws[a-z-]*:iam::\d{12}:instance-profile/)?[\w+=,.@/-]+$`), "arn:aws:iam::123456789012:instance-profile/NAME"},
	},
	image:      regexp.MustCompile(`^(ami-[0-9a-f]{8,17}|(\d{12}|[a-z][a-z0-9-]*)/.+)$`),
	imageForms: "ami-... or OWNER/NAME, where OWNER is an account of 12 digits, amazon or self, and NAME may hold *",
	sshTypes:   []string{"ssh-ed25519", "ssh-rsa"},

	labelKey:      regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]+$`),
	labelValue:    regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`),
	labelKeyLen:   128,
	labelValueLen: 256,
	labelMax:      40, // of 50; the others are ours
	labelReserved: []string{"aws:"},
	labelOurs:     []string{"Name", "KubernetesCluster", "kubernetes.io/cluster/", "slipway.dev/"},

	tenancies:          []string{"default", "dedicated", "host"},
	cpuCredits:         []string{"standard", "unlimited"},
	processes:          []string{"Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck", "InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"},
	onDemandStrategies: []string{"lowest-price", "prioritized"},
	spotStrategies:     []string{"capacity-optimized", "capacity-optimized-prioritized", "lowest-price", "price-capacity-optimized"},

	specOf: func(p *CloudProvider) bool { return p.AWS != nil },
	setSpec: func(p *CloudProvider) {
		if p.AWS == nil {
			p.AWS = &AWS{}
		}
	},
	specRegion:       func(p *CloudProvider) *string { return &p.AWS.Region },
	instanceTagsNeed: regexp.MustCompile(`^[A-Za-z0-9+\-=.,_:@]+$`),
}
