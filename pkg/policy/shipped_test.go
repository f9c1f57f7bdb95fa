// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// workday is a Tuesday noon in Berlin, outside any freeze.
var workday = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

// quiet is an input that no shipped rule objects to.
func quiet() Input {
	return Input{Plan: plan("update cluster"), Spec: manifest(), Who: "ann", Now: workday}
}

func plan(verb string, items ...tasks.Item) *tasks.Plan {
	return &tasks.Plan{Format: tasks.PlanFormat, Header: tasks.Header{Verb: verb, Cluster: "demo.example.com"}, Items: items}
}

func manifest() *api.Manifest {
	three := int32(3)
	group := func(name string, role api.Role) *api.InstanceGroup {
		return &api.InstanceGroup{
			TypeMeta: api.TypeMeta{APIVersion: api.Version, Kind: api.KindInstanceGroup}, Metadata: api.ObjectMeta{Name: name},
			Spec: api.InstanceGroupSpec{Role: role, MachineType: "t3.medium", MaxSize: &three, MinSize: &three},
		}
	}
	return &api.Manifest{
		Cluster: &api.Cluster{
			TypeMeta: api.TypeMeta{APIVersion: api.Version, Kind: api.KindCluster}, Metadata: api.ObjectMeta{Name: "demo.example.com"},
			Spec: api.ClusterSpec{
				KubernetesVersion: "1.36.1", CloudProvider: api.CloudProvider{AWS: &api.AWS{Region: "eu-central-1"}},
				CloudLabels:  map[string]string{"team": "a", "cost-center": "b"},
				EtcdClusters: []api.EtcdCluster{{Name: "main", Members: []api.EtcdMember{{Name: "a"}}}},
			},
		},
		Groups: []*api.InstanceGroup{group("control-plane", api.RoleControlPlane), group("nodes", api.RoleNode)},
	}
}

func item(id string, action tasks.Action, fields ...tasks.Field) tasks.Item {
	return tasks.Item{ID: tasks.ID(id), Action: action, Fields: fields}
}

func becomes(path, value string) tasks.Field {
	return tasks.Field{Path: path, New: tasks.V(value)}
}

// edited returns an input whose spec was changed.
func edited(change func(*api.Cluster, []*api.InstanceGroup)) Input {
	in := quiet()
	change(in.Spec.Cluster, in.Spec.Groups)
	return in
}

func planned(verb string, items ...tasks.Item) Input {
	in := quiet()
	in.Plan = plan(verb, items...)
	return in
}

func at(in Input, now time.Time) Input {
	in.Now = now
	return in
}

func by(in Input, who string) Input {
	in.Who = who
	return in
}

func many(n int, action tasks.Action) []tasks.Item {
	var out []tasks.Item
	for i := range n {
		out = append(out, item("aws/subnet/"+string(rune('a'+i)), action))
	}
	return out
}

func number(n int32) *int32 { return &n }

// TestShippedRules shows of each rule in docs/policies that it fires, with what it
// matches and says, and that it leaves the nearest harmless case alone.
func TestShippedRules(t *testing.T) {
	t.Parallel()
	no := false
	frozen := time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		rule    string
		fires   Input
		matched string // joined by commas
		says    string // part of the message
		not     Input
	}{
		{"no-volume-deletes", planned("update cluster", item("aws/volume/main/a", tasks.Delete), item("aws/subnet/a", tasks.Delete)), "aws/volume/main/a", "must not be deleted",
			planned("update cluster", item("aws/volume/main/a", tasks.Update), item("aws/subnet/a", tasks.Delete))},
		{"no-open-api", edited(func(c *api.Cluster, _ []*api.InstanceGroup) {
			c.Spec.API.Access = []string{"0.0.0.0/0", "::/0", "203.0.113.0/24", "0.0.0.0/1"}
		}), "0.0.0.0/0,0.0.0.0/1,::/0", "not be open",
			edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.API.Access = []string{"203.0.113.0/24"} })},
		{"no-open-ssh", edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.SSHAccess = []string{"0.0.0.0/0"} }), "0.0.0.0/0", "SSH",
			edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.SSHAccess = []string{"10.0.0.0/8"} })},
		{"no-open-rule", planned("update cluster", item("aws/securitygrouprule/nodeports-from-world", tasks.Create, becomes("source", "0.0.0.0/0"))), "aws/securitygrouprule/nodeports-from-world", "whole internet",
			planned("update cluster", item("aws/securitygrouprule/x", tasks.Create, becomes("source", "203.0.113.0/24")), item("aws/securitygrouprule/y", tasks.Update))},
		{"no-replaces-in-business-hours", planned("update cluster", item("aws/natgateway/a", tasks.Replace)), "aws/natgateway/a", "working days",
			at(planned("update cluster", item("aws/natgateway/a", tasks.Replace)), workday.Add(10*time.Hour))},
		{"encrypted-in-the-spec", edited(func(c *api.Cluster, g []*api.InstanceGroup) {
			c.Spec.EtcdClusters[0].Members[0].EncryptedVolume = &no
			g[1].Spec.RootVolume = &api.RootVolume{Encrypted: &no}
		}), "etcd main,group nodes", "must be encrypted",
			edited(func(_ *api.Cluster, g []*api.InstanceGroup) { g[1].Spec.RootVolume = &api.RootVolume{Size: 20} })},
		{"encrypted-in-the-plan", planned("update cluster", item("aws/launchtemplate/nodes", tasks.Update, becomes("rootVolume.encrypted", "false"))), "aws/launchtemplate/nodes", "not encrypted",
			planned("update cluster", item("aws/volume/main/a", tasks.Create, becomes("encrypted", "true")))},
		{"allowed-machine-types", edited(func(_ *api.Cluster, g []*api.InstanceGroup) {
			g[1].Spec.MixedInstances = &api.MixedInstances{Instances: []string{"t3.medium", "p5.48xlarge"}}
		}), "instancegroup nodes", "in 1 group(s)",
			edited(func(_ *api.Cluster, g []*api.InstanceGroup) { g[1].Spec.MachineType = "m7i.4xlarge" })},
		{"allowed-regions", edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.CloudProvider.AWS.Region = "us-east-1" }), "", "not in us-east-1",
			edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.CloudProvider.AWS.Region = "eu-west-1" })},
		{"required-labels", edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Spec.CloudLabels = map[string]string{"team": "a"} }), "cost-center", "cloudLabels",
			quiet()},
		{"max-nodes", edited(func(_ *api.Cluster, g []*api.InstanceGroup) { g[1].Spec.MaxSize = number(51) }), "", "grow to 51 machines",
			edited(func(_ *api.Cluster, g []*api.InstanceGroup) { g[1].Spec.MaxSize = number(50) })},
		{"many-deletes", planned("update cluster", many(21, tasks.Delete)...), "", "more than 20",
			planned("delete cluster", many(21, tasks.Delete)...)},
		{"no-public-topology-in-production", edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Metadata.Name = "eu-prod.example.com" }), "", "private topology",
			edited(func(c *api.Cluster, _ []*api.InstanceGroup) { c.Metadata.Name = "products.example.com" })},
		{"no-control-plane-downgrade", downgrade("1.36.10", "1.36.9"), "", "runs 1.36.10 and must not go back to 1.36.9",
			downgrade("1.36.9", "1.36.10")},
		{"freeze-window", at(planned("update cluster", item("aws/vpc/demo", tasks.Create)), frozen), "aws/vpc/demo", "frozen",
			by(at(planned("update cluster", item("aws/vpc/demo", tasks.Create)), frozen), "oncall")},
		{"no-deletion-of-production", func() Input {
			in := planned("delete cluster")
			in.Spec.Cluster.Metadata.Labels = map[string]string{"env": "prod"}
			return in
		}(), "", "env=prod", planned("delete cluster")},
		{"metadata-tokens-required", edited(func(_ *api.Cluster, g []*api.InstanceGroup) {
			g[1].Spec.InstanceMetadata = &api.InstanceMetadata{HTTPTokens: "optional"}
		}), "instancegroup nodes", "tokens",
			edited(func(_ *api.Cluster, g []*api.InstanceGroup) {
				g[1].Spec.InstanceMetadata = &api.InstanceMetadata{HTTPPutResponseHopLimit: number(1)}
			})},
	}
	all := shipped(t)
	var tested []string
	for _, c := range cases {
		tested = append(tested, c.rule)
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			v := violation(t, all, c.rule, c.fires)
			if v == nil {
				t.Fatal("the rule does not fire")
			}
			if got := strings.Join(v.Matched, ","); got != c.matched {
				t.Errorf("it matched %q, not %q", got, c.matched)
			}
			if !strings.Contains(v.Message, c.says) {
				t.Errorf("it says %q, without %q", v.Message, c.says)
			}
			if v := violation(t, all, c.rule, c.not); v != nil {
				t.Errorf("it fires without cause: %s", v)
			}
		})
	}
	for _, r := range all.rules {
		if !slices.Contains(tested, r.name) {
			t.Errorf("%s: nothing shows that rule %s fires", r.file, r.name)
		}
	}
	if len(all.rules) < 10 {
		t.Errorf("only %d rules are shipped", len(all.rules))
	}
}

func downgrade(from, to string) Input {
	in := quiet()
	in.Applied = manifest()
	in.Applied.Cluster.Spec.KubernetesVersion, in.Spec.Cluster.Spec.KubernetesVersion = from, to
	return in
}

// TestShippedRulesTogether: a good cluster passes all of them at once.
func TestShippedRulesTogether(t *testing.T) {
	t.Parallel()
	review, err := shipped(t).Evaluate(t.Context(), quiet())
	if err != nil || review.Err() != nil || len(review.Warned) > 0 {
		t.Fatalf("%v, %v, %v", err, review.Err(), review.Warned)
	}
}

// shipped loads every policy of the documentation.
func shipped(t *testing.T) *Set {
	t.Helper()
	paths, err := filepath.Glob("../../docs/policies/*.yaml")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d policies are shipped: %v", len(paths), err)
	}
	all := &Set{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Load(filepath.Base(path), data)
		if err != nil {
			t.Fatal(err)
		}
		all.Add(set)
	}
	return all
}

// violation returns what one rule says of an input; no rule may fail on it.
func violation(t *testing.T, all *Set, name string, in Input) *Violation {
	t.Helper()
	review, err := all.Evaluate(t.Context(), in)
	if err != nil || len(review.Failed) > 0 {
		t.Fatalf("%v %v", err, review.Failed)
	}
	for _, v := range slices.Concat(review.Denied, review.Warned) {
		if v.Rule == name {
			return &v
		}
	}
	return nil
}
