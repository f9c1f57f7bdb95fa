// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// Ref names a sealed object. What was sealed under one Ref opens under no other one.
type Ref struct {
	ClusterUID string
	Object     string // key below the cluster's prefix in the store, such as "pki/kubernetes-ca.yaml"
}

// The names under which a Ref is given to wrappers; KMS policies can require them.
const (
	ContextCluster = "slipway.dev/cluster-uid"
	ContextObject  = "slipway.dev/object"
)

func (r Ref) context() map[string]string {
	return map[string]string{ContextCluster: r.ClusterUID, ContextObject: r.Object}
}

// Wrapper seals data keys: a KMS key, an age recipient, or None.
type Wrapper interface {
	// Name is stored with what it wrapped and finds it again, such as "age:age1...".
	Name() string
	// Wrap seals a data key of 32 bytes, bound to the context.
	Wrap(ctx context.Context, key Secret, context map[string]string) ([]byte, error)
	// Unwrap is the reverse. ErrNoKey when the private side is not at hand, ErrTampered
	// or ErrMoved when it is and does not fit.
	Unwrap(ctx context.Context, wrapped []byte, context map[string]string) (Secret, error)
}

// Keyring returns the wrapper of a name, or nil when it is not at hand. What it returns
// decides which sealings are accepted: one that knows only a KMS key opens nothing that
// was sealed, by whomever, to something else.
type Keyring func(name string) Wrapper

// Ring returns a keyring of exactly these wrappers.
func Ring(wrappers ...Wrapper) Keyring {
	return func(name string) Wrapper {
		for _, w := range wrappers {
			if w.Name() == name {
				return w
			}
		}
		return nil
	}
}

// Sealing is how an object is sealed: by a data key of its own, wrapped for each of
// those who may open it.
type Sealing struct {
	Algorithm string       `json:"algorithm"`
	Keys      []WrappedKey `json:"keys"`
	// Tag proves that the rest of the object was written by a holder of the data key.
	Tag []byte `json:"tag,omitempty"`
}

// WrappedKey is the data key as one wrapper wrapped it.
type WrappedKey struct {
	Wrapper string `json:"wrapper"` // its name
	Key     []byte `json:"key"`
}

// Wrappers returns the names of those who may open the object.
func (s Sealing) Wrappers() []string {
	var names []string
	for _, k := range s.Keys {
		names = append(names, k.Wrapper)
	}
	return names
}

// sealAlgorithm has 24-byte nonces: random ones never repeat.
const sealAlgorithm = "xchacha20-poly1305"

// SealOptions say to whom and with which randomness an object is sealed.
type SealOptions struct {
	To   []Wrapper // at least one
	Rand io.Reader // nil means crypto/rand
}

// dataKey is an object's own key while it is open.
type dataKey struct {
	ref     Ref
	key     Secret
	sealing Sealing
	aead    cipher.AEAD
}

// newDataKey makes a data key and wraps it for everybody in o.To.
func newDataKey(ctx context.Context, ref Ref, o SealOptions) (*dataKey, error) {
	fail := func(hint string, err error) (*dataKey, error) {
		return nil, &SealError{Op: "seal", Object: ref.Object, Hint: hint, Err: err}
	}
	if ref.ClusterUID == "" || ref.Object == "" {
		return fail("it must be bound to a cluster's UID and an object", ErrInvalid)
	}
	if len(o.To) == 0 {
		return fail("nobody to seal it to; choose a KMS key, age recipients, or none by name", ErrInvalid)
	}
	if len(o.To) > 1 && slices.ContainsFunc(o.To, func(w Wrapper) bool { return w.Name() == noneName }) {
		return fail("unsealed and sealed exclude each other", ErrInvalid)
	}
	key := make(Secret, chacha20poly1305.KeySize)
	if _, err := io.ReadFull(source(o.Rand), key); err != nil {
		return fail("make a data key", err)
	}
	s := Sealing{Algorithm: sealAlgorithm}
	for _, w := range o.To {
		if slices.Contains(s.Wrappers(), w.Name()) {
			continue
		}
		wrapped, err := w.Wrap(ctx, key, ref.context())
		if err != nil {
			return fail("wrap the data key with "+w.Name(), err)
		}
		s.Keys = append(s.Keys, WrappedKey{Wrapper: w.Name(), Key: wrapped})
	}
	return openWith(ref, key, s)
}

// open finds the data key of a sealed object with the first wrapper that can.
func (s Sealing) open(ctx context.Context, ref Ref, ring Keyring) (*dataKey, error) {
	failure := &SealError{Op: "open", Object: ref.Object, Kind: ErrNoKey, Hint: "it is sealed to " + strings.Join(s.Wrappers(), ", ")}
	var causes []error
	for _, k := range s.Keys {
		w := ring(k.Wrapper)
		if w == nil {
			continue
		}
		key, err := w.Unwrap(ctx, k.Key, ref.context())
		if err == nil && len(key) != chacha20poly1305.KeySize {
			err = fmt.Errorf("%w: the data key has %d bytes", ErrTampered, len(key))
		}
		if err == nil {
			return openWith(ref, key, s)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		causes = append(causes, err)
	}
	failure.Err = errors.Join(causes...)
	for _, kind := range []error{ErrMoved, ErrTampered} {
		if errors.Is(failure.Err, kind) {
			failure.Kind = kind
		}
	}
	return nil, failure
}

func openWith(ref Ref, key Secret, s Sealing) (*dataKey, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, &SealError{Op: "open", Object: ref.Object, Kind: ErrTampered, Hint: "the data key does not fit"}
	}
	s.Tag = nil
	return &dataKey{ref: ref, key: key, sealing: s, aead: aead}, nil
}

// seal encrypts one part of the object; it opens as that part of that object only.
func (d *dataKey) seal(r io.Reader, part string, plain Secret) ([]byte, error) {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(plain)+d.aead.Overhead())
	if _, err := io.ReadFull(source(r), nonce); err != nil {
		return nil, &SealError{Op: "seal", Object: d.ref.Object, Hint: "make a nonce", Err: err}
	}
	return d.aead.Seal(nonce, nonce, plain, d.bound(part, nil)), nil
}

func (d *dataKey) open(part string, sealed []byte) (Secret, error) { return d.opens(part, sealed, nil) }

// sign returns a tag over content that only a holder of the data key can make.
func (d *dataKey) sign(r io.Reader, content []byte) ([]byte, error) {
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	if _, err := io.ReadFull(source(r), nonce); err != nil {
		return nil, &SealError{Op: "seal", Object: d.ref.Object, Hint: "make a nonce", Err: err}
	}
	return d.aead.Seal(nonce, nonce, nil, d.bound(tagPart, content)), nil
}

func (d *dataKey) verify(tag, content []byte) error {
	_, err := d.opens(tagPart, tag, content)
	return err
}

const tagPart = "tag"

func (d *dataKey) opens(part string, sealed, content []byte) (Secret, error) {
	tampered := &SealError{Op: "open", Object: d.ref.Object, Kind: ErrTampered,
		Hint: part + " was not sealed for this place with this data key; restore the object from a copy"}
	if len(sealed) < chacha20poly1305.NonceSizeX+d.aead.Overhead() {
		return nil, tampered
	}
	nonce, box := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	plain, err := d.aead.Open(nil, nonce, box, d.bound(part, content))
	if err != nil {
		return nil, tampered
	}
	return plain, nil
}

// bound is the associated data: each field with its length, so that none runs into the
// next one.
func (d *dataKey) bound(part string, content []byte) []byte {
	var out []byte
	for _, field := range [][]byte{[]byte(apiVersion), []byte(d.ref.ClusterUID), []byte(d.ref.Object), []byte(part), content} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(field)))
		out = append(out, field...)
	}
	return out
}

func source(r io.Reader) io.Reader {
	if r == nil {
		return rand.Reader
	}
	return r
}
