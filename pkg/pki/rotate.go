// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Gate says when a step that machines must have been prepared for may be made.
type Gate struct {
	Now time.Time
	// Wait is how long the preparing step must be in the past.
	Wait time.Duration
	// Confirmed replaces the wait: somebody checked that every machine is prepared.
	Confirmed bool
}

// Add returns the keyset with a new item: the first one is its primary, every later one
// is only trusted until it is promoted.
func (k Keyset) Add(i Item) (Keyset, error) {
	if slices.ContainsFunc(k.Items, func(old Item) bool { return old.ID == i.ID || old.public() == i.public() }) {
		return k, fmt.Errorf("keyset %s: %w: it already has the key pair %s", k.Name, ErrInvalid, i.ID)
	}
	i.State = Trusted
	if _, ok := k.Primary(); !ok {
		i.State, i.Signed = Primary, true
	}
	i.Since, i.TrustedSince = i.Created, i.Created
	k.Items = append(slices.Clone(k.Items), i)
	slices.SortStableFunc(k.Items, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return k, nil
}

// Promote makes an item the one that signs; the old primary stays trusted. It is refused
// until machines had Gate.Wait to trust the item. An empty id means the newest trusted
// item; the primary itself is returned as it is.
func (k Keyset) Promote(id string, g Gate) (Keyset, error) {
	if id == "" {
		candidates := k.ids(func(i Item) bool { return i.State == Trusted })
		if len(candidates) == 0 {
			return k, k.refuse("promote", "", "there is none that is only trusted; make one with `slipway create keypair "+k.Name+"`")
		}
		id = candidates[len(candidates)-1]
	}
	item, err := k.Item(id)
	if err != nil {
		return k, err
	}
	switch {
	case item.State == Primary:
		return k, nil
	case item.State == Distrusted:
		return k, k.refuse("promote", id, "it is distrusted; machines must trust it first: `slipway trust keypair "+k.Name+" "+id+"`")
	}
	if left := g.left(item.TrustedSince); left > 0 {
		return k, k.refuse("promote", id, fmt.Sprintf("machines may not trust it yet: it is trusted since %s, and %s of the wait of %s are left. "+
			"Apply and roll the cluster, then wait or, when every machine was replaced since then, say so with --confirmed",
			item.TrustedSince.Format(time.RFC3339), left, g.Wait))
	}
	return k.with(func(i *Item) {
		switch {
		case i.ID == id:
			i.State, i.Since, i.Signed = Primary, stamp(g.Now), true
		case i.State == Primary:
			i.State, i.Since = Trusted, stamp(g.Now)
		}
	}), nil
}

// Trust makes a distrusted item trusted again. An empty id means the only one.
func (k Keyset) Trust(id string, now time.Time) (Keyset, error) {
	if id == "" {
		candidates := k.ids(func(i Item) bool { return i.State == Distrusted })
		if len(candidates) != 1 {
			return k, k.ambiguous("distrusted", candidates)
		}
		id = candidates[0]
	}
	item, err := k.Item(id)
	if err != nil || item.State != Distrusted {
		return k, err
	}
	return k.with(func(i *Item) {
		if i.ID == id {
			i.State, i.Since, i.TrustedSince = Trusted, stamp(now), stamp(now)
		}
	}), nil
}

// Distrust takes an item out of what machines trust. It is refused for the primary, and
// until the primary had Gate.Wait to sign everything anew. An empty id means the only
// trusted item that is not the primary.
func (k Keyset) Distrust(id string, g Gate) (Keyset, error) {
	if id == "" {
		candidates := k.ids(func(i Item) bool { return i.State == Trusted })
		if len(candidates) != 1 {
			return k, k.ambiguous("trusted and not primary", candidates)
		}
		id = candidates[0]
	}
	item, err := k.Item(id)
	switch {
	case err != nil:
		return k, err
	case item.State == Distrusted:
		return k, nil
	case item.State == Primary:
		return k, k.refuse("distrust", id, "it is the one that signs; promote another one first: `slipway promote keypair "+k.Name+"`")
	}
	primary, _ := k.Primary()
	if left := g.left(primary.Since); item.Signed && left > 0 {
		return k, k.refuse("distrust", id, fmt.Sprintf("certificates that it signed may be in use: %s signs since %s, and %s of the wait of %s are left. "+
			"Apply and roll the cluster, then wait or, when every machine was replaced since then, say so with --confirmed",
			primary.ID, primary.Since.Format(time.RFC3339), left, g.Wait))
	}
	return k.with(func(i *Item) {
		if i.ID == id {
			i.State, i.Since, i.TrustedSince = Distrusted, stamp(g.Now), time.Time{}
		}
	}), nil
}

// left returns how much of the wait since a moment is left.
func (g Gate) left(since time.Time) time.Duration {
	if g.Confirmed {
		return 0
	}
	return max(0, g.Wait-g.Now.Sub(since)).Round(time.Second)
}

func (k Keyset) with(change func(*Item)) Keyset {
	k.Items = slices.Clone(k.Items)
	for n := range k.Items {
		change(&k.Items[n])
	}
	return k
}

func (k Keyset) refuse(op, id, why string) error {
	return &StageError{Op: op, Keyset: k.Name, ID: id, Why: why}
}

func (k Keyset) ambiguous(what string, candidates []string) error {
	if len(candidates) == 0 {
		return fmt.Errorf("keyset %s: %w: no key pair of it is %s; `slipway get keypairs %s` lists them", k.Name, ErrInvalid, what, k.Name)
	}
	return fmt.Errorf("keyset %s: %w: several key pairs are %s; give one of %s", k.Name, ErrInvalid, what, strings.Join(candidates, ", "))
}

// stamp is a time as keysets hold it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
