// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// A ciphertext is one byte of version, the key's id, two bytes that number the
// generation of the material, the nonce, and what AES-GCM makes.
const (
	sealVersion = 1
	idLength    = 36
	nonceLength = 12
	headLength  = 1 + idLength + 2
)

// seal encrypts under the key's newest material, bound to the context.
func (s *Service) seal(k *key, plain []byte, context map[string]string) ([]byte, error) {
	generation := len(k.Materials) - 1
	gcm, err := newGCM(k.Materials[generation].Secret)
	if err != nil {
		return nil, err
	}
	out := append([]byte{sealVersion}, k.ID...)
	out = binary.BigEndian.AppendUint16(out, uint16(generation))
	aad := additional(out, context)
	nonce := s.bytes(nonceLength)
	return gcm.Seal(append(out, nonce...), nonce, plain, aad), nil
}

func invalidCiphertext() *wire.Error { return &wire.Error{Code: "InvalidCiphertextException"} }

// keyOf finds the key that a ciphertext names.
func (s *Service) keyOf(c *wire.Call, sealed []byte) (*key, *wire.Error) {
	if len(sealed) < headLength+nonceLength || sealed[0] != sealVersion || !keyID.Match(sealed[1:1+idLength]) {
		return nil, invalidCiphertext()
	}
	k := s.keys.Find(c.Region, string(sealed[1:1+idLength]))
	if k == nil {
		return nil, wire.Errorf("AccessDeniedException", "The ciphertext refers to a customer master key that does not exist, does not exist in this region, or you are not allowed to access.")
	}
	return k, nil
}

// open decrypts what seal made with k, and returns the id of the material too.
func (s *Service) open(k *key, sealed []byte, context map[string]string) ([]byte, string, error) {
	generation := int(binary.BigEndian.Uint16(sealed[1+idLength:]))
	if generation >= len(k.Materials) {
		return nil, "", invalidCiphertext()
	}
	gcm, err := newGCM(k.Materials[generation].Secret)
	if err != nil {
		return nil, "", err
	}
	head, nonce, rest := sealed[:headLength], sealed[headLength:headLength+nonceLength], sealed[headLength+nonceLength:]
	plain, err := gcm.Open(nil, nonce, rest, additional(head, context))
	if err != nil {
		return nil, "", invalidCiphertext()
	}
	return plain, k.Materials[generation].ID, nil
}

func newGCM(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// additional is what a ciphertext is bound to: its head, and the context's pairs
// in the order of their names, each with its length.
func additional(head []byte, context map[string]string) []byte {
	out := slices.Clone(head)
	for _, name := range slices.Sorted(maps.Keys(context)) {
		for _, text := range []string{name, context[name]} {
			out = binary.BigEndian.AppendUint32(out, uint32(len(text)))
			out = append(out, text...)
		}
	}
	return out
}
