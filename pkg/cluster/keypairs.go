// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// KeyOptions is what every change of keys and secrets needs.
type KeyOptions struct {
	Cluster  string
	Command  string        // for the lock and the log of operations
	LockWait time.Duration // how long to wait for another run's lock
}

// KeypairOptions name a key pair.
type KeypairOptions struct {
	KeyOptions
	Keyset string
	ID     string // "" where only one can be meant

	// Wait is how long a preparing step must be in the past; Confirmed replaces it.
	Wait      time.Duration
	Confirmed bool

	// Certificate and Private import somebody's own pair at creation; empty makes one.
	Certificate []byte
	Private     pki.Secret
	// Primary asks that the new pair signs at once: possible for a keyset's first.
	Primary bool
}

// Rotated is a keyset after a step.
type Rotated struct {
	Keyset  pki.Keyset // without private parts
	ID      string     // the pair that was made; "" for other steps
	Changed bool       // false when it was already so
}

// Keypairs returns a cluster's keysets without opening them; a name narrows to one.
func Keypairs(ctx context.Context, d Deps, cluster, keyset string) ([]*pki.Sealed, error) {
	c, err := Load(ctx, d, cluster)
	if err != nil {
		return nil, err
	}
	objects := d.Store.Objects(cluster)
	if keyset == "" {
		return readKeysets(ctx, objects, c.Cluster.Metadata.UID)
	}
	s, err := readKeyset(ctx, objects, c.Cluster.Metadata.UID, keyset)
	if err != nil {
		return nil, err
	}
	return []*pki.Sealed{s}, nil
}

// CreateKeypair adds a key pair to a keyset: the first one signs, later ones are only
// trusted until they are promoted.
func CreateKeypair(ctx context.Context, d Deps, o KeypairOptions) (*Rotated, error) {
	definition, err := pki.Define(o.Keyset)
	if err != nil {
		return nil, err
	}
	item, err := d.newItem(o, definition)
	if err != nil {
		return nil, err
	}
	out := &Rotated{ID: item.ID, Changed: true}
	return out, d.changeKeys(ctx, o.KeyOptions, func(ctx context.Context, k keyring) error {
		s, err := readKeyset(ctx, k.objects, k.uid, o.Keyset)
		if errors.Is(err, statestore.ErrNotFound) {
			first := pki.Keyset{Name: definition.Name, Kind: definition.Kind, ClusterUID: k.uid}
			out.Keyset, err = k.createKeyset(ctx, first, item)
			return err
		}
		if err != nil {
			return err
		}
		if o.Primary {
			return &pki.StageError{Op: "create", Keyset: o.Keyset, ID: item.ID, Why: "it cannot sign at once: no machine trusts it yet. " +
				"Create it without --primary, apply and roll the cluster, then promote it"}
		}
		out.Keyset, _, err = k.rotate(ctx, s, func(old pki.Keyset) (pki.Keyset, error) { return old.Add(item) })
		return err
	})
}

// PromoteKeypair makes a trusted key pair the one that signs.
func PromoteKeypair(ctx context.Context, d Deps, o KeypairOptions) (*Rotated, error) {
	return d.rotateKeys(ctx, o, func(k pki.Keyset) (pki.Keyset, error) { return k.Promote(o.ID, o.gate(d)) })
}

// TrustKeypair makes a distrusted key pair trusted again.
func TrustKeypair(ctx context.Context, d Deps, o KeypairOptions) (*Rotated, error) {
	return d.rotateKeys(ctx, o, func(k pki.Keyset) (pki.Keyset, error) { return k.Trust(o.ID, d.now()) })
}

// DistrustKeypair takes a key pair out of what machines trust.
func DistrustKeypair(ctx context.Context, d Deps, o KeypairOptions) (*Rotated, error) {
	return d.rotateKeys(ctx, o, func(k pki.Keyset) (pki.Keyset, error) { return k.Distrust(o.ID, o.gate(d)) })
}

func (o KeypairOptions) gate(d Deps) pki.Gate {
	return pki.Gate{Now: d.now(), Wait: o.Wait, Confirmed: o.Confirmed}
}

func (d Deps) rotateKeys(ctx context.Context, o KeypairOptions, step func(pki.Keyset) (pki.Keyset, error)) (*Rotated, error) {
	if _, err := pki.Define(o.Keyset); err != nil {
		return nil, err
	}
	out := &Rotated{}
	return out, d.changeKeys(ctx, o.KeyOptions, func(ctx context.Context, k keyring) error {
		s, err := readKeyset(ctx, k.objects, k.uid, o.Keyset)
		if err != nil {
			return err
		}
		out.Keyset, out.Changed, err = k.rotate(ctx, s, step)
		return err
	})
}

// newItem makes or imports the pair of a creation.
func (d Deps) newItem(o KeypairOptions, definition pki.Definition) (pki.Item, error) {
	options := pki.MakeOptions{Now: d.now}
	switch {
	case len(o.Private) == 0 && len(o.Certificate) == 0:
		return pki.New(definition.Name, definition.Kind, options)
	case definition.Kind == pki.KindKey && len(o.Certificate) == 0:
		return pki.ImportKey(o.Private, options)
	case definition.Kind == pki.KindCA && len(o.Certificate) > 0 && len(o.Private) > 0:
		return pki.ImportCA(o.Certificate, o.Private, options)
	case definition.Kind == pki.KindKey:
		return pki.Item{}, fmt.Errorf("keyset %s: %w: it holds keys without certificates; give --key alone", definition.Name, pki.ErrInvalid)
	}
	return pki.Item{}, fmt.Errorf("keyset %s: %w: a CA of your own needs both --cert and --key", definition.Name, pki.ErrInvalid)
}

// keyring is a cluster's keys under its lock.
type keyring struct {
	objects KeyObjects
	uid     string
	seal    *sealTargets
}

// changeKeys runs a change under the cluster's lock, writing only while the lock is
// ours, and logs it. The cluster is read under the lock: one that was deleted meanwhile
// gets no key, which its successor of that name could not use.
func (d Deps) changeKeys(ctx context.Context, o KeyOptions, change func(context.Context, keyring) error) error {
	began := d.now()
	lock := UpdateOptions{Name: o.Cluster, Command: o.Command, LockWait: o.LockWait}
	return d.holding(ctx, lock, func(ctx context.Context, held Deps, _ guard) error {
		c, err := Load(ctx, held, o.Cluster)
		if err != nil {
			return err
		}
		k := keyring{objects: held.Store.Objects(o.Cluster), uid: c.Cluster.Metadata.UID}
		k.seal = &sealTargets{Sealing: d.Sealing(c.Manifest), objects: k.objects, uid: k.uid, own: held.ownKey(c.Manifest)}
		err = change(ctx, k)
		op := statestore.Operation{When: began, Who: d.Who, Host: d.Host, Tool: d.Tool, Command: o.Command, Revision: c.Revision.Number, Result: "succeeded"}
		if err != nil {
			op.Result, op.Detail = "failed", err.Error()
		}
		write, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel() // a change that lost the lock is logged too, hence by the outer store
		return errors.Join(err, d.Store.LogOperation(write, o.Cluster, op))
	})
}

// createKeyset stores a keyset with its first pair.
func (k keyring) createKeyset(ctx context.Context, set pki.Keyset, first pki.Item) (pki.Keyset, error) {
	set, err := set.Add(first)
	if err != nil {
		return set, err
	}
	o, err := k.seal.options(ctx)
	if err != nil {
		return set, err
	}
	sealed, err := pki.Seal(ctx, set, o)
	if err != nil {
		return set, err
	}
	data, err := sealed.Encode()
	if err != nil {
		return set, err
	}
	return sealed.Keyset, k.objects.PutIfAbsent(ctx, pki.KeysetKey(set.Name), data)
}

// rotate opens a keyset, makes one step, and stores what came of it, sealed as before.
// The step is tried before anything is opened, so that a refusal needs no key.
func (k keyring) rotate(ctx context.Context, s *pki.Sealed, step func(pki.Keyset) (pki.Keyset, error)) (out pki.Keyset, changed bool, err error) {
	if out, err = step(s.Keyset); err != nil || sameItems(s.Keyset, out) {
		return out, false, err
	}
	opened, err := s.Open(ctx, s.Ref(), k.seal.Ring)
	if err != nil {
		return s.Keyset, false, err
	}
	next, err := step(opened.Keyset)
	if err != nil {
		return s.Keyset, false, err
	}
	sealed, err := opened.Seal(next, k.seal.Rand)
	if err != nil {
		return s.Keyset, false, err
	}
	data, err := sealed.Encode()
	if err != nil {
		return s.Keyset, false, err
	}
	return sealed.Keyset, true, k.objects.Put(ctx, pki.KeysetKey(s.Name), data)
}

func sameItems(a, b pki.Keyset) bool {
	if len(a.Items) != len(b.Items) {
		return false
	}
	for n := range a.Items {
		if a.Items[n].ID != b.Items[n].ID || a.Items[n].State != b.Items[n].State {
			return false
		}
	}
	return true
}

// readKeyset reads one keyset without opening it. An absent one is ErrNotFound with what
// to do.
func readKeyset(ctx context.Context, objects KeyObjects, uid, name string) (*pki.Sealed, error) {
	if _, err := pki.Define(name); err != nil {
		return nil, err
	}
	data, err := objects.Get(ctx, pki.KeysetKey(name))
	if errors.Is(err, statestore.ErrNotFound) {
		return nil, fmt.Errorf("keyset %s is not made yet: `slipway update cluster --yes` makes it, or `slipway create keypair %s`: %w", name, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read keyset %s: %w", name, err)
	}
	return decodeKeyset(data, objects, uid, name)
}
