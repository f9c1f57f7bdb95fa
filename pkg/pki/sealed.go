// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"io"
	"slices"
)

// Sealed is a keyset as it lies in the store: all but the private parts can be read.
type Sealed struct {
	Keyset  // without private parts
	Sealing Sealing

	private map[string][]byte // sealed, by item ID
}

// Opened is a keyset with its private parts, and the data key that it is sealed by.
type Opened struct {
	Keyset
	key *dataKey
}

// Seal seals an opened keyset with a fresh data key.
func Seal(ctx context.Context, k Keyset, o SealOptions) (*Sealed, error) {
	key, err := newDataKey(ctx, k.Ref(), o)
	if err != nil {
		return nil, err
	}
	return sealWith(key, k, o.Rand)
}

// Seal seals a changed keyset as the old one was: the same data key, for the same
// wrappers, with nothing to ask of them.
func (o *Opened) Seal(k Keyset, r io.Reader) (*Sealed, error) {
	if k.Ref() != o.key.ref {
		return nil, &SealError{Op: "seal", Object: k.Ref().Object, Kind: ErrMoved, Hint: "the data key is that of " + o.key.ref.Object}
	}
	return sealWith(o.key, k, r)
}

func sealWith(key *dataKey, k Keyset, r io.Reader) (*Sealed, error) {
	s := &Sealed{Keyset: k, Sealing: key.sealing, private: map[string][]byte{}}
	s.Items = slices.Clone(k.Items)
	for n := range s.Items {
		item := &s.Items[n]
		if len(item.Private) == 0 {
			return nil, &SealError{Op: "seal", Object: k.Ref().Object, Kind: ErrInvalid, Hint: "item " + item.ID + " is without its private part"}
		}
		box, err := key.seal(r, itemPart(item.ID), item.Private)
		if err != nil {
			return nil, err
		}
		s.private[item.ID], item.Private = box, nil
	}
	content, err := signed(s.document(false))
	if err != nil {
		return nil, err
	}
	s.Sealing.Tag, err = key.sign(r, content)
	return s, err
}

func itemPart(id string) string { return "item " + id }

// Open returns the keyset with its private parts. It fails for an object that is not
// the one that the caller asked for, and for one that no holder of the data key wrote.
func (s *Sealed) Open(ctx context.Context, want Ref, ring Keyring) (*Opened, error) {
	if err := sameRef(want, s.Ref()); err != nil {
		return nil, err
	}
	key, err := s.Sealing.open(ctx, want, ring)
	if err != nil {
		return nil, err
	}
	content, err := signed(s.document(false))
	if err != nil {
		return nil, err
	}
	if err := key.verify(s.Sealing.Tag, content); err != nil {
		return nil, err
	}
	out := &Opened{Keyset: s.Keyset, key: key}
	out.Items = slices.Clone(s.Items)
	for n := range out.Items {
		item := &out.Items[n]
		if item.Private, err = key.open(itemPart(item.ID), s.private[item.ID]); err != nil {
			return nil, err
		}
		private, err := parseKey(item.Private)
		if err != nil || !item.matches(private) {
			return nil, &SealError{Op: "open", Object: want.Object, Kind: ErrTampered, Hint: "the private part of " + item.ID + " is not that of its public part"}
		}
	}
	return out, nil
}

// Reseal returns the same keyset under a fresh data key for other wrappers.
func (s *Sealed) Reseal(ctx context.Context, want Ref, from Keyring, o SealOptions) (*Sealed, error) {
	opened, err := s.Open(ctx, want, from)
	if err != nil {
		return nil, err
	}
	return Seal(ctx, opened.Keyset, o)
}

// Encode returns the stored form.
func (s *Sealed) Encode() ([]byte, error) { return encode(s.document(true)) }

// Decode reads the stored form; object names it in errors. It needs no key. A file that
// is cut off, altered or of another form is ErrDamaged.
func Decode(data []byte, object string) (*Sealed, error) {
	var d keysetDocument
	err := decode(data, keysetKind, &d)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return nil, damaged(object, err)
	}
	s := &Sealed{Keyset: Keyset{Name: d.Metadata.Name, Kind: d.Type, ClusterUID: d.Metadata.ClusterUID},
		Sealing: d.Sealing, private: map[string][]byte{}}
	for _, i := range d.Items {
		s.Items = append(s.Items, i.item())
		s.private[i.ID] = i.Sealed
	}
	return s, nil
}

func (s *Sealed) document(tag bool) keysetDocument {
	d := keysetDocument{APIVersion: apiVersion, Kind: keysetKind, Metadata: metadata{s.Name, s.ClusterUID}, Type: s.Kind, Sealing: s.Sealing}
	if !tag {
		d.Sealing.Tag = nil
	}
	for _, i := range s.Items {
		d.Items = append(d.Items, itemDocument{ID: i.ID, State: i.State, Created: i.Created, Since: i.Since, TrustedSince: i.TrustedSince, Signed: i.Signed,
			Certificate: i.Certificate, PublicKey: i.PublicKey, Sealed: s.private[i.ID]})
	}
	return d
}

func damaged(object string, why error) error {
	return &SealError{Op: "read", Object: object, Kind: ErrDamaged, Err: why,
		Hint: "restore it from a copy or an older version of the object"}
}

func sameRef(want, got Ref) error {
	if want == got {
		return nil
	}
	return &SealError{Op: "open", Object: want.Object, Kind: ErrMoved,
		Hint: "it says that it is " + got.Object + " of the cluster with the UID " + got.ClusterUID + ", not of " + want.ClusterUID}
}
