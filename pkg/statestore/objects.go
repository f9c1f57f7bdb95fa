// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// managed are the folders whose objects go with a cluster. Its history, operations,
// journal and backups stay.
var managed = []string{"nodes", "addons", "assets", "values", "pki", "secrets"}

// kept are the folders that callers write through Objects and that outlive the cluster.
var kept = []string{"backups"}

// ObjectStore holds the managed objects of one cluster. Keys are relative to the
// cluster and begin with one of the folders nodes/, addons/, assets/, values/, pki/,
// secrets/ and backups/; other keys are ErrInvalid.
type ObjectStore struct {
	s       *Store
	cluster string
}

// Objects returns the managed objects of a cluster.
func (s *Store) Objects(cluster string) ObjectStore { return ObjectStore{s, cluster} }

// Get reads an object; ErrNotFound when it is absent.
func (o ObjectStore) Get(ctx context.Context, key string) ([]byte, error) {
	full, err := o.key(key)
	if err != nil {
		return nil, err
	}
	object, err := o.s.d.Get(ctx, full)
	return object.Data, err
}

// Put writes an object, whether or not it exists.
func (o ObjectStore) Put(ctx context.Context, key string, data []byte) error {
	full, err := o.key(key)
	if err != nil {
		return err
	}
	_, err = o.s.d.Put(ctx, full, data)
	return err
}

// PutIfAbsent creates an object; ErrConflict when it exists.
func (o ObjectStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	full, err := o.key(key)
	if err != nil {
		return err
	}
	_, err = o.s.d.PutIfAbsent(ctx, full, data)
	return err
}

// Delete removes an object; an absent one is no error.
func (o ObjectStore) Delete(ctx context.Context, key string) error {
	full, err := o.key(key)
	if err != nil {
		return err
	}
	return o.s.d.Delete(ctx, full)
}

// List returns the sizes in bytes of all objects whose keys begin with prefix, such
// as "nodes/", by their keys relative to the cluster.
func (o ObjectStore) List(ctx context.Context, prefix string) (map[string]int64, error) {
	if _, err := o.key(prefix + "x"); err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	err := o.s.pages(ctx, o.cluster+"/"+prefix, false, func(p driver.Page) {
		for _, i := range p.Objects {
			sizes[strings.TrimPrefix(i.Key, o.cluster+"/")] = i.Size
		}
	})
	return sizes, err
}

// URL returns an object as a URL, without credentials.
func (o ObjectStore) URL(key string) string { return o.s.name(o.cluster + "/" + key) }

func (o ObjectStore) key(key string) (string, error) {
	if err := checkName(o.cluster); err != nil {
		return "", err
	}
	folder, rest, _ := strings.Cut(key, "/")
	if rest == "" || !slices.Contains(managed, folder) && !slices.Contains(kept, folder) {
		return "", fmt.Errorf("store object %q of cluster %s: %w: it must lie in one of %s", key, o.cluster, ErrInvalid,
			strings.Join(slices.Concat(managed, kept), "/, ")+"/")
	}
	return o.cluster + "/" + key, nil
}

// DeleteManaged removes a cluster's node configs, add-ons, assets, keys and secrets,
// and the note of what was applied last. History, ledger, journal, operations and
// backups stay. It may be repeated.
func (s *Store) DeleteManaged(ctx context.Context, cluster string) error {
	if err := checkName(cluster); err != nil {
		return err
	}
	var prefixes []string
	for _, folder := range managed {
		prefixes = append(prefixes, cluster+"/"+folder+"/")
	}
	return errors.Join(s.remove(ctx, prefixes...), s.d.Delete(ctx, appliedKey(cluster)))
}

// Purge removes everything of a deleted cluster, its history and backups included, but
// not its lock, whose numbers must never repeat. A cluster that was not deleted is
// ErrInvalid; a name never used is a *NotFoundError.
func (s *Store) Purge(ctx context.Context, cluster string) error {
	rev, err := s.newest(ctx, cluster)
	if err != nil {
		return err
	}
	if !rev.Tombstone {
		return fmt.Errorf("purge cluster %s from %s: %w: it was not deleted; run `slipway delete cluster` first", cluster, s.URL(), ErrInvalid)
	}
	if err := s.DeleteManaged(ctx, cluster); err != nil {
		return err
	}
	prefixes := []string{cluster + "/journal/", cluster + "/operations/", cluster + "/ledger.json"}
	for _, folder := range kept {
		prefixes = append(prefixes, cluster+"/"+folder+"/")
	}
	if err := s.remove(ctx, prefixes...); err != nil {
		return err
	}
	// The newest revision goes last: a purge that dies is repeated by its name.
	for n := range rev.Number {
		if err := s.d.Delete(ctx, revisionKey(cluster, n+1)); err != nil {
			return err
		}
	}
	return nil
}
