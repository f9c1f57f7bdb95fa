// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const goodKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@example.com"

// example is a valid private cluster with a bastion in three zones.
func example(t testing.TB) *Manifest {
	t.Helper()
	m, err := New(CreateOptions{
		Name: "demo.example.com", Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"},
		Topology: TopologyPrivate, Bastion: true, SSHPublicKey: goodKey, AdminAccess: []string{"192.0.2.0/24"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if faults := Validate(m); len(faults) != 0 {
		t.Fatalf("the example is not valid: %v", faults)
	}
	return m
}

// cp and ng are groups of the example.
const (
	cp = "control-plane-us-east-1a"
	ng = "nodes-us-east-1a"
)

// TestValidate sets one thing wrong at a time. The path is set in the cluster, or in
// the group named before a colon.
func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, want string }{
		// Ranges.
		{"networking.networkCIDR=172.20.1.0/16", "spec.networking.networkCIDR: has bits set behind its prefix; the range is 172.20.0.0/16"},
		{"networking.networkCIDR=172.20.0.0/12", "spec.networking.networkCIDR: has bits set"},
		{"networking.networkCIDR=172.16.0.0/12", "spec.networking.networkCIDR: must be a /16 to /28"},
		{"networking.networkCIDR=10.0.0.0", "is an address, not a range; write 10.0.0.0/32"},
		{"networking.networkCIDR=ten", "is not a range such as 10.0.0.0/16"},
		{"networking.networkCIDR=fd00::/48", "is an IPv6 range; only IPv4 is supported"},
		{"networking.networkCIDR=10.1.0.0/16", `spec.networking.subnets[0].cidr: is not in the network (10.1.0.0/16) (is "172.20.0.0/18")`},
		{"networking.podCIDR=172.20.0.0/16", "spec.networking.podCIDR: overlaps the network (172.20.0.0/16, spec.networking.networkCIDR)"},
		{"networking.podCIDR=172.20.0.0/16", "spec.networking.subnets[0].cidr: overlaps the pods"},
		{"networking.podCIDR=100.64.0.0/10", "spec.networking.serviceClusterIPRange: overlaps the pods (100.64.0.0/10, spec.networking.podCIDR)"},
		{"networking.podCIDR=100.96.0.0/28", "spec.networking.podCIDR: must be a /24 or wider"},
		{"networking.podCIDR=100.96.0.0/22", "warning: spec.networking.podCIDR: has ranges for 4 nodes and the groups may have 6"},
		{"networking.serviceClusterIPRange=101.64.0.0/13", "warning: spec.networking.serviceClusterIPRange: is public address space"},
		{"networking.serviceClusterIPRange=10.0.0.0/8", "spec.networking.serviceClusterIPRange: must be a /12 to /28"},
		{"networking.additionalNetworkCIDRs=172.20.0.0/20", "spec.networking.additionalNetworkCIDRs[0]: overlaps the network"},
		{"networking.subnets[0].cidr=172.20.64.0/18", "spec.networking.subnets[1].cidr: overlaps subnet us-east-1a"},
		{"networking.subnets[0].cidr=172.20.0.0/28", "warning: spec.networking.subnets[0].cidr: has 11 usable addresses"},
		{"networking.subnets[0].cidr=172.20.0.0/29", "spec.networking.subnets[0].cidr: must be a /16 to /28"},
		// Subnets.
		{"networking.subnets[0].name=us-east-1b", "spec.networking.subnets[1].name: is the name of subnets[0] too"},
		{"networking.subnets[0].name=A_b", "spec.networking.subnets[0].name: must be at most 63"},
		{"networking.subnets[0].zone=us-west-2a", "spec.networking.subnets[0].zone: is not a zone of region us-east-1"},
		{"networking.subnets[0].zone=zone-1", "spec.networking.subnets[0].zone: is not the name of a zone"},
		{"networking.subnets[0].type=secret", "spec.networking.subnets[0].type: must be one of public, private, utility"},
		{"networking.subnets[0].id=subnet-0123456789abcdef0", "an existing subnet needs spec.networking.networkID"},
		{"networking.subnets[0].id=net", "spec.networking.subnets[0].id: must be like subnet-"},
		{"networking.subnets[3].zone=us-east-1b", "spec.networking.subnets[0]: has no way out: add a utility subnet in zone us-east-1a, or set egress"},
		{"networking.subnets[3].egress=nat-0123456789abcdef0", "spec.networking.subnets[3].egress: is for private subnets"},
		{"networking.subnets[0].egress=gateway", "spec.networking.subnets[0].egress: must be like nat-"},
		{"networking.topology=public", "spec.networking.subnets[0].type: needs spec.networking.topology private"},
		{"networking.topology=hidden", "spec.networking.topology: must be one of public, private"},
		{"networking.networkID=vpc", "spec.networking.networkID: must be like vpc-"},
		{"networking.cni={}", "spec.networking.cni: choose exactly one of routes"},
		{`networking.cni={"routes":{},"cilium":{}}`, `choose exactly one of routes, flannel, cilium, calico, external (is "routes, cilium")`},
		// The cluster.
		{"kubernetesVersion=v1.36.1", "spec.kubernetesVersion: must be like " + DefaultKubernetesVersion()},
		{"kubernetesVersion=1.36", "spec.kubernetesVersion: must be like"},
		{"kubernetesVersion=1.31.0", "spec.kubernetesVersion: is not supported by this release, which runs 1.32 to 1.36"},
		{"kubernetesVersion=1.40.0", "spec.kubernetesVersion: is not supported"},
		{"cloudProvider={}", "spec.cloudProvider: choose a cloud: one of aws"},
		{"cloudProvider.aws.region=east", "spec.cloudProvider.aws.region: is not the name of a region"},
		{"cloudLabels[aws:x]=y", "spec.cloudLabels.aws:x: keys that start with aws: belong to the cloud"},
		{"cloudLabels.KubernetesCluster=y", "is a mark that Slipway sets itself"},
		{"cloudLabels.kubernetes.io/cluster/x=owned", "is a mark that Slipway sets itself"},
		{"cloudLabels.x=a<b", "spec.cloudLabels.x: a value is up to 256"},
		{"dnsZone=example.com", "spec.dnsZone: is of no use with spec.networking.dns none"},
		{"clusterDNSDomain=a b", "spec.clusterDNSDomain: must be a DNS name"},
		{"bastion.publicName=b.example.com", "spec.bastion.publicName: needs spec.networking.dns"},
		{"sshKeyName=mine", "spec.sshKeyName: stands beside a key of the cluster's own (admin)"},
		{"additionalPolicies.controlPlane=x", "spec.additionalPolicies.controlPlane: must be a JSON list of statements"},
		{"additionalPolicies.controlPlane=[]", "holds no statement"},
		{`additionalPolicies.node=[{"Effect":"Maybe"}]`, `statement 0: "Effect" must be`},
		{`additionalPolicies.node=[{"Effect":"Allow","Action":"s3:*"}]`, `needs either "Resource" or "NotResource"`},
		{"additionalPolicies.nodes=[]", "is not a role; did you mean node?"},
		{"externalPolicies.node=x", "spec.externalPolicies.node[0]: must be like arn:aws:iam"},
		{"iam.permissionsBoundary=x", "spec.iam.permissionsBoundary: must be like arn:aws:iam"},
		{"rollingUpdate.maxUnavailable=half", "spec.rollingUpdate.maxUnavailable: must be a number such as 1, or a percentage"},
		{"rollingUpdate.maxUnavailable=101%", "spec.rollingUpdate.maxUnavailable: must be a number"},
		{`rollingUpdate={"maxUnavailable":0,"maxSurge":0}`, "no machine could be replaced"},
		// Access.
		{"api.access=0.0.0.0/0", "warning: spec.api.access[0]: opens it to everyone"},
		{"api.access=10.0.0.1/8", "spec.api.access[0]: has bits set behind its prefix; the range is 10.0.0.0/8"},
		{"api.access=pl-x", "spec.api.access[0]: must be like pl-"},
		{"sshAccess=10.0.0.0/8,10.0.0.0/8", "spec.sshAccess[1]: stands twice"},
		{"nodePortAccess=me", "spec.nodePortAccess[0]: is not a range"},
		{"api.additionalSANs=a_b", "spec.api.additionalSANs[0]: must be an address or a DNS name"},
		{"api.publicName=A", "spec.api.publicName: must be a DNS name"},
		{"api.dns={}", "spec.api.dns: needs spec.networking.dns public or private"},
		{"api.dns={}", "spec.api.dns: means that there is no load balancer"},
		{"api.loadBalancer.type=open", "spec.api.loadBalancer.type: must be one of public, internal"},
		{"api.loadBalancer.additionalSecurityGroups=sg", "must be like sg-"},
		// etcd.
		{"etcdClusters[main].name=other", `an etcd cluster named "main" is needed`},
		{"etcdClusters[main].name=events", "is the name of another etcd cluster too"},
		{"etcdClusters[main].version=3", "spec.etcdClusters[0].version: must be like"},
		{"etcdClusters[main].etcdMembers[a].instanceGroup=control-plane-us-east-1x", "no such group; did you mean control-plane-us-east-1a?"},
		{"etcdClusters[main].etcdMembers[a].instanceGroup=" + ng, "is a group of role Node; members live on control planes"},
		{"etcdClusters[main].etcdMembers[a].instanceGroup=control-plane-us-east-1b", "instancegroup/" + cp + " spec.minSize: must be the number of members of etcd cluster main in this group, which is 0"},
		{"etcdClusters[main].etcdMembers[a].name=b", "spec.etcdClusters[0].etcdMembers[1].name: is the name of another member too"},
		{"etcdClusters[main].etcdMembers[a].volumeType=gp9", "volumeType: is not a type of volume; did you mean gp"},
		{"etcdClusters[main].etcdMembers[a].volumeThroughput=50", "volumeThroughput: type gp3 takes 125 to 2000"},
		{"etcdClusters[main].etcdMembers[3].name=d", "there are 4; use an odd number: of 4 no more may fail than of 3"},
		// Groups.
		{ng + ":subnets=zone-b", "instancegroup/" + ng + " spec.subnets[0]: the cluster has no such subnet; it has us-east-1a, us-east-1b, us-east-1c, utility-us-east-1a"},
		{ng + ":subnets=us-east-1d", "did you mean us-east-1a?"},
		{ng + ":subnets=utility-us-east-1a", "is a utility subnet: only bastions may stand there"},
		{ng + ":subnets=", "spec.subnets: at least one is needed"},
		{ng + ":associatePublicIP=true", "subnet us-east-1a is private"},
		{ng + ":role=Worker", "spec.role: must be one of ControlPlane, Node, Bastion"},
		{ng + ":maxSize=0", "spec.maxSize: must not be less than minSize (1)"},
		{ng + ":minSize=-1", "spec.minSize: must not be negative"},
		{cp + ":maxSize=2", "spec.maxSize: must equal minSize (1)"},
		{cp + ":subnets=us-east-1a,us-east-1b", "must be exactly one: the group holds etcd members"},
		{cp + ":rollingUpdate.maxSurge=1", "spec.rollingUpdate.maxSurge: must be 0"},
		{cp + ":kubernetesVersion=1.35.1", "control planes run the cluster's version"},
		{ng + ":kubernetesVersion=1.36.7", "is newer than the control plane (1.36.6)"},
		{ng + ":kubernetesVersion=1.32.1", "is more than 3 minors older"},
		{ng + ":nodeLabels[a b]=x", "a key is at most 63"},
		{ng + ":nodeLabels.example.com/x=a b", "spec.nodeLabels[example.com/x]: a value is at most 63"},
		{ng + ":taints=a=b", "spec.taints[0]: must be like key=value:NoSchedule"},
		{ng + ":taints=a=b:Never", "the effect must be one of NoSchedule"},
		{ng + ":taints=a=b:NoExecute,a:NoExecute", "spec.taints[1]: a taint with this key and effect stands there already"},
		{ng + ":image=ubuntu", "spec.image: must be ami-... or OWNER/NAME"},
		{ng + ":machineType=t3 large", "spec.machineType: is not the name of a machine type"},
		{ng + ":rootVolume.size=100000", "spec.rootVolume.size: type gp3 takes 1 to 65536 GiB"},
		{ng + ":rootVolume.type=st1", "machines cannot start from it"},
		{ng + ":rootVolume.type=io2", "spec.rootVolume.iops: is needed with type io2"},
		{ng + ":rootVolume={\"type\":\"gp2\",\"iops\":3000}", "spec.rootVolume.iops: cannot be set with type gp2"},
		{ng + ":rootVolume={\"type\":\"gp3\",\"size\":10,\"iops\":6000}", "is too much for 10 GiB, which carry 5000"},
		{ng + ":rootVolume={\"encryption\":false,\"encryptionKey\":\"k\"}", "spec.rootVolume.encryptionKey: is of no use"},
		{ng + ":maxPrice=cheap", "spec.maxPrice: must be a price for an hour"},
		{ng + ":maxPrice=-1", "spec.maxPrice: must be a price for an hour"},
		{cp + ":maxPrice=0.1", "warning: instancegroup/" + cp + " spec.maxPrice: control planes on spot"},
		{ng + ":tenancy=mine", "spec.tenancy: must be one of default, dedicated, host"},
		{ng + ":cpuCredits=some", "spec.cpuCredits: must be one of"},
		{ng + ":suspendProcesses=Lunch", "spec.suspendProcesses[0]: must be one of Launch"},
		{ng + ":mixedInstancesPolicy.onDemandAboveBase=101", "spec.mixedInstancesPolicy.onDemandAboveBase: must be from 0 to 100"},
		{ng + ":mixedInstancesPolicy.instances=t3.large,t3.large", "spec.mixedInstancesPolicy.instances[1]: stands twice"},
		{ng + ":mixedInstancesPolicy.spotAllocationStrategy=cheap", "must be one of capacity-optimized"},
		{ng + ":instanceMetadata.httpTokens=none", "must be one of required, optional"},
		{ng + ":instanceMetadata.httpTokens=optional", "warning: instancegroup/" + ng + " spec.instanceMetadata.httpTokens: lets"},
		{ng + ":instanceMetadata.httpPutResponseHopLimit=0", "must be from 1 to 64"},
		{ng + ":instanceMetadata.instanceMetadataTags=true", "the machines carry kubernetes.io/cluster/demo.example.com"},
		{ng + `:additionalUserData=[{"name":"a","type":"x","content":"y"}]`, "spec.additionalUserData[0].type: must be one of text/x-shellscript"},
		{ng + `:additionalUserData=[{"name":"a","type":"text/x-shellscript","content":"y"}]`, "a script starts with #!"},
		{ng + ":additionalSecurityGroups=sg-1", "spec.additionalSecurityGroups[0]: must be like sg-"},
		{ng + ":iam.profile=a b", "spec.iam.profile: must be like"},
		{ng + ":metadata.labels[slipway.dev/cluster]=other", "metadata.labels[slipway.dev/cluster]: is another cluster than demo.example.com"},
		{"bastions:taints=a:NoExecute", "bastions are no Kubernetes nodes"},
	} {
		t.Run(c.set, func(t *testing.T) {
			t.Parallel()
			m := example(t)
			object, rest, ok := strings.Cut(c.set, ":")
			if !ok || m.Group(object) == nil {
				object, rest = "cluster", c.set
			}
			path, value, _ := strings.Cut(rest, "=")
			if err := Set(m, object, path, value); err != nil {
				t.Fatal(err)
			}
			faults := Validate(m)
			for _, f := range faults {
				text := f.String()
				if f.Warning {
					text = "warning: " + text
				}
				if strings.Contains(text, c.want) {
					return
				}
			}
			t.Errorf("got %v\nwant %s", faults, c.want)
		})
	}
}

// TestValidateParts covers what Set cannot make.
func TestValidateParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(m *Manifest)
		want   string
	}{
		{"no cluster", func(m *Manifest) { m.Cluster = nil }, "a Cluster is needed"},
		{"no control plane", func(m *Manifest) { m.Groups = m.Groups[3:] }, "at least one InstanceGroup of role ControlPlane"},
		{"no nodes", func(m *Manifest) { m.Groups = m.Groups[:3] }, "there is no InstanceGroup of role Node"},
		{"no bastion", func(m *Manifest) {
			m.Groups = m.Groups[:6]
			m.Cluster.Spec.SSHAccess = []string{"192.0.2.1/32"}
		}, "spec.sshAccess: machines have no public addresses"},
		{"name of a group twice", func(m *Manifest) { m.Groups[1].Metadata.Name = cp }, "metadata.name: is the name of another group too"},
		{"group called cluster", func(m *Manifest) { m.Groups[3].Metadata.Name = "cluster" }, "is what commands call the cluster itself"},
		{"upper case", func(m *Manifest) { m.Cluster.Metadata.Name = "Demo.example.com" }, "metadata.name: must be a DNS name"},
		{"long name", func(m *Manifest) { m.Cluster.Metadata.Name = strings.Repeat("a.", 120) + "b" }, "metadata.name: is longer than 234 characters"},
		{"no name", func(m *Manifest) { m.Cluster.Metadata.Name = "" }, "metadata.name: is missing"},
		{"no dot", func(m *Manifest) {
			m.Cluster.Metadata.Name = "demo"
			m.Cluster.Spec.Networking.DNS, m.Cluster.Spec.DNSZone = DNSPublic, "Z123"
		}, "must end in the name of a DNS zone"},
		{"foreign zone", func(m *Manifest) {
			m.Cluster.Spec.Networking.DNS, m.Cluster.Spec.DNSZone = DNSPublic, "example.org"
		}, "does not hold the cluster's name"},
		{"no subnets", func(m *Manifest) { m.Cluster.Spec.Networking.Subnets = nil }, "at least one subnet is needed"},
		{"no room", func(m *Manifest) {
			n := &m.Cluster.Spec.Networking
			n.Subnets = append(n.Subnets, Subnet{Name: "x", Zone: "us-east-1a", Type: SubnetPrivate})
			n.Subnets[0].CIDR = "172.20.0.0/16"
		}, "subnets[6].cidr: is missing: no free /28 for x"},
		{"private key", func(m *Manifest) { m.SSHKeys[0].Spec.PublicKey = "-----BEGIN OPENSSH PRIVATE KEY-----\nx" }, "sshpublickey/admin spec.publicKey: is a private key"},
		{"cut key", func(m *Manifest) { m.SSHKeys[0].Spec.PublicKey = "ssh-ed25519 AAAAC3NzaC1l" }, "is cut or altered"},
		{"type of key", func(m *Manifest) {
			m.SSHKeys[0].Spec.PublicKey = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAA="
		}, "the cloud takes keys of type ssh-ed25519, ssh-rsa"},
		{"two keys", func(m *Manifest) { m.SSHKeys = append(m.SSHKeys, m.SSHKeys[0]) }, "there are 2 SSH keys"},
		{"many labels", func(m *Manifest) {
			m.Cluster.Spec.CloudLabels = map[string]string{}
			for i := range 41 {
				m.Cluster.Spec.CloudLabels[fmt.Sprint("k", i)] = ""
			}
		}, "spec.cloudLabels: has 41 labels; with our own at most 40 fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := example(t)
			c.change(m)
			if faults := Validate(m); !strings.Contains((&InvalidError{Faults: faults}).Error(), c.want) {
				t.Errorf("got %v\nwant %s", faults, c.want)
			}
		})
	}
}

// TestAllInOneReport: independent faults are all named, in the order of the spec.
func TestAllInOneReport(t *testing.T) {
	t.Parallel()
	m := example(t)
	for _, set := range []string{"sshAccess=x", "networking.podCIDR=y", "kubernetesVersion=z"} {
		path, value, _ := strings.Cut(set, "=")
		if err := Set(m, "cluster", path, value); err != nil {
			t.Fatal(err)
		}
	}
	m.Group(ng).Spec.MachineType = ""
	var paths []string
	for _, f := range Validate(m).Errors() {
		paths = append(paths, f.Path)
	}
	want := "spec.kubernetesVersion spec.networking.podCIDR spec.sshAccess[0] instancegroup/" + ng + " spec.machineType"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestValidateStored(t *testing.T) {
	t.Parallel()
	m := example(t)
	m.Cluster.Spec.KubernetesVersion = "1.20.0"
	m.Group(ng).Spec.RootVolume.Type = "old"
	if Validate(m).Err() == nil {
		t.Error("a new spec must not have these")
	}
	faults := ValidateStored(m)
	if err := faults.Err(); err != nil || len(faults.Warnings()) != 2 {
		t.Errorf("a stored spec is locked out: %v, %v", err, faults)
	}
	m.Cluster.Spec.Networking.PodCIDR = "x"
	if ValidateStored(m).Err() == nil {
		t.Error("what was never right must stay a fault")
	}
}

func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	old, m := example(t), example(t)
	old.Cluster.Spec.KubernetesVersion, m.Cluster.Spec.KubernetesVersion = "1.20.0", "1.20.0"
	m.Group(ng).Spec.MaxSize = new(int32(4))
	if err := ValidateUpdate(old, m).Err(); err != nil {
		t.Errorf("an old cluster cannot be edited: %v", err)
	}
	m.Cluster.Spec.KubernetesVersion = "1.21.0"
	m.Cluster.Spec.Networking.PodCIDR = "10.0.0.0/16"
	if faults := ValidateUpdate(old, m).Errors(); len(faults) != 2 {
		t.Errorf("want the version and the range, got %v", faults)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, v := range KubernetesVersions() {
		got, err := parseVersion(v)
		if err != nil || checkSupported(got) != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, c := range []struct {
		controlPlane, node string
		ok                 bool
	}{
		{"1.36.1", "1.36.1", true}, {"1.36.1", "1.36.0", true}, {"1.36.1", "1.36.2", false},
		{"1.36.1", "1.33.9", true}, {"1.36.1", "1.32.9", false}, {"1.35.1", "1.36.0", false},
	} {
		a, _ := parseVersion(c.controlPlane)
		b, _ := parseVersion(c.node)
		if err := checkSkew(a, b); (err == nil) != c.ok {
			t.Errorf("%s and %s: %v", c.controlPlane, c.node, err)
		}
	}
	if got := VersionsHelp(); got != "Kubernetes 1.36.6 (1.32 to 1.36 are supported)" {
		t.Error(got)
	}
}

// BenchmarkLarge loads, completes and checks a cluster of 200 groups.
func BenchmarkLarge(b *testing.B) {
	m := example(b)
	for i := range 200 {
		g, err := clone(m.Group(ng))
		if err != nil {
			b.Fatal(err)
		}
		g.Metadata.Name = fmt.Sprint("nodes-", i)
		m.Groups = append(m.Groups, g)
	}
	text, err := Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	var check time.Duration
	for b.Loop() {
		got, err := Load(text, "x")
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		Complete(got)
		if err := Validate(got).Err(); err != nil {
			b.Fatal(err)
		}
		check += time.Since(start)
	}
	b.ReportMetric(float64(check.Microseconds())/float64(b.N)/1000, "ms-check/op")
}
