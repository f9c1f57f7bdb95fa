// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// forever is more requests than any driver makes for one call.
const forever = 1000

// maxTries is how often a driver may ask a server that is busy: more would only add to
// the load.
const maxTries = 12

// network is a store with an object, its proxy, and its calls by name.
type network struct {
	s       driver.Store
	proxy   *FaultProxy
	version string // of demo/k
	content []byte
	fresh   int
}

func newNetwork(t *testing.T, h Harness) *network {
	t.Helper()
	if h.Proxy == nil {
		t.Skip("this driver uses no network")
	}
	n := &network{s: h.New(t), content: bytes.Repeat([]byte("content "), 20_000)}
	n.proxy = h.Proxy(t, n.s)
	// What a driver proves at its first write is proven before the faults begin.
	n.version = create(t, n.s, "demo/k", "first")
	var err error
	n.version, err = n.s.PutIfMatch(t.Context(), "demo/k", n.content, n.version)
	must(t, "replace", err)
	return n
}

// call makes one call; those that write leave demo/k as it was, or with more content.
func (n *network) call(t *testing.T, op string) error {
	t.Helper()
	ctx := t.Context()
	n.fresh++
	switch op {
	case "get":
		o, err := n.s.Get(ctx, "demo/k")
		if err == nil && !bytes.Equal(o.Data, n.content) {
			t.Fatalf("get: %d bytes without an error, want %d", len(o.Data), len(n.content))
		}
		return err
	case "put":
		_, err := n.s.Put(ctx, "demo/put", n.content)
		return err
	case "create":
		_, err := n.s.PutIfAbsent(ctx, fmt.Sprintf("demo/new-%d", n.fresh), n.content)
		return err
	case "replace":
		v, err := n.s.PutIfMatch(ctx, "demo/k", n.content, n.version)
		if err == nil {
			n.version = v
		}
		return err
	case "delete":
		return n.s.Delete(ctx, "demo/absent")
	}
	p, err := n.s.List(ctx, "demo/", driver.ListOptions{})
	if err == nil && len(p.Objects) == 0 {
		t.Fatal("list: nothing without an error")
	}
	return err
}

var ops = []string{"get", "put", "create", "replace", "delete", "list"}

// wantAny fails unless err is of one of the kinds and names what it is about.
func wantAny(t *testing.T, what string, err error, kinds ...error) {
	t.Helper()
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			if !strings.Contains(err.Error(), "demo/") {
				t.Fatalf("%s: the error does not say where: %v", what, err)
			}
			return
		}
	}
	t.Fatalf("%s: got error %v, want one that is %v", what, err, kinds)
}

// testBusy: a server that throttles or fails is asked again, with pauses; when it goes
// on, that is said.
func testBusy(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway} {
		fault := h.answer(status)
		if status == http.StatusBadGateway { // of something in between, which does not speak the protocol
			fault.Type, fault.Body = "text/html", "<html>bad gateway</html>"
		}
		for _, op := range ops {
			what := fmt.Sprintf("%s, answered %d", op, status)
			n.proxy.Spoil(2, nil, fault)
			must(t, what+" twice", n.call(t, op))
			if hits := n.proxy.Hits(); hits != 2 {
				t.Fatalf("%s: asked %d times", what, hits)
			}
			n.proxy.Spoil(forever, nil, fault)
			wantAny(t, what+" for ever", n.call(t, op), driver.ErrUnavailable)
			if hits := n.proxy.Hits(); hits < 2 || hits > maxTries {
				t.Fatalf("%s for ever: asked %d times", what, hits)
			}
		}
	}
}

// testRefused: what repeating does not help is not repeated.
func testRefused(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	for _, op := range ops {
		n.proxy.Spoil(forever, nil, h.answer(http.StatusForbidden))
		wantAny(t, op+", answered 403", n.call(t, op), driver.ErrDenied)
		if hits := n.proxy.Hits(); hits > 2 {
			t.Fatalf("%s: a refusal was asked for %d times", op, hits)
		}
	}
	n.proxy.Spoil(forever, nil, h.answer(http.StatusNotFound))
	wantAny(t, "get, answered 404", n.call(t, "get"), driver.ErrNotFound)
	for _, op := range []string{"create", "replace"} {
		n.proxy.Spoil(1, nil, h.answer(http.StatusPreconditionFailed))
		wantAny(t, op+", answered 412", n.call(t, op), driver.ErrConflict)
	}
	n.proxy.Hits()
	must(t, "get at last", n.call(t, "get"))
}

// testBrokenGet: a connection that breaks in the middle of an answer gives the whole
// object or an error, never a part and never nothing.
func testBrokenGet(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	for _, op := range []string{"get", "list"} {
		n.proxy.Spoil(1, nil, HTTPFault{CutAnswer: true})
		if err := n.call(t, op); err != nil {
			t.Fatalf("%s, cut off once: %v", op, err)
		}
		n.proxy.Spoil(forever, nil, HTTPFault{CutAnswer: true})
		wantAny(t, op+", cut off for ever", n.call(t, op), driver.ErrDamaged, driver.ErrUnavailable)
		n.proxy.Hits()
	}
}

// testBrokenPut: a connection that breaks in the middle of a write, or of its answer,
// is repeated; when it breaks for ever, readers see the old object.
func testBrokenPut(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	for name, fault := range map[string]HTTPFault{
		"request cut": {CutRequest: true},
		"answer cut":  {CutAnswer: true},
		"answer lost": func() HTTPFault { f := h.answer(http.StatusInternalServerError); f.Late = true; return f }(),
	} {
		for _, op := range []string{"put", "create", "replace", "delete"} {
			if fault.CutAnswer && op == "delete" {
				continue // its answer has no body to cut
			}
			n.proxy.Spoil(1, nil, fault)
			must(t, op+", "+name, n.call(t, op))
			if n.proxy.Hits() != 1 {
				t.Fatalf("%s, %s: nothing was spoilt", op, name)
			}
		}
	}
	for _, op := range []string{"put", "create", "replace"} {
		n.proxy.Spoil(forever, nil, HTTPFault{CutRequest: true})
		wantAny(t, op+", cut for ever", n.call(t, op), driver.ErrUnavailable)
		n.proxy.Hits()
	}
	_, err := n.s.Get(t.Context(), fmt.Sprintf("demo/new-%d", n.fresh-1))
	want(t, "get of what was never whole", err, driver.ErrNotFound)
	must(t, "get of the old object", n.call(t, "get"))
}

// testLostRace: a create whose answer is lost, and whose object is another writer's
// after all, is a conflict and no success.
func testLostRace(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	create(t, n.s, "demo/taken", "of another")
	fault := h.answer(http.StatusInternalServerError)
	fault.Late = true
	n.proxy.Spoil(1, nil, fault)
	_, err := n.s.PutIfAbsent(t.Context(), "demo/taken", []byte("of another"))
	wantAny(t, "create with a lost answer", err, driver.ErrConflict)
	if o := get(t, n.s, "demo/taken"); string(o.Data) != "of another" {
		t.Fatalf("the loser changed the object: %q", o.Data)
	}
}

// testSkew: a server whose clock is an hour off serves all the same.
func testSkew(t *testing.T, h Harness) {
	n := newNetwork(t, h)
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		for _, op := range ops {
			n.proxy.Spoil(forever, nil, HTTPFault{Skew: skew})
			must(t, fmt.Sprintf("%s, with a clock %s off", op, skew), n.call(t, op))
		}
	}
}
