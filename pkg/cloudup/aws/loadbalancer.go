// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

const attrCrossZone = "load_balancing.cross_zone.enabled"

// LoadBalancer is a network load balancer in front of a role's machines.
type LoadBalancer struct {
	resource
	name     string
	endpoint model.Endpoint
	subnets  []placed
	groups   []*SecurityGroup
	given    []string // further security groups, by id

	DNSName tasks.Output[string]
	Zone    tasks.Output[string] // the hosted zone of its DNS name

	mu        sync.Mutex
	addresses []string // known ones, see reach
}

func newLoadBalancer(l *lowering, e model.Endpoint) (*LoadBalancer, error) {
	s := l.survey
	b := &LoadBalancer{resource: resource{s: s, kind: "loadbalancer", key: e.Name}, endpoint: e}
	// Another scheme is another load balancer: both stand while one replaces the other.
	name := e.Name
	if !e.Public {
		name += "-int"
	}
	b.name = s.balancerName(name, limitBalancer)
	b.tags = s.tagsFor(e.Name, e.Name+"."+s.cluster, nil)
	for _, n := range e.Subnets {
		at := l.subnets[n]
		if at == nil {
			return nil, fmt.Errorf("load balancer %s: there is no subnet %q", e.Name, n)
		}
		b.subnets, b.deps = append(b.subnets, at), append(b.deps, at)
	}
	g := l.groupOf[partyKey(model.Party{Endpoint: e.Name})]
	b.groups, b.deps = append(b.groups, g), append(b.deps, g)
	if lb := l.blueprint.Spec.Spec.API.LoadBalancer; e.Name == model.EndpointAPI && lb != nil {
		b.given = lb.AdditionalSecurityGroups
	}
	if e.Public && l.gateway != nil { // AWS refuses a public one in a network without a way out
		b.deps = append(b.deps, l.gateway)
	}
	return b, nil
}

// Describe says where it listens.
func (b *LoadBalancer) Describe() string {
	return b.scheme() + " network load balancer for " + b.key
}

func (b *LoadBalancer) scheme() string {
	if b.endpoint.Public {
		return string(elbtypes.LoadBalancerSchemeEnumInternetFacing)
	}
	return string(elbtypes.LoadBalancerSchemeEnumInternal)
}

// placedIDs returns the ids of subnets for a plan: unknown while one of them is.
func placedIDs(in []placed) tasks.Value {
	var ids []string
	for _, p := range in {
		id, known := p.cloudID().Get()
		if !known {
			return tasks.After()
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return tasks.V(ids)
}

// groupIDs returns the ids of security groups, ours and given ones, for a plan.
func groupIDs(groups []*SecurityGroup, given []string) tasks.Value {
	ids := slices.Clone(given)
	for _, g := range groups {
		id, known := g.CloudID.Get()
		if !known {
			return tasks.After()
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return tasks.V(slices.Compact(ids))
}

// listOf splits a list that a Value shows.
func listOf(v tasks.Value) []string {
	if v.Text == "" {
		return nil
	}
	return strings.Split(v.Text, ",")
}

// Observe finds the load balancer and compares all but its listeners.
func (b *LoadBalancer) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := b.s.balancers.find(ctx, b.key)
	if err != nil {
		return tasks.Change{}, err
	}
	crossZone := ""
	if exists {
		if crossZone, err = b.s.balancerAttribute(ctx, o.ID, attrCrossZone); err != nil {
			return tasks.Change{}, err
		}
	}
	d := tasks.NewDiff(exists)
	d.Fixed("scheme", string(o.Value.Scheme), b.scheme())
	d.Field("subnets", subnetsOf(o.Value), placedIDs(b.subnets))
	d.Field("securityGroups", slices.Sorted(slices.Values(o.Value.SecurityGroups)), groupIDs(b.groups, b.given))
	d.Field("crossZone", crossZone, strconv.FormatBool(b.endpoint.CrossZone))
	diffTags(d, o.Tags, b.tags)
	c := found(&b.resource, b.s.balancers, o, exists, d)
	if id, known := b.CloudID.Get(); known && id == o.ID {
		b.publish(o.Value)
	} else {
		if exists {
			c.Reason = "its address changes: machines must be replaced, and kubeconfigs exported again"
		}
		b.DNSName.Clear()
		b.Zone.Clear()
	}
	return c, nil
}

func (b *LoadBalancer) publish(v elbtypes.LoadBalancer) {
	b.CloudID.Set(aws.ToString(v.LoadBalancerArn))
	b.DNSName.Set(bareAlias(aws.ToString(v.DNSName)))
	b.Zone.Set(aws.ToString(v.CanonicalHostedZoneId))
}

func subnetsOf(v elbtypes.LoadBalancer) []string {
	var out []string
	for _, z := range v.AvailabilityZones {
		out = append(out, aws.ToString(z.SubnetId))
	}
	slices.Sort(out)
	return out
}

func (s *survey) balancerAttribute(ctx context.Context, arn, key string) (string, error) {
	out, err := s.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &arn})
	if err != nil {
		return "", fmt.Errorf("read the attributes of load balancer %s: %w", arn, err)
	}
	for _, a := range out.Attributes {
		if aws.ToString(a.Key) == key {
			return aws.ToString(a.Value), nil
		}
	}
	return "false", nil
}

// Apply makes the load balancer with its security group, or changes what differs. It
// does not wait until it is active: who needs its addresses does.
func (b *LoadBalancer) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[elbtypes.LoadBalancer])
	if c.Action == tasks.Update {
		return b.update(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := b.s.retireBalancing(ctx, o.ID, b.key); err != nil {
			return err
		}
	}
	id, err := b.s.balancers.makeOnce(ctx, b.key, b.create)
	if err != nil {
		return fmt.Errorf("create load balancer %s: %w", b.name, err)
	}
	if _, known := b.DNSName.Get(); !known { // made by an attempt whose answer was lost
		now, err := b.s.readBalancer(ctx, id)
		if err != nil {
			return err
		}
		b.publish(now)
	}
	if b.endpoint.CrossZone {
		return b.setCrossZone(ctx, id)
	}
	return nil
}

func (b *LoadBalancer) create(ctx context.Context) (string, error) {
	out, err := b.s.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: &b.name, Type: elbtypes.LoadBalancerTypeEnumNetwork, IpAddressType: elbtypes.IpAddressTypeIpv4,
		Scheme:  elbtypes.LoadBalancerSchemeEnum(b.scheme()),
		Subnets: listOf(placedIDs(b.subnets)), SecurityGroups: listOf(groupIDs(b.groups, b.given)),
		Tags: elbTags(b.tags),
	})
	if err != nil {
		return "", err
	}
	if len(out.LoadBalancers) == 0 {
		return "", errors.New("AWS named no load balancer in its answer")
	}
	b.publish(out.LoadBalancers[0])
	return aws.ToString(out.LoadBalancers[0].LoadBalancerArn), nil
}

func (b *LoadBalancer) update(ctx context.Context, arn string, c tasks.Change) error {
	if c.Has("subnets") {
		if _, err := b.s.elb.SetSubnets(ctx, &elb.SetSubnetsInput{LoadBalancerArn: &arn, Subnets: listOf(placedIDs(b.subnets))}); err != nil {
			return fmt.Errorf("set the subnets of load balancer %s: %w", b.name, err)
		}
	}
	if c.Has("securityGroups") {
		if _, err := b.s.elb.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: &arn, SecurityGroups: listOf(groupIDs(b.groups, b.given))}); err != nil {
			return fmt.Errorf("set the security groups of load balancer %s: %w", b.name, err)
		}
	}
	if c.Has("crossZone") {
		if err := b.setCrossZone(ctx, arn); err != nil {
			return err
		}
	}
	return b.s.tagBalancing(ctx, arn, c)
}

func (b *LoadBalancer) setCrossZone(ctx context.Context, arn string) error {
	_, err := b.s.elb.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{
		LoadBalancerArn: &arn,
		Attributes:      []elbtypes.LoadBalancerAttribute{{Key: aws.String(attrCrossZone), Value: aws.String(strconv.FormatBool(b.endpoint.CrossZone))}},
	})
	if err != nil {
		return fmt.Errorf("set cross-zone balancing of load balancer %s: %w", b.name, err)
	}
	return nil
}

// reach returns the addresses by which machines in the network reach the load balancer:
// the name of an internal one; of a public one, whose name has public addresses only,
// the private addresses of its interfaces. It waits for those until they are there.
func (b *LoadBalancer) reach(ctx context.Context) ([]string, error) {
	if !b.endpoint.Public {
		return []string{b.DNSName.Value()}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.addresses) > 0 {
		return b.addresses, nil
	}
	arn := b.CloudID.Value()
	_, path, _ := strings.Cut(arn, ":loadbalancer/")
	var found []string
	err := pages(ctx, ec2.NewDescribeNetworkInterfacesPaginator(b.s.ec2, &ec2.DescribeNetworkInterfacesInput{
		Filters: []ec2types.Filter{{Name: aws.String("description"), Values: []string{"ELB " + path}}},
	}), func(page *ec2.DescribeNetworkInterfacesOutput) {
		for _, i := range page.NetworkInterfaces {
			found = append(found, aws.ToString(i.PrivateIpAddress))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("find the interfaces of load balancer %s: %w", b.name, err)
	}
	slices.Sort(found)
	if len(found) < len(b.subnets) {
		now, err := b.s.readBalancer(ctx, arn)
		switch {
		case err != nil:
			return nil, err
		case now.State != nil && now.State.Code == elbtypes.LoadBalancerStateEnumFailed:
			return nil, fmt.Errorf("load balancer %s failed: %s", b.name, aws.ToString(now.State.Reason))
		case len(found) > 0 || now.State == nil || now.State.Code != elbtypes.LoadBalancerStateEnumActive:
			return nil, tasks.Wait(fmt.Errorf("load balancer %s has %d of %d addresses", b.name, len(found), len(b.subnets)))
		}
		// An active one without interfaces: an endpoint that does not show them. Its name
		// has to do.
		found = []string{b.DNSName.Value()}
	}
	b.addresses = found
	return found, nil
}

// readBalancer reads one load balancer by its ARN. Both callers know that it was made: an
// answer without it is waited out.
func (s *survey) readBalancer(ctx context.Context, arn string) (elbtypes.LoadBalancer, error) {
	out, err := s.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil && !gone(err) {
		return elbtypes.LoadBalancer{}, fmt.Errorf("read load balancer %s: %w", arn, err)
	}
	if err != nil || len(out.LoadBalancers) == 0 {
		return elbtypes.LoadBalancer{}, tasks.Wait(fmt.Errorf("load balancer %s is not shown yet", arn))
	}
	return out.LoadBalancers[0], nil
}

// removeBalancer deletes a load balancer. Its interfaces go a little later: who holds
// their subnets and security groups waits for that.
func (s *survey) removeBalancer(ctx context.Context, l leftover) error {
	_, err := s.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &l.ID})
	return ifThere(err)
}

// Export writes the load balancer.
func (b *LoadBalancer) Export(ctx context.Context, m *terraform.Module) error {
	if err := b.exportReach(ctx, m); err != nil {
		return err
	}
	r := b.export(m, "aws_lb")
	b.CloudID.Set(r.Mark("arn"))
	b.DNSName.Set(r.Mark("dns_name"))
	b.Zone.Set(r.Mark("zone_id"))
	r.SetText("name", b.name)
	r.SetText("load_balancer_type", string(elbtypes.LoadBalancerTypeEnumNetwork))
	r.Set("internal", terraform.Bool(!b.endpoint.Public))
	r.SetText("ip_address_type", string(elbtypes.IpAddressTypeIpv4))
	r.Set("subnets", terraform.Texts(listOf(placedIDs(b.subnets))...))
	r.Set("security_groups", terraform.Texts(listOf(groupIDs(b.groups, b.given))...))
	r.Set("enable_cross_zone_load_balancing", terraform.Bool(b.endpoint.CrossZone))
	b.exportTags(r)
	exportAfterGateway(r, b.deps)
	m.Output(terraform.Label(b.key)+"_endpoint", "The name of load balancer "+b.key+".", r.Ref("dns_name"))
	return nil
}

// exportReach finds how machines reach a public load balancer before its outputs become
// marks: at the addresses it has, at those that Terraform will find, or, in a review, at
// placeholders.
func (b *LoadBalancer) exportReach(ctx context.Context, m *terraform.Module) error {
	_, there := b.CloudID.Get()
	switch {
	case !b.endpoint.Public:
		return nil
	case m.Review:
		for _, n := range b.endpoint.Subnets {
			b.addresses = append(b.addresses, "placeholder."+b.key+"."+n+".invalid")
		}
		return nil
	case there:
		_, err := b.reach(ctx)
		return err
	}
	label := terraform.Label(b.key)
	d := m.Data("aws_network_interface", b.key)
	d.SetNumber("count", int64(len(b.subnets)))
	byName := d.Block("filter")
	byName.SetText("name", "description")
	byName.Set("values", terraform.Texts("ELB "+terraform.Mark("aws_lb."+label+".arn_suffix")))
	bySubnet := d.Block("filter")
	bySubnet.SetText("name", "subnet-id")
	bySubnet.Set("values", terraform.Expression("["+terraform.ListExpression(listOf(placedIDs(b.subnets)))+"[count.index]]"))
	local := m.Local(b.key+"_addresses", terraform.Expression("sort(data."+d.Address()+"[*].private_ip)"))
	for i := range b.subnets {
		b.addresses = append(b.addresses, terraform.Mark(fmt.Sprintf("%s[%d]", local, i)))
	}
	return nil
}
