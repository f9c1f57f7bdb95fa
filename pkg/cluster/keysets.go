// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// KeyObjects is where a cluster's keysets and secrets lie; statestore.ObjectStore is one.
type KeyObjects interface {
	// Get reads an object; ErrNotFound when it is absent.
	Get(ctx context.Context, key string) ([]byte, error)
	// PutIfAbsent creates an object; ErrConflict when it exists.
	PutIfAbsent(ctx context.Context, key string, data []byte) error
	// Put writes an object whether or not it exists; only under the cluster's lock.
	Put(ctx context.Context, key string, data []byte) error
	// Delete removes an object; an absent one is no error.
	Delete(ctx context.Context, key string) error
	// List returns the sizes of all objects whose keys begin with prefix.
	List(ctx context.Context, prefix string) (map[string]int64, error)
}

var _ KeyObjects = statestore.ObjectStore{}

// Keysets are the tasks that keep a cluster's keysets, by name.
type Keysets map[string]*KeysetTask

// KeysetOptions is what the tasks of keysets work on.
type KeysetOptions struct {
	Objects    KeyObjects
	ClusterUID string
	Sealing    Sealing
	Key        cloudup.SealingKey // the cluster's own key in the graph; nil without one
	Clock      tasks.Clock
	// Whole reads every keyset, as before an apply. A plan needs the content of one alone,
	// whose certificates machines are told; of the others it sees that they are there.
	Whole bool
}

// KeysetTasks adds a task for each keyset that every cluster has. They make what is
// absent and never change what is there.
func KeysetTasks(g *tasks.Graph, o KeysetOptions) (Keysets, error) {
	out := Keysets{}
	there := &keysetListing{objects: o.Objects}
	shared := &sealTargets{Sealing: o.Sealing, objects: o.Objects, uid: o.ClusterUID, own: planned(o.Key)}
	for _, d := range pki.Definitions() {
		t := &KeysetTask{definition: d, objects: o.Objects, uid: o.ClusterUID, sealing: shared, clock: o.Clock, there: there}
		t.whole = o.Whole || t.ID() == model.TrustTaskID
		if o.Key != nil {
			t.deps = []tasks.Task{o.Key}
		}
		if err := g.Add(t); err != nil {
			return nil, fmt.Errorf("add keysets: %w", err)
		}
		out[d.Name] = t
	}
	return out, nil
}

// wrappers returns whom the keysets that were observed are sealed to, each once.
func (k Keysets) wrappers() []string {
	var out []string
	for _, t := range k {
		out = append(out, t.wrappers...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judge holds a plan and the spec against whom the keysets are sealed to.
func (k Keysets) judge(p *tasks.Plan, m *api.Manifest) error {
	wrappers := k.wrappers()
	own := func(ctx context.Context) (string, error) {
		for _, t := range k {
			return t.sealing.own(ctx)
		}
		return "", pki.ErrNoKey
	}
	if said := sealedOtherwise(m.Cluster.Spec.Sealing, wrappers, own); said != "" {
		p.Warnings = append(p.Warnings, tasks.Warning{Path: "spec.sealing", Text: said})
	}
	return refuseKeyLoss(p, wrappers)
}

// KeysetTask keeps one keyset in the store.
type KeysetTask struct {
	// Bundle is what machines must trust of the keyset, as PEM.
	Bundle tasks.Output[string]
	// TrustHash is the digest of that.
	TrustHash tasks.Output[string]

	definition pki.Definition
	deps       []tasks.Task
	wrappers   []string // whom it is sealed to
	there      *keysetListing
	whole      bool // its content is read, not only that it is there
	objects    KeyObjects
	uid        string
	sealing    *sealTargets
	clock      tasks.Clock
}

// KeysetTaskID is the ID of the task that keeps a keyset; what needs it depends on that.
func KeysetTaskID(name string) tasks.ID { return tasks.ID("store/keyset/" + name) }

// ID names the task after its keyset.
func (t *KeysetTask) ID() tasks.ID { return KeysetTaskID(t.definition.Name) }

// Deps returns the key that the keyset is sealed with, where it is the cluster's own.
func (t *KeysetTask) Deps() []tasks.Task { return t.deps }

// Describe says what the keyset is for.
func (t *KeysetTask) Describe() string { return t.definition.Use }

// TrustBundle is Bundle, for the machines' user data.
func (t *KeysetTask) TrustBundle() *tasks.Output[string] { return &t.Bundle }

var _ model.TrustTask = (*KeysetTask)(nil)

func (t *KeysetTask) key() string { return pki.KeysetKey(t.definition.Name) }

// Observe reads the keyset without opening it: a plan needs no key. One that cannot be
// read is an error, never an absence.
func (t *KeysetTask) Observe(ctx context.Context) (tasks.Change, error) {
	size, found, err := t.there.size(ctx, t.key())
	if err != nil {
		return tasks.Change{}, passing(fmt.Errorf("look for keyset %s: %w", t.definition.Name, err))
	}
	if !found {
		t.Bundle.Clear()
		t.TrustHash.Clear()
		return tasks.Change{Action: tasks.Create, Fields: []tasks.Field{
			{Path: "type", New: tasks.V(string(t.definition.Kind))},
			{Path: "use", New: tasks.V(t.definition.Use)},
		}}, nil
	}
	if !t.whole && size > 0 {
		return tasks.Change{Action: tasks.None, Exact: fmt.Sprint(size)}, nil
	}
	data, err := t.objects.Get(ctx, t.key())
	if err != nil {
		return tasks.Change{}, passing(fmt.Errorf("read keyset %s: %w", t.definition.Name, err))
	}
	if err := t.take(data); err != nil {
		return tasks.Change{}, err
	}
	return tasks.Change{Action: tasks.None, Exact: t.exact(data)}, nil
}

// exact is what a saved plan is held against: the same whether or not the content was
// read.
func (t *KeysetTask) exact(data []byte) string {
	if t.ID() != model.TrustTaskID {
		return fmt.Sprint(len(data))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// keysetListing is which keysets are there, found by one listing for all. A failure is
// not kept, so that a retry lists again.
type keysetListing struct {
	objects KeyObjects

	mu    sync.Mutex
	sizes map[string]int64
}

func (l *keysetListing) size(ctx context.Context, key string) (size int64, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sizes == nil {
		if l.sizes, err = l.objects.List(ctx, "pki/"); err != nil {
			l.sizes = nil
			return 0, false, err
		}
		if l.sizes == nil {
			l.sizes = map[string]int64{}
		}
	}
	size, found = l.sizes[key]
	return size, found, nil
}

// Apply makes the keyset unless it is there by now: of two runs one creates it, and both
// go on with that one.
func (t *KeysetTask) Apply(ctx context.Context, c tasks.Change) error {
	if !c.Action.Pending() {
		return nil
	}
	fail := func(err error) error { return passing(fmt.Errorf("create keyset %s: %w", t.definition.Name, err)) }
	item, err := pki.New(t.definition.Name, t.definition.Kind, pki.MakeOptions{Now: t.clock.Now, Rand: t.sealing.Rand})
	if err != nil {
		return fail(err)
	}
	keyset, err := pki.Keyset{Name: t.definition.Name, Kind: t.definition.Kind, ClusterUID: t.uid}.Add(item)
	if err != nil {
		return fail(err)
	}
	o, err := t.sealing.options(ctx)
	if err != nil {
		return fail(err)
	}
	sealed, err := pki.Seal(ctx, keyset, o)
	if err != nil {
		return fail(err)
	}
	data, err := sealed.Encode()
	if err != nil {
		return fail(err)
	}
	err = t.objects.PutIfAbsent(ctx, t.key(), data)
	if errors.Is(err, statestore.ErrConflict) {
		if data, err = t.objects.Get(ctx, t.key()); err != nil {
			return fail(err)
		}
		return t.take(data)
	}
	if err != nil {
		return fail(err)
	}
	return t.take(data)
}

// take checks what is stored and sets the outputs.
func (t *KeysetTask) take(data []byte) error {
	s, err := decodeKeyset(data, t.objects, t.uid, t.definition.Name)
	if err != nil {
		return err
	}
	t.wrappers = s.Sealing.Wrappers()
	t.Bundle.Set(s.TrustBundle())
	t.TrustHash.Set(pki.TrustHash(s.Keyset))
	return nil
}

// decodeKeyset reads a stored keyset and holds it against where it was found.
func decodeKeyset(data []byte, objects KeyObjects, uid, name string) (*pki.Sealed, error) {
	key := pki.KeysetKey(name)
	s, err := pki.Decode(data, objectName(objects, key))
	if err != nil {
		return nil, err
	}
	if s.Ref() != pki.KeysetRef(uid, name) {
		return nil, &pki.SealError{Op: "read", Object: objectName(objects, key), Kind: pki.ErrMoved,
			Hint: fmt.Sprintf("it is keyset %s of the cluster with the UID %s, not %s of %s; restore the right object", s.Name, s.ClusterUID, name, uid)}
	}
	return s, nil
}

// objectName is an object as a person finds it.
func objectName(objects KeyObjects, key string) string {
	if located, ok := objects.(interface{ URL(key string) string }); ok {
		return located.URL(key)
	}
	return key
}

// passing tells the engine which failures of the store pass by themselves.
func passing(err error) error {
	if errors.Is(err, statestore.ErrUnavailable) {
		return tasks.Retry(err)
	}
	return err
}

// readKeysets reads all keysets of a cluster without opening them, by name.
func readKeysets(ctx context.Context, objects KeyObjects, uid string) ([]*pki.Sealed, error) {
	names, err := objectNames(ctx, objects, "pki/", ".yaml")
	if err != nil {
		return nil, err
	}
	var out []*pki.Sealed
	for _, name := range names {
		data, err := objects.Get(ctx, pki.KeysetKey(name))
		if err != nil {
			return nil, err
		}
		s, err := decodeKeyset(data, objects, uid, name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// objectNames lists the objects of a folder, sorted, without folder and suffix.
func objectNames(ctx context.Context, objects KeyObjects, folder, suffix string) ([]string, error) {
	sizes, err := objects.List(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	var names []string
	for key := range sizes {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(key, folder), suffix))
	}
	slices.Sort(names)
	return names, nil
}
