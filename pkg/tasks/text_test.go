// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, diff)
	}
}

var header = tasks.Header{
	Verb: "update cluster", Cluster: "demo.example.com", UID: "0f3c", Revision: 7, Store: "s3://acme-state/clusters",
	Target: "direct", Identity: "user/ann in 123456789012 (us-east-1)", Account: "123456789012", Tool: "v0.1.0", When: day,
}

// policy is a document too long for one line.
func policy(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:DescribeInstances","` + action +
		`"],"Resource":"*"}]}`
}

// showcase has one of everything that a plan can show.
func showcase(t testing.TB) *tasks.Graph {
	task := func(id tasks.ID, about string, c tasks.Change, deps ...tasks.Task) *fakeTask {
		return &fakeTask{id: id, about: about, change: c, deps: deps}
	}
	vpc := tasks.NewDiff(false)
	vpc.Fixed("cidr", nil, "10.0.0.0/16")
	vpc.Field("dnsHostnames", nil, true)
	vpc.Map("tags", nil, map[string]string{"KubernetesCluster": "demo.example.com", "empty": ""})
	role := tasks.NewDiff(false)
	role.Field("policy", nil, policy("ec2:AttachVolume"))
	role.Secret("key", nil, []byte("s3cret"))
	role.Field("userData", nil, strings.Repeat("echo hello\n", 20)+"\x1b[31mred\n")
	subnet := tasks.NewDiff(false)
	subnet.Fixed("vpc", nil, tasks.After())
	subnet.Field("cidr", nil, "10.0.32.0/19")
	group := tasks.NewDiff(true)
	group.Field("minSize", 1, 2)
	group.Field("maxPrice", "0.20", "")
	group.Field("subnets", []string{"subnet-0a1b2c3d", "subnet-1a1b2c3d"},
		[]string{"subnet-0a1b2c3d", "subnet-1a1b2c3d", "subnet-2a1b2c3d", "subnet-3a1b2c3d"})
	group.Secret("token", []byte("a"), []byte("b"))
	group.Map("labels", map[string]string{"env": "dev", "old": "x"}, map[string]string{"env": ""})
	group.Field("userData", "#!/bin/sh\nset -e\na\nb\nc\nd\nexec nodeup --config abc\n",
		"#!/bin/sh\nset -e\na\nb\nc\nd\nexec nodeup --config def\ntrue\n")
	group.Field("policy", policy("ec2:AttachVolume"), policy("ec2:DetachVolume"))
	volume := tasks.NewDiff(true)
	volume.Fixed("zone", "us-east-1a", "us-east-1d")
	volume.Because("a volume cannot leave its zone")
	volume.HoldsData()
	v := task("aws/vpc/demo.example.com", "", vpc.Change(nil))
	shared := tasks.Change{Action: tasks.Keep, Reason: "shared: given by id", Exact: "77"}
	return graph(t, []tasks.Task{
		v, task("aws/iam-role/nodes.demo.example.com", "", role.Change(nil)),
		task("aws/subnet/us-east-1a.demo.example.com", "public subnet in us-east-1a", subnet.Change(nil), v),
		task("aws/group/nodes-us-east-1a.demo.example.com", "", group.Change(nil), v),
		task("aws/volume/a.etcd-main.demo.example.com", "etcd volume", volume.Change(nil)),
		task("aws/nat-gateway/nat-0123456789", "", shared),
		task("aws/key/demo", "", tasks.Change{Exact: "1"}),
	},
		task("aws/volume/old.demo.example.com", "", tasks.Change{Action: tasks.Delete, Reason: "no group wants it", Data: true}),
		task("aws/role/gone", "", tasks.Change{}))
}

func showcasePlan(t *testing.T) *tasks.Plan {
	p, err := tasks.MakePlan(t.Context(), showcase(t), tasks.PlanOptions{Header: header})
	if err != nil {
		t.Fatal(err)
	}
	p.Warnings = []tasks.Warning{
		{Path: "spec.kubernetesVersion", Text: "1.31 is no longer maintained upstream; the newest version that this tool supports is 1.36, and clusters move one minor version at a time"},
		{Text: "the store is on this machine: no instance can read it"},
	}
	return p
}

func TestTextGolden(t *testing.T) {
	t.Parallel()
	p := showcasePlan(t)
	for name, o := range map[string]tasks.TextOptions{
		"plan.txt":       {},
		"plan-all.txt":   {All: true, Width: 80},
		"plan-color.txt": {Color: true},
	} {
		var got bytes.Buffer
		if err := p.Text(&got, o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, got.Bytes())
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", append(b, '\n'))
	saved, err := tasks.DecodePlan(b)
	if err != nil {
		t.Fatal(err)
	}
	var fresh, read bytes.Buffer
	if err := errors.Join(p.Text(&fresh, tasks.TextOptions{}), saved.Text(&read, tasks.TextOptions{})); err != nil {
		t.Fatal(err)
	}
	if fresh.String() != read.String() || strings.Contains(fresh.String(), "s3cret") {
		t.Error("a saved plan prints another text")
	}
}

func TestTotalWithoutChanges(t *testing.T) {
	t.Parallel()
	kept := tasks.Item{ID: "a", Action: tasks.Keep}
	for want, p := range map[string]tasks.Plan{
		"No changes. The cloud is as revision 7 wants it.": {Header: header},
		"No changes. Everything is as wanted.":             {},
		"No changes. Nothing is left to delete.":           {Header: tasks.Header{Verb: "delete cluster", Revision: 7}},
		"No changes. Nothing is left to delete; 1 kept.":   {Header: tasks.Header{Verb: "delete cluster"}, Items: []tasks.Item{kept}},
	} {
		if got := p.Total(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMovedNamesEachDifference(t *testing.T) {
	t.Parallel()
	saved := showcasePlan(t)
	if moved := saved.Moved(showcasePlan(t)); len(moved) > 0 {
		t.Fatalf("nothing moved, got %v", moved)
	}
	now := showcasePlan(t)
	now.Header.Revision, now.Header.Store, now.Header.Identity = 8, "s3://other", "someone else"
	now.Header.Account = "210987654321"
	for i := range now.Items {
		switch item := &now.Items[i]; item.ID {
		case "aws/vpc/demo.example.com":
			item.Action, item.Fields = tasks.Update, append(item.Fields[1:], tasks.Field{Path: "new", Old: tasks.V(1)})
		case "aws/group/nodes-us-east-1a.demo.example.com":
			item.Fields[0].Old = tasks.V(5)
			item.Fields[3].New.Text = "cafe"
		case "aws/key/demo":
			item.Exact = "2"
		case "aws/volume/old.demo.example.com":
			item.ID = "aws/volume/older.demo.example.com"
		case "aws/subnet/us-east-1a.demo.example.com":
			item.Deps = nil
		}
	}
	var got []string
	for _, m := range saved.Moved(now) {
		got = append(got, m.String())
	}
	golden(t, "moved.txt", []byte(strings.Join(got, "\n")+"\n"))
}

func TestPlainReporter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report(tasks.PlainReporter(&out))
	golden(t, "progress-plain.txt", out.Bytes())
}

func TestTerminalReporter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		report(tasks.TerminalReporter(&out, func() int { return 80 }, tasks.SystemClock{}))
		text := strings.NewReplacer("\r\x1b[K", "\n<", "\x1b", "ESC").Replace(out.String())
		for l := range strings.Lines(text) {
			if len([]rune(l)) > 79+len("<\n") && strings.Contains(l, "..]") {
				t.Errorf("a live line wraps: %q", l)
			}
		}
		golden(t, "progress-terminal.txt", []byte(text))
	})
}

// report plays a short run.
func report(r tasks.Reporter) {
	r.Start(12)
	for _, id := range []tasks.ID{"aws/vpc/demo.example.com", "aws/role/nodes.demo.example.com", "aws/key/demo"} {
		r.Running(id, tasks.Create)
	}
	r.Done("aws/vpc/demo.example.com", tasks.Create, nil, 1234*time.Millisecond)
	r.Retrying("aws/key/demo", tasks.Retry(errors.New("throttled")), time.Second)
	r.Retrying("aws/key/demo", tasks.Retry(errors.New("throttled")), time.Second)
	r.Running("aws/key/demo", tasks.Create)
	r.Retrying("aws/key/demo", tasks.Wait(errors.New("not there yet")), time.Second)
	r.Done("aws/role/nodes.demo.example.com", tasks.Update, fmt.Errorf("denied\nby policy"), time.Second)
	r.Skipped("aws/group/nodes.demo.example.com", "aws/role/nodes.demo.example.com")
	r.End(tasks.Summary{
		Done:   map[tasks.Action]int{tasks.Create: 1},
		Failed: []tasks.Failure{{}}, Skipped: []tasks.ID{"x"}, NotBegun: []tasks.ID{"y"}, Interrupted: true, Took: 95 * time.Second,
	})
}

func TestTextFoldsTheKeysOfANewObject(t *testing.T) {
	t.Parallel()
	d := tasks.NewDiff(false)
	d.Map("tags", nil, map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"})
	d.Map("labels", nil, map[string]string{"x": "1"})
	p := &tasks.Plan{Format: tasks.PlanFormat, Items: []tasks.Item{{ID: "x/y/z", Action: tasks.Create, Fields: d.Change(nil).Fields}}}
	for all, want := range map[bool]string{false: "4 keys: a, b, c, d", true: "tags[d]"} {
		var b strings.Builder
		if err := p.Text(&b, tasks.TextOptions{All: all}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "labels[x]") {
			t.Errorf("all %v: no %q in\n%s", all, want, b.String())
		}
	}
}
