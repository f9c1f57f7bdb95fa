// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"net/netip"
	"strings"
	"testing"
)

func TestVPCLife(t *testing.T) { judged(t, testVPCLife) }

func testVPCLife(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	b := networkPlan("demo.example.com", "uid-1")
	b.Labels = map[string]string{"team": "a"}
	w.settle(c, b)

	b.Network.Ranges = append(b.Network.Ranges, netip.MustParsePrefix("10.2.0.0/16"))
	b.Labels = nil
	p := w.plan(c, b)
	for _, want := range []string{
		"additionalCIDRs: (none) -> 10.2.0.0/16", "tags[team]: a -> (none)",
		"tags[slipway.dev/labels]: team -> (none)", "tags[slipway.dev/ranges]: (none) -> 10.2.0.0/16",
	} {
		if !strings.Contains(changes(p), want) {
			t.Errorf("the plan lacks %q:\n%s", want, changes(p))
		}
	}
	w.apply(p)
	w.settle(c, b)
	b.Network.Ranges = b.Network.Ranges[:1]
	w.settle(c, b)
	w.apply(w.plan(c, nil))
	if p := w.plan(c, nil); p.Pending() {
		t.Errorf("something is left:\n%s", changes(p))
	}
}
