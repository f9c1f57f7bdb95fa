// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Call is one call of a cloud.
type Call struct {
	Action string
	Writes bool
}

// Wire carries calls to a world, counts them, and lets a test come between.
type Wire struct {
	world World

	mu     sync.Mutex
	calls  []Call
	before func(r *http.Request, c Call) (*http.Response, error)
	after  func(r *http.Request, c Call) error
}

// Between sets what is asked before a call, which may answer in the world's place, and
// after it, where an error loses the answer. Either may be nil.
func (w *Wire) Between(before func(r *http.Request, c Call) (*http.Response, error), after func(r *http.Request, c Call) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before, w.after = before, after
}

// RoundTrip carries one call.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var c Call
	c.Action, c.Writes = w.world.Call(r)
	w.mu.Lock()
	w.calls = append(w.calls, c)
	before, after := w.before, w.after
	w.mu.Unlock()
	if before != nil {
		if resp, err := before(r, c); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := w.world.RoundTrip(r)
	if after == nil {
		return resp, err
	}
	if lost := after(r, c); lost != nil {
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // it is lost
			resp.Body.Close()
		}
		return nil, lost
	}
	return resp, err
}

// Mark returns the number of calls so far.
func (w *Wire) Mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}

// Since returns the calls after a mark.
func (w *Wire) Since(mark int) []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls[mark:])
}

// Writes returns those that may change something.
func Writes(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return !c.Writes })
}

// Tally counts calls by action, for people.
func Tally(calls []Call) string {
	n := map[string]int{}
	for _, c := range calls {
		n[c.Action]++
	}
	var parts []string
	for _, action := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s %d", action, n[action]))
	}
	return strings.Join(parts, ", ")
}
