// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type runInstancesIn struct {
	LaunchData
	MinCount         int `wire:"MinCount,required"`
	MaxCount         int `wire:"MaxCount,required"`
	SubnetId         string
	PrivateIpAddress string
	Ipv6AddressCount int
	ClientToken      string
	LaunchTemplate   *TemplateRef
}

// Reservation is the instances of one launch.
type Reservation struct {
	ReservationId string
	OwnerId       string
	Groups        []struct{}  `wire:"groupSet"`
	Instances     []*Instance `wire:"instancesSet"`
}

func (s *Service) runInstances(c *wire.Call, in *runInstancesIn) (*Reservation, error) {
	if in.MinCount < 1 || in.MaxCount < in.MinCount {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%d) for parameter minCount is invalid. It must be at least 1 and at most maxCount", in.MinCount)
	}
	r := LaunchRequest{Data: in.LaunchData, Count: in.MaxCount, SubnetId: in.SubnetId, PrivateIP: in.PrivateIpAddress, IPv6Count: in.Ipv6AddressCount, ClientToken: in.ClientToken}
	if in.LaunchTemplate != nil {
		t, v, err := s.TemplateVersion(c, *in.LaunchTemplate)
		if err != nil {
			return nil, err
		}
		r.Data, r.Tags = v.LaunchTemplateData.over(in.LaunchData), templateTags(t, v)
	}
	reservation, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		list, err := s.Launch(c, r)
		if err != nil {
			return "", err
		}
		return list[0].ReservationId, nil
	})
	if err != nil {
		return nil, err
	}
	out := &Reservation{ReservationId: reservation, OwnerId: s.account}
	for _, vm := range s.instances.all(c) {
		if vm.ReservationId == reservation {
			out.Instances = append(out.Instances, vm)
		}
	}
	return out, nil
}

type describeInstancesIn struct {
	Ids []string `wire:"InstanceId"`
	describe
}

type describeInstancesOut struct {
	NextToken    string
	Reservations []*Reservation `wire:"reservationSet"`
}

func (s *Service) describeInstances(c *wire.Call, in *describeInstancesIn) (*describeInstancesOut, error) {
	s.refreshAll(c)
	rows, next, err := s.instances.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	out := &describeInstancesOut{NextToken: next}
	byID := map[string]*Reservation{}
	for _, vm := range rows {
		r := byID[vm.ReservationId]
		if r == nil {
			r = &Reservation{ReservationId: vm.ReservationId, OwnerId: s.account}
			byID[vm.ReservationId] = r
			out.Reservations = append(out.Reservations, r)
		}
		r.Instances = append(r.Instances, vm)
	}
	return out, nil
}

type instancesIn struct {
	InstanceIds []string `wire:"InstanceId,required"`
	Force       bool
	Hibernate   bool
}

type stateChange struct {
	InstanceId    string
	CurrentState  InstanceState
	PreviousState InstanceState
}

type stateChanges struct {
	Changes []stateChange `wire:"instancesSet"`
}

// several runs change on every instance named, after check let all of them pass.
func (s *Service) several(c *wire.Call, in *instancesIn, check func(*Instance) *wire.Error, change func(*Instance)) (*stateChanges, error) {
	var list []*Instance
	for _, id := range in.InstanceIds {
		vm, err := s.instances.get(c, id)
		if err != nil {
			return nil, err
		}
		if err := check(vm); err != nil {
			return nil, err
		}
		list = append(list, vm)
	}
	out := &stateChanges{}
	for _, vm := range list {
		before := vm.State
		change(vm)
		s.instances.put(c, vm)
		out.Changes = append(out.Changes, stateChange{vm.InstanceId, vm.State, before})
	}
	return out, nil
}

func (s *Service) terminateInstances(c *wire.Call, in *instancesIn) (*stateChanges, error) {
	return s.several(c, in, func(vm *Instance) *wire.Error {
		if vm.DisableApiTermination {
			return wire.Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", vm.InstanceId)
		}
		return nil
	}, func(vm *Instance) {
		s.Terminate(c, vm, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
	})
}

// Terminate starts an instance's end, protected or not; one that is going already is left alone.
func (s *Service) Terminate(c *wire.Call, vm *Instance, code, message string) {
	if !vm.Alive() {
		return
	}
	vm.enter("shutting-down", c.Now.Add(s.delay))
	vm.StateReason = &StateReason{code, message}
	vm.Reason = "User initiated (" + c.Now.UTC().Format("2006-01-02 15:04:05 GMT") + ")"
	s.instances.put(c, vm)
}

func (s *Service) stopInstances(c *wire.Call, in *instancesIn) (*stateChanges, error) {
	return s.several(c, in, func(vm *Instance) *wire.Error {
		if vm.DisableApiStop {
			return wire.Errorf("OperationNotPermitted", "The instance '%s' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.", vm.InstanceId)
		}
		if vm.State.Name != "running" && vm.State.Name != "stopped" && vm.State.Name != "stopping" {
			return incorrectState(vm, "stopped")
		}
		return nil
	}, func(vm *Instance) {
		if vm.State.Name == "running" {
			vm.enter("stopping", c.Now.Add(s.delay))
			vm.StateReason = &StateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}
		}
	})
}

func (s *Service) startInstances(c *wire.Call, in *instancesIn) (*stateChanges, error) {
	return s.several(c, in, func(vm *Instance) *wire.Error {
		if vm.State.Name != "stopped" && vm.State.Name != "running" && vm.State.Name != "pending" {
			return incorrectState(vm, "started")
		}
		return nil
	}, func(vm *Instance) {
		if vm.State.Name == "stopped" {
			vm.enter("pending", c.Now.Add(s.delay))
			vm.StateReason = nil
		}
	})
}

func incorrectState(vm *Instance, word string) *wire.Error {
	return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be %s.", vm.InstanceId, word)
}

func (s *Service) rebootInstances(c *wire.Call, in *instancesIn) (*done, error) {
	_, err := s.several(c, in, func(vm *Instance) *wire.Error {
		if vm.State.Name != "running" {
			return incorrectState(vm, "rebooted")
		}
		return nil
	}, func(*Instance) {})
	if err != nil {
		return nil, err
	}
	return ok()
}

type statusDetail struct{ Name, Status string }

type statusSummary struct {
	Status  string
	Details []statusDetail
}

type instanceStatus struct {
	InstanceId       string
	AvailabilityZone string
	InstanceState    InstanceState
	InstanceStatus   statusSummary
	SystemStatus     statusSummary
}

type describeStatusOut struct {
	NextToken string
	Statuses  []instanceStatus `wire:"instanceStatusSet"`
}

func (s *Service) describeInstanceStatus(c *wire.Call, in *struct {
	Ids                 []string `wire:"InstanceId"`
	IncludeAllInstances bool
	describe
}) (*describeStatusOut, error) {
	rows, err := s.instances.pick(c, in.Ids)
	if err != nil {
		return nil, err
	}
	var kept []*Instance
	for _, vm := range rows {
		if in.IncludeAllInstances || vm.State.Name == "running" {
			kept = append(kept, vm)
		}
	}
	if kept, err = filter(kept, in.Filters, s.instances.filters, nil); err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, kept, in.MaxResults, in.NextToken, wire.Bounds{Min: 5, Max: 1000, Default: 1000})
	if err != nil {
		return nil, err
	}
	out := &describeStatusOut{NextToken: next}
	for _, vm := range page {
		status, reach := "ok", "passed"
		if vm.State.Name != "running" {
			status, reach = "not-applicable", ""
		}
		summary := statusSummary{Status: status}
		if reach != "" {
			summary.Details = []statusDetail{{"reachability", reach}}
		}
		out.Statuses = append(out.Statuses, instanceStatus{vm.InstanceId, vm.Placement.AvailabilityZone, vm.State, summary, summary})
	}
	return out, nil
}
