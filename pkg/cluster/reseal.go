// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// Resealed lists what a reseal wrote, and for whom.
type Resealed struct {
	Objects []string // keys below the cluster's prefix
	To      []string // names of the wrappers
}

// Reseal seals all keysets and secrets of a cluster anew, each under a fresh data key,
// for those whom Sealing.To returns. The content stays. Every object is opened before
// the first one is written; a run that dies is repeated.
func Reseal(ctx context.Context, d Deps, o KeyOptions) (*Resealed, error) {
	out := &Resealed{}
	return out, d.changeKeys(ctx, o, func(ctx context.Context, k keyring) error {
		k.seal.Chosen = true // whom the flags or the spec name, not whom the objects are sealed to
		to, err := k.seal.options(ctx)
		if err != nil {
			return err
		}
		for _, w := range to.To {
			out.To = append(out.To, w.Name())
		}
		anew, err := k.resealed(ctx, to)
		if err != nil {
			return fmt.Errorf("%w; nothing was written", err)
		}
		for _, object := range anew {
			if err := k.objects.Put(ctx, object.key, object.data); err != nil {
				return fmt.Errorf("write %s: %w; %d of %d objects are sealed anew: run the command again", object.key, err, len(out.Objects), len(anew))
			}
			out.Objects = append(out.Objects, object.key)
		}
		return nil
	})
}

type sealedObject struct {
	key  string
	data []byte
}

// resealed opens all objects and returns them sealed anew.
func (k keyring) resealed(ctx context.Context, to pki.SealOptions) ([]sealedObject, error) {
	var out []sealedObject
	add := func(key string, s interface{ Encode() ([]byte, error) }, err error) error {
		if err != nil {
			return err
		}
		data, err := s.Encode()
		out = append(out, sealedObject{key, data})
		return err
	}
	keysets, err := readKeysets(ctx, k.objects, k.uid)
	if err != nil {
		return nil, err
	}
	for _, s := range keysets {
		anew, err := s.Reseal(ctx, s.Ref(), k.seal.Ring, to)
		if err := add(pki.KeysetKey(s.Name), anew, err); err != nil {
			return nil, err
		}
	}
	names, err := objectNames(ctx, k.objects, "secrets/", "")
	if err != nil {
		return nil, err
	}
	secrets, err := readSecrets(ctx, k.objects, k.uid, names)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		anew, err := s.Reseal(ctx, s.Ref(), k.seal.Ring, to)
		if err := add(pki.SecretKey(s.Name), anew, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}
