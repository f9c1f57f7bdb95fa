// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/statestore"
)

// SecretExistsError says that a secret would be overwritten.
type SecretExistsError struct{ Name, Cluster string }

// Error says how to overwrite it.
func (e *SecretExistsError) Error() string {
	return fmt.Sprintf("secret %s of cluster %s exists; to replace its content, add --force", e.Name, e.Cluster)
}

// CreateSecret seals and stores a secret. One that exists is only replaced with force.
func CreateSecret(ctx context.Context, d Deps, name string, content pki.Secret, force bool, o KeyOptions) error {
	if err := pki.CheckSecretName(name); err != nil {
		return err
	}
	return d.changeKeys(ctx, o, func(ctx context.Context, k keyring) error {
		to, err := k.seal.options(ctx)
		if err != nil {
			return err
		}
		s, err := pki.SealSecret(ctx, pki.PlainSecret{Name: name, ClusterUID: k.uid, Created: d.now(), Content: content}, to)
		if err != nil {
			return err
		}
		data, err := s.Encode()
		if err != nil {
			return err
		}
		if force {
			return k.objects.Put(ctx, pki.SecretKey(name), data)
		}
		err = k.objects.PutIfAbsent(ctx, pki.SecretKey(name), data)
		if errors.Is(err, statestore.ErrConflict) {
			return &SecretExistsError{Name: name, Cluster: o.Cluster}
		}
		return err
	})
}

// DeleteSecret removes a secret; an absent one is an error that lists what there is.
func DeleteSecret(ctx context.Context, d Deps, name string, o KeyOptions) error {
	return d.changeKeys(ctx, o, func(ctx context.Context, k keyring) error {
		names, err := objectNames(ctx, k.objects, "secrets/", "")
		if err != nil {
			return err
		}
		if err := known(name, o.Cluster, names); err != nil {
			return err
		}
		return k.objects.Delete(ctx, pki.SecretKey(name))
	})
}

// Secrets returns a cluster's secrets without opening them; a name narrows to one.
func Secrets(ctx context.Context, d Deps, cluster, name string) ([]*pki.SealedSecret, error) {
	c, err := Load(ctx, d, cluster)
	if err != nil {
		return nil, err
	}
	objects := d.Store.Objects(cluster)
	names, err := objectNames(ctx, objects, "secrets/", "")
	if err != nil {
		return nil, err
	}
	if name != "" {
		if err := known(name, cluster, names); err != nil {
			return nil, err
		}
		names = []string{name}
	}
	return readSecrets(ctx, objects, c.Cluster.Metadata.UID, names)
}

// RevealSecret opens a secret.
func RevealSecret(ctx context.Context, d Deps, cluster, name string) (pki.Secret, error) {
	c, err := Load(ctx, d, cluster)
	if err != nil {
		return nil, err
	}
	found, err := Secrets(ctx, d, cluster, name)
	if err != nil {
		return nil, err
	}
	return found[0].Open(ctx, pki.SecretRef(c.Cluster.Metadata.UID, name), d.Sealing(c.Manifest).Ring)
}

func readSecrets(ctx context.Context, objects KeyObjects, uid string, names []string) ([]*pki.SealedSecret, error) {
	var out []*pki.SealedSecret
	for _, name := range names {
		key := pki.SecretKey(name)
		data, err := objects.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		}
		s, err := pki.DecodeSecret(data, objectName(objects, key))
		if err != nil {
			return nil, err
		}
		if s.Ref() != pki.SecretRef(uid, name) {
			return nil, &pki.SealError{Op: "read", Object: objectName(objects, key), Kind: pki.ErrMoved, Hint: "it belongs to another cluster or has another name"}
		}
		out = append(out, s)
	}
	return out, nil
}

func known(name, cluster string, names []string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("cluster %s has no secret %s: %w; it has none at all", cluster, name, statestore.ErrNotFound)
	}
	return fmt.Errorf("cluster %s has no secret %s: %w; it has %s", cluster, name, statestore.ErrNotFound, strings.Join(names, ", "))
}
