// SPDX-License-Identifier: Apache-2.0

// Package ec2 is the simulated EC2: networks, instances as records, launch templates, volumes and images, with EC2's refusals and limits; pkg/sim registers it, and the other simulated services reach it through Service's exported methods.
package ec2

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"maps"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of ids; crypto/rand when nil
	// Delay is how long instances and NAT gateways take from pending to ready,
	// and from going to gone; a second when 0, none when negative.
	Delay time.Duration
}

// Profiles is what EC2 asks IAM: the instance profile with this name or ARN.
type Profiles interface {
	InstanceProfile(nameOrARN string) (arn, id string, ok bool)
}

// Service is the simulated EC2.
type Service struct {
	*wire.QueryService
	account  string
	rand     io.Reader
	delay    time.Duration
	profiles Profiles
	tokens   *world.Table[token]
	kinds    map[string]tagged // by id prefix, for tags
	tables
}

// New makes the service with its tables in w.
func New(w *world.World, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand, delay: opts.Delay, kinds: map[string]tagged{}}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.delay == 0 {
		s.delay = time.Second
	}
	if err := s.open(w); err != nil {
		return nil, err
	}
	s.QueryService = &wire.QueryService{
		ServiceName: "ec2", Version: "2016-11-15", Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/",
		Dialect: wire.EC2, Ops: s.operations(),
	}
	return s, nil
}

// SetProfiles plugs IAM in; until then no instance profile exists.
func (s *Service) SetProfiles(p Profiles) { s.profiles = p }

// newID makes an id such as vpc-0123456789abcdef0.
func (s *Service) newID(prefix string) string {
	var b [9]byte
	_, _ = io.ReadFull(s.rand, b[:]) // a short read leaves zeros: still an id
	return prefix + "0" + hex.EncodeToString(b[:])[:16]
}

func (s *Service) arn(c *wire.Call, resource, id string) string {
	return "arn:aws:ec2:" + c.Region + ":" + s.account + ":" + resource + "/" + id
}

// op is wire.Op with what all of EC2 shares: the region must exist, and DryRun
// answers once the parameters are read.
func op[In, Out any](fn func(c *wire.Call, in *In) (*Out, error)) wire.Handler {
	run := wire.Op(fn)
	rehearse := wire.Op(func(*wire.Call, *In) (*Out, error) {
		return nil, &wire.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: 412}
	})
	return func(q *wire.QueryService, c *wire.Call) ([]byte, error) {
		if _, known := regions[c.Region]; !known {
			return nil, &wire.Error{Code: "AuthFailure", Message: "There is no region " + c.Region, Status: 401}
		}
		dry, given := c.Params["DryRun"]
		if !given {
			return run(q, c)
		}
		whole := c.Params
		c.Params = maps.Clone(whole)
		delete(c.Params, "DryRun")
		defer func() { c.Params = whole }()
		switch dry[0] {
		case "true":
			return rehearse(q, c)
		case "false":
			return run(q, c)
		}
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter DryRun is invalid. It must be a boolean", dry[0])
	}
}

// done is the answer of operations that only say that they worked.
type done struct {
	Return bool
}

func ok() (*done, error) { return &done{true}, nil }
