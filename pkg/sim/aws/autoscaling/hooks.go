// SPDX-License-Identifier: Apache-2.0

package autoscaling

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// The transitions that a hook can hold.
const (
	launching       = "autoscaling:EC2_INSTANCE_LAUNCHING"
	terminatingHook = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// hook holds members in a transition until somebody says that they may go on.
type hook struct {
	Name, Transition, Result string
	Heartbeat                int // seconds
	Notify, Role, Metadata   string
}

const (
	maxHooks         = 50
	defaultHeartbeat = 3600
)

// globalTimeout is the most that a member waits, whatever the heartbeats: 48
// hours, or 100 times the heartbeat if that is shorter.
func (h hook) globalTimeout() time.Duration {
	return min(48*time.Hour, 100*time.Duration(h.Heartbeat)*time.Second)
}

// hookIn is how requests spell a hook.
type hookIn struct {
	LifecycleHookName     string `wire:"LifecycleHookName,required"`
	LifecycleTransition   string
	RoleARN               *string
	NotificationTargetARN *string
	NotificationMetadata  *string
	HeartbeatTimeout      *int
	DefaultResult         string
}

var hookName = regexp.MustCompile(`^[A-Za-z0-9\-_/]{1,255}$`)

// putHook adds a hook, or changes the one of that name.
func (g *group) putHook(in hookIn) *wire.Error {
	i := slices.IndexFunc(g.Hooks, func(h hook) bool { return h.Name == in.LifecycleHookName })
	h := hook{Name: in.LifecycleHookName, Heartbeat: defaultHeartbeat, Result: "ABANDON"}
	if i >= 0 {
		h = g.Hooks[i]
	}
	set(&h.Role, in.RoleARN)
	set(&h.Notify, in.NotificationTargetARN)
	set(&h.Metadata, in.NotificationMetadata)
	set(&h.Heartbeat, in.HeartbeatTimeout)
	h.Transition, h.Result = cmp.Or(in.LifecycleTransition, h.Transition), cmp.Or(in.DefaultResult, h.Result)
	switch {
	case !hookName.MatchString(h.Name):
		return invalid("1 validation error detected: Value '%s' at 'lifecycleHookName' failed to satisfy constraint: Member must satisfy regular expression pattern: [A-Za-z0-9\\-_\\/]+", h.Name)
	case h.Transition != launching && h.Transition != terminatingHook:
		return invalid("Lifecycle hooks must have a LifecycleTransition of %s or %s", launching, terminatingHook)
	case h.Heartbeat < 30 || h.Heartbeat > 7200:
		return invalid("HeartbeatTimeout must be between 30 and 7200 seconds")
	case h.Result != "CONTINUE" && h.Result != "ABANDON":
		return invalid("DefaultResult must be CONTINUE or ABANDON")
	case len(h.Metadata) > 4000:
		return invalid("NotificationMetadata takes 4000 characters at most")
	case h.Notify != "" && h.Role == "":
		return invalid("A hook with a notification target must have a role")
	}
	if i >= 0 {
		g.Hooks[i] = h
		return nil
	}
	if len(g.Hooks) >= maxHooks {
		return wire.Errorf("LimitExceeded", "A group has at most %d lifecycle hooks", maxHooks)
	}
	g.Hooks = append(slices.Clone(g.Hooks), h)
	return nil
}

// startHooks makes a member wait for the hooks of a transition, if there are any.
func (g *group) startHooks(c *wire.Call, m *member, transition string, token func() string) bool {
	m.Hooked = true
	for _, h := range g.Hooks {
		if h.Transition == transition {
			m.Waits = append(m.Waits, wait{h.Name, token(), c.Now.Add(time.Duration(h.Heartbeat) * time.Second), c.Now.Add(h.globalTimeout())})
		}
	}
	return len(m.Waits) > 0
}

// expire ends the waits that ran out, with their hooks' default results.
func (s *Service) expire(c *wire.Call, g *group, m *member) bool {
	for _, w := range slices.Clone(m.Waits) {
		if c.Now.Before(w.Due) && c.Now.Before(w.Limit) {
			continue
		}
		result := "ABANDON"
		if i := slices.IndexFunc(g.Hooks, func(h hook) bool { return h.Name == w.Hook }); i >= 0 {
			result = g.Hooks[i].Result
		}
		s.complete(c, g, m, w.Hook, result)
		return true
	}
	return false
}

// complete ends one wait; when it was the last, or the launch is abandoned,
// the member goes on.
func (s *Service) complete(c *wire.Call, g *group, m *member, name, result string) {
	m.Waits = slices.DeleteFunc(slices.Clone(m.Waits), func(w wait) bool { return w.Hook == name })
	switch {
	case m.State == pendingWait && result == "ABANDON":
		s.retire(c, g, m, "an instance was taken out of service in response to a launch that a lifecycle hook abandoned")
	case len(m.Waits) > 0 && result == "CONTINUE":
	case m.State == pendingWait:
		s.enter(c, g, m)
	case m.State == terminatingWait:
		s.end(c, m)
	}
}

func (s *Service) hookOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"PutLifecycleHook": wire.Op(s.putHook), "DescribeLifecycleHooks": wire.Op(s.describeHooks), "DeleteLifecycleHook": wire.Op(s.deleteHook),
		"CompleteLifecycleAction": wire.Op(s.completeAction), "RecordLifecycleActionHeartbeat": wire.Op(s.heartbeat),
		"DescribeLifecycleHookTypes": wire.Op(s.hookTypes),
	}
}

func (s *Service) putHook(c *wire.Call, in *struct {
	ofGroup
	hookIn
}) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if err := g.putHook(in.hookIn); err != nil {
		return nil, err
	}
	s.put(c, g)
	return &none{}, nil
}

type hookView struct {
	LifecycleHookName, AutoScalingGroupName, LifecycleTransition string
	NotificationTargetARN, RoleARN, NotificationMetadata         string
	HeartbeatTimeout, GlobalTimeout                              int
	DefaultResult                                                string
}

func (s *Service) describeHooks(c *wire.Call, in *struct {
	ofGroup
	LifecycleHookNames []string
}) (*struct{ LifecycleHooks []hookView }, error) {
	g, err := s.group(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	out := &struct{ LifecycleHooks []hookView }{[]hookView{}}
	for _, h := range g.Hooks {
		if len(in.LifecycleHookNames) == 0 || slices.Contains(in.LifecycleHookNames, h.Name) {
			out.LifecycleHooks = append(out.LifecycleHooks, hookView{h.Name, g.Name, h.Transition, h.Notify, h.Role, h.Metadata,
				h.Heartbeat, int(h.globalTimeout().Seconds()), h.Result})
		}
	}
	return out, nil
}

func (s *Service) hookTypes(*wire.Call, *none) (*struct{ LifecycleHookTypes []string }, error) {
	return &struct{ LifecycleHookTypes []string }{[]string{launching, terminatingHook}}, nil
}

type ofHook struct {
	ofGroup
	LifecycleHookName string `wire:"LifecycleHookName,required"`
}

func (s *Service) deleteHook(c *wire.Call, in *ofHook) (*none, error) {
	g, err := s.living(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(g.Hooks, func(h hook) bool { return h.Name == in.LifecycleHookName })
	if i < 0 {
		return nil, invalid("No Lifecycle Hook found for Auto Scaling group: %s with name: %s", g.Name, in.LifecycleHookName)
	}
	g.Hooks = slices.Delete(slices.Clone(g.Hooks), i, i+1)
	for i := range g.Members { // AWS completes what waits for a deleted hook
		if m := &g.Members[i]; slices.ContainsFunc(m.Waits, func(w wait) bool { return w.Hook == in.LifecycleHookName }) {
			s.complete(c, g, m, in.LifecycleHookName, "CONTINUE")
		}
	}
	s.put(c, g)
	return &none{}, nil
}

// ofAction names a lifecycle action by its token or its instance.
type ofAction struct {
	ofHook
	LifecycleActionToken, InstanceId string
}

func (s *Service) action(c *wire.Call, in ofAction) (*group, *member, *wait, *wire.Error) {
	g, err := s.group(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, nil, nil, err
	}
	if in.LifecycleActionToken == "" && in.InstanceId == "" {
		return nil, nil, nil, invalid("Either a LifecycleActionToken or an InstanceId must be given")
	}
	for i := range g.Members {
		m := &g.Members[i]
		for j := range m.Waits {
			w := &m.Waits[j]
			if w.Hook == in.LifecycleHookName && (in.LifecycleActionToken == "" || w.Token == in.LifecycleActionToken) && (in.InstanceId == "" || m.ID == in.InstanceId) {
				return g, m, w, nil
			}
		}
	}
	return nil, nil, nil, invalid("No active Lifecycle Action found with instance ID %s", cmp.Or(in.InstanceId, "for token "+in.LifecycleActionToken))
}

func (s *Service) completeAction(c *wire.Call, in *struct {
	ofAction
	LifecycleActionResult string `wire:"LifecycleActionResult,required"`
}) (*none, error) {
	if in.LifecycleActionResult != "CONTINUE" && in.LifecycleActionResult != "ABANDON" {
		return nil, invalid("LifecycleActionResult must be CONTINUE or ABANDON: %s", in.LifecycleActionResult)
	}
	g, m, w, err := s.action(c, in.ofAction)
	if err != nil {
		return nil, err
	}
	s.complete(c, g, m, w.Hook, in.LifecycleActionResult)
	s.put(c, g)
	s.reconcile(c, g)
	return &none{}, nil
}

func (s *Service) heartbeat(c *wire.Call, in *ofAction) (*none, error) {
	g, _, w, err := s.action(c, *in)
	if err != nil {
		return nil, err
	}
	for _, h := range g.Hooks {
		if h.Name == w.Hook {
			w.Due = c.Now.Add(time.Duration(h.Heartbeat) * time.Second)
		}
	}
	s.put(c, g)
	return &none{}, nil
}
