// SPDX-License-Identifier: Apache-2.0

// Package autoscaling is the simulated Auto Scaling: groups that keep instances on record in the simulated EC2, with the service's refusals and limits; pkg/sim registers it.
package autoscaling

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of ids; crypto/rand when nil
	// Delay is how long a deleted group stands as "Delete in progress"; 300 ms
	// when 0, none when negative.
	Delay time.Duration
}

// Targets is what Auto Scaling asks the load balancers.
type Targets interface {
	HasTargetGroup(c *wire.Call, arn string) bool
	Register(c *wire.Call, arn, instance string)
	Deregister(c *wire.Call, arn, instance string)
}

// Service is the simulated Auto Scaling.
type Service struct {
	*wire.QueryService
	account    string
	rand       io.Reader
	delay      time.Duration
	ec2        *ec2.Service
	targets    Targets
	groups     *world.Table[group]
	activities *world.Table[activity] // scope: region and group
	refreshes  *world.Table[refresh]  // scope: region and group
}

// New makes the service with its tables in w.
func New(w *world.World, compute *ec2.Service, targets Targets, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand, delay: opts.Delay, ec2: compute, targets: targets}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.delay == 0 {
		s.delay = 300 * time.Millisecond
	}
	var errs [3]error
	s.groups, errs[0] = world.NewTable[group](w, "autoscaling/group")
	s.activities, errs[1] = world.NewTable[activity](w, "autoscaling/activity")
	s.refreshes, errs[2] = world.NewTable[refresh](w, "autoscaling/instance-refresh")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	s.QueryService = &wire.QueryService{
		ServiceName: "autoscaling", Version: "2011-01-01", Namespace: "http://autoscaling.amazonaws.com/doc/2011-01-01/",
		Dialect: wire.Query, Ops: map[string]wire.Handler{},
	}
	for _, ops := range []map[string]wire.Handler{
		s.groupOps(), s.describeOps(), s.memberOps(), s.tagOps(), s.settingOps(), s.trafficOps(), s.hookOps(), s.warmOps(), s.refreshOps(),
	} {
		maps.Copy(s.Ops, ops)
	}
	return s, nil
}

// Settle moves every group on: instances that came up or went, hooks that ran
// out, groups that are being deleted.
func (s *Service) Settle(now time.Time) {
	for _, region := range s.groups.Scopes() {
		c := &wire.Call{Service: s.ServiceName, Region: region, Account: s.account, Now: now}
		for _, g := range slices.Clone(s.groups.All(region)) {
			s.reconcile(c, g)
		}
	}
}

func (s *Service) newID() string {
	var b [16]byte
	_, _ = io.ReadFull(s.rand, b[:]) // a short read leaves zeros: still an id
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

// ofGroup is the parameter that most operations take.
type ofGroup struct {
	AutoScalingGroupName string `wire:"AutoScalingGroupName,required"`
}

// group finds a group for an operation that works on it.
func (s *Service) group(c *wire.Call, name string) (*group, *wire.Error) {
	if g := s.groups.Get(c.Region, name); g != nil {
		return g, nil
	}
	return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup: %s", name)
}

// living is group for operations that change it: one that is going is refused.
func (s *Service) living(c *wire.Call, name string) (*group, *wire.Error) {
	g, err := s.group(c, name)
	if err == nil && g.deleting() {
		return nil, wire.Errorf("ScalingActivityInProgress", "AutoScalingGroup by name %s is pending delete", name)
	}
	return g, err
}

func (s *Service) put(c *wire.Call, g *group) { s.groups.Put(c.Region, g.Name, g) }

// scope is where a group's activities and refreshes lie.
func scope(c *wire.Call, g string) string { return c.Region + " " + g }

// paging is what describe operations take.
type paging struct {
	MaxRecords int
	NextToken  string
}

func page[T any](c *wire.Call, rows []T, p paging, usual, most int) ([]T, string, error) {
	rows, next, err := wire.Page(c, rows, p.MaxRecords, p.NextToken, wire.Bounds{Min: 1, Max: most, Default: usual, Code: "ValidationError"})
	if err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

// none is the answer of operations that only say that they worked.
type none struct{}
