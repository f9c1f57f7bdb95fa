// SPDX-License-Identifier: Apache-2.0

// Package cloudtest is the conformance suite of clouds: what every cloud must do with a
// cluster from its creation to its deletion, by the operations that the commands call. A
// cloud's tests give it a Harness and call Run.
package cloudtest

import (
	"context"
	"net/http"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// World is one empty account of a cloud that a test may do anything to. It carries the
// cloud's calls, so that a test can count, refuse and lose them.
type World interface {
	http.RoundTripper

	// Call returns the action that a request asks for, as the cloud spells the right to
	// it, and whether it may change something. It leaves the request as it was.
	Call(r *http.Request) (action string, writes bool)

	// Refuse answers a request as the cloud does.
	Refuse(r *http.Request, why Refusal) *http.Response

	// Objects lists every object of the account, whoever it belongs to, by "<kind> <id>";
	// the values are JSON. What is gone, and only still shown, is not in it.
	Objects(ctx context.Context) (map[string]string, error)
}

// Refusal is why a world answers no.
type Refusal int

// The refusals.
const (
	Denied    Refusal = iota // the right is missing
	Throttled                // too many calls
)

// Harness is what a cloud's tests tell the suite. Start, Zones and Volatile are
// required; a suite whose part is missing is skipped by name.
type Harness struct {
	// Start makes an empty world that lives by a clock.
	Start func(t testing.TB, clock *Clock) World
	// Zones are three zones of one region.
	Zones []string
	// Volatile names the JSON fields of objects that differ from run to run: times,
	// addresses, marks of the cloud's own.
	Volatile []string

	// HostedZone makes a DNS zone.
	HostedZone func(t testing.TB, w World, name string)
	// Network makes a network of someone else with a subnet in each zone and changes the
	// options so that a cluster uses it.
	Network func(t testing.TB, w World, o *api.CreateOptions)
	// Foreign makes objects of someone else, some of which look like the cluster's.
	Foreign func(t testing.TB, w World, cluster string)

	// Drifts are changes by hand, each of an object of the HA cluster.
	Drifts []Drift
	// Stray makes one more object that carries the cluster's ownership.
	Stray func(t testing.TB, w World, cluster, uid string)

	// Fields set the optional fields of Cluster and InstanceGroup, by their path
	// ("cluster.spec.sshAccess"); Silent are those that a change of the cloud's objects
	// is not expected of, with the reason.
	Fields map[string]Field
	Silent map[string]string
}

// Drift is one change by hand.
type Drift struct {
	Name string
	// Make changes one object of the cluster, behind its back.
	Make func(t testing.TB, w World, cluster, uid string)
	// Shown is a part of the plan that must be there.
	Shown string
	// Renews says that the repair leaves a trace, such as one more version of a template.
	Renews bool
}

// Field sets one optional field to a value that it does not have by default.
type Field struct {
	Set func(m *api.Manifest)
	// Shown is a part of the plan that sets it: of an ID, or "path: old -> new", which is
	// then shown the other way when it is taken away.
	Shown string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Run("life", func(t *testing.T) { runLives(t, h) })
	t.Run("quiet", func(t *testing.T) { runQuiet(t, h) })
	t.Run("drift", func(t *testing.T) { runDrifts(t, h) })
	t.Run("neighbours", func(t *testing.T) { runNeighbours(t, h) })
	t.Run("denied", func(t *testing.T) { runDenied(t, h) })
	t.Run("throttled", func(t *testing.T) { runThrottled(t, h) })
	t.Run("together", func(t *testing.T) { runTogether(t, h) })
	t.Run("calls", func(t *testing.T) { runCalls(t, h) })
	t.Run("fields", func(t *testing.T) { runFields(t, h) })
}
