// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// OwnKey returns the name of the wrapper of the cluster's own key in the cloud's key
// management service, or why there is none.
type OwnKey func(ctx context.Context) (name string, err error)

// Sealing is to whom private parts are sealed and with what they are opened.
type Sealing struct {
	// To returns whom a cluster's first object is sealed to; later ones follow it. It is
	// called when something is sealed and not before: it may make an identity.
	To func(ctx context.Context, own OwnKey) ([]pki.Wrapper, error)
	// Chosen says that To was asked for by name and wins over what is there.
	Chosen bool
	// Ring has the wrappers that this run may seal and open with.
	Ring pki.Keyring
	// Rand is for data keys, nonces and serial numbers; nil means crypto/rand.
	Rand io.Reader
}

// sealTargets finds once, for all tasks of a run, whom to seal to.
type sealTargets struct {
	Sealing
	objects KeyObjects
	uid     string
	own     OwnKey

	mu sync.Mutex
	to []pki.Wrapper
}

// options returns whom to seal to: whom was asked for, else whom the cluster's keysets
// are sealed to, else whom the spec says.
func (s *sealTargets) options(ctx context.Context) (pki.SealOptions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		to, err := s.find(ctx)
		if err != nil {
			return pki.SealOptions{}, err
		}
		s.to = to
	}
	return pki.SealOptions{To: s.to, Rand: s.Rand}, nil
}

func (s *sealTargets) find(ctx context.Context) ([]pki.Wrapper, error) {
	if s.Chosen {
		return s.To(ctx, s.own)
	}
	there, err := readKeysets(ctx, s.objects, s.uid)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return s.To(ctx, s.own)
	}
	var to []pki.Wrapper
	for _, name := range there[0].Sealing.Wrappers() {
		w := s.Ring(name)
		if w == nil {
			return nil, fmt.Errorf("seal as keyset %s is: %w: %s is not at hand; choose with --sealing", there[0].Name, pki.ErrNoKey, name)
		}
		to = append(to, w)
	}
	return to, nil
}

// defaultSealing is what a new cluster's spec says when nobody chose: a key of the cloud
// where it keeps keys and machines read the store.
func (d Deps) defaultSealing(m *api.Manifest) *api.Sealing {
	scheme, _, _ := strings.Cut(d.Store.URL(), "://")
	if api.HasKeyService(m) && slices.Contains([]string{"s3", "gs", "do"}, scheme) {
		return &api.Sealing{Method: api.SealingKMS}
	}
	return nil
}

// ownKey looks the cluster's own key up, for operations without a plan.
func (d Deps) ownKey(m *api.Manifest) OwnKey {
	return func(ctx context.Context) (string, error) {
		name := m.Cluster.Metadata.Name
		cloud, _, err := d.open(ctx, m)
		if err != nil {
			return "", err
		}
		blueprint, err := model.Build(m, model.Options{Store: d.Store.URL()})
		if err != nil {
			return "", err
		}
		key, err := cloud.SealingKey(blueprint, tasks.NewGraph())
		if err != nil {
			return "", err
		}
		if key == nil {
			return "", fmt.Errorf("cluster %s: %w: spec.sealing names no key of the cluster's own; `slipway update cluster %s --sealing kms --yes` makes one", name, pki.ErrInvalid, name)
		}
		if _, err := key.Observe(ctx); err != nil {
			return "", err
		}
		return planned(key)(ctx)
	}
}

// planned is the cluster's own key as a task of a plan.
func planned(key cloudup.SealingKey) OwnKey {
	return func(context.Context) (string, error) {
		if key != nil {
			if name, known := key.Key().Get(); known {
				return name, nil
			}
		}
		return "", fmt.Errorf("%w: the cluster has no key of its own yet; `slipway update cluster --yes` makes the one that spec.sealing asks for", pki.ErrNoKey)
	}
}

// sealedOtherwise says in words that the keysets are not sealed as the spec says, or "".
func sealedOtherwise(s *api.Sealing, wrappers []string, own OwnKey) string {
	if s == nil || len(wrappers) == 0 {
		return ""
	}
	want := func(name string) bool { return name == pki.None().Name() }
	switch {
	case s.Method == api.SealingKMS && s.KMSKey != "":
		want = func(name string) bool { return strings.HasSuffix(name, ":"+s.KMSKey) }
	case s.Method == api.SealingKMS:
		key, err := own(context.Background())
		want = func(name string) bool { return err == nil && name == key }
	case s.Method == api.SealingAge:
		want = func(name string) bool { _, ok := pki.AgeRecipientOf(name); return ok }
	}
	if slices.ContainsFunc(wrappers, want) {
		return ""
	}
	return fmt.Sprintf("keysets are sealed to %s, which is not what spec.sealing says: apply, then run `slipway reseal`", strings.Join(wrappers, ", "))
}

// ErrKeyInUse is in the chain of the error that stops the deletion of a key which keysets
// are sealed with.
var ErrKeyInUse = errors.New("keysets are sealed with it")

// refuseKeyLoss stops a plan that deletes the key which keysets are sealed with: nothing
// could open them again.
func refuseKeyLoss(p *tasks.Plan, wrappers []string) error {
	for _, item := range p.Items {
		if item.Action != tasks.Delete || !item.Data {
			continue
		}
		for _, f := range item.Fields {
			if f.Path == "id" && slices.ContainsFunc(wrappers, func(name string) bool { return strings.HasSuffix(name, ":"+f.Old.Text) }) {
				return fmt.Errorf("delete %s: %w: seal them anew first, with `slipway reseal`", item.ID, ErrKeyInUse)
			}
		}
	}
	return nil
}
