// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-k8s/slipway/internal/mototest"
	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/sim"
	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

const testRegion = "us-east-1"

// shared is one moto server for the whole package; each test has an account of its own
// in it, so worlds stay apart.
var shared struct {
	sync.Mutex
	url      string
	accounts int
	end      []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range shared.end {
		end()
	}
	os.Exit(code)
}

// lasting lets what a test starts live as long as the package's tests.
type lasting struct{ testing.TB }

func (lasting) Cleanup(f func()) { shared.end = append(shared.end, f) }

// world is one account at an endpoint, and the calls that were made to it.
type world struct {
	t        *testing.T
	moto     bool          // it is moto's server, with its faults
	sim      *simaws.Cloud // or nil
	endpoint string
	login    awssdk.CredentialsProvider
	ledger   *memLedger
	calls    *callLog
}

// motoWorld is an empty account at a moto server.
func motoWorld(t *testing.T) *world {
	t.Helper()
	mototest.Venv(t)
	t.Parallel()
	shared.Lock()
	defer shared.Unlock()
	if shared.url == "" {
		shared.url = mototest.Start(lasting{t})
	}
	shared.accounts++
	return &world{
		t: t, moto: true, endpoint: shared.url, login: motoLogin(t, shared.url, shared.accounts),
		ledger: &memLedger{}, calls: &callLog{},
	}
}

// judged runs a test in moto's world and in the simulator's.
func judged(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("moto", func(t *testing.T) { test(t, motoWorld(t)) })
	t.Run("sim", func(t *testing.T) { test(t, simWorld(t)) })
}

// simHurry is by how much faster the simulator's time runs: a NAT gateway takes its time.
const simHurry = 20

// simWorld is an empty simulator that answers in small pages.
func simWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	begun := time.Now()
	hurried := func() time.Time { return begun.Add(simHurry * time.Since(begun)) }
	s, err := sim.New(sim.Options{Dir: t.TempDir(), Clock: hurried})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, whole := s.AWS().Operations()["autoscaling"]; !whole {
		if strings.Contains(os.Getenv("SLIPWAY_REQUIRE"), "sim") {
			t.Fatal("SLIPWAY_REQUIRE names sim, and the simulator has no Auto Scaling")
		}
		t.Skip("the simulator has no Auto Scaling, which every plan asks")
	}
	s.AWS().Tune(simaws.Tuning{PageSize: 5})
	return &world{
		t: t, endpoint: s.URL(), sim: s.AWS(),
		login:  sdkcredentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, ""),
		ledger: &memLedger{}, calls: &callLog{},
	}
}

// motoLogin assumes a role in another account: moto keeps a world for each.
func motoLogin(t *testing.T, endpoint string, n int) awssdk.CredentialsProvider {
	t.Helper()
	client := sts.New(sts.Options{
		Region: testRegion, BaseEndpoint: &endpoint,
		Credentials: sdkcredentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "secret", ""),
	})
	arn := fmt.Sprintf("arn:aws:iam::%012d:role/tests", 200000000000+n)
	out, err := client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: ptr("tests")})
	if err != nil {
		t.Fatal(err)
	}
	return sdkcredentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
}

// open opens a cluster's cloud in the world.
func (w *world) open(name, uid string) *Cloud {
	w.t.Helper()
	c, err := Open(w.t.Context(), Options{
		Region: testRegion, Cluster: name, UID: uid, Endpoint: w.endpoint,
		Credentials: w.login, Ledger: w.ledger,
		HTTPClient: &http.Client{Transport: w.calls},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// plan lowers a blueprint and makes its plan; a nil blueprint plans the deletion.
func (w *world) plan(c *Cloud, b *model.Blueprint) *tasks.Plan {
	w.t.Helper()
	g := tasks.NewGraph()
	if b != nil {
		if err := c.Lower(b, g); err != nil {
			w.t.Fatal(err)
		}
	}
	p, err := tasks.MakePlan(w.t.Context(), g, tasks.PlanOptions{
		Removals: c.Removals, TaskDeadline: 20 * time.Second, Clock: fastClock{},
	})
	if err != nil {
		w.t.Fatalf("plan: %v", err)
	}
	return p
}

// apply applies a plan and fails the test if anything goes wrong.
func (w *world) apply(p *tasks.Plan) {
	w.t.Helper()
	if err := w.tryApply(p); err != nil {
		w.t.Fatalf("apply: %v", err)
	}
}

func (w *world) tryApply(p *tasks.Plan) error {
	_, err := tasks.Apply(w.t.Context(), p, tasks.ApplyOptions{TaskDeadline: time.Minute, Clock: fastClock{}})
	return err
}

// settle applies a blueprint and checks that the next plan is empty.
func (w *world) settle(c *Cloud, b *model.Blueprint) {
	w.t.Helper()
	w.apply(w.plan(c, b))
	if again := w.plan(c, b); again.Pending() {
		w.t.Fatalf("the plan after apply is not empty:\n%s", changes(again))
	}
}

// changes lists what a plan would do, one field a line, in the plan's order.
func changes(p *tasks.Plan) string {
	var b strings.Builder
	for _, i := range p.Items {
		if !i.Action.Pending() {
			continue
		}
		fmt.Fprintf(&b, "%c %s", i.Action.Symbol(), i.ID)
		if i.Reason != "" {
			fmt.Fprintf(&b, " (%s)", i.Reason)
		}
		b.WriteString("\n")
		if i.Action == tasks.Update || i.Action == tasks.Replace {
			for _, f := range i.Fields {
				fmt.Fprintf(&b, "    %s: %s -> %s\n", f.Path, f.Old, f.New)
			}
		}
	}
	return b.String()
}

// count returns how many items of a plan have an action and an ID with that prefix.
func count(p *tasks.Plan, a tasks.Action, prefix string) int {
	n := 0
	for _, i := range p.Items {
		if i.Action == a && strings.HasPrefix(string(i.ID), prefix) {
			n++
		}
	}
	return n
}

// fastClock makes pauses between attempts short.
type fastClock struct{}

func (fastClock) Now() time.Time { return time.Now() }
func (fastClock) After(d time.Duration) <-chan time.Time {
	return time.After(min(d, 5*time.Millisecond))
}

// callLog counts requests by operation, and can answer them in the service's place.
type callLog struct {
	mu     sync.Mutex
	made   []string
	answer func(op string, r *http.Request) (*http.Response, error) // nil, nil: go on
}

func (l *callLog) RoundTrip(r *http.Request) (*http.Response, error) {
	op := operation(r)
	l.mu.Lock()
	l.made = append(l.made, op)
	answer := l.answer
	l.mu.Unlock()
	if answer != nil {
		if resp, err := answer(op, r); resp != nil || err != nil {
			return resp, err
		}
	}
	// A call that was sent is carried out, whoever stops waiting for it; the next run of a
	// test must not overtake it.
	resp, err := http.DefaultTransport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if lost := r.Context().Err(); lost != nil && err == nil {
		resp.Body.Close()
		return nil, lost
	}
	return resp, err
}

// operation reads the action of a query-protocol request, or its method and path. It
// leaves the body as it was.
func operation(r *http.Request) string {
	if r.Body == nil {
		return r.Method + " " + r.URL.Path
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return r.Method + " " + r.URL.Path
	}
	for part := range strings.SplitSeq(string(text), "&") {
		if op, ok := strings.CutPrefix(part, "Action="); ok {
			return op
		}
	}
	return r.Method + " " + r.URL.Path
}

// since returns the calls made after a mark.
func (l *callLog) since(mark int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.made[mark:])
}

func (l *callLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made)
}

// writes returns the calls that change something.
func writes(calls []string) []string {
	return slices.DeleteFunc(calls, func(op string) bool { return reads(op) || strings.HasPrefix(op, "GET ") })
}

// memLedger is a ledger in memory.
type memLedger struct {
	mu      sync.Mutex
	entries []cloudup.LedgerEntry
}

func (l *memLedger) Entries(context.Context) ([]cloudup.LedgerEntry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries), nil
}

func (l *memLedger) Record(ctx context.Context, e cloudup.LedgerEntry) error {
	if err := l.Forget(ctx, e.Kind, e.ID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return nil
}

func (l *memLedger) Forget(_ context.Context, kind, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e cloudup.LedgerEntry) bool { return e.Kind == kind && e.ID == id })
	return nil
}

// networkPlan is a blueprint with a network only, in two zones.
func networkPlan(name, uid string) *model.Blueprint {
	return &model.Blueprint{
		Name: name, UID: uid,
		Network: model.Network{Ranges: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}},
		Spec: &api.Cluster{
			Metadata: api.ObjectMeta{Name: name, UID: uid},
			Spec:     api.ClusterSpec{CloudProvider: api.CloudProvider{AWS: &api.AWS{Region: testRegion}}},
		},
	}
}

func ptr[T any](v T) *T { return &v }
