// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

func TestGraphFaultsAreNamed(t *testing.T) {
	t.Parallel()
	circle := func() []tasks.Task {
		a, b, c, d := created("a"), created("b"), created("c"), created("d")
		a.deps, b.deps, c.deps, d.deps = []tasks.Task{c}, []tasks.Task{a}, []tasks.Task{b}, []tasks.Task{c, a}
		c.deps = append(c.deps, d)
		self := created("self")
		self.deps = []tasks.Task{self}
		return []tasks.Task{d, c, self, b, a, created("fine", a)}
	}
	for _, c := range []struct {
		name     string
		wanted   []tasks.Task
		removals []tasks.Task
		want     string
	}{
		{
			"circles", circle(), nil,
			"check the task graph: tasks depend on each other in a circle: a -> c -> b -> a (also tied into it: d)\n" +
				"tasks depend on each other in a circle: self -> self",
		},
		{
			"unknown", []tasks.Task{created("a", created("x")), created("b", nil, created("y"))}, nil,
			"check the task graph: a depends on x, which is not in the graph\nb names a nil dependency\n" +
				"b depends on y, which is not in the graph",
		},
		{"no ID", []tasks.Task{created("")}, nil, "check the task graph: task 1 of the graph has no ID"},
		{
			"wanted needs removal", []tasks.Task{created("a", removed("r"))}, []tasks.Task{removed("r")},
			"check the task graph: a depends on r, which is not in the graph",
		},
		{
			"removal needs unknown", nil, []tasks.Task{removed("r", removed("q"))},
			"check the removals: r depends on q, which is not in the graph",
		},
		{
			"removal creates", nil, []tasks.Task{created("r")},
			`observe r: the task wants the action "create", which it cannot have`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := tasks.MakePlan(t.Context(), graph(t, c.wanted, c.removals...), tasks.PlanOptions{})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllObserveFailuresAreReportedOnce(t *testing.T) {
	t.Parallel()
	a, b := created("a"), created("b")
	a.observe = func(context.Context) error { return errDenied }
	b.observe = func(context.Context) error { panic("nil map") }
	c := created("c", a)
	c.observe = func(context.Context) error { t.Error("c was observed"); return nil }
	_, err := tasks.MakePlan(t.Context(), graph(t, []tasks.Task{b, a, c}), tasks.PlanOptions{
		Removals: func(context.Context, *tasks.Graph) error { t.Error("removals were looked for"); return nil },
	})
	want := "observe b: the task panicked: nil map\nobserve a: access denied"
	if err == nil || err.Error() != want || !errors.Is(err, errDenied) {
		t.Errorf("error %v", err)
	}
}

func TestPlanCancelIsOneLine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a := created("a")
	a.observe = func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return fmt.Errorf("list: %w", ctx.Err())
	}
	_, err := tasks.MakePlan(ctx, graph(t, []tasks.Task{a, created("b", a)}), tasks.PlanOptions{})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

func TestObserveRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := created("a")
		n := 0
		a.observe = func(context.Context) error {
			if n++; n < 5 {
				return tasks.Retry(errDenied)
			}
			return nil
		}
		begun := time.Now()
		if _, err := tasks.MakePlan(t.Context(), graph(t, []tasks.Task{a}), tasks.PlanOptions{Jitter: same}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 7500*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestRemovalsComeAfterObservation(t *testing.T) {
	t.Parallel()
	observed := false
	a := created("a")
	a.observe = func(context.Context) error { observed = true; return nil }
	gone := removed("gone")
	gone.change = tasks.Change{}
	p, err := tasks.MakePlan(t.Context(), graph(t, []tasks.Task{a}), tasks.PlanOptions{
		Removals: func(_ context.Context, g *tasks.Graph) error {
			if !observed {
				t.Error("too early")
			}
			return errors.Join(g.Remove(gone), g.Remove(removed("old", gone, a)))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Counts(); n[tasks.Delete] != 1 || n[tasks.None] != 0 || n[tasks.Create] != 1 {
		t.Errorf("counts %v", n)
	}
	if diff := cmp.Diff([]tasks.ID{"gone"}, p.Items[2].Deps); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownOutputsPlanAsUnknown: what a dependency will only know after apply stands
// in the plan as such, and is known when the dependent is applied.
func TestUnknownOutputsPlanAsUnknown(t *testing.T) {
	t.Parallel()
	vpc := &vpcTask{}
	subnet := &subnetTask{vpc: vpc}
	p := plan(t, graph(t, []tasks.Task{subnet, vpc}))
	if p.Items[0].ID != "vpc" || p.Items[1].Fields[0].New != tasks.After() {
		t.Errorf("items %+v", p.Items)
	}
	if _, err := tasks.Apply(t.Context(), p, tasks.ApplyOptions{}); err != nil || subnet.got != "vpc-1" {
		t.Errorf("%v, got %q", err, subnet.got)
	}
}

type vpcTask struct{ VPC tasks.Output[string] }

func (*vpcTask) ID() tasks.ID       { return "vpc" }
func (*vpcTask) Deps() []tasks.Task { return nil }
func (*vpcTask) Observe(context.Context) (tasks.Change, error) {
	return tasks.NewDiff(false).Change(nil), nil
}
func (v *vpcTask) Apply(context.Context, tasks.Change) error { v.VPC.Set("vpc-1"); return nil }

type subnetTask struct {
	vpc *vpcTask
	got string
}

func (*subnetTask) ID() tasks.ID         { return "subnet" }
func (s *subnetTask) Deps() []tasks.Task { return []tasks.Task{s.vpc} }
func (s *subnetTask) Observe(context.Context) (tasks.Change, error) {
	d := tasks.NewDiff(false)
	d.Fixed("vpc", nil, s.vpc.VPC.Plan())
	return d.Change(nil), nil
}
func (s *subnetTask) Apply(context.Context, tasks.Change) error {
	s.got = s.vpc.VPC.Value()
	return nil
}

func TestPlanJSONIsTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 20 {
		var all []tasks.Task
		for i := range 60 {
			x := created(tasks.ID(fmt.Sprintf("t/%d", i)))
			if i > 2 {
				x.deps = []tasks.Task{all[i/2], all[i/3]}
			}
			x.observe = func(context.Context) error {
				for range rand.IntN(2000) {
					_ = i
				}
				return nil
			}
			x.change.Fields = []tasks.Field{{Path: "n", New: tasks.V(i)}, {Path: "raw", New: tasks.V("a\xff")}}
			all = append(all, x)
		}
		b, err := json.Marshal(plan(t, graph(t, all)))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(first, b) {
			t.Fatal("two plans of the same graph differ")
		}
	}
}

func TestDecodePlanRefuses(t *testing.T) {
	t.Parallel()
	const head = `{"format":1,"header":{"when":"2026-12-01T09:30:00Z"},"items":`
	const none = `,"counts":{"none":0,"create":0,"update":0,"replace":0,"delete":0,"keep":0}}`
	one := strings.Replace(none, `"create":0`, `"create":1`, 1)
	if _, err := tasks.DecodePlan([]byte(head + `[{"id":"a","action":"create"}]` + one)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ doc, want string }{
		"empty":         {``, "unexpected end of JSON input"},
		"other":         {`{"a":1}`, "not a saved plan"},
		"newer":         {`{"format":2,"else":1}`, "format 2 is newer than this tool reads (1)"},
		"unknown field": {head + `[],"x":1` + none, `unknown field "x"`},
		"trailing":      {head + `[]` + none + `{}`, "after top-level value"},
		"action":        {head + `[{"id":"a","action":"explode"}]` + none, `unknown action "explode"`},
		"twice":         {head + `[{"id":"a","action":"none"},{"id":"a","action":"none"}]` + none, "stands there twice"},
		"no id":         {head + `[{"id":"","action":"none"}]` + none, "items[0] has no id"},
		"order":         {head + `[{"id":"a","action":"create","deps":["b"]}]` + one, "before its dependency b"},
		"cut":           {head + `[]` + one, "counts.create is 1, the items say 0"},
		"value":         {head + `[{"id":"a","action":"create","fields":[{"path":"p","old":null,"new":{"x":1}}]}]` + one, "unknown field"},
		"value both":    {head + `[{"id":"a","action":"create","fields":[{"path":"p","old":null,"new":{}}]}]` + one, "either unknown or"},
		"path":          {head + `[{"id":"a","action":"create","fields":[{"path":"","old":null,"new":"x"}]}]` + one, "field without path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tasks.DecodePlan([]byte(c.doc))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzDecodePlan(f *testing.F) {
	b, err := json.Marshal(plan(f, showcase(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":1,"items":[{"id":"a","action":"none","fields":[{"path":"a","old":{"unknown":true},"new":""}]}],"counts":{"none":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := tasks.DecodePlan(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := tasks.DecodePlan(again)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if moved := p.Moved(q); len(moved) > 0 {
			t.Fatalf("moved by saving: %v", moved)
		}
		var text bytes.Buffer
		if err := p.Text(&text, tasks.TextOptions{All: true, Width: 80}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(text.String(), "\x1b\r\x00\a") {
			t.Fatal("control characters reach the terminal")
		}
	})
}
