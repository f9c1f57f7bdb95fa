// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// targetGroup is a row of the table of target groups, whose id is the ARN.
type targetGroup struct {
	ARN, Name, Protocol, VPC, TargetType, IPType string
	Port                                         int
	Check                                        healthCheck
	Attributes                                   map[string]string
	Targets                                      []target
	Tags                                         []Tag
}

// healthCheck says how targets are probed; times in seconds.
type healthCheck struct {
	Protocol, Port, Path, HTTPCode        string
	Enabled                               bool
	Interval, Timeout, Healthy, Unhealthy int
}

// target is one registered instance or address.
type target struct {
	ID    string
	Port  int
	Zone  string
	Since time.Time
}

type matcher struct{ HttpCode, GrpcCode string }

type groupView struct {
	TargetGroupArn, TargetGroupName, Protocol string
	Port                                      int
	VpcId                                     string
	HealthCheckProtocol, HealthCheckPort      string
	HealthCheckEnabled                        bool
	HealthCheckIntervalSeconds                int
	HealthCheckTimeoutSeconds                 int
	HealthyThresholdCount                     int
	UnhealthyThresholdCount                   int
	HealthCheckPath                           string
	Matcher                                   *matcher
	LoadBalancerArns                          []string
	TargetType, IpAddressType                 string
}

func (s *Service) groupView(c *wire.Call, g *targetGroup) groupView {
	h := g.Check
	v := groupView{g.ARN, g.Name, g.Protocol, g.Port, g.VPC, h.Protocol, h.Port, h.Enabled, h.Interval, h.Timeout, h.Healthy, h.Unhealthy, h.Path, nil,
		s.balancersOf(c, g.ARN), g.TargetType, g.IPType}
	if h.HTTPCode != "" {
		v.Matcher = &matcher{HttpCode: h.HTTPCode}
	}
	return v
}

// balancersOf are the balancers whose listeners forward to a group.
func (s *Service) balancersOf(c *wire.Call, group string) []string {
	out := []string{}
	for _, l := range s.listeners.All(c.Region) {
		if slices.Contains(l.groups(), group) && !slices.Contains(out, l.Balancer) {
			out = append(out, l.Balancer)
		}
	}
	return out
}

func (s *Service) group(c *wire.Call, arn string) (*targetGroup, *wire.Error) {
	if g := s.groups.Get(c.Region, arn); g != nil {
		return g, nil
	}
	if !strings.HasPrefix(arn, "arn:") {
		return nil, invalid("'%s' is not a valid target group ARN", arn)
	}
	return nil, wire.Errorf("TargetGroupNotFound", "Target groups '%s' not found", arn)
}

func (s *Service) groupOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateTargetGroup": wire.Op(s.createGroup), "DescribeTargetGroups": wire.Op(s.describeGroups), "ModifyTargetGroup": wire.Op(s.modifyGroup),
		"DeleteTargetGroup": wire.Op(s.deleteGroup), "DescribeTargetGroupAttributes": wire.Op(s.describeGroupAttributes),
		"ModifyTargetGroupAttributes": wire.Op(s.modifyGroupAttributes),
	}
}

// checkIn is how requests spell a health check.
type checkIn struct {
	HealthCheckProtocol, HealthCheckPort, HealthCheckPath string
	HealthCheckEnabled                                    *bool
	HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds *int
	HealthyThresholdCount, UnhealthyThresholdCount        *int
	Matcher                                               *matcher
}

type createGroupIn struct {
	Name       string `wire:"Name,required"`
	Protocol   string
	Port       *int
	VpcId      string
	TargetType string
	checkIn
	IpAddressType string
	Tags          []Tag
}

type groupsOut struct {
	TargetGroups []groupView
	NextMarker   string
}

var groupProtocols = []string{"TCP", "TLS", "UDP", "TCP_UDP"}

const defaultGroupQuota = 3000

// createGroup returns the group that there is when one of that name was asked
// for with the same settings, as AWS does.
func (s *Service) createGroup(c *wire.Call, in *createGroupIn) (*groupsOut, error) {
	g, err := s.newGroup(c, in)
	if err != nil {
		return nil, err
	}
	for _, have := range s.groups.All(c.Region) {
		if have.Name != g.Name {
			continue
		}
		if have.Protocol != g.Protocol || have.Port != g.Port || have.VPC != g.VPC || have.TargetType != g.TargetType || have.Check != g.Check || have.IPType != g.IPType {
			return nil, wire.Errorf("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", g.Name)
		}
		return &groupsOut{TargetGroups: []groupView{s.groupView(c, have)}}, nil
	}
	if most := c.Quota("target-groups", defaultGroupQuota); len(s.groups.All(c.Region)) >= most {
		return nil, wire.Errorf("TooManyTargetGroups", "The maximum number of target groups has been reached: %d", most)
	}
	s.groups.Put(c.Region, g.ARN, g)
	return &groupsOut{TargetGroups: []groupView{s.groupView(c, g)}}, nil
}

func (s *Service) newGroup(c *wire.Call, in *createGroupIn) (*targetGroup, *wire.Error) {
	if err := checkName("Target group", in.Name); err != nil {
		return nil, err
	}
	g := &targetGroup{Name: in.Name, Protocol: in.Protocol, VPC: in.VpcId, TargetType: in.TargetType, IPType: in.IpAddressType}
	g.ARN = s.arn(c, "targetgroup/"+in.Name+"/"+s.newID())
	if g.TargetType == "" {
		g.TargetType = "instance"
	}
	if g.IPType == "" {
		g.IPType = ipv4
	}
	switch {
	case g.TargetType != "instance" && g.TargetType != "ip":
		return nil, invalid("The simulator has target groups of type instance and ip only, not '%s'", in.TargetType)
	case !slices.Contains(groupProtocols, g.Protocol):
		return nil, wire.Errorf("UnsupportedProtocol", "The simulator has target groups of the protocols %s only, not '%s'", strings.Join(groupProtocols, ", "), in.Protocol)
	case in.Port == nil:
		return nil, invalid("A port must be specified")
	case *in.Port < 1 || *in.Port > 65535:
		return nil, invalid("1 validation error detected: Value '%d' at 'port' failed to satisfy constraint: Member must have value between 1 and 65535", *in.Port)
	case g.VPC == "":
		return nil, invalid("A VPC ID must be specified")
	case !s.ec2.HasVPC(c.Region, g.VPC):
		return nil, invalid("The VPC ID '%s' is not found", g.VPC)
	case g.IPType != ipv4 && g.IPType != "ipv6":
		return nil, invalid("1 validation error detected: Value '%s' at 'ipAddressType' failed to satisfy constraint: Member must satisfy enum value set: [ipv4, ipv6]", g.IPType)
	}
	g.Port = *in.Port
	g.Check = healthCheck{Protocol: "TCP", Port: "traffic-port", Enabled: true, Interval: 30, Healthy: 5, Unhealthy: 2}
	if err := g.Check.apply(in.checkIn); err != nil {
		return nil, err
	}
	var err *wire.Error
	g.Tags, err = mergeTags(nil, in.Tags)
	return g, err
}

// apply changes a health check as a request says, and settles what follows.
func (h *healthCheck) apply(in checkIn) *wire.Error {
	next := *h
	for _, f := range []struct {
		dst *string
		src string
	}{{&next.Protocol, in.HealthCheckProtocol}, {&next.Port, in.HealthCheckPort}, {&next.Path, in.HealthCheckPath}} {
		if f.src != "" {
			*f.dst = f.src
		}
	}
	for _, f := range []struct {
		name      string
		dst       *int
		src       *int
		low, high int
	}{
		{"healthCheckIntervalSeconds", &next.Interval, in.HealthCheckIntervalSeconds, 5, 300},
		{"healthCheckTimeoutSeconds", &next.Timeout, in.HealthCheckTimeoutSeconds, 2, 120},
		{"healthyThresholdCount", &next.Healthy, in.HealthyThresholdCount, 2, 10},
		{"unhealthyThresholdCount", &next.Unhealthy, in.UnhealthyThresholdCount, 2, 10},
	} {
		if f.src == nil {
			continue
		}
		if *f.src < f.low || *f.src > f.high {
			return invalid("1 validation error detected: Value '%d' at '%s' failed to satisfy constraint: Member must have value between %d and %d", *f.src, f.name, f.low, f.high)
		}
		*f.dst = *f.src
	}
	if in.HealthCheckEnabled != nil {
		if !*in.HealthCheckEnabled {
			return invalid("Health check enabled must be true for target groups with target type 'instance' or 'ip'")
		}
	}
	if in.Matcher != nil && in.Matcher.HttpCode != "" {
		next.HTTPCode = in.Matcher.HttpCode
	}
	if err := next.settle(); err != nil {
		return err
	}
	*h = next
	return nil
}

// settle fills the defaults that go with a protocol and checks the whole.
func (h *healthCheck) settle() *wire.Error {
	switch h.Protocol {
	case "TCP":
		if h.Path != "" || h.HTTPCode != "" {
			return invalid("Health check path and matcher are not supported for health checks with protocol 'TCP'")
		}
	case "HTTP", "HTTPS":
		if h.Path == "" {
			h.Path = "/"
		}
		if h.HTTPCode == "" {
			h.HTTPCode = "200-399"
		}
	default:
		return invalid("Health check protocol '%s' is not supported: it must be TCP, HTTP or HTTPS", h.Protocol)
	}
	if h.Timeout == 0 {
		h.Timeout = 10
		if h.Protocol == "HTTP" {
			h.Timeout = 6
		}
	}
	if h.Timeout > h.Interval {
		return invalid("Health check interval must be greater than the timeout.")
	}
	if h.Port != "traffic-port" {
		if n, err := strconv.Atoi(h.Port); err != nil || n < 1 || n > 65535 {
			return invalid("Health check port '%s' must be 'traffic-port' or in range 1-65535", h.Port)
		}
	}
	return nil
}

type ofGroup struct {
	TargetGroupArn string `wire:"TargetGroupArn,required"`
}

func (s *Service) describeGroups(c *wire.Call, in *struct {
	LoadBalancerArn string
	TargetGroupArns []string
	Names           []string
	paging
}) (*groupsOut, error) {
	given := 0
	for _, set := range []bool{in.LoadBalancerArn != "", len(in.TargetGroupArns) > 0, len(in.Names) > 0} {
		if set {
			given++
		}
	}
	if given > 1 {
		return nil, invalid("Target group names, target group ARNs and a load balancer ARN cannot be specified at the same time")
	}
	rows := slices.Clone(s.groups.Visible(c.Region))
	if in.LoadBalancerArn != "" {
		if _, err := s.balancer(c, in.LoadBalancerArn); err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(g *targetGroup) bool { return !slices.Contains(s.balancersOf(c, g.ARN), in.LoadBalancerArn) })
	}
	if wanted := slices.Concat(in.TargetGroupArns, in.Names); len(wanted) > 0 {
		for _, want := range wanted {
			if !slices.ContainsFunc(rows, func(g *targetGroup) bool { return g.ARN == want || g.Name == want }) {
				return nil, wire.Errorf("TargetGroupNotFound", "One or more target groups not found")
			}
		}
		rows = slices.DeleteFunc(rows, func(g *targetGroup) bool { return !slices.Contains(wanted, g.ARN) && !slices.Contains(wanted, g.Name) })
	}
	rows, next, err := page(c, rows, in.paging)
	out := &groupsOut{TargetGroups: []groupView{}, NextMarker: next}
	for _, g := range rows {
		out.TargetGroups = append(out.TargetGroups, s.groupView(c, g))
	}
	return out, err
}

func (s *Service) modifyGroup(c *wire.Call, in *struct {
	ofGroup
	checkIn
}) (*groupsOut, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	if p := in.HealthCheckProtocol; p == "TCP" && g.Check.Protocol != "TCP" {
		// Path and codes go with the protocol that they belong to.
		old := g.Check
		g.Check.Path, g.Check.HTTPCode = "", ""
		if err := g.Check.apply(in.checkIn); err != nil {
			g.Check = old
			return nil, err
		}
	} else if err := g.Check.apply(in.checkIn); err != nil {
		return nil, err
	}
	s.groups.Put(c.Region, g.ARN, g)
	return &groupsOut{TargetGroups: []groupView{s.groupView(c, g)}}, nil
}

// deleteGroup succeeds when there is nothing to delete, as AWS does.
func (s *Service) deleteGroup(c *wire.Call, in *ofGroup) (*none, error) {
	if len(s.balancersOf(c, in.TargetGroupArn)) > 0 {
		return nil, wire.Errorf("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", in.TargetGroupArn)
	}
	s.groups.Delete(c.Region, in.TargetGroupArn)
	return &none{}, nil
}

func (s *Service) describeGroupAttributes(c *wire.Call, in *ofGroup) (*attributesOut, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	return attributes(groupRules(g), g.Attributes), nil
}

func (s *Service) modifyGroupAttributes(c *wire.Call, in *struct {
	ofGroup
	Attributes []Attribute `wire:"Attributes,required"`
}) (*attributesOut, error) {
	g, err := s.group(c, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	next, err := changed("Target group", groupRules(g), g.Attributes, in.Attributes)
	if err != nil {
		return nil, err
	}
	if next["preserve_client_ip.enabled"] == "false" && (g.Protocol == "UDP" || g.Protocol == "TCP_UDP") {
		return nil, misconfigured("Client IP preservation can't be disabled for UDP and TCP_UDP target groups")
	}
	g.Attributes = next
	s.groups.Put(c.Region, g.ARN, g)
	return attributes(groupRules(g), g.Attributes), nil
}
