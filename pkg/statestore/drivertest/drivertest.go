// SPDX-License-Identifier: Apache-2.0

// Package drivertest is the conformance suite of state-store drivers, and a wrapper
// that injects faults. Only tests import it.
package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Harness is what a driver's test gives to Run.
type Harness struct {
	// New returns an empty store; it is called once per subtest.
	New func(t *testing.T) driver.Store
	// Reopen returns a second handle on the same objects, as another process would
	// open them; nil when there is no such thing.
	Reopen func(t *testing.T, s driver.Store) driver.Store
	// Deny takes the rights on the store away; nil when the harness cannot.
	Deny func(t *testing.T, s driver.Store)
	// Wrong names the subtests that the server behind the driver is known to fail, and
	// says why; they are skipped with that reason.
	Wrong map[string]string
	// Proxy returns what stands before the store's server; nil for drivers that use no
	// network.
	Proxy func(t *testing.T, s driver.Store) *FaultProxy
	// Answer returns how the server says a status: the type and body of its answer. It
	// goes with Proxy.
	Answer func(status int) (contentType, body string)
	// Rounds is how often the races are run; 0 means 20.
	Rounds int
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	if h.Rounds == 0 {
		h.Rounds = 20
	}
	tests := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"RoundTrip", testRoundTrip},
		{"Absent", testAbsent},
		{"CreateOnlyOnce", testCreateOnlyOnce},
		{"ReplaceOnlyTheVersionRead", testReplace},
		{"CreateAfterDelete", testCreateAfterDelete},
		{"DeleteIsIdempotent", testDelete},
		{"DeleteOnlyTheVersionRead", testDeleteIfMatch},
		{"OverwriteIsVisible", testOverwrite},
		{"EmptyObject", testEmpty},
		{"Head", testHead},
		{"BigObject", testBig},
		{"OddNames", testOddNames},
		{"BadNamesRefused", testBadNames},
		{"ListPages", testListPages},
		{"ListPrefixes", testListPrefixes},
		{"ListPrefixPages", testListPrefixPages},
		{"ListOrder", testListOrder},
		{"ReadsWriteNothing", testReadsWriteNothing},
		{"DataIsCopied", testCopies},
		{"RaceToCreate", testRaceToCreate},
		{"RaceToReplace", testRaceToReplace},
		{"NeverHalfWritten", testNeverHalfWritten},
		{"Cancelled", testCancelled},
		{"Denied", testDenied},
		{"Busy", testBusy},
		{"Refused", testRefused},
		{"BrokenGet", testBrokenGet},
		{"BrokenPut", testBrokenPut},
		{"LostRace", testLostRace},
		{"ClockSkew", testSkew},
		{"Reopened", testReopened},
		{"URLHoldsNoSecret", testURL},
	}
	passed, skipped := 0, []string{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				switch {
				case t.Skipped():
					skipped = append(skipped, test.name)
				case !t.Failed():
					passed++
				}
			}()
			if why := h.Wrong[test.name]; why != "" {
				t.Skip(why)
			}
			test.run(t, h)
		})
	}
	line := fmt.Sprintf("driver suite %s: %d of %d passed", strings.TrimPrefix(t.Name(), "Test"), passed, len(tests))
	if len(skipped) > 0 {
		line += fmt.Sprintf(", %d not applicable: %s", len(skipped), strings.Join(skipped, ", "))
	}
	t.Log(line)
}

// answer is a fault in the server's own words.
func (h Harness) answer(status int) HTTPFault {
	contentType, body := h.Answer(status)
	return HTTPFault{Status: status, Type: contentType, Body: body}
}

// want fails unless err is of the kind, and of no other one.
func want(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%s: got error %v, want one that is %q", what, err, kind)
	}
	for _, other := range []error{driver.ErrNotFound, driver.ErrConflict, driver.ErrDenied, driver.ErrUnavailable, driver.ErrDamaged, driver.ErrNoStore, driver.ErrInvalid, driver.ErrUnsafe} {
		if other != kind && errors.Is(err, other) {
			t.Fatalf("%s: error %v is %q and %q", what, err, kind, other)
		}
	}
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func get(t *testing.T, s driver.Store, key string) driver.Object {
	t.Helper()
	o, err := s.Get(t.Context(), key)
	must(t, "get "+key, err)
	return o
}

func create(t *testing.T, s driver.Store, key, data string) string {
	t.Helper()
	v, err := s.PutIfAbsent(t.Context(), key, []byte(data))
	must(t, "create "+key, err)
	return v
}

// all lists everything below the prefix, over all pages.
func all(ctx context.Context, s driver.Store, prefix string, o driver.ListOptions) (keys, prefixes []string, pages int, err error) {
	for {
		p, err := s.List(ctx, prefix, o)
		if err != nil {
			return nil, nil, pages, err
		}
		pages++
		for _, i := range p.Objects {
			// What proves a server's conditions belongs to the driver, not to the test.
			if i.Key != driver.ProbeKey {
				keys = append(keys, i.Key)
			}
		}
		for _, p := range p.Prefixes {
			if p != ".slipway/" {
				prefixes = append(prefixes, p)
			}
		}
		if p.Next == "" {
			return keys, prefixes, pages, nil
		}
		o.Token = p.Next
	}
}
