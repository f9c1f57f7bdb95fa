// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Listener is one open port of a load balancer.
type Listener struct {
	resource
	listen   model.Listen
	balancer *LoadBalancer
	target   *TargetGroup
}

func newListener(s *survey, b *LoadBalancer, t *TargetGroup, m model.Listen) *Listener {
	l := &Listener{
		resource: resource{s: s, kind: "listener", key: t.key, deps: []tasks.Task{b, t}},
		listen:   m, balancer: b, target: t,
	}
	l.tags = s.tagsFor(t.key, t.key+"."+s.cluster, nil)
	return l
}

// Describe says which port it is.
func (l *Listener) Describe() string {
	return fmt.Sprintf("port %d of load balancer %s", l.listen.Port, l.balancer.key)
}

// Observe finds the listener.
func (l *Listener) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := l.s.listeners.find(ctx, l.key)
	if err != nil {
		return tasks.Change{}, err
	}
	have := o.Value
	d := tasks.NewDiff(exists)
	d.Fixed("loadBalancer", aws.ToString(have.LoadBalancerArn), l.balancer.CloudID.Plan())
	d.Fixed("port", set(exists, aws.ToInt32(have.Port)), l.listen.Port)
	d.Fixed("protocol", string(have.Protocol), string(elbtypes.ProtocolEnumTcp))
	d.Field("targetGroup", forwardedTo(have), l.target.CloudID.Plan())
	diffTags(d, o.Tags, l.tags)
	return found(&l.resource, l.s.listeners, o, exists, d), nil
}

// forwardedTo returns the ARNs of the target groups that get the traffic.
func forwardedTo(v elbtypes.Listener) string {
	var out []string
	for _, a := range v.DefaultActions {
		switch {
		case a.TargetGroupArn != nil:
			out = append(out, *a.TargetGroupArn)
		case a.ForwardConfig != nil:
			for _, t := range a.ForwardConfig.TargetGroups {
				out = append(out, aws.ToString(t.TargetGroupArn))
			}
		}
	}
	return strings.Join(out, ",")
}

func (l *Listener) forward() []elbtypes.Action {
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(l.target.CloudID.Value())}}
}

// Apply makes the listener, or forwards it elsewhere.
func (l *Listener) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[elbtypes.Listener])
	if c.Action == tasks.Update {
		if c.Has("targetGroup") {
			if _, err := l.s.elb.ModifyListener(ctx, &elb.ModifyListenerInput{ListenerArn: &o.ID, DefaultActions: l.forward()}); err != nil {
				return fmt.Errorf("forward %s to another target group: %w", l.key, err)
			}
		}
		return l.s.tagBalancing(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		// The old one goes first: it may hold the port, and a target group serves one load
		// balancer at a time.
		if err := l.s.removeListener(ctx, leftover{ID: o.ID}); err != nil {
			return fmt.Errorf("replace listener %s: %w", l.key, err)
		}
	}
	id, err := l.s.listeners.makeOnce(ctx, l.key, l.create)
	if is(err, "TargetGroupAssociationLimit") { // the old listener is not quite gone
		err = tasks.Wait(err)
	}
	if err != nil {
		return fmt.Errorf("create listener %s on port %d: %w", l.key, l.listen.Port, err)
	}
	l.CloudID.Set(id)
	return nil
}

func (l *Listener) create(ctx context.Context) (string, error) {
	out, err := l.s.elb.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: aws.String(l.balancer.CloudID.Value()),
		Port:            aws.Int32(int32(l.listen.Port)), Protocol: elbtypes.ProtocolEnumTcp,
		DefaultActions: l.forward(), Tags: elbTags(l.tags),
	})
	if err != nil {
		return "", err
	}
	if len(out.Listeners) == 0 {
		return "", errors.New("AWS named no listener in its answer")
	}
	return aws.ToString(out.Listeners[0].ListenerArn), nil
}

func (s *survey) removeListener(ctx context.Context, l leftover) error {
	_, err := s.elb.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: &l.ID})
	return ifThere(err)
}

// Export writes the listener.
func (l *Listener) Export(_ context.Context, m *terraform.Module) error {
	b := l.export(m, "aws_lb_listener")
	b.SetText("load_balancer_arn", l.balancer.CloudID.Value())
	b.SetText("protocol", string(elbtypes.ProtocolEnumTcp))
	b.SetNumber("port", int64(l.listen.Port))
	l.exportTags(b)
	a := b.Block("default_action")
	a.SetText("type", string(elbtypes.ActionTypeEnumForward))
	a.SetText("target_group_arn", l.target.CloudID.Value())
	return nil
}
