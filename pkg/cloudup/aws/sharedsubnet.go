// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// markKind is the ledger's kind for a tag that we put on an object of someone else. The
// entry's ID is "<subnet id> <tag key>", its name the tag's value.
const markKind = "aws/shared-tag"

// SharedSubnet is an existing subnet that the cluster uses. It is verified and kept; the
// only change is to add the tags that Kubernetes needs and that nobody has put there.
type SharedSubnet struct {
	resource
	spec model.Subnet
	vpc  *VPC
}

func newSharedSubnet(s *survey, vpc *VPC, m model.Subnet) *SharedSubnet {
	s.shared.want(m.ID)
	return &SharedSubnet{
		resource: resource{s: s, kind: "subnet", key: m.Name, deps: []tasks.Task{vpc}},
		spec:     m, vpc: vpc,
	}
}

// Describe says what the subnet is for.
func (n *SharedSubnet) Describe() string {
	return fmt.Sprintf("existing %s subnet %s in %s", n.spec.Kind, n.spec.ID, n.spec.Zone)
}

// marks are the tags that the subnet should carry for this cluster.
func (n *SharedSubnet) marks() map[string]string {
	if !n.spec.Tag {
		return nil
	}
	m := roleTags(n.spec)
	m[n.s.clusterTag()] = "shared"
	return m
}

// Observe verifies that the subnet is what the spec says and finds the tags it lacks. A
// tag that is there already, whatever its value, is someone else's and stays.
func (n *SharedSubnet) Observe(ctx context.Context) (tasks.Change, error) {
	o, err := n.s.shared.find(ctx, n.spec.ID)
	if err != nil {
		return tasks.Change{}, err
	}
	if err := n.verify(o.Value); err != nil {
		return tasks.Change{}, err
	}
	c := kept(&n.resource, o.ID, o.Value)
	marks := n.marks()
	for _, k := range slices.Sorted(maps.Keys(marks)) {
		n.s.shared.claim(o.ID, k)
		if _, there := o.Tags[k]; !there {
			c.Action = tasks.Update
			c.Fields = append(c.Fields, tasks.Field{Path: "tags[" + k + "]", New: tasks.V(marks[k])})
		}
	}
	return c, nil
}

// verify compares an existing subnet with what the spec says of it.
func (n *SharedSubnet) verify(have ec2types.Subnet) error {
	for _, x := range []struct{ what, have, want string }{
		{"the VPC", aws.ToString(have.VpcId), n.vpc.CloudID.Value()},
		{"the zone", aws.ToString(have.AvailabilityZone), n.spec.Zone},
		{"the range", aws.ToString(have.CidrBlock), n.spec.Range.String()},
	} {
		if x.have != x.want {
			return fmt.Errorf("subnet %s has %s %s, the spec says %s: correct spec.networking.subnets", n.spec.ID, x.what, x.have, x.want)
		}
	}
	return nil
}

// Apply adds the missing tags. Each is in the ledger before it is on the subnet, so that
// exactly those are taken away again.
func (n *SharedSubnet) Apply(ctx context.Context, c tasks.Change) error {
	set, _ := tagChanges(c)
	if n.s.ledger == nil {
		return fmt.Errorf("tag shared subnet %s: there is no ledger to write it down in", n.spec.ID)
	}
	for _, k := range slices.Sorted(maps.Keys(set)) {
		e := cloudup.LedgerEntry{Kind: markKind, ID: n.spec.ID + " " + k, Name: set[k], Note: n.key}
		if err := n.s.ledger.Record(ctx, e); err != nil {
			return fmt.Errorf("write down the tag %s on shared subnet %s: %w", k, n.spec.ID, err)
		}
	}
	return n.s.setTags(ctx, n.spec.ID, set)
}

// sharedSubnets reads all shared subnets of a graph with one list, and knows which marks
// of the ledger are still wanted.
type sharedSubnets struct {
	ids   []string // asked for while lowering
	cache *inventory[ec2types.Subnet]
}

func newSharedSubnets(s *survey) *sharedSubnets {
	n := &sharedSubnets{}
	n.cache = newInventory("shared subnet", func(ctx context.Context) ([]owned[ec2types.Subnet], error) {
		var out []owned[ec2types.Subnet]
		for ids := range slices.Chunk(n.ids, maxFilterValues) {
			got, err := s.readSubnets(ctx, []ec2types.Filter{{Name: aws.String("subnet-id"), Values: ids}}, false)
			if err != nil {
				return nil, err
			}
			for _, o := range got {
				o.Key = o.ID
				out = append(out, o)
			}
		}
		return out, nil
	})
	return n
}

// maxFilterValues is how many values EC2 takes in one filter.
const maxFilterValues = 200

func (n *sharedSubnets) want(id string) {
	if !slices.Contains(n.ids, id) {
		n.ids = append(n.ids, id)
	}
}

func (n *sharedSubnets) find(ctx context.Context, id string) (owned[ec2types.Subnet], error) {
	o, ok, err := n.cache.find(ctx, id)
	if err == nil && !ok {
		err = fmt.Errorf("there is no subnet %s: correct spec.networking.subnets", id)
	}
	return o, err
}

func (n *sharedSubnets) claim(id, tag string) { n.cache.claim(id + " " + tag) }

// release is what an existing subnet loses when the cluster does not use it any more.
type release struct {
	s       *survey
	subnet  string
	entries []cloudup.LedgerEntry
}

// releases returns one task for each shared subnet that carries marks nobody wants.
func (s *survey) releases(ctx context.Context) ([]*release, error) {
	if s.ledger == nil {
		return nil, nil
	}
	entries, err := s.ledger.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	by := map[string]*release{}
	for _, e := range entries {
		if e.Kind != markKind || s.shared.cache.isClaimed(e.ID) {
			continue
		}
		id, _, _ := strings.Cut(e.ID, " ")
		if by[id] == nil {
			by[id] = &release{s: s, subnet: id}
		}
		by[id].entries = append(by[id].entries, e)
	}
	var out []*release
	for _, id := range sortedKeys(by) {
		out = append(out, by[id])
	}
	return out, nil
}

// ID names the subnet by its id: the spec may not have a name for it any more.
func (r *release) ID() tasks.ID { return taskID("shared-subnet", r.subnet) }

// Deps returns nothing: tags can go at any time.
func (r *release) Deps() []tasks.Task { return nil }

// Describe says that the subnet stays.
func (r *release) Describe() string {
	return "existing subnet " + r.subnet
}

// Observe lists the tags that we put.
func (r *release) Observe(context.Context) (tasks.Change, error) {
	c := tasks.Change{Action: tasks.Update, Reason: "only the tags that this cluster put are removed", Leaves: "kept: it is not this cluster's"}
	for _, e := range r.entries {
		_, key, _ := strings.Cut(e.ID, " ")
		c.Fields = append(c.Fields, tasks.Field{Path: "tags[" + key + "]", Old: tasks.V(e.Name)})
	}
	return c, nil
}

// Apply removes them, each only while it has the value that we gave it.
func (r *release) Apply(ctx context.Context, c tasks.Change) error {
	var gone []ec2types.Tag
	for _, e := range r.entries {
		_, key, _ := strings.Cut(e.ID, " ")
		gone = append(gone, ec2types.Tag{Key: &key, Value: aws.String(e.Name)})
	}
	_, err := r.s.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{r.subnet}, Tags: gone})
	if ifThere(err) != nil {
		return fmt.Errorf("remove our tags from shared subnet %s: %w", r.subnet, err)
	}
	for _, e := range r.entries {
		if err := r.s.ledger.Forget(ctx, e.Kind, e.ID); err != nil {
			return fmt.Errorf("strike %s from the ledger: %w", e.ID, err)
		}
	}
	return nil
}

// Export writes the tags that the subnet lacks, and nothing else of it. Without a look at
// it, those are all that it should carry.
func (n *SharedSubnet) Export(ctx context.Context, m *terraform.Module) error {
	n.CloudID.Set(n.spec.ID)
	marks := n.marks()
	there := map[string]string{}
	if !m.Review {
		o, err := n.s.shared.find(ctx, n.spec.ID)
		if err != nil {
			return err
		}
		there = o.Tags
	}
	for _, k := range slices.Sorted(maps.Keys(marks)) {
		if v, has := there[k]; has && v != marks[k] {
			continue // someone else's
		}
		b := m.Resource("aws_ec2_tag", n.key+"-"+k)
		b.SetText("resource_id", n.spec.ID)
		b.SetText("key", k)
		b.SetText("value", marks[k])
		if _, has := there[k]; has {
			b.Import(n.spec.ID + "," + k)
		}
	}
	return nil
}
