// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// corpus lists the manifests that people already have.
func corpus(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../../shared/corpus/*/cluster.yaml")
	if err != nil || len(files) == 0 {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "shared") {
			t.Fatalf("the corpus is not here: %v", err)
		}
		t.Skip("the corpus is not here")
	}
	return files
}

// whole are the manifests of the corpus of which every field has its place here today.
var whole = []string{
	"compress", "containerd", "minimal-1.32", "minimal-1.33", "minimal-dns-none", "minimal-gp3", "mixed_instances", "shared_vpc",
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	var converted []string
	for _, file := range corpus(t) {
		name := filepath.Base(filepath.Dir(file))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !Is(data) {
			t.Errorf("%s is not known as a manifest", name)
		}
		out, faults, err := Convert(data, file)
		if err == nil {
			var m *api.Manifest
			if m, err = api.Load(out, file); err != nil {
				t.Errorf("%s: what it became does not load: %v\n%s", name, err, out)
				continue
			}
			api.Complete(m)
			faults = api.Validate(m)
			err = faults.Err()
		}
		if err == nil {
			converted = append(converted, name)
			continue
		}
		for _, f := range faults {
			if !f.Warning && (f.Path == "" || f.Message == "") {
				t.Errorf("%s: a fault without path or message: %+v", name, f)
			}
		}
	}
	if !slices.Equal(converted, whole) {
		t.Errorf("converted are %q, and should be %q", converted, whole)
	}
}

// TestNothingIsDropped puts a field into every map of every manifest: it is refused with
// its path, or it is in what comes out, in the user's own maps.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	const bogus = "aFieldNobodyKnows"
	tried := 0
	for _, file := range corpus(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := documents(data, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			spec, _ := d["spec"].(map[string]any)
			eachMap("spec", spec, func(at string, m map[string]any) {
				m[bogus] = "x"
				defer delete(m, bogus)
				tried++
				c := &converter{}
				c.document(d)
				text, err := yaml.Marshal(c.out)
				if err != nil {
					t.Fatal(err)
				}
				// Its own path is named, or that of something above it, which is refused or left
				// out whole.
				refused := slices.ContainsFunc(c.faults, func(f api.Fault) bool {
					_, path, _ := strings.Cut(f.Path, " ")
					return strings.Contains(f.Path, bogus) || strings.HasPrefix(at+".", path+".") || path == "apiVersion"
				})
				if !refused && !strings.Contains(string(text), bogus) {
					t.Errorf("%s: a field in %s was dropped", file, at)
				}
			})
		}
	}
	if tried < 500 {
		t.Errorf("%d maps tried", tried)
	}
}

func eachMap(at string, v any, visit func(at string, m map[string]any)) {
	switch t := v.(type) {
	case map[string]any:
		if t == nil {
			return
		}
		visit(at, t)
		for k, e := range t {
			eachMap(at+"."+k, e, visit)
		}
	case []any:
		for i, e := range t {
			eachMap(fmt.Sprintf("%s[%d]", at, i), e, visit)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata:\n  name: a.example.com\nspec:\n  cloudProvider: aws\n"
	for text, want := range map[string]string{
		head + "  sshAcces: [192.0.2.0/24]\n":                                          "cluster/a.example.com spec.sshAcces[0]: is not supported",
		head + "  subnets:\n  - {name: a, type: DualStack}\n":                          "spec.subnets[0].type: is not supported yet",
		head + "  kubeAPIServer:\n    oidcIssuerURL: https://x\n":                      "spec.kubeAPIServer.oidcIssuerURL: is not supported yet",
		head + "  topology: {masters: mixed}\n":                                        "spec.topology.masters: is public or private",
		head + "  networking: {weave: {}}\n":                                           "spec.networking.weave: is not supported",
		head + "  kubelet: {anonymousAuth: true}\n":                                    "spec.kubelet.anonymousAuth: anonymous requests",
		head + "  authorization: {alwaysAllow: {}}\n":                                  "spec.authorization: RBAC is the only",
		head + "  nonMasqueradeCIDR: fd00::/64\n":                                      "nonMasqueradeCIDR: is no IPv4 range",
		strings.Replace(head, "v1alpha2", "v1alpha1", 1):                               "is read as v1alpha2 or v1alpha3",
		strings.Replace(head, "aws", "openstack", 1):                                   "spec.cloudProvider: is not supported yet",
		head + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n":           "configmap/x apiVersion: other objects",
		"apiVersion: kops.k8s.io/v1alpha3\nkind: Keyset\nmetadata: {name: x}\n":        "keyset/x kind: is Cluster, InstanceGroup or SSHCredential",
		"apiVersion: kops.k8s.io/v1alpha2\nkind: SSHCredential\nmetadata: {name: x}\n": "sshcredential/x spec.publicKey: is missing",
	} {
		if _, _, err := Convert([]byte(text), "test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngave %v, not %q", text, err, want)
		}
	}
}

// TestBothVersionsSayTheSame converts one cluster from either version.
func TestBothVersionsSayTheSame(t *testing.T) {
	t.Parallel()
	old := `apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {name: a.example.com}
spec:
  cloudProvider: aws
  kubernetesVersion: v1.35.0
  kubernetesApiAccess: [192.0.2.0/24]
  masterPublicName: api.a.example.com
  networkCIDR: 10.0.0.0/16
  nonMasqueradeCIDR: 100.64.0.0/10
  subnets:
  - {name: us-east-1a, zone: us-east-1a, type: Private, cidr: 10.0.0.0/20, egress: External}
  topology: {masters: private, nodes: private, dns: {type: None}, bastion: {bastionPublicName: bastion.a.example.com}}
  networking: {flannel: {backend: vxlan}}
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: nodes, labels: {kops.k8s.io/cluster: a.example.com}}
spec: {role: Node, associatePublicIp: false, rootVolumeSize: 50, rootVolumeIops: 3000, subnets: [us-east-1a]}
`
	now := `apiVersion: kops.k8s.io/v1alpha3
kind: Cluster
metadata: {name: a.example.com}
spec:
  cloudProvider: {aws: {}}
  kubernetesVersion: v1.35.0
  api: {access: [192.0.2.0/24], publicName: api.a.example.com}
  networking:
    networkCIDR: 10.0.0.0/16
    nonMasqueradeCIDR: 100.64.0.0/10
    subnets:
    - {name: us-east-1a, zone: us-east-1a, type: Private, cidr: 10.0.0.0/20, egress: External}
    topology: {controlPlane: private, nodes: private, dns: None, bastion: {publicName: bastion.a.example.com}}
    flannel: {backend: vxlan}
---
apiVersion: kops.k8s.io/v1alpha3
kind: InstanceGroup
metadata: {name: nodes, labels: {kops.k8s.io/cluster: a.example.com}}
spec: {role: Node, associatePublicIP: false, rootVolume: {size: 50, iops: 3000}, subnets: [us-east-1a]}
`
	a, _, err := Convert([]byte(old), "old")
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Convert([]byte(now), "now")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Error(diff)
	}
	m, err := api.Load(a, "old")
	if err != nil {
		t.Fatal(err)
	}
	n := m.Cluster.Spec.Networking
	if n.PodCIDR != "100.96.0.0/11" || n.ServiceClusterIPRange != "100.64.0.0/13" || n.Topology != api.TopologyPrivate || n.DNS != api.DNSNone {
		t.Errorf("networking became %+v", n)
	}
}

func FuzzConvert(f *testing.F) {
	f.Add([]byte("apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: a}\nspec: {subnets: [{name: x}], topology: {dns: {type: None}}}\n"))
	f.Add([]byte("apiVersion: kops.k8s.io/v1alpha3\nkind: InstanceGroup\nspec: {taints: [a], rootVolume: {size: 1}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _, err := Convert(data, "fuzz")
		if err == nil && len(out) > 0 {
			if _, err := api.Load(out, "fuzz"); err != nil && strings.Contains(err.Error(), "yaml:") {
				t.Errorf("what came out is no YAML: %v\n%s", err, out)
			}
		}
	})
}
