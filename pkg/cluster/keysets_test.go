// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// keyObjects is the part of a store in memory that holds keys.
func keyObjects() statestore.ObjectStore {
	return statestore.New(mem.New("keysets", time.Now), statestore.Options{}).Objects("demo.example.com")
}

// operator is an age identity; made counts how often a seal asked for it.
type operator struct {
	wrapper pki.Wrapper
	mu      sync.Mutex
	made    int
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	file, _, err := pki.NewAgeIdentity()
	if err != nil {
		t.Fatal(err)
	}
	wrappers, err := pki.AgeIdentities(file)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{wrapper: wrappers[0]}
}

func (o *operator) sealing() Sealing {
	return Sealing{Ring: pki.Ring(o.wrapper), To: func(context.Context, OwnKey) ([]pki.Wrapper, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.made++
		return []pki.Wrapper{o.wrapper}, nil
	}}
}

// runKeysets plans and, when asked, applies the keysets' tasks.
func runKeysets(t *testing.T, objects KeyObjects, s Sealing, apply bool) (*tasks.Plan, Keysets, error) {
	t.Helper()
	g := tasks.NewGraph()
	keysets, err := KeysetTasks(g, KeysetOptions{Objects: objects, ClusterUID: "uid-1", Sealing: s, Clock: tasks.SystemClock{}, Whole: apply})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tasks.MakePlan(t.Context(), g, tasks.PlanOptions{})
	if err == nil && apply {
		_, err = tasks.Apply(t.Context(), plan, tasks.ApplyOptions{})
	}
	return plan, keysets, err
}

func TestKeysetTasks(t *testing.T) {
	t.Parallel()
	objects, op := keyObjects(), newOperator(t)
	plan, keysets, err := runKeysets(t, objects, op.sealing(), false)
	if err != nil || len(plan.Items) != len(pki.Definitions()) || !plan.Pending() {
		t.Fatal(plan, err)
	}
	if _, known := keysets[pki.KubernetesCA].Bundle.Get(); known || op.made != 0 {
		t.Error("a plan made something")
	}
	if there, err := objects.List(t.Context(), "pki/"); err != nil || len(there) != 0 {
		t.Errorf("a plan wrote %v, %v", there, err)
	}

	_, keysets, err = runKeysets(t, objects, op.sealing(), true)
	if err != nil || op.made != 1 {
		t.Fatal(op.made, err)
	}
	bundle := keysets[pki.KubernetesCA].Bundle.Value()
	if !strings.Contains(bundle, "BEGIN CERTIFICATE") || keysets[pki.ServiceAccount].TrustHash.Value() == "" {
		t.Errorf("outputs: %q", bundle)
	}

	plan, keysets, err = runKeysets(t, objects, op.sealing(), true)
	if err != nil || plan.Pending() || keysets[pki.KubernetesCA].Bundle.Value() != bundle {
		t.Errorf("the second run: %v", err)
	}
}

// TestKeysetsOfTwoRuns has many runs make the same keysets at once: all go on with the
// same ones.
func TestKeysetsOfTwoRuns(t *testing.T) {
	t.Parallel()
	objects, op := keyObjects(), newOperator(t)
	bundles := make([]map[string]string, 8)
	var wg sync.WaitGroup
	for n := range bundles {
		wg.Go(func() {
			_, keysets, err := runKeysets(t, objects, op.sealing(), true)
			if err != nil {
				t.Error(err)
				return
			}
			bundles[n] = map[string]string{}
			for name, task := range keysets {
				bundles[n][name] = task.Bundle.Value()
			}
		})
	}
	wg.Wait()
	for _, b := range bundles {
		if len(b) == 0 || !maps.Equal(b, bundles[0]) {
			t.Fatal("two runs hold different keysets")
		}
	}
}

func TestKeysetsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	objects, op := keyObjects(), newOperator(t)
	if _, _, err := runKeysets(t, objects, op.sealing(), true); err != nil {
		t.Fatal(err)
	}
	whole, err := objects.Get(t.Context(), pki.KeysetKey(pki.EtcdPeersCA))
	if err != nil {
		t.Fatal(err)
	}
	other, err := objects.Get(t.Context(), pki.KeysetKey(pki.EtcdClientsCA))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		kind error
	}{
		"empty":     {nil, pki.ErrDamaged},
		"truncated": {whole[:len(whole)/2], pki.ErrDamaged},
		"moved":     {other, pki.ErrMoved},
	} {
		if err := objects.Put(t.Context(), pki.KeysetKey(pki.EtcdPeersCA), c.data); err != nil {
			t.Fatal(err)
		}
		_, _, err := runKeysets(t, objects, op.sealing(), true)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), "demo.example.com/pki/etcd-peers-ca.yaml") {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := objects.Get(t.Context(), pki.KeysetKey(pki.EtcdPeersCA)); err != nil || string(now) != string(c.data) {
			t.Errorf("%s: it was overwritten", name)
		}
	}
}

// TestNewKeysetsFollowTheOthers seals what a later run makes as the first run did, and
// as asked when that is asked by name.
func TestNewKeysetsFollowTheOthers(t *testing.T) {
	t.Parallel()
	objects, first, second := keyObjects(), newOperator(t), newOperator(t)
	sealedTo := func() string {
		data, err := objects.Get(t.Context(), pki.KeysetKey(pki.FrontProxyCA))
		if err != nil {
			t.Fatal(err)
		}
		s, err := pki.Decode(data, "x")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(s.Sealing.Wrappers(), ",")
	}
	if _, _, err := runKeysets(t, objects, first.sealing(), true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		chosen bool
		want   pki.Wrapper
	}{{false, first.wrapper}, {true, second.wrapper}} {
		if err := objects.Delete(t.Context(), pki.KeysetKey(pki.FrontProxyCA)); err != nil {
			t.Fatal(err)
		}
		s := second.sealing()
		s.Chosen, s.Ring = c.chosen, pki.Ring(first.wrapper, second.wrapper)
		if _, _, err := runKeysets(t, objects, s, true); err != nil || sealedTo() != c.want.Name() {
			t.Errorf("chosen %v: sealed to %s, %v", c.chosen, sealedTo(), err)
		}
	}
}
