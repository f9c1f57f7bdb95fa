// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-k8s/slipway/pkg/model"
	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// page is an HTTP answer with a body.
func page(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// losing lets the first call of each writing operation through to the endpoint and loses
// its answer.
func losing() func(op string, r *http.Request) (*http.Response, error) {
	var mu sync.Mutex
	lost := map[string]bool{}
	return func(op string, r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if reads(op) || lost[op] {
			return nil, nil
		}
		lost[op] = true
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		return page(503, ""), nil
	}
}

// TestLostAnswers: an answer that is lost on the way makes no second object.
func TestLostAnswers(t *testing.T) { judged(t, testLostAnswers) }

func testLostAnswers(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.calls.answer = losing()
	w.settle(c, b)
	s := newSurvey(c, nil)
	for kind, n := range map[string]int{"vpc": 1, "subnet": 4, "natgateway": 2, "address": 2, "routetable": 3, "securitygroup": 3, "securitygrouprule": 6} {
		for _, k := range s.removables() {
			if k.kind != kind {
				continue
			}
			if left, err := k.list(t.Context()); err != nil || len(left) != n {
				t.Errorf("%s: %d objects, want %d (%v)", kind, len(left), n, err)
			}
		}
	}
	w.calls.answer = losing()
	w.apply(w.plan(c, nil))
	w.onlyDefaults(c)
}

// TestKilledAnywhere: a run that ends after any number of calls is finished by the next
// one, and what is there then can be deleted.
func TestKilledAnywhere(t *testing.T) { judged(t, testKilledAnywhere) }

func testKilledAnywhere(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	for _, after := range []int{0, 1, 2, 5, 9, 14, 20, 27, 31} {
		n := 0
		var mu sync.Mutex
		ctx, kill := context.WithCancel(t.Context())
		w.calls.answer = func(op string, _ *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if reads(op) {
				return nil, nil
			}
			if n++; n > after {
				kill()
				return nil, context.Canceled
			}
			return nil, nil
		}
		p := w.plan(c, b)
		if _, err := tasks.Apply(ctx, p, tasks.ApplyOptions{Clock: fastClock{}}); err == nil {
			t.Fatalf("killed after %d writes: no error", after)
		}
		w.calls.answer = nil
		if after%2 == 0 {
			w.settle(c, b)
		}
		w.apply(w.plan(c, nil))
		w.onlyDefaults(c)
	}
}

// TestDuplicate: of two objects of one purpose one is kept and one removed.
func TestDuplicate(t *testing.T) { judged(t, testDuplicate) }

func testDuplicate(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	s := newSurvey(c, nil)
	if _, err := c.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{
		TagSpecifications: tagSpec("elastic-ip", s.tagsFor("us-east-1a", "x", nil)),
	}); err != nil {
		t.Fatal(err)
	}
	p := w.plan(c, b)
	if !strings.Contains(changes(p), "- aws/address/us-east-1a/eipalloc-") || !strings.Contains(changes(p), "a second object of the same purpose as") {
		t.Errorf("plan:\n%s", changes(p))
	}
}

// TestDuplicateInUse: of two objects of one purpose the one that others hang on is kept,
// whatever their ids; the other way round an attached gateway would block its successor.
func TestDuplicateInUse(t *testing.T) { judged(t, testDuplicateInUse) }

func testDuplicateInUse(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	s := newSurvey(c, nil)
	first, ok, err := s.gateways.find(t.Context(), "demo.example.com")
	if err != nil || !ok {
		t.Fatalf("gateway: %v %v", ok, err)
	}
	for range 4 { // ids are random: one of these all but surely sorts before the first
		if _, err := c.ec2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{
			TagSpecifications: tagSpec("internet-gateway", s.tagsFor("demo.example.com", "x", nil)),
		}); err != nil {
			t.Fatal(err)
		}
	}
	again, _, err := newSurvey(c, nil).gateways.find(t.Context(), "demo.example.com")
	if err != nil || again.ID != first.ID {
		t.Errorf("the attached gateway %s is to be kept, not %s (%v)", first.ID, again.ID, err)
	}
	w.settle(c, b)
}

// TestDenied: one refused call fails one task, names the right and the identity, and
// what does not depend on it is done.
func TestDenied(t *testing.T) { judged(t, testDenied) }

func testDenied(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	who, err := c.Whoami(t.Context())
	if err != nil || who.Name == "" || who.Account == "" || who.Region != testRegion {
		t.Fatalf("who: %+v %v", who, err)
	}
	w.calls.answer = func(op string, _ *http.Request) (*http.Response, error) {
		if op != "CreateNatGateway" {
			return nil, nil
		}
		return page(403, "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not authorized</Message></Error></Errors></Response>"), nil
	}
	err = w.tryApply(w.plan(c, b))
	if err == nil || !strings.Contains(err.Error(), ":"+who.Name+" may not ec2:CreateNatGateway") {
		t.Errorf("denied: %v", err)
	}
	w.calls.answer = nil
	p := w.plan(c, b)
	var left []string
	for _, i := range p.Items {
		if i.Action.Pending() {
			left = append(left, string(i.ID))
		}
	}
	slices.Sort(left)
	want := []string{
		"aws/natgateway/us-east-1a", "aws/natgateway/us-east-1b",
		"aws/route/private-us-east-1a/0.0.0.0/0", "aws/route/private-us-east-1b/0.0.0.0/0",
	}
	if !slices.Equal(left, want) {
		t.Errorf("left to do: %v", left)
	}
}

// TestBlocked: what holds an object back is named when the deletion gives up.
func TestBlocked(t *testing.T) { judged(t, testBlocked) }

func testBlocked(t *testing.T, w *world) {
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	subnet, _, _ := newSurvey(c, nil).subnets.find(t.Context(), "us-east-1a")
	eni, err := c.ec2.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet.ID, Description: ptr("ELB net/k8s-web")})
	if err != nil {
		t.Fatal(err)
	}
	w.calls.answer = func(op string, _ *http.Request) (*http.Response, error) {
		if op != "DeleteSubnet" {
			return nil, nil
		}
		return page(400, "<Response><Errors><Error><Code>DependencyViolation</Code><Message>has dependencies</Message></Error></Errors></Response>"), nil
	}
	_, err = tasks.Apply(t.Context(), w.plan(c, nil), tasks.ApplyOptions{TaskDeadline: 2 * time.Second, Clock: fastClock{}})
	want := subnet.ID + ` is held by network interface ` + *eni.NetworkInterface.NetworkInterfaceId + ` ("ELB net/k8s-web")`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q in: %v", want, err)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Options{Region: testRegion, Cluster: "demo", UID: "u", Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	s := newSurvey(c, nil)
	s.labels = map[string]string{"Name": "evil", "KubernetesCluster": "evil", "team": "a"}
	tags := s.tagsFor("k", "n", map[string]string{tagElb: "1"})
	want := map[string]string{
		tagUID: "u", tagKey: "k", "Name": "n", "KubernetesCluster": "demo", "kubernetes.io/cluster/demo": "owned",
		"team": "a", tagElb: "1", tagLabels: tagElb + " team",
	}
	if !maps.Equal(tags, want) {
		t.Errorf("tags: %v", tags)
	}
	many := map[string]string{}
	for i := range 44 {
		many[strings.Repeat("k", 20)+string(rune('A'+i))] = "v"
	}
	s.labels = many
	tags = s.tagsFor("k", "n", nil)
	if len(tags) != maxTags || len(tags[tagLabels]) > maxTagValue {
		t.Errorf("%d tags, their list has %d characters", len(tags), len(tags[tagLabels]))
	}
	for k := range many {
		if !managed(tags, k) {
			t.Errorf("%s is not known as ours", k)
		}
	}
	if managed(tags, "foreign") || managed(tags, "aws:x") {
		t.Error("a foreign tag counts as ours")
	}
}

// TestEventualConsistency: what was made a moment ago is not known everywhere at once.
func TestEventualConsistency(t *testing.T) {
	w := simWorld(t)
	testConsistency(t, w, privatePlan("demo.example.com", "uid-1"))
}

// A template of nodes tells them where the load balancer is, which is not shown yet.
func TestEventualConsistencyOfMachines(t *testing.T) {
	w := simWorld(t)
	testConsistency(t, w, build(t, testManifest("demo.example.com", "uid-1")))
}

func testConsistency(t *testing.T, w *world, b *model.Blueprint) {
	w.sim.Tune(simaws.Tuning{PageSize: 5, ConsistencyDelayMS: simHurry * 300})
	c := w.open("demo.example.com", "uid-1")
	w.apply(w.plan(c, b))
	w.sim.Tune(simaws.Tuning{PageSize: 5})
	if p := w.plan(c, b); p.Pending() {
		t.Errorf("the plan after apply is not empty:\n%s", changes(p))
	}
	w.apply(w.plan(c, nil))
	w.onlyDefaults(c)
}

// TestThrottled: calls that are refused for their number are made later.
func TestThrottled(t *testing.T) {
	w := simWorld(t)
	w.sim.Tune(simaws.Tuning{PageSize: 5, Throttle: map[string]simaws.Rate{"ec2": {Rate: 2, Burst: 10}}})
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	w.settle(c, b)
	w.apply(w.plan(c, nil))
	w.onlyDefaults(c)
}

// TestQuota: a limit of the account stops at once, with its number.
func TestQuota(t *testing.T) {
	w := simWorld(t)
	c, b := w.open("demo.example.com", "uid-1"), privatePlan("demo.example.com", "uid-1")
	third := b.Subnets[0]
	for i, zone := range []string{"us-east-1c", "us-east-1d", "us-east-1e", "us-east-1f"} {
		private, utility := third, b.Subnets[1]
		private.Name, private.Zone, private.Range = zone, zone, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(192 + 8*i), 0}), 21)
		utility.Name, utility.Zone, utility.Range = "utility-"+zone, zone, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(16 + 8*i), 0}), 21)
		b.Subnets = append(b.Subnets, private, utility)
	}
	err := w.tryApply(w.plan(c, b))
	if err == nil || !strings.Contains(err.Error(), "ask for more in Service Quotas (EC2)") || !strings.Contains(err.Error(), "5 of 5") {
		t.Errorf("six addresses where five are allowed: %v", err)
	}
	w.apply(w.plan(c, nil))
	w.onlyDefaults(c)
}

// TestLostAnswerThatListsDoNotShow: what a creation without an answer made is looked for
// as long as lists may be behind; a clear refusal is not waited for.
func TestLostAnswerThatListsDoNotShow(t *testing.T) {
	t.Parallel()
	answer := func(status int) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: errors.New("answer")}
	}
	for name, c := range map[string]struct {
		first        error // of the first creation
		shown        int   // the read that shows the object
		reads, makes int   // expected
	}{
		"shown late":  {answer(503), 4, 4, 1},
		"never shown": {answer(503), 99, unseenLooks + 1, 2},
		"throttled":   {&smithy.GenericAPIError{Code: "RequestLimitExceeded"}, 99, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads, makes := 0, 0
			i := newInventory("thing", func(context.Context) ([]owned[int], error) {
				if reads++; reads >= c.shown {
					return []owned[int]{{ID: "made", Key: "k"}}, nil
				}
				return nil, nil
			})
			create := func(context.Context) (string, error) {
				if makes++; makes == 1 {
					return "", c.first
				}
				return "made again", nil
			}
			id, err := i.makeOnce(t.Context(), "k", create)
			for range 20 {
				if err == nil {
					break
				}
				id, err = i.makeOnce(t.Context(), "k", create)
			}
			if err != nil || id == "" || reads != c.reads || makes != c.makes {
				t.Errorf("%s, %v after %d reads and %d creations", id, err, reads, makes)
			}
		})
	}
}
