// SPDX-License-Identifier: Apache-2.0

// Package cost says what a plan changes of a month's bill, from prices that the user
// gives. A cloud says what its objects use (cloudup.Pricer), the operations in
// pkg/cluster put the two together. A price that is not given is unknown, never 0.
package cost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Thing is a sort of thing that has a price.
type Thing string

// The things that are counted.
const (
	Machine      Thing = "machine"       // by type and hour
	Volume       Thing = "volume"        // by type, GiB, IOPS, throughput and month
	LoadBalancer Thing = "load balancer" // by type and hour
	NATGateway   Thing = "NAT gateway"   // by hour
	Address      Thing = "address"       // public IPv4, by hour
)

// Use is a number of equal things that an object has or is.
type Use struct {
	Thing Thing
	// Types of the thing, such as t3.medium or gp3. Of several the cloud chooses one: the
	// dearest counts.
	Types []string
	Count int // how many

	GiB, IOPS, Throughput int32 // of each volume; throughput in MiB/s

	// Spot things cost what the day asks for: at most the price on demand and, where it is
	// not 0, the Limit per hour.
	Spot  bool
	Limit float64
}

// String returns the use as a table shows it: "3 t3.medium".
func (u Use) String() string {
	text := fmt.Sprintf("%d ", u.Count)
	if u.Thing == Volume {
		text += fmt.Sprintf("x %d GiB ", u.GiB)
	}
	if u.Spot {
		text += "spot "
	}
	switch {
	case len(u.Types) > 0 && u.Thing == LoadBalancer:
		return text + u.Types[0] + " " + string(u.Thing)
	case len(u.Types) > 0:
		return text + strings.Join(u.Types, " or ")
	}
	return text + string(u.Thing)
}

// Object is what one object of a plan uses, now and when the plan was applied.
type Object struct {
	ID       tasks.ID
	Old, New []Use
}

// Estimate is a month's bill before and after a plan, in the currency of the prices.
// Traffic, requests and whatever else is not a Thing is in neither.
type Estimate struct {
	Currency string `json:"currency"`
	Cloud    string `json:"cloud"`
	Region   string `json:"region"`
	Hours    Amount `json:"hoursPerMonth"`
	Lines    []Line `json:"resources"`
	// Totals of what has a price.
	Old   Amount `json:"old"`
	New   Amount `json:"new"`
	Delta Amount `json:"delta"`
	// Complete says that no unknown price could change Delta.
	Complete bool     `json:"complete"`
	AtMost   bool     `json:"atMost,omitempty"` // some line is an upper bound
	Unknown  []string `json:"unknown"`          // prices that are not given
}

// Line is one object of an Estimate. A side with an unknown price is nil; the totals
// count what is known of it.
type Line struct {
	ID      tasks.ID `json:"id"`
	Old     *Amount  `json:"old"`
	New     *Amount  `json:"new"`
	Delta   *Amount  `json:"delta"`
	OldUses string   `json:"oldUses,omitempty"`
	NewUses string   `json:"newUses,omitempty"`
	AtMost  bool     `json:"atMost,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
}

// changed reports whether the plan changes what the object costs, or may.
func (l Line) changed() bool { return l.OldUses != l.NewUses || l.Delta == nil || *l.Delta != 0 }

// Estimate prices objects in a region of a cloud.
func (p *Prices) Estimate(cloud, region string, objects []Object) *Estimate {
	r := p.region(cloud, region)
	e := &Estimate{Currency: p.Currency, Cloud: cloud, Region: region, Hours: Amount(p.Hours), Lines: []Line{}, Unknown: []string{}, Complete: true}
	for _, o := range objects {
		if len(o.Old)+len(o.New) == 0 {
			continue
		}
		was, is := r.bill(o.Old, p.Hours), r.bill(o.New, p.Hours)
		l := Line{ID: o.ID, Old: was.amount(), New: is.amount(), OldUses: uses(o.Old), NewUses: uses(o.New), AtMost: was.atMost || is.atMost}
		delta := Amount(is.known - was.known)
		switch {
		case l.Old != nil && l.New != nil, slices.EqualFunc(o.Old, o.New, same):
			l.Delta = &delta
		default:
			e.Complete = false
		}
		l.Unknown = once(slices.Concat(was.unknown, is.unknown))
		e.Unknown = append(e.Unknown, l.Unknown...)
		e.AtMost = e.AtMost || l.AtMost
		e.Old += Amount(was.known)
		e.New += Amount(is.known)
		e.Lines = append(e.Lines, l)
	}
	e.Delta = e.New - e.Old
	e.Unknown = append([]string{}, once(e.Unknown)...)
	return e
}

func same(a, b Use) bool {
	return slices.Equal(a.Types, b.Types) && a.Thing == b.Thing && a.Count == b.Count && a.GiB == b.GiB && a.IOPS == b.IOPS &&
		a.Throughput == b.Throughput && a.Spot == b.Spot && a.Limit == b.Limit
}

func uses(all []Use) string {
	var texts []string
	for _, u := range all {
		texts = append(texts, u.String())
	}
	return strings.Join(texts, ", ")
}

func once(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// bill is what uses cost in a month.
type bill struct {
	known   float64
	atMost  bool
	unknown []string
}

func (b bill) amount() *Amount {
	if len(b.unknown) > 0 {
		return nil
	}
	a := Amount(b.known)
	return &a
}

func (r *regional) bill(all []Use, hours float64) bill {
	var sum bill
	for _, u := range all {
		if u.Count == 0 {
			continue
		}
		price, atMost, unknown := r.month(u, hours)
		sum.unknown = append(sum.unknown, unknown...)
		if len(unknown) == 0 {
			sum.known += price * float64(u.Count)
			sum.atMost = sum.atMost || atMost
		}
	}
	return sum
}
