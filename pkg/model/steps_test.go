// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

func TestSubnetMarks(t *testing.T) {
	t.Parallel()
	marks := func(m *api.Manifest) map[string]string {
		out := map[string]string{}
		for _, s := range built(t, m).Subnets {
			out[s.Name] = fmt.Sprintf("%s external=%v internal=%v tag=%v", s.Kind, s.ExternalLB, s.InternalLB, s.Tag)
		}
		return out
	}
	for _, c := range []struct {
		m    *api.Manifest
		want map[string]string
	}{
		{minimal(), map[string]string{"us-east-1a": "public external=true internal=true tag=true"}},
		{shared(), map[string]string{
			"us-east-1a":         "private external=false internal=true tag=false",
			"utility-us-east-1a": "utility external=true internal=false tag=false",
		}},
	} {
		if d := cmp.Diff(c.want, marks(c.m)); d != "" {
			t.Errorf("%s: %s", c.m.Cluster.Metadata.Name, d)
		}
	}
	own := minimal()
	own.Cluster.Spec.Networking.TagSubnets = new(false)
	if got := marks(own)["us-east-1a"]; got != "public external=true internal=true tag=true" {
		t.Errorf("tagSubnets is about shared subnets only: %s", got)
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    *api.Manifest
		role api.Role
		has  []Grant
		not  []Grant
	}{
		"node":                 {haPublic(), api.RoleNode, []Grant{GrantReadAssets}, []Grant{GrantReadStore, GrantPullImages, GrantDescribe, GrantAttachVolumes, GrantCloudControl}},
		"node with registry":   {haPrivate(), api.RoleNode, []Grant{GrantPullImages}, []Grant{GrantReadStore}},
		"control plane":        {haPublic(), api.RoleControlPlane, []Grant{GrantReadStore, GrantWriteBackups, GrantAttachVolumes, GrantVerifyIdentity}, []Grant{GrantWriteRecords, GrantPullImages}},
		"control plane, names": {haPrivate(), api.RoleControlPlane, []Grant{GrantWriteRecords, GrantPullImages}, nil},
		"bastion":              {haPrivate(), api.RoleBastion, nil, []Grant{GrantReadAssets, GrantPullImages, GrantDescribe}},
	} {
		b := built(t, c.m)
		i := slices.IndexFunc(b.Identities, func(i Identity) bool { return i.Role == c.role })
		if i < 0 {
			t.Errorf("%s: no identity", name)
			continue
		}
		for _, g := range c.has {
			if !slices.Contains(b.Identities[i].Grants, g) {
				t.Errorf("%s: lacks %s", name, g)
			}
		}
		for _, g := range c.not {
			if slices.Contains(b.Identities[i].Grants, g) {
				t.Errorf("%s: has %s", name, g)
			}
		}
	}
	b := built(t, shared())
	if b.Identities[0].Inline != "[]" || len(b.Identities[1].Attached) != 1 || b.Identities[1].Inline != "" {
		t.Errorf("the user's policies went astray: %+v", b.Identities)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	describe := func(m *api.Manifest) []string {
		var out []string
		for _, e := range built(t, m).Endpoints {
			out = append(out, fmt.Sprintf("%s public=%v in %v cross=%v", e.Name, e.Public, e.Subnets, e.CrossZone))
		}
		return out
	}
	internal := haPublic()
	internal.Cluster.Spec.API.LoadBalancer.Type = api.LoadBalancerInternal
	publicBastion := haPublic()
	publicBastion.Groups = append(publicBastion.Groups, group("bastions", api.RoleBastion, "us-east-1a"))
	few := haPublic()
	few.Groups = few.Groups[1:]
	few.Cluster.Spec.EtcdClusters = nil
	for name, c := range map[string]struct {
		m    *api.Manifest
		want []string
	}{
		"none":                          {minimal(), nil},
		"public":                        {haPublic(), []string{"api public=true in [us-east-1a us-east-1b us-east-1c] cross=false"}},
		"internal without private":      {internal, []string{"api public=false in [us-east-1a us-east-1b us-east-1c] cross=false"}},
		"internal":                      {shared(), []string{"api public=false in [us-east-1a] cross=true"}},
		"bastion with public addresses": {publicBastion, []string{"api public=true in [us-east-1a us-east-1b us-east-1c] cross=false"}},
		"only in control planes' zones": {few, []string{"api public=true in [us-east-1b us-east-1c] cross=false"}},
		"private, with bastions in two": {haPrivate(), []string{
			"api public=true in [utility-us-east-1a utility-us-east-1b utility-us-east-1c] cross=false",
			"bastion public=true in [utility-us-east-1a utility-us-east-1b] cross=false",
		}},
	} {
		if d := cmp.Diff(c.want, describe(c.m)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	describe := func(m *api.Manifest) []string {
		b := built(t, m)
		if b.Zone == nil {
			return nil
		}
		out := []string{fmt.Sprintf("zone name=%s id=%s private=%v", b.Zone.Name, b.Zone.ID, b.Zone.Private)}
		for _, r := range b.Records {
			out = append(out, fmt.Sprintf("%s endpoint=%s internal=%v", r.Name, r.Endpoint, r.Internal))
		}
		return out
	}
	noZone := minimal()
	noZone.Cluster.Spec.DNSZone = ""
	elsewhere := minimal()
	elsewhere.Cluster.Spec.API.PublicName = "k8s.example.org"
	for name, c := range map[string]struct {
		m    *api.Manifest
		want []string
	}{
		"none": {haPublic(), nil},
		"kept by control planes": {minimal(), []string{
			"zone name=example.com id= private=false",
			"api.mini.example.com endpoint= internal=false", "api.internal.mini.example.com endpoint= internal=true",
		}},
		"the parent's zone": {noZone, []string{
			"zone name=example.com id= private=false",
			"api.mini.example.com endpoint= internal=false", "api.internal.mini.example.com endpoint= internal=true",
		}},
		"a public name elsewhere is the user's": {elsewhere, []string{
			"zone name=example.com id= private=false", "api.internal.mini.example.com endpoint= internal=true",
		}},
		"machines do not use a public load balancer's name": {haPrivate(), []string{
			"zone name= id=Z0123456789ABC private=false",
			"api.inner.example.com endpoint=api internal=false", "api.internal.inner.example.com endpoint= internal=true",
			"bastion.inner.example.com endpoint=bastion internal=false",
		}},
	} {
		if d := cmp.Diff(c.want, describe(c.m)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	m := haPrivate()
	m.Groups[3].Spec.AssociatePublicIP = new(true)
	m.Groups[4].Spec.RootVolume = &api.RootVolume{Size: 200, Type: "io2", Encrypted: new(false)}
	m.Groups[5].Spec.MinSize, m.Groups[5].Spec.MaxSize = nil, nil
	m.Groups[5].Spec.Role = ""
	b := built(t, m)
	describe := func(name string) string {
		p := b.Pool(name)
		return fmt.Sprintf("%s %d-%d public=%v root=%d%s/%v serves=%v pointer=%v",
			p.Role, p.Min, p.Max, p.PublicIP, p.RootGiB, p.RootType, p.Encrypted, p.Endpoints, p.Pointer != nil)
	}
	for name, want := range map[string]string{
		"control-plane-us-east-1a": "ControlPlane 1-1 public=false root=64/true serves=[api] pointer=true",
		"nodes-us-east-1a":         "Node 1-1 public=true root=128/true serves=[] pointer=true",
		"nodes-us-east-1b":         "Node 1-1 public=false root=200io2/false serves=[] pointer=true",
		"nodes-us-east-1c":         "Node 1-1 public=false root=128/true serves=[] pointer=true",
		"bastions":                 "Bastion 1-1 public=true root=32/true serves=[bastion] pointer=false",
	} {
		if got := describe(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	labels := built(t, haPublic()).Pools
	if d := cmp.Diff(map[string]string{"team": "platform", "stage": "batch"}, labels[4].Labels); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"team": "platform", "stage": "test"}, labels[3].Labels); d != "" {
		t.Errorf("a group's labels leak into another: %s", d)
	}
}

// TestNodeConfigsFollowTheSpec says which changes give machines a new config: those that
// they must hear of, for the groups that they concern, and no others.
func TestNodeConfigsFollowTheSpec(t *testing.T) {
	t.Parallel()
	before := built(t, haPublic())
	for name, c := range map[string]struct {
		change func(*api.Manifest)
		want   []string // pools with a new config
	}{
		"access list":     {func(m *api.Manifest) { m.Cluster.Spec.API.Access = []string{"192.0.2.0/24"} }, nil},
		"machine type":    {func(m *api.Manifest) { m.Groups[3].Spec.MachineType = "m7i.large" }, nil},
		"label of a pool": {func(m *api.Manifest) { m.Groups[3].Spec.NodeLabels = map[string]string{"a": "b"} }, []string{"nodes-us-east-1a"}},
		"pinned version":  {func(m *api.Manifest) { m.Groups[5].Spec.KubernetesVersion = "1.35.4" }, []string{"nodes-us-east-1c"}},
		"API's names": {func(m *api.Manifest) { m.Cluster.Spec.API.AdditionalSANs = []string{"k8s.example.org"} }, []string{
			"control-plane-us-east-1a", "control-plane-us-east-1b", "control-plane-us-east-1c",
		}},
	} {
		m := haPublic()
		c.change(m)
		after := built(t, m)
		var changed []string
		for i, p := range after.Pools {
			if p.Pointer.ConfigSHA256 != before.Pools[i].Pointer.ConfigSHA256 {
				changed = append(changed, p.Name)
			}
		}
		if d := cmp.Diff(c.want, changed); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, o := range before.Objects {
		c, err := nodeconfig.Decode(o.Content)
		if err != nil {
			t.Fatal(err)
		}
		if o.Key != nodeconfig.Key(c.Group, nodeconfig.Digest(o.Content)) {
			t.Errorf("%s is not named by its content", o.Key)
		}
	}
}
