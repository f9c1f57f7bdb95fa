// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Health checks of all target groups: a machine counts as healthy or not after two.
const (
	healthInterval = 10 // seconds
	healthCount    = 2
)

// drainSeconds is how long a machine that leaves keeps its connections. The tag says
// what was set, since attributes are shown for one target group a call only.
const (
	drainSeconds = "30"
	attrDrain    = "deregistration_delay.timeout_seconds"
	tagDrain     = tagOurs + "drain-seconds"
)

// TargetGroup is the machines behind one port of a load balancer.
type TargetGroup struct {
	resource
	name   string
	listen model.Listen
	vpc    *VPC
}

func newTargetGroup(s *survey, vpc *VPC, e model.Endpoint, m model.Listen) *TargetGroup {
	key := e.Name + "-" + m.Name
	t := &TargetGroup{
		resource: resource{s: s, kind: "targetgroup", key: key, deps: []tasks.Task{vpc}},
		// Another port is another group: both stand while one replaces the other.
		name:   s.balancerName(key+"-"+strconv.Itoa(m.Target), limitTarget),
		listen: m, vpc: vpc,
	}
	t.tags = s.tagsFor(key, key+"."+s.cluster, map[string]string{tagDrain: drainSeconds})
	return t
}

// Describe says where traffic goes.
func (t *TargetGroup) Describe() string {
	return fmt.Sprintf("machines behind port %d, on port %d", t.listen.Port, t.listen.Target)
}

// health returns protocol and path of the health check.
func (t *TargetGroup) health() (protocol, path string) {
	if path, ok := strings.CutPrefix(t.listen.Health, "https:"); ok {
		return string(elbtypes.ProtocolEnumHttps), path
	}
	return string(elbtypes.ProtocolEnumTcp), ""
}

// Observe finds the target group.
func (t *TargetGroup) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := t.s.targets.find(ctx, t.key)
	if err != nil {
		return tasks.Change{}, err
	}
	protocol, path := t.health()
	have := o.Value
	havePath := aws.ToString(have.HealthCheckPath)
	if have.HealthCheckProtocol == elbtypes.ProtocolEnumTcp {
		havePath = ""
	}
	d := tasks.NewDiff(exists)
	d.Fixed("port", set(exists, aws.ToInt32(have.Port)), t.listen.Target)
	d.Fixed("protocol", string(have.Protocol), string(elbtypes.ProtocolEnumTcp))
	d.Fixed("vpc", aws.ToString(have.VpcId), t.vpc.CloudID.Plan())
	d.Field("health.protocol", string(have.HealthCheckProtocol), protocol)
	d.Field("health.path", havePath, path)
	d.Field("health.interval", set(exists, aws.ToInt32(have.HealthCheckIntervalSeconds)), healthInterval)
	d.Field("health.healthy", set(exists, aws.ToInt32(have.HealthyThresholdCount)), healthCount)
	d.Field("health.unhealthy", set(exists, aws.ToInt32(have.UnhealthyThresholdCount)), healthCount)
	if exists && tasks.Thorough(ctx) {
		drain, err := t.s.drainOf(ctx, o.ID)
		if err != nil {
			return tasks.Change{}, err
		}
		d.Field("drainSeconds", drain, drainSeconds)
	}
	diffTags(d, o.Tags, t.tags)
	return found(&t.resource, t.s.targets, o, exists, d), nil
}

// Apply makes the target group, or changes its health check.
func (t *TargetGroup) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[elbtypes.TargetGroup])
	if c.Action == tasks.Update {
		if c.Has("health") {
			if err := t.setHealth(ctx, o.ID); err != nil {
				return err
			}
		}
		if c.Has("tags["+tagDrain+"]") || c.Has("drainSeconds") {
			if err := t.setDrain(ctx, o.ID); err != nil {
				return err
			}
		}
		return t.s.tagBalancing(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := t.s.retireBalancing(ctx, o.ID, t.key); err != nil {
			return err
		}
		if aws.ToString(o.Value.TargetGroupName) == t.name { // it was left from a network that is gone
			if err := t.s.removeTarget(ctx, leftover{ID: o.ID}); err != nil {
				return fmt.Errorf("replace target group %s: %w", t.name, err)
			}
		}
	}
	id, err := t.s.targets.makeOnce(ctx, t.key, t.create)
	if err != nil {
		return fmt.Errorf("create target group %s: %w", t.name, err)
	}
	if err := t.setDrain(ctx, id); err != nil {
		return err
	}
	t.CloudID.Set(id)
	return nil
}

func (t *TargetGroup) create(ctx context.Context) (string, error) {
	protocol, path := t.health()
	in := &elb.CreateTargetGroupInput{
		Name: &t.name, Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(int32(t.listen.Target)),
		VpcId: aws.String(t.vpc.CloudID.Value()), TargetType: elbtypes.TargetTypeEnumInstance,
		HealthCheckProtocol: elbtypes.ProtocolEnum(protocol), HealthCheckIntervalSeconds: aws.Int32(healthInterval),
		HealthyThresholdCount: aws.Int32(healthCount), UnhealthyThresholdCount: aws.Int32(healthCount),
		Tags: elbTags(t.tags),
	}
	if path != "" {
		in.HealthCheckPath = &path
	}
	out, err := t.s.elb.CreateTargetGroup(ctx, in)
	if err != nil {
		return "", err
	}
	if len(out.TargetGroups) == 0 {
		return "", errors.New("AWS named no target group in its answer")
	}
	return aws.ToString(out.TargetGroups[0].TargetGroupArn), nil
}

func (t *TargetGroup) setHealth(ctx context.Context, arn string) error {
	protocol, path := t.health()
	in := &elb.ModifyTargetGroupInput{
		TargetGroupArn: &arn, HealthCheckProtocol: elbtypes.ProtocolEnum(protocol),
		HealthCheckIntervalSeconds: aws.Int32(healthInterval),
		HealthyThresholdCount:      aws.Int32(healthCount), UnhealthyThresholdCount: aws.Int32(healthCount),
	}
	if path != "" {
		in.HealthCheckPath = &path
	}
	if _, err := t.s.elb.ModifyTargetGroup(ctx, in); err != nil {
		return fmt.Errorf("set the health check of target group %s: %w", t.name, err)
	}
	return nil
}

// drainOf reads what the tag only says was set.
func (s *survey) drainOf(ctx context.Context, arn string) (string, error) {
	out, err := s.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	if err != nil {
		return "", fmt.Errorf("read the attributes of target group %s: %w", arn, err)
	}
	for _, a := range out.Attributes {
		if aws.ToString(a.Key) == attrDrain {
			return aws.ToString(a.Value), nil
		}
	}
	return "", nil
}

func (t *TargetGroup) setDrain(ctx context.Context, arn string) error {
	_, err := t.s.elb.ModifyTargetGroupAttributes(ctx, &elb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: &arn,
		Attributes:     []elbtypes.TargetGroupAttribute{{Key: aws.String(attrDrain), Value: aws.String(drainSeconds)}},
	})
	if err != nil {
		return fmt.Errorf("set the attributes of target group %s: %w", t.name, err)
	}
	return nil
}

func (s *survey) removeTarget(ctx context.Context, l leftover) error {
	_, err := s.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: &l.ID})
	return ifThere(err)
}

// Export writes the target group.
func (t *TargetGroup) Export(_ context.Context, m *terraform.Module) error {
	b := t.export(m, "aws_lb_target_group")
	t.CloudID.Set(b.Mark("arn"))
	b.SetText("name", t.name)
	b.SetText("vpc_id", t.vpc.CloudID.Value())
	b.SetText("protocol", string(elbtypes.ProtocolEnumTcp))
	b.SetNumber("port", int64(t.listen.Target))
	b.SetText("target_type", string(elbtypes.TargetTypeEnumInstance))
	b.SetText("deregistration_delay", drainSeconds)
	t.exportTags(b)
	protocol, path := t.health()
	h := b.Block("health_check")
	h.SetText("protocol", protocol)
	h.SetText("path", path)
	h.SetNumber("interval", healthInterval)
	h.SetNumber("healthy_threshold", healthCount)
	h.SetNumber("unhealthy_threshold", healthCount)
	return nil
}
