// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var processes = []string{"AZRebalance", "AddToLoadBalancer", "AlarmNotification", "HealthCheck", "InstanceRefresh", "Launch", "ReplaceUnhealthy", "ScheduledActions", "Terminate"}

var metrics = []string{
	"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances", "GroupPendingInstances", "GroupStandbyInstances", "GroupTerminatingInstances",
	"GroupTotalInstances", "GroupInServiceCapacity", "GroupPendingCapacity", "GroupStandbyCapacity", "GroupTerminatingCapacity", "GroupTotalCapacity",
	"WarmPoolDesiredCapacity", "WarmPoolWarmedCapacity", "WarmPoolPendingCapacity", "WarmPoolTerminatingCapacity", "WarmPoolTotalCapacity",
	"GroupAndWarmPoolDesiredCapacity", "GroupAndWarmPoolTotalCapacity",
}

func (s *Service) settingOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"SuspendProcesses": wire.Op(s.suspend), "ResumeProcesses": wire.Op(s.resume),
		"EnableMetricsCollection": wire.Op(s.enableMetrics), "DisableMetricsCollection": wire.Op(s.disableMetrics),
	}
}

type processesIn struct {
	ofGroup
	ScalingProcesses []string
}

// chosen is a list of known words, all of them when none is given.
func chosen(kind string, list, known []string) ([]string, *wire.Error) {
	if len(list) == 0 {
		return known, nil
	}
	for _, w := range list {
		if !slices.Contains(known, w) {
			return nil, invalid("Invalid %s: %s", kind, w)
		}
	}
	return list, nil
}

func with(have, more []string) []string {
	out := slices.Concat(have, more)
	slices.Sort(out)
	return slices.Compact(out)
}

func without(have, less []string) []string {
	return slices.DeleteFunc(slices.Clone(have), func(w string) bool { return slices.Contains(less, w) })
}

func (s *Service) suspend(c *wire.Call, in *processesIn) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	list, err := chosen("process", in.ScalingProcesses, processes)
	if err != nil {
		return nil, err
	}
	g.Suspended = with(g.Suspended, list)
	s.put(c, g)
	return &none{}, nil
}

func (s *Service) resume(c *wire.Call, in *processesIn) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	list, err := chosen("process", in.ScalingProcesses, processes)
	if err != nil {
		return nil, err
	}
	g.Suspended, g.Retry = without(g.Suspended, list), time.Time{}
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

func (s *Service) enableMetrics(c *wire.Call, in *struct {
	ofGroup
	Metrics     []string
	Granularity string `wire:"Granularity,required"`
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if in.Granularity != "1Minute" {
		return nil, invalid("Granularity must be 1Minute: %s", in.Granularity)
	}
	list, err := chosen("metric", in.Metrics, metrics)
	if err != nil {
		return nil, err
	}
	g.Metrics = with(g.Metrics, list)
	s.put(c, g)
	return &none{}, nil
}

func (s *Service) disableMetrics(c *wire.Call, in *struct {
	ofGroup
	Metrics []string
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	list, err := chosen("metric", in.Metrics, metrics)
	if err != nil {
		return nil, err
	}
	g.Metrics = without(g.Metrics, list)
	s.put(c, g)
	return &none{}, nil
}
