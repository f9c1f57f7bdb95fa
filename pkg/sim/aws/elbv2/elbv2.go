// SPDX-License-Identifier: Apache-2.0

// Package elbv2 is the simulated Elastic Load Balancing: network load balancers, target groups and listeners, with the service's refusals and limits; pkg/sim registers it, and Auto Scaling registers its instances through it.
package elbv2

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of ids; crypto/rand when nil
	// Delay is how long a balancer takes from provisioning to active, a target
	// from initial to healthy, and a deleted balancer's interfaces to go; half
	// a second when 0, none when negative.
	Delay time.Duration
}

// Service is the simulated Elastic Load Balancing.
type Service struct {
	*wire.QueryService
	account   string
	rand      io.Reader
	delay     time.Duration
	ec2       *ec2.Service
	balancers *world.Table[balancer]
	groups    *world.Table[targetGroup]
	listeners *world.Table[listener]
	fading    *world.Table[fadingInterface]
}

// New makes the service with its tables in w.
func New(w *world.World, compute *ec2.Service, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand, delay: opts.Delay, ec2: compute}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.delay == 0 {
		s.delay = 500 * time.Millisecond
	}
	var errs [4]error
	s.balancers, errs[0] = world.NewTable[balancer](w, "elbv2/load-balancer")
	s.groups, errs[1] = world.NewTable[targetGroup](w, "elbv2/target-group")
	s.listeners, errs[2] = world.NewTable[listener](w, "elbv2/listener")
	s.fading, errs[3] = world.NewTable[fadingInterface](w, "elbv2/fading-interface")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	s.QueryService = &wire.QueryService{
		ServiceName: "elasticloadbalancing", Version: "2015-12-01", Namespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
		Dialect: wire.Query, Ops: map[string]wire.Handler{},
	}
	for _, ops := range []map[string]wire.Handler{s.balancerOps(), s.settingOps(), s.groupOps(), s.targetOps(), s.listenerOps(), s.tagOps()} {
		maps.Copy(s.Ops, ops)
	}
	return s, nil
}

// fadingInterface is an interface of a deleted balancer that is not gone yet.
type fadingInterface struct {
	ID  string
	Due time.Time
}

// Passing says that the interface goes by itself.
func (*fadingInterface) Passing() bool { return true }

// Settle removes the interfaces of deleted balancers when their time has come.
func (s *Service) Settle(now time.Time) {
	for _, region := range s.fading.Scopes() {
		c := &wire.Call{Service: s.ServiceName, Region: region, Account: s.account, Now: now}
		for _, f := range slices.Clone(s.fading.All(region)) {
			if !now.Before(f.Due) {
				s.ec2.DeleteInterface(c, f.ID)
				s.fading.Delete(region, f.ID)
			}
		}
	}
}

func (s *Service) newID() string {
	var b [8]byte
	_, _ = io.ReadFull(s.rand, b[:]) // a short read leaves zeros: still an id
	return hex.EncodeToString(b[:])
}

func (s *Service) arn(c *wire.Call, rest string) string {
	return "arn:aws:elasticloadbalancing:" + c.Region + ":" + s.account + ":" + rest
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func misconfigured(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidConfigurationRequest", format, args...)
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// checkName checks the name of a balancer or target group.
func checkName(kind, name string) *wire.Error {
	switch {
	case len(name) > 32:
		return invalid("%s name '%s' cannot be longer than '32' characters", kind, name)
	case !namePattern.MatchString(name):
		return invalid("%s name '%s' can only contain characters that are alphanumeric characters and hyphens(-)", kind, name)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return invalid("%s name '%s' cannot begin or end with '-'", kind, name)
	case kind == "Load balancer" && strings.HasPrefix(name, "internal-"):
		return invalid("%s name '%s' cannot begin with 'internal-'", kind, name)
	}
	return nil
}

// paging is what describe operations take.
type paging struct {
	Marker   string
	PageSize int
}

func page[T any](c *wire.Call, rows []T, p paging) ([]T, string, error) {
	rows, next, err := wire.Page(c, rows, p.PageSize, p.Marker, wire.Bounds{Min: 1, Max: 400, Default: 400, Code: "ValidationError"})
	if err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

// none is the answer of operations that only say that they worked.
type none struct{}
