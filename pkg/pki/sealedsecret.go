// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxSecret is the largest content of a secret: what a Kubernetes Secret can hold.
const maxSecret = 1 << 20

// SealedSecret is a secret of the user's as it lies in the store, such as a registry's
// credentials.
type SealedSecret struct {
	Name       string
	ClusterUID string
	Created    time.Time
	Sealing    Sealing

	content []byte // sealed
}

// SecretKey is where a secret lies below its cluster's prefix in the state store.
func SecretKey(name string) string { return "secrets/" + name }

// SecretRef is the Ref of a cluster's secret of that name.
func SecretRef(clusterUID, name string) Ref {
	return Ref{ClusterUID: clusterUID, Object: SecretKey(name)}
}

// CheckSecretName returns ErrInvalid for a name that no store object could have.
func CheckSecretName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("secret name %q: %w: it takes at most 128 lower-case letters, digits, \"-\" and \".\", such as registry-credentials", name, ErrInvalid)
	}
	return nil
}

// PlainSecret is a secret that is to be sealed.
type PlainSecret struct {
	Name       string
	ClusterUID string
	Created    time.Time
	Content    Secret // 1 byte to 1 MiB
}

// SealSecret seals a secret with a fresh data key.
func SealSecret(ctx context.Context, p PlainSecret, o SealOptions) (*SealedSecret, error) {
	if err := CheckSecretName(p.Name); err != nil {
		return nil, err
	}
	ref := SecretRef(p.ClusterUID, p.Name)
	if n := len(p.Content); n == 0 || n > maxSecret {
		return nil, &SealError{Op: "seal", Object: ref.Object, Kind: ErrInvalid, Hint: fmt.Sprintf("its content has %d bytes; it takes 1 to %d", n, maxSecret)}
	}
	key, err := newDataKey(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	s := &SealedSecret{Name: p.Name, ClusterUID: p.ClusterUID, Created: stamp(p.Created), Sealing: key.sealing}
	if s.content, err = key.seal(o.Rand, contentPart, p.Content); err != nil {
		return nil, err
	}
	public, err := signed(s.document(false))
	if err != nil {
		return nil, err
	}
	s.Sealing.Tag, err = key.sign(o.Rand, public)
	return s, err
}

const contentPart = "content"

// Ref returns what the secret is bound to.
func (s *SealedSecret) Ref() Ref { return SecretRef(s.ClusterUID, s.Name) }

// Open returns the content.
func (s *SealedSecret) Open(ctx context.Context, want Ref, ring Keyring) (Secret, error) {
	if err := sameRef(want, s.Ref()); err != nil {
		return nil, err
	}
	key, err := s.Sealing.open(ctx, want, ring)
	if err != nil {
		return nil, err
	}
	public, err := signed(s.document(false))
	if err != nil {
		return nil, err
	}
	if err := key.verify(s.Sealing.Tag, public); err != nil {
		return nil, err
	}
	return key.open(contentPart, s.content)
}

// Reseal returns the same secret under a fresh data key for other wrappers.
func (s *SealedSecret) Reseal(ctx context.Context, want Ref, from Keyring, o SealOptions) (*SealedSecret, error) {
	content, err := s.Open(ctx, want, from)
	if err != nil {
		return nil, err
	}
	return SealSecret(ctx, PlainSecret{Name: s.Name, ClusterUID: s.ClusterUID, Created: s.Created, Content: content}, o)
}

// Encode returns the stored form.
func (s *SealedSecret) Encode() ([]byte, error) { return encode(s.document(true)) }

// DecodeSecret reads the stored form; object names it in errors. It needs no key.
func DecodeSecret(data []byte, object string) (*SealedSecret, error) {
	var d secretDocument
	err := decode(data, secretKind, &d)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return nil, damaged(object, err)
	}
	return &SealedSecret{Name: d.Metadata.Name, ClusterUID: d.Metadata.ClusterUID, Created: d.Created.UTC(), Sealing: d.Sealing, content: d.Sealed}, nil
}

func (d secretDocument) check() error {
	switch {
	case !nameForm.MatchString(d.Metadata.Name) || d.Metadata.ClusterUID == "":
		return fmt.Errorf("it has no usable name (%q) and cluster UID (%q)", d.Metadata.Name, d.Metadata.ClusterUID)
	case d.Created.IsZero() || len(d.Sealed) == 0:
		return errors.New("it is not whole")
	}
	return d.Sealing.check()
}

func (s *SealedSecret) document(tag bool) secretDocument {
	d := secretDocument{APIVersion: apiVersion, Kind: secretKind, Metadata: metadata{s.Name, s.ClusterUID}, Created: s.Created, Sealed: s.content, Sealing: s.Sealing}
	if !tag {
		d.Sealing.Tag = nil
	}
	return d
}
