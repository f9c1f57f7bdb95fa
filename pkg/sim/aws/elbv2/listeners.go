// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// listener is a row of the table of listeners, whose id is the ARN.
type listener struct {
	ARN, Balancer, Protocol string
	Port                    int
	Actions                 []action
	Certificates            []certificate
	SslPolicy               string
	AlpnPolicy              []string
	Attributes              map[string]string
	Tags                    []Tag
}

// action is what a listener does with a connection: forward it.
type action struct {
	Type           string `wire:"Type,required"`
	TargetGroupArn string
	Order          *int
	ForwardConfig  *forward
}

type forward struct {
	TargetGroups                []weighted
	TargetGroupStickinessConfig *struct {
		Enabled         *bool
		DurationSeconds *int
	}
}

type weighted struct {
	TargetGroupArn string
	Weight         *int
}

type certificate struct {
	CertificateArn string
	IsDefault      *bool
}

// groups are the target groups that a listener forwards to.
func (l *listener) groups() []string {
	var out []string
	for _, a := range l.Actions {
		if a.TargetGroupArn != "" {
			out = append(out, a.TargetGroupArn)
		}
		if a.ForwardConfig != nil {
			for _, w := range a.ForwardConfig.TargetGroups {
				out = append(out, w.TargetGroupArn)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type listenerView struct {
	ListenerArn, LoadBalancerArn string
	Port                         int
	Protocol                     string
	Certificates                 []certificate `wire:"Certificates,omitempty"`
	SslPolicy                    string
	DefaultActions               []action
	AlpnPolicy                   []string `wire:"AlpnPolicy,omitempty"`
}

func (l *listener) view() listenerView {
	return listenerView{l.ARN, l.Balancer, l.Port, l.Protocol, l.Certificates, l.SslPolicy, l.Actions, l.AlpnPolicy}
}

type listenersOut struct {
	Listeners  []listenerView
	NextMarker string
}

func (s *Service) listener(c *wire.Call, arn string) (*listener, *wire.Error) {
	if l := s.listeners.Get(c.Region, arn); l != nil {
		return l, nil
	}
	if !strings.HasPrefix(arn, "arn:") {
		return nil, invalid("'%s' is not a valid listener ARN", arn)
	}
	return nil, wire.Errorf("ListenerNotFound", "One or more listeners not found")
}

func (s *Service) listenersOf(c *wire.Call, balancer string) []*listener {
	var out []*listener
	for _, l := range s.listeners.Visible(c.Region) {
		if l.Balancer == balancer {
			out = append(out, l)
		}
	}
	return out
}

func (s *Service) listenerOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateListener": wire.Op(s.createListener), "DescribeListeners": wire.Op(s.describeListeners),
		"ModifyListener": wire.Op(s.modifyListener), "DeleteListener": wire.Op(s.deleteListener),
		"DescribeListenerAttributes": wire.Op(s.describeListenerAttributes), "ModifyListenerAttributes": wire.Op(s.modifyListenerAttributes),
	}
}

// listenerIn is what creation and change of a listener share.
type listenerIn struct {
	Protocol       string
	Port           *int
	DefaultActions []action
	Certificates   []certificate
	SslPolicy      string
	AlpnPolicy     []string
}

func (s *Service) createListener(c *wire.Call, in *struct {
	ofBalancer
	listenerIn
	Tags []Tag
}) (*listenersOut, error) {
	b, err := s.balancer(c, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Protocol == "":
		return nil, invalid("A listener protocol must be specified")
	case in.Port == nil:
		return nil, invalid("A listener port must be specified")
	case len(in.DefaultActions) == 0:
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter DefaultActions")
	}
	l := &listener{ARN: s.arn(c, "listener/net/"+b.Name+"/"+b.ID+"/"+s.newID()), Balancer: b.ARN}
	if l.Tags, err = mergeTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if len(s.listenersOf(c, b.ARN)) >= c.Quota("listeners-per-load-balancer", 50) {
		return nil, wire.Errorf("TooManyListeners", "The maximum number of listeners has been reached on load balancer '%s'", b.ARN)
	}
	if err := s.fill(c, b, l, &in.listenerIn); err != nil {
		return nil, err
	}
	s.listeners.Put(c.Region, l.ARN, l)
	return &listenersOut{Listeners: []listenerView{l.view()}}, nil
}

// fill changes a listener as a request says, if the whole then holds.
func (s *Service) fill(c *wire.Call, b *balancer, l *listener, in *listenerIn) *wire.Error {
	next := *l
	next.Protocol, next.SslPolicy = cmp.Or(in.Protocol, l.Protocol), cmp.Or(in.SslPolicy, l.SslPolicy)
	if in.Port != nil {
		next.Port = *in.Port
	}
	if in.Certificates != nil {
		next.Certificates = in.Certificates
	}
	if in.AlpnPolicy != nil {
		next.AlpnPolicy = in.AlpnPolicy
	}
	if in.DefaultActions != nil {
		next.Actions = in.DefaultActions
	}
	if err := next.check(); err != nil {
		return err
	}
	for _, other := range s.listenersOf(c, b.ARN) {
		if other.ARN != l.ARN && other.Port == next.Port {
			return wire.Errorf("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.ARN)
		}
	}
	if err := s.checkActions(c, b, &next); err != nil {
		return err
	}
	*l = next
	return nil
}

func (l *listener) check() *wire.Error {
	if !slices.Contains(groupProtocols, l.Protocol) {
		return wire.Errorf("UnsupportedProtocol", "Listener protocol '%s' is not supported with a Network Load Balancer: it must be one of %s", l.Protocol, strings.Join(groupProtocols, ", "))
	}
	if l.Port < 1 || l.Port > 65535 {
		return invalid("1 validation error detected: Value '%d' at 'port' failed to satisfy constraint: Member must have value between 1 and 65535", l.Port)
	}
	if l.Protocol == "TLS" {
		if len(l.Certificates) != 1 {
			return wire.Errorf("CertificateNotFound", "A certificate must be specified for TLS listeners")
		}
		l.SslPolicy = cmp.Or(l.SslPolicy, "ELBSecurityPolicy-2016-08")
	} else if len(l.Certificates) > 0 || l.SslPolicy != "" || len(l.AlpnPolicy) > 0 {
		return invalid("Certificates, SSL policies and ALPN policies are supported on TLS listeners only")
	}
	return nil
}

// checkActions judges where a listener would forward to.
func (s *Service) checkActions(c *wire.Call, b *balancer, l *listener) *wire.Error {
	if len(l.Actions) != 1 || l.Actions[0].Type != "forward" {
		return wire.Errorf("InvalidLoadBalancerAction", "A listener of a Network Load Balancer has exactly one action, of type 'forward'")
	}
	a := &l.Actions[0]
	if a.ForwardConfig != nil && a.TargetGroupArn != "" {
		if g := l.groups(); len(g) != 1 {
			return wire.Errorf("InvalidLoadBalancerAction", "The target group ARN and the forward config of an action must name the same target group")
		}
	}
	groups := l.groups()
	if len(groups) == 0 {
		return wire.Errorf("InvalidLoadBalancerAction", "An action of type 'forward' must name a target group")
	}
	for _, arn := range groups {
		g, err := s.group(c, arn)
		if err != nil {
			return err
		}
		if g.VPC != b.VPC {
			return misconfigured("The following target groups are not in the VPC of the load balancer: '%s'", arn)
		}
		if !compatible(l.Protocol, g.Protocol) {
			return wire.Errorf("IncompatibleProtocols", "Listener protocol '%s' cannot be used with target groups of protocol '%s'", l.Protocol, g.Protocol)
		}
		for _, other := range s.balancersOf(c, arn) {
			if other != b.ARN {
				return wire.Errorf("TargetGroupAssociationLimit", "The following target groups cannot be associated with more than one load balancer: %s", arn)
			}
		}
	}
	if len(groups) == 1 { // answers name a single group both ways
		a.TargetGroupArn = groups[0]
		if a.ForwardConfig == nil {
			a.ForwardConfig = &forward{TargetGroups: []weighted{{TargetGroupArn: groups[0]}}}
		}
	}
	return nil
}

func compatible(listener, group string) bool {
	switch listener {
	case "TLS":
		return group == "TLS" || group == "TCP"
	case "TCP", "UDP":
		return group == listener || group == "TCP_UDP"
	}
	return group == listener
}

func (s *Service) describeListeners(c *wire.Call, in *struct {
	LoadBalancerArn string
	ListenerArns    []string
	paging
}) (*listenersOut, error) {
	if (in.LoadBalancerArn == "") == (len(in.ListenerArns) == 0) {
		return nil, invalid("You must specify either listener ARNs or a load balancer ARN")
	}
	var rows []*listener
	if in.LoadBalancerArn != "" {
		if _, err := s.balancer(c, in.LoadBalancerArn); err != nil {
			return nil, err
		}
		rows = s.listenersOf(c, in.LoadBalancerArn)
	}
	for _, arn := range in.ListenerArns {
		l, err := s.listener(c, arn)
		if err != nil {
			return nil, err
		}
		rows = append(rows, l)
	}
	rows, next, err := page(c, rows, in.paging)
	out := &listenersOut{Listeners: []listenerView{}, NextMarker: next}
	for _, l := range rows {
		out.Listeners = append(out.Listeners, l.view())
	}
	return out, err
}

type ofListener struct {
	ListenerArn string `wire:"ListenerArn,required"`
}

func (s *Service) modifyListener(c *wire.Call, in *struct {
	ofListener
	listenerIn
}) (*listenersOut, error) {
	l, err := s.listener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	b, err := s.balancer(c, l.Balancer)
	if err != nil {
		return nil, err
	}
	if err := s.fill(c, b, l, &in.listenerIn); err != nil {
		return nil, err
	}
	s.listeners.Put(c.Region, l.ARN, l)
	return &listenersOut{Listeners: []listenerView{l.view()}}, nil
}

func (s *Service) deleteListener(c *wire.Call, in *ofListener) (*none, error) {
	l, err := s.listener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	s.listeners.Delete(c.Region, l.ARN)
	return &none{}, nil
}

// rulesOf are the attributes that a listener has: only TCP ones have any.
func (l *listener) rulesOf() map[string]rule {
	if l.Protocol == "TCP" || l.Protocol == "TCP_UDP" {
		return listenerRules
	}
	return nil
}

func (s *Service) describeListenerAttributes(c *wire.Call, in *ofListener) (*attributesOut, error) {
	l, err := s.listener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	return attributes(l.rulesOf(), l.Attributes), nil
}

func (s *Service) modifyListenerAttributes(c *wire.Call, in *struct {
	ofListener
	Attributes []Attribute `wire:"Attributes,required"`
}) (*attributesOut, error) {
	l, err := s.listener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	next, err := changed("Listener", l.rulesOf(), l.Attributes, in.Attributes)
	if err != nil {
		return nil, err
	}
	l.Attributes = next
	s.listeners.Put(c.Region, l.ARN, l)
	return attributes(l.rulesOf(), l.Attributes), nil
}
