// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// foreign makes a VPC with subnets that belong to someone else and returns their ids.
func (w *world) foreign(c *Cloud, tags map[string]string, cidr string, subnets ...string) (vpc string, ids []string) {
	w.t.Helper()
	ctx := w.t.Context()
	v, err := c.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: &cidr, TagSpecifications: tagSpec("vpc", tags)})
	if err != nil {
		w.t.Fatal(err)
	}
	for i, r := range subnets {
		zone := "us-east-1" + string(rune('a'+i))
		n, err := c.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: v.Vpc.VpcId, CidrBlock: &r, AvailabilityZone: &zone, TagSpecifications: tagSpec("subnet", tags),
		})
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, *n.Subnet.SubnetId)
	}
	return *v.Vpc.VpcId, ids
}

// tagsOf reads the tags of subnets.
func (w *world) tagsOf(c *Cloud, vpc string) map[string]map[string]string {
	w.t.Helper()
	subnets, err := c.subnetsOf(w.t.Context(), vpc)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for id, s := range subnets {
		out[id] = tagMap(s.Tags)
	}
	return out
}

// sharedSpec is a manifest and a blueprint on someone else's subnets, all public.
func sharedSpec(name, uid, vpc, cidr string, ids, ranges []string) (*api.Manifest, *model.Blueprint) {
	b := networkPlan(name, uid)
	b.Network = model.Network{ID: vpc, Ranges: []netip.Prefix{netip.MustParsePrefix(cidr)}}
	n := &b.Spec.Spec.Networking
	n.NetworkID, n.NetworkCIDR = vpc, cidr
	for i, id := range ids {
		zone := "us-east-1" + string(rune('a'+i))
		b.Subnets = append(b.Subnets, model.Subnet{
			Name: zone, Zone: zone, Kind: model.SubnetPublic, ID: id, Tag: true, ExternalLB: true, InternalLB: true,
			Range: netip.MustParsePrefix(ranges[i]),
		})
		n.Subnets = append(n.Subnets, api.Subnet{Name: zone, Zone: zone, Type: api.SubnetPublic, CIDR: ranges[i], ID: id})
	}
	node := model.Party{Role: api.RoleNode}
	b.Firewall = []model.Allow{{Name: "node-to-node", From: node, To: node, Proto: "any", Why: "pods"}}
	return &api.Manifest{Cluster: b.Spec}, b
}

// TestSharedSubnetsSurvive: what is given by id is never deleted, however it is tagged,
// and loses exactly the tags that we put.
func TestSharedSubnetsSurvive(t *testing.T) { judged(t, testSharedSubnetsSurvive) }

func testSharedSubnetsSurvive(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	theirs := map[string]string{"KubernetesCluster": "demo.example.com", "kubernetes.io/cluster/demo.example.com": "shared", "Owner": "netteam"}
	ranges := []string{"172.30.0.0/20", "172.30.16.0/20", "172.30.32.0/20"}
	vpc, ids := w.foreign(c, theirs, "172.30.0.0/16", ranges...)
	m, b := sharedSpec("demo.example.com", "uid-1", vpc, "172.30.0.0/16", ids, ranges)
	b.Labels = map[string]string{"Owner": "apps"}
	if faults, err := c.Check(t.Context(), m); err != nil || len(faults) > 0 {
		t.Fatalf("check: %v %v", faults, err)
	}
	w.settle(c, b)
	for id, tags := range w.tagsOf(c, vpc) {
		if tags["Owner"] != "netteam" || tags[tagElb] != "1" || tags[tagIntElb] != "1" || len(tags) != len(theirs)+2 {
			t.Errorf("%s while in use: %v", id, tags)
		}
	}
	b.Subnets[0].InternalLB = false
	w.settle(c, b)
	if tags := w.tagsOf(c, vpc)[ids[0]]; tags[tagIntElb] != "" || tags[tagElb] != "1" {
		t.Errorf("a role that is not wanted any more stays: %v", tags)
	}
	p := w.plan(c, nil)
	if n := count(p, tasks.Update, "aws/shared-subnet/"); n != 3 {
		t.Errorf("the deletion tells of %d kept subnets:\n%s", n, changes(p))
	}
	if count(p, tasks.Keep, "aws/shared-vpc/"+vpc) != 1 {
		t.Errorf("the deletion does not tell that the VPC is kept")
	}
	w.apply(p)
	after := w.tagsOf(c, vpc)
	for _, id := range ids {
		if !maps.Equal(after[id], theirs) {
			t.Errorf("%s after the deletion: %v", id, after[id])
		}
	}
	if p := w.plan(c, nil); p.Pending() || len(w.ledger.entries) > 0 {
		t.Errorf("left: %s%v", changes(p), w.ledger.entries)
	}
}

// TestTagHeadroom: two tags fit beside 48; at 50 nothing is begun.
func TestTagHeadroom(t *testing.T) { judged(t, testTagHeadroom) }

func testTagHeadroom(t *testing.T, w *world) {
	c := w.open("a.example.com", "uid-a")
	theirs := map[string]string{}
	for i := range 48 {
		theirs[fmt.Sprintf("t%02d", i)] = "x"
	}
	vpc, ids := w.foreign(c, theirs, "172.30.0.0/16", "172.30.0.0/20")
	for _, name := range []string{"a.example.com", "b.example.com"} {
		c := w.open(name, "uid-"+name)
		m, b := sharedSpec(name, "uid-"+name, vpc, "172.30.0.0/16", ids, []string{"172.30.0.0/20"})
		b.Subnets[0].InternalLB = false // as the model has it for a public subnet that is not ours
		if faults, err := c.Check(t.Context(), m); err != nil || len(faults) > 0 {
			t.Fatalf("check: %v %v", faults, err)
		}
		w.settle(c, b)
		w.apply(w.plan(c, nil))
		if after := w.tagsOf(c, vpc)[ids[0]]; !maps.Equal(after, theirs) {
			t.Errorf("after %s: %v", name, after)
		}
	}
	full := map[string]string{"kubernetes.io/cluster/old.example.com": "shared", "u1": "x"}
	if err := newSurvey(c, nil).setTags(t.Context(), ids[0], full); err != nil {
		t.Fatal(err)
	}
	m, _ := sharedSpec("a.example.com", "uid-a", vpc, "172.30.0.0/16", ids, []string{"172.30.0.0/20"})
	mark := w.calls.mark()
	faults, err := c.Check(t.Context(), m)
	if err != nil || len(faults) != 1 {
		t.Fatalf("check of a full subnet: %v %v", faults, err)
	}
	for _, want := range []string{ids[0], "has 50 tags and needs 2 more; AWS allows 50", "kubernetes.io/cluster/old.example.com"} {
		if !strings.Contains(faults[0].String(), want) {
			t.Errorf("%q lacks %q", faults[0], want)
		}
	}
	if wrote := writes(w.calls.since(mark)); len(wrote) > 0 {
		t.Errorf("the check wrote: %v", wrote)
	}
}

// TestGapsOfExistingVPC: new subnets are put between those that are there.
func TestGapsOfExistingVPC(t *testing.T) { judged(t, testGapsOfExistingVPC) }

func testGapsOfExistingVPC(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	vpc, _ := w.foreign(c, map[string]string{"Owner": "netteam"}, "172.31.0.0/16", "172.31.0.0/20", "172.31.16.0/20", "172.31.32.0/20")
	m, b := sharedSpec("demo.example.com", "uid-1", vpc, "172.31.0.0/16", nil, nil)
	n := &m.Cluster.Spec.Networking
	n.NetworkCIDR = ""
	for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		n.Subnets = append(n.Subnets, api.Subnet{Name: zone, Zone: zone, Type: api.SubnetPrivate}, api.Subnet{Name: "utility-" + zone, Zone: zone, Type: api.SubnetUtility})
	}
	if err := c.Resolve(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if faults, err := c.Check(t.Context(), m); err != nil || len(faults) > 0 {
		t.Fatalf("check: %v %v", faults, err)
	}
	for _, s := range n.Subnets {
		kind := model.SubnetPrivate
		if s.Type == api.SubnetUtility {
			kind = model.SubnetUtility
		}
		b.Subnets = append(b.Subnets, model.Subnet{Name: s.Name, Zone: s.Zone, Kind: kind, Range: netip.MustParsePrefix(s.CIDR)})
	}
	w.settle(c, b)
	n.Subnets[0].CIDR = "172.31.8.0/22"
	faults, err := c.Check(t.Context(), m)
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].String(), "overlaps subnet-") {
		t.Errorf("check of an overlap: %v %v", faults, err)
	}
	w.apply(w.plan(c, nil))
	if left := w.tagsOf(c, vpc); len(left) != 3 {
		t.Errorf("subnets after the deletion: %v", slices.Sorted(maps.Keys(left)))
	}
}

func TestCheckNetwork(t *testing.T) { judged(t, testCheckNetwork) }

func testCheckNetwork(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	w.settle(c, privatePlan("demo.example.com", "uid-1"))
	vpc, ids := w.foreign(c, map[string]string{"Owner": "netteam"}, "172.30.0.0/16", "172.30.0.0/20")
	long := strings.Repeat("a", 107)
	many := map[string]string{}
	for i := range 40 {
		many[fmt.Sprint("k", i)] = "v"
	}
	cases := []struct {
		name string
		do   func(m *api.Manifest)
		want string
	}{
		{"fine", func(*api.Manifest) {}, ""},
		{"long label", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = map[string]string{strings.Repeat("k", 129): "v"} }, "1 to 128 characters"},
		{"long value", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = map[string]string{"k": strings.Repeat("v", 257)} }, "at most 256"},
		{"reserved label", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = map[string]string{"aws:x": "v"} }, "AWS's own"},
		{"our label", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = map[string]string{"slipway.dev/id": "v"} }, "Slipway's own"},
		{"odd label", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = map[string]string{"k": "a;b"} }, "letters, digits"},
		{"many labels", func(m *api.Manifest) { m.Cluster.Spec.CloudLabels = many }, "40 labels are too many"},
		{"many labels of a group", func(m *api.Manifest) {
			m.Groups = []*api.InstanceGroup{{Metadata: api.ObjectMeta{Name: "g"}, Spec: api.InstanceGroupSpec{CloudLabels: many}}}
		}, "instancegroup/g spec.cloudLabels"},
		{"wide VPC", func(m *api.Manifest) { m.Cluster.Spec.Networking.NetworkCIDR = "10.0.0.0/8" }, "from /16 to /28"},
		{"narrow subnet", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[0].CIDR = "10.1.64.0/29" }, "from /16 to /28"},
		{"no such zone", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[1].Zone = "us-east-1z" }, "is no zone of us-east-1, which has us-east-1a"},
		{"no way out", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[1].Type = api.SubnetPrivate }, "no public or utility subnet"},
		{"odd egress", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[0].Egress = "vgw-1" }, "must be nat-"},
		{"egress that is not there", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[0].Egress = "nat-0123456789abcdef0" }, "is not in us-east-1"},
		{"egress of a public subnet", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[1].Egress = "external" }, "only for private"},
		{"subnet without VPC", func(m *api.Manifest) { m.Cluster.Spec.Networking.Subnets[1].ID = ids[0] }, "needs spec.networking.networkID"},
		{"no such VPC", func(m *api.Manifest) { m.Cluster.Spec.Networking.NetworkID = "vpc-0123456789abcdef0" }, "is no VPC of us-east-1"},
		{"public load balancer without an internet gateway", func(m *api.Manifest) {
			n := &m.Cluster.Spec.Networking
			n.NetworkID, n.NetworkCIDR = vpc, "172.30.0.0/16"
			n.Subnets = []api.Subnet{{Name: "us-east-1a", Zone: "us-east-1a", Type: api.SubnetPublic, CIDR: "172.30.0.0/20", ID: ids[0]}}
			m.Cluster.Spec.API.LoadBalancer = &api.APILoadBalancer{Type: api.LoadBalancerPublic}
		}, "needs an internet gateway, and " + vpc + " has none"},
		{"internal load balancer without an internet gateway", func(m *api.Manifest) {
			n := &m.Cluster.Spec.Networking
			n.NetworkID, n.NetworkCIDR = vpc, "172.30.0.0/16"
			n.Subnets = []api.Subnet{{Name: "us-east-1a", Zone: "us-east-1a", Type: api.SubnetPublic, CIDR: "172.30.0.0/20", ID: ids[0]}}
			m.Cluster.Spec.API.LoadBalancer = &api.APILoadBalancer{Type: api.LoadBalancerInternal}
		}, ""},
		{"VPC of another range", func(m *api.Manifest) { m.Cluster.Spec.Networking.NetworkID = vpc }, "has the ranges 172.30.0.0/16"},
		{"subnet elsewhere", func(m *api.Manifest) {
			n := &m.Cluster.Spec.Networking
			n.NetworkID, n.NetworkCIDR, n.Subnets[0].ID = vpc, "172.30.0.0/16", "subnet-0123456789abcdef0"
		}, "is no subnet of vpc-"},
		{"subnet of another range", func(m *api.Manifest) {
			n := &m.Cluster.Spec.Networking
			n.NetworkID, n.NetworkCIDR, n.Subnets[0].ID = vpc, "172.30.0.0/16", ids[0]
		}, "has 172.30.0.0/20"},
	}
	for _, tc := range cases {
		m := &api.Manifest{Cluster: privatePlan("demo.example.com", "uid-1").Spec}
		n := &m.Cluster.Spec.Networking
		n.NetworkCIDR = "10.1.0.0/16"
		n.Subnets = []api.Subnet{
			{Name: "us-east-1a", Zone: "us-east-1a", Type: api.SubnetPrivate, CIDR: "10.1.64.0/18"},
			{Name: "utility-us-east-1a", Zone: "us-east-1a", Type: api.SubnetUtility, CIDR: "10.1.0.0/21"},
		}
		tc.do(m)
		faults, err := c.Check(t.Context(), m)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		text := ""
		for _, f := range faults {
			text += f.String() + "\n"
		}
		if tc.want == "" && text != "" || !strings.Contains(text, tc.want) {
			t.Errorf("%s: want %q, have:\n%s", tc.name, tc.want, text)
		}
	}
	m := &api.Manifest{Cluster: networkPlan("demo.example.com", "uid-2").Spec}
	faults, err := w.open("demo.example.com", "uid-2").Check(t.Context(), m)
	if err != nil || !strings.Contains(fmt.Sprint(faults), "has the UID uid-1, this cluster has uid-2") {
		t.Errorf("a cluster of the same name: %v %v", faults, err)
	}
	faults, err = w.open(long, "uid-3").Check(t.Context(), &api.Manifest{Cluster: networkPlan(long, "uid-3").Spec})
	if err != nil || !strings.Contains(fmt.Sprint(faults), "is 1 characters too long") {
		t.Errorf("a long name: %v %v", faults, err)
	}
}
