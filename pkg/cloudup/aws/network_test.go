// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// privatePlan is a network in two zones with private and utility subnets, and a small
// firewall.
func privatePlan(name, uid string) *model.Blueprint {
	b := networkPlan(name, uid)
	for i, zone := range []string{"us-east-1a", "us-east-1b"} {
		b.Subnets = append(b.Subnets,
			model.Subnet{Name: zone, Zone: zone, Kind: model.SubnetPrivate, InternalLB: true, Tag: true, Range: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(64 * (i + 1)), 0}), 18)},
			model.Subnet{Name: "utility-" + zone, Zone: zone, Kind: model.SubnetUtility, ExternalLB: true, Tag: true, Range: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(8 * i), 0}), 21)})
	}
	node, cp := model.Party{Role: api.RoleNode}, model.Party{Role: api.RoleControlPlane}
	lb := model.Party{Endpoint: "api"}
	b.Firewall = []model.Allow{
		{Name: "node-to-node", From: node, To: node, Proto: "any", Why: "pods"},
		{Name: "node-to-cp-tcp", From: node, To: cp, Proto: "tcp", Ports: [2]int{443, 2379}, Why: "API"},
		{Name: "node-to-cp-ipip", From: node, To: cp, Proto: "ipip", Why: "overlay"},
		{Name: "world-to-api", From: model.Party{Range: netip.MustParsePrefix("203.0.113.0/24")}, To: lb, Proto: "tcp", Ports: [2]int{443, 443}, Why: "admins' access: <office>"},
		{Name: "api-to-cp", From: lb, To: cp, Proto: "tcp", Ports: [2]int{443, 443}, Why: "API"},
		{Name: "pmtu", From: lb, To: cp, Proto: "icmp", Ports: [2]int{3, 4}, Why: "path MTU"},
	}
	return b
}

// edit is one change of a blueprint and what its plan must say.
type edit struct {
	name  string
	do    func(b *model.Blueprint)
	wants []string
	moto  string // why moto cannot judge it
}

// edited applies each edit on top of the one before: the plan shows it, applying it
// leaves nothing to do.
func (w *world) edited(c *Cloud, b *model.Blueprint, edits []edit) {
	w.t.Helper()
	for _, e := range edits {
		if e.moto != "" && w.moto {
			w.t.Logf("%s is not judged by moto: %s", e.name, e.moto)
			continue
		}
		e.do(b)
		p := w.plan(c, b)
		text := changes(p)
		for _, want := range e.wants {
			if !strings.Contains(text, want) {
				w.t.Errorf("%s: the plan lacks %q:\n%s", e.name, want, text)
			}
		}
		w.apply(p)
		if again := w.plan(c, b); again.Pending() {
			w.t.Fatalf("%s: the plan after apply is not empty:\n%s", e.name, changes(again))
		}
	}
}

func TestNetworkLife(t *testing.T) { judged(t, testNetworkLife) }

func testNetworkLife(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	first := w.plan(c, b)
	mark := w.calls.mark()
	w.apply(first)
	made, created := len(writes(w.calls.since(mark))), count(first, tasks.Create, "")
	extra := 3 // the VPC's host names, the use of DHCP options, the gateway's attachment
	if w.moto {
		extra++ // it drops the tags of DHCP options: one more call gives them back
	}
	if made > created+extra {
		t.Errorf("%d writes for %d objects:\n%s", made, created, strings.Join(writes(w.calls.since(mark)), "\n"))
	}
	mark = w.calls.mark()
	w.settle(c, b)
	if calls := w.calls.since(mark); len(writes(calls)) > 0 {
		t.Errorf("settling an applied network writes: %v", writes(calls))
	}
	mark = w.calls.mark()
	if p := w.plan(c, b); p.Pending() {
		t.Error(changes(p))
	}
	if calls := w.calls.since(mark); len(calls) > 20 {
		t.Errorf("a plan without change makes %d calls: %v", len(calls), calls)
	}

	w.edited(c, b, networkEdits())

	w.apply(w.plan(c, nil))
	if p := w.plan(c, nil); p.Pending() {
		t.Errorf("something is left:\n%s", changes(p))
	}
	w.onlyDefaults(c)
}

func networkEdits() []edit {
	return []edit{
		{"label added", func(b *model.Blueprint) { b.Labels = map[string]string{"team": "a", "KubernetesCluster": "nope"} },
			[]string{"tags[team]: (none) -> a", "aws/natgateway/us-east-1a"}, ""},
		{"label changed", func(b *model.Blueprint) { b.Labels = map[string]string{"team": "b"} },
			[]string{"tags[team]: a -> b"}, ""},
		{"label removed", func(b *model.Blueprint) { b.Labels = nil },
			[]string{"tags[team]: b -> (none)", "aws/securitygrouprule/pmtu"}, ""},
		{"role tag removed", func(b *model.Blueprint) { b.Subnets[0].InternalLB = false },
			[]string{"~ aws/subnet/us-east-1a\n", "tags[kubernetes.io/role/internal-elb]: 1 -> (none)"}, ""},
		{"rule's ports", func(b *model.Blueprint) { b.Firewall[1].Ports[1] = 4000 },
			[]string{"ports: 443-2379 -> 443-4000"}, ""},
		{"rule's source", func(b *model.Blueprint) { b.Firewall[3].From.Range = netip.MustParsePrefix("198.51.100.0/24") },
			[]string{"source: 203.0.113.0/24 -> 198.51.100.0/24"}, ""},
		{"rule's protocol", func(b *model.Blueprint) { b.Firewall[1].Proto = "udp" },
			[]string{"protocol: tcp -> udp"}, ""},
		{"rule removed", func(b *model.Blueprint) { b.Firewall = b.Firewall[:5] },
			[]string{"- aws/securitygrouprule/pmtu"}, ""},
		{"kind of source", func(b *model.Blueprint) {
			b.Firewall[4].From = model.Party{Range: netip.MustParsePrefix("10.1.0.0/16")}
		},
			[]string{"± aws/securitygrouprule/api-to-cp", "- aws/securitygrouprule/api-to-cp/", "a new object takes its place"}, ""},
		{"subnet's range", func(b *model.Blueprint) { b.Subnets[1].Range = netip.MustParsePrefix("10.1.32.0/21") },
			[]string{"± aws/subnet/utility-us-east-1a", "cidr: 10.1.0.0/21 -> 10.1.32.0/21", "± aws/natgateway/us-east-1a"},
			"an address stays associated with a deleted NAT gateway"},
		{"egress by someone else", func(b *model.Blueprint) { b.Subnets[0].Egress = "external" },
			[]string{"~ aws/routetable/private-us-east-1a", "routes[0.0.0.0/0]: nat-", "- aws/natgateway/us-east-1a", "- aws/address/us-east-1a"}, ""},
		{"egress by us again", func(b *model.Blueprint) { b.Subnets[0].Egress = "" },
			[]string{"+ aws/natgateway/us-east-1a", "+ aws/route/private-us-east-1a/0.0.0.0/0"}, ""},
		{"zone dropped", func(b *model.Blueprint) { b.Subnets = b.Subnets[:2] },
			[]string{"- aws/subnet/us-east-1b", "- aws/subnet/utility-us-east-1b", "- aws/natgateway/us-east-1b", "- aws/routetable/private-us-east-1b"}, ""},
		{"private to public", func(b *model.Blueprint) { b.Subnets[0].Kind = model.SubnetPublic },
			[]string{"~ aws/routetableassociation/us-east-1a", "- aws/routetable/private-us-east-1a"}, ""},
		{"primary range", func(b *model.Blueprint) {
			b.Network.Ranges = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
			b.Subnets[0].Range, b.Subnets[1].Range = netip.MustParsePrefix("10.9.64.0/18"), netip.MustParsePrefix("10.9.0.0/21")
		}, []string{"± aws/vpc/demo.example.com", "± aws/securitygroup/node", "± aws/routetable/public", "~ aws/internetgateway/demo.example.com"},
			"it deletes the DHCP options together with a VPC that used them once"},
	}
}

// onlyDefaults checks that nothing but what AWS gives every account is in the region.
func (w *world) onlyDefaults(c *Cloud) {
	w.t.Helper()
	ctx := w.t.Context()
	vpcs, err := c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range vpcs.Vpcs {
		if !*v.IsDefault {
			w.t.Errorf("VPC %s is left", *v.VpcId)
		}
	}
	addresses, err := c.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	if n := len(addresses.Addresses); n > 0 {
		w.t.Errorf("%d addresses are left", n)
	}
	gateways, err := c.ec2.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, g := range gateways.InternetGateways {
		if len(tagMap(g.Tags)) > 0 {
			w.t.Errorf("internet gateway %s is left", *g.InternetGatewayId)
		}
	}
}

// TestWhatOthersPut: tags, routes and rules that others put on our objects stay.
func TestWhatOthersPut(t *testing.T) { judged(t, testWhatOthersPut) }

func testWhatOthersPut(t *testing.T, w *world) {
	ctx := t.Context()
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	b.Labels = map[string]string{"team": "a"}
	w.settle(c, b)
	s := newSurvey(c, nil)
	subnet, _, _ := s.subnets.find(ctx, "us-east-1a")
	group, _, _ := s.groups.find(ctx, "node")
	table, _, _ := s.tables.find(ctx, "private-us-east-1a")
	gateway, _, _ := s.gateways.find(ctx, "demo.example.com")
	if err := s.setTags(ctx, subnet.ID, map[string]string{"Owner": "netteam", "aws:cloudformation:stack-name": "x"}); err != nil {
		t.Log("moto refuses reserved tags, as AWS does:", err)
		if err := s.setTags(ctx, subnet.ID, map[string]string{"Owner": "netteam"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group.ID, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: ptr("tcp"), FromPort: ptr(int32(30080)), ToPort: ptr(int32(30080)), IpRanges: []ec2types.IpRange{{CidrIp: ptr("0.0.0.0/0")}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: &table.ID, DestinationCidrBlock: ptr("100.96.1.0/24"), GatewayId: &gateway.ID}); err != nil {
		t.Fatal(err)
	}
	if p := w.plan(c, b); p.Pending() {
		t.Errorf("the plan wants to touch what others put:\n%s", changes(p))
	}
	b.Labels, b.Firewall = nil, b.Firewall[1:]
	w.settle(c, b)
	s = newSurvey(c, nil)
	subnet, _, _ = s.subnets.find(ctx, "us-east-1a")
	group, _, _ = s.groups.find(ctx, "node")
	table, _, _ = s.tables.find(ctx, "private-us-east-1a")
	if _, mine := subnet.Tags["team"]; mine || subnet.Tags["Owner"] != "netteam" {
		t.Errorf("tags of the subnet: %v", subnet.Tags)
	}
	if n := len(group.Value.IpPermissions); n != 1 || *group.Value.IpPermissions[0].FromPort != 30080 {
		t.Errorf("rules of the node group: %+v", group.Value.IpPermissions)
	}
	if targetTo(table.Value, "100.96.1.0/24") == "" {
		t.Error("the pods' route is gone")
	}
}

// TestRuleIsAdopted: a rule of ours whose tags were lost is no duplicate.
func TestRuleIsAdopted(t *testing.T) { judged(t, testRuleIsAdopted) }

func testRuleIsAdopted(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	rule, _, _ := newSurvey(c, nil).rules.find(t.Context(), "world-to-api")
	if _, err := c.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{rule.ID}}); err != nil {
		t.Fatal(err)
	}
	w.settle(c, b)
	if again, _, _ := newSurvey(c, nil).rules.find(t.Context(), "world-to-api"); again.ID != rule.ID {
		t.Errorf("rule %q became %q", rule.ID, again.ID)
	}
}

// TestNeighbours: clusters with look-alike names are not touched by each other.
func TestNeighbours(t *testing.T) { judged(t, testNeighbours) }

func testNeighbours(t *testing.T, w *world) {
	names := []string{"bar.example.test", "foo-bar.example.test", "bar.example.test-002.local"}
	var clouds []*Cloud
	for i, name := range names {
		c := w.open(name, "uid-"+string(rune('a'+i)))
		w.settle(c, oneZone(privatePlan(name, c.uid)))
		clouds = append(clouds, c)
	}
	w.apply(w.plan(clouds[0], nil))
	for i, name := range names[1:] {
		if p := w.plan(clouds[i+1], oneZone(privatePlan(name, clouds[i+1].uid))); p.Pending() {
			t.Errorf("deleting %s changed %s:\n%s", names[0], name, changes(p))
		}
	}
}

// oneZone leaves the first zone of a blueprint: an account has five addresses only.
func oneZone(b *model.Blueprint) *model.Blueprint {
	b.Subnets = b.Subnets[:2]
	return b
}

// TestSharedGroup: a security group given by id gets no rules.
func TestSharedGroup(t *testing.T) { judged(t, testSharedGroup) }

func testSharedGroup(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	vpc, _, _ := newSurvey(c, nil).vpcs.find(t.Context(), "demo.example.com")
	out, err := c.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: ptr("own"), Description: ptr("own"), VpcId: &vpc.ID})
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.Spec.API.LoadBalancer = &api.APILoadBalancer{SecurityGroupOverride: *out.GroupId}
	p := w.plan(c, b)
	if count(p, tasks.Keep, "aws/securitygroup/endpoint-api") != 1 || !slices.ContainsFunc(p.Items, func(i tasks.Item) bool {
		return i.Action == tasks.Delete && i.ID == "aws/securitygrouprule/world-to-api"
	}) {
		t.Errorf("plan:\n%s", changes(p))
	}
	w.apply(p)
	if p := w.plan(c, b); p.Pending() && !w.moto { // moto does not change the source group of a rule
		t.Error(changes(p))
	}
}
