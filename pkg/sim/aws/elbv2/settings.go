// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"maps"
	"slices"
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Attribute is a setting by name.
type Attribute struct {
	Key   string
	Value string `wire:"Value,keep"`
}

// rule says what an attribute may be: its default, and the values allowed, a
// range when they are two numbers, or anything when there are none.
type rule struct {
	value   string
	allowed []string
}

var boolean = []string{"true", "false"}

// balancerRules are the attributes of a network load balancer.
var balancerRules = map[string]rule{
	"access_logs.s3.enabled":                 {"false", boolean},
	"access_logs.s3.bucket":                  {"", nil},
	"access_logs.s3.prefix":                  {"", nil},
	"deletion_protection.enabled":            {"false", boolean},
	"load_balancing.cross_zone.enabled":      {"false", boolean},
	"ipv6.deny_all_igw_traffic":              {"false", boolean},
	"zonal_shift.config.enabled":             {"false", boolean},
	"dns_record.client_routing_policy":       {"any_availability_zone", []string{"any_availability_zone", "availability_zone_affinity", "partial_availability_zone_affinity"}},
	"secondary_ips.auto_assigned.per_subnet": {"0", []string{"0..7"}},
}

// listenerRules are the attributes of a TCP listener.
var listenerRules = map[string]rule{"tcp.idle_timeout.seconds": {"350", []string{"60..6000"}}}

// groupRules are the attributes of a target group behind a network load balancer.
func groupRules(g *targetGroup) map[string]rule {
	preserve := "true"
	if g.TargetType == "ip" && (g.Protocol == "TCP" || g.Protocol == "TLS") {
		preserve = "false"
	}
	return map[string]rule{
		"deregistration_delay.timeout_seconds":                                           {"300", []string{"0..3600"}},
		"deregistration_delay.connection_termination.enabled":                            {"false", boolean},
		"preserve_client_ip.enabled":                                                     {preserve, boolean},
		"proxy_protocol_v2.enabled":                                                      {"false", boolean},
		"stickiness.enabled":                                                             {"false", boolean},
		"stickiness.type":                                                                {"source_ip", []string{"source_ip"}},
		"load_balancing.cross_zone.enabled":                                              {"use_load_balancer_configuration", append([]string{"use_load_balancer_configuration"}, boolean...)},
		"target_health_state.unhealthy.connection_termination.enabled":                   {"true", boolean},
		"target_health_state.unhealthy.draining_interval_seconds":                        {"0", []string{"0..360000"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 {"1", nil},
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            {"off", nil},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      {"1", nil},
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": {"off", nil},
	}
}

func (r rule) allows(value string) bool {
	for _, a := range r.allowed {
		if value == a {
			return true
		}
		var low, high int
		if n, err := strconv.Atoi(value); err == nil && parseRange(a, &low, &high) && n >= low && n <= high {
			return true
		}
	}
	return len(r.allowed) == 0
}

func parseRange(text string, low, high *int) bool {
	for i := range len(text) - 1 {
		if text[i:i+2] == ".." {
			var err1, err2 error
			*low, err1 = strconv.Atoi(text[:i])
			*high, err2 = strconv.Atoi(text[i+2:])
			return err1 == nil && err2 == nil
		}
	}
	return false
}

// changed is a set of attributes with some changed, after checking them.
func changed(kind string, rules map[string]rule, have map[string]string, list []Attribute) (map[string]string, *wire.Error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for _, a := range list {
		r, known := rules[a.Key]
		if !known {
			return nil, invalid("%s attribute key '%s' is not recognized", kind, a.Key)
		}
		if !r.allows(a.Value) {
			return nil, invalid("The %s attribute '%s' value '%s' is not valid", kind, a.Key, a.Value)
		}
		out[a.Key] = a.Value
	}
	return out, nil
}

// attributes are all of them, those not set with their defaults.
func attributes(rules map[string]rule, have map[string]string) *attributesOut {
	out := &attributesOut{}
	for _, k := range slices.Sorted(maps.Keys(rules)) {
		v, set := have[k]
		if !set {
			v = rules[k].value
		}
		out.Attributes = append(out.Attributes, Attribute{k, v})
	}
	return out
}

type attributesOut struct{ Attributes []Attribute }

func (b *balancer) attribute(key string) string {
	if v, set := b.Attributes[key]; set {
		return v
	}
	return balancerRules[key].value
}

func (s *Service) settingOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"DescribeLoadBalancerAttributes": wire.Op(s.describeAttributes), "ModifyLoadBalancerAttributes": wire.Op(s.modifyAttributes),
		"SetSubnets": wire.Op(s.setSubnets), "SetSecurityGroups": wire.Op(s.setSecurityGroups), "SetIpAddressType": wire.Op(s.setIPType),
	}
}

func (s *Service) describeAttributes(c *wire.Call, in *ofBalancer) (*attributesOut, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return attributes(balancerRules, b.Attributes), nil
}

func (s *Service) modifyAttributes(c *wire.Call, in *struct {
	ofBalancer
	Attributes []Attribute `wire:"Attributes,required"`
}) (*attributesOut, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	next, err := changed("Load balancer", balancerRules, b.Attributes, in.Attributes)
	if err != nil {
		return nil, err
	}
	if next["access_logs.s3.enabled"] == "true" && next["access_logs.s3.bucket"] == "" {
		return nil, misconfigured("The value of 'access_logs.s3.bucket' cannot be empty when access logs are enabled")
	}
	b.Attributes = next
	s.balancers.Put(c.Region, b.ARN, b)
	return attributes(balancerRules, b.Attributes), nil
}

type setSubnetsOut struct {
	AvailabilityZones []zoneView
	IpAddressType     string
}

// setSubnets moves a balancer to other subnets; those that stay keep their
// interface and addresses.
func (s *Service) setSubnets(c *wire.Call, in *struct {
	ofBalancer
	Subnets        []string
	SubnetMappings []subnetMapping
	IpAddressType  string
}) (*setSubnetsOut, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	list, err := mappings(in.Subnets, in.SubnetMappings)
	if err != nil {
		return nil, err
	}
	next := *b
	if in.IpAddressType != "" {
		if err := checkIPType(in.IpAddressType); err != nil {
			return nil, err
		}
		next.IPType = in.IpAddressType
	}
	wanted, err := s.planZones(c, &next, list)
	if err != nil {
		return nil, err
	}
	var kept, fresh, gone []balancerZone
	for _, w := range wanted {
		if i := slices.IndexFunc(b.Zones, func(z balancerZone) bool { return z.Subnet == w.Subnet }); i >= 0 {
			kept = append(kept, b.Zones[i])
		} else {
			fresh = append(fresh, w)
		}
	}
	for _, z := range b.Zones {
		if !slices.ContainsFunc(kept, func(k balancerZone) bool { return k.Subnet == z.Subnet }) {
			gone = append(gone, z)
		}
	}
	next.Zones = kept
	if err := s.enter(c, &next, fresh); err != nil {
		return nil, err
	}
	s.leave(c, gone)
	slices.SortFunc(next.Zones, func(x, y balancerZone) int {
		if x.Zone < y.Zone {
			return -1
		}
		return 1
	})
	*b = next
	s.balancers.Put(c.Region, b.ARN, b)
	return &setSubnetsOut{b.zoneViews(), b.IPType}, nil
}

type setGroupsOut struct {
	SecurityGroupIds                                     []string
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
}

func (s *Service) setSecurityGroups(c *wire.Call, in *struct {
	ofBalancer
	SecurityGroups                                       []string `wire:"SecurityGroups,required"`
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
}) (*setGroupsOut, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if !b.HadGroups {
		return nil, misconfigured("You can't associate security groups with a Network Load Balancer that was created without security groups")
	}
	if len(in.SecurityGroups) == 0 {
		return nil, misconfigured("You must specify at least one security group")
	}
	if err := s.ec2.CheckGroups(c, b.VPC, in.SecurityGroups); err != nil {
		return nil, wire.Errorf("InvalidSecurityGroup", "%s", err.Message)
	}
	switch in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic {
	case "":
	case "on", "off":
		b.PrivateLinkRules = in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic
	default:
		return nil, invalid("1 validation error detected: Value '%s' at 'enforceSecurityGroupInboundRulesOnPrivateLinkTraffic' failed to satisfy constraint: Member must satisfy enum value set: [on, off]", in.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic)
	}
	for _, z := range b.Zones {
		if err := s.ec2.SetGroups(c, z.Interface, in.SecurityGroups); err != nil {
			return nil, wire.Errorf("InvalidSecurityGroup", "%s", err.Message)
		}
	}
	b.Groups = in.SecurityGroups
	s.balancers.Put(c.Region, b.ARN, b)
	return &setGroupsOut{b.Groups, b.PrivateLinkRules}, nil
}

func (s *Service) setIPType(c *wire.Call, in *struct {
	ofBalancer
	IpAddressType string `wire:"IpAddressType,required"`
}) (*struct{ IpAddressType string }, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if err := checkIPType(in.IpAddressType); err != nil {
		return nil, err
	}
	next := *b
	next.IPType = in.IpAddressType
	var list []subnetMapping
	for _, z := range b.Zones {
		list = append(list, subnetMapping{z.Subnet, z.Allocation, z.WantedPrivate})
	}
	if _, err := s.planZones(c, &next, list); err != nil {
		return nil, err
	}
	*b = next
	s.balancers.Put(c.Region, b.ARN, b)
	return &struct{ IpAddressType string }{b.IPType}, nil
}
