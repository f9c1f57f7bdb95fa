// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Lower adds the tasks of a blueprint to a graph. It does no I/O.
func (c *Cloud) Lower(b *model.Blueprint, g *tasks.Graph) error {
	l := &lowering{survey: c.begin(g), blueprint: b, built: newBuilt()}
	l.labels = b.Labels
	for _, step := range lowerSteps() {
		if err := step.run(l); err != nil {
			return fmt.Errorf("lower %s for %s: %w", step.name, b.Name, err)
		}
	}
	return nil
}

// lowerStep adds the tasks of one part of the blueprint.
type lowerStep struct {
	name string
	run  func(l *lowering) error
}

// lowerSteps is the order of the work; each step may use what earlier ones built.
func lowerSteps() []lowerStep {
	return []lowerStep{
		{"network", lowerNetwork},       // VPC, subnets, ways in and out
		{"firewall", lowerFirewall},     // security groups and their rules
		{"DNS zone", lowerZone},         // looked up: it exists
		{"identities", lowerIdentities}, // roles, policies, instance profiles
		{"SSH keys", lowerKeys},
		{"volumes", lowerVolumes},     // etcd members' disks
		{"endpoints", lowerEndpoints}, // load balancers, target groups, listeners
		{"records", lowerRecords},     // DNS names
		{"groups", lowerPools},        // launch templates and auto scaling groups
	}
}

// lowering is one run of Lower.
type lowering struct {
	*survey
	blueprint *model.Blueprint
	built
}

// add puts a task into the graph.
func (l *lowering) add(t tasks.Task) error { return l.graph.Add(t) }

// built holds the tasks that later steps refer to.
type built struct {
	vpc        *VPC
	subnets    map[string]placed // by name, ours and shared
	ownSubnets map[string]*Subnet
	gateway    *InternetGateway          // nil without public subnets of our own
	groupOf    map[string]*SecurityGroup // by partyKey or roleKey
	builtMachines
}

func newBuilt() built {
	return built{
		subnets: map[string]placed{}, ownSubnets: map[string]*Subnet{}, groupOf: map[string]*SecurityGroup{},
		builtMachines: newBuiltMachines(),
	}
}

// roleKey is a role as names and keys spell it: control-plane, node, bastion.
func roleKey(r api.Role) string {
	if r == api.RoleControlPlane {
		return "control-plane"
	}
	return strings.ToLower(string(r))
}
