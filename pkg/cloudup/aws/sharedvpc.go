// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// keptVPC tells, in the plan of a deletion, that the VPC round the cluster's objects is
// someone else's and stays.
type keptVPC struct{ id string }

// ID names the VPC by its id.
func (v keptVPC) ID() tasks.ID { return taskID("shared-vpc", v.id) }

// Deps returns nothing.
func (v keptVPC) Deps() []tasks.Task { return nil }

// Observe says that nothing happens to it.
func (v keptVPC) Observe(context.Context) (tasks.Change, error) {
	return tasks.Change{Action: tasks.Keep, Reason: "shared: not this cluster's, kept"}, nil
}

// Apply has nothing to do.
func (v keptVPC) Apply(context.Context, tasks.Change) error { return nil }

// keptVPCs returns the VPCs that are not ours and hold objects that are removed, of a
// graph that wants none itself.
func (s *survey) keptVPCs(ctx context.Context, removed map[string][]*Removal) ([]keptVPC, error) {
	if s.graph.Task(taskID("vpc", s.cluster)) != nil {
		return nil, nil
	}
	own, err := s.vpcs.all(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{"": true}
	for _, v := range own {
		seen[v.ID] = true
	}
	var out []keptVPC
	for _, kind := range []string{"securitygroup", "subnet"} {
		for _, r := range removed[kind] {
			if id := vpcOf(r.left.Value); !seen[id] {
				seen[id] = true
				out = append(out, keptVPC{id})
			}
		}
	}
	return out, nil
}

func vpcOf(v any) string {
	switch t := v.(type) {
	case ec2types.SecurityGroup:
		return aws.ToString(t.VpcId)
	case ec2types.Subnet:
		return aws.ToString(t.VpcId)
	}
	return ""
}
