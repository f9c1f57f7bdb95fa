// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"

	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Export writes the group. Its size between the bounds is the autoscaler's, so it is not
// said.
func (g *AutoScalingGroup) Export(_ context.Context, m *terraform.Module) error {
	_, there := g.CloudID.Get()
	b := g.export(m, "aws_autoscaling_group")
	if there {
		b.Import(g.name)
	}
	b.SetText("name", g.name)
	b.Set("min_size", terraform.Number(int64(g.pool.Min)))
	b.Set("max_size", terraform.Number(int64(g.pool.Max)))
	b.Set("vpc_zone_identifier", terraform.Texts(listOf(placedIDs(g.subnets))...))
	if arns := listOf(g.targetARNs()); len(arns) > 0 {
		b.Set("target_group_arns", terraform.Texts(arns...))
	}
	b.Set("protect_from_scale_in", terraform.Bool(g.protected()))
	b.SetNumber("health_check_grace_period", graceSeconds)
	if s := g.suspended(); len(s) > 0 {
		b.Set("suspended_processes", terraform.Texts(s...))
	}
	version := terraform.Expression(terraform.Unmark(g.template.CloudID.Value(), "latest_version"))
	if g.mixed.wanted {
		g.mixed.export(b, g.template.CloudID.Value(), version)
	} else {
		l := b.Block("launch_template")
		l.SetText("id", g.template.CloudID.Value())
		l.Set("version", version)
	}
	for _, k := range sortedKeys(g.tags) {
		t := b.Block("tag")
		t.SetText("key", k)
		t.Set("value", terraform.Text(g.tags[k]))
		t.Set("propagate_at_launch", terraform.Bool(true))
	}
	m.Output("group_"+terraform.Label(g.key)+"_name", "The auto scaling group of "+g.key+".", b.Ref("name"))
	return nil
}

func (p mixedPolicy) export(b *terraform.Resource, template string, version terraform.Value) {
	m := b.Block("mixed_instances_policy")
	d := m.Block("instances_distribution")
	d.SetText("on_demand_allocation_strategy", p.onDemand)
	d.Set("on_demand_base_capacity", terraform.Number(int64(p.base)))
	d.Set("on_demand_percentage_above_base_capacity", terraform.Number(int64(p.aboveBase)))
	d.SetText("spot_allocation_strategy", p.spot)
	d.SetNumber("spot_instance_pools", int64(p.pools))
	d.SetText("spot_max_price", p.maxPrice)
	l := m.Block("launch_template")
	s := l.Block("launch_template_specification")
	s.SetText("launch_template_id", template)
	s.Set("version", version)
	for _, machine := range p.machines {
		l.Block("override").SetText("instance_type", machine)
	}
}
