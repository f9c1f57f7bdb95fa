// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) cryptoOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"Encrypt": wire.JSONOp(s.encrypt), "Decrypt": wire.JSONOp(s.decrypt), "ReEncrypt": wire.JSONOp(s.reEncrypt),
		"GenerateDataKey": wire.JSONOp(s.dataKey), "GenerateDataKeyWithoutPlaintext": wire.JSONOp(s.sealedDataKey),
		"GenerateRandom": wire.JSONOp(s.random),
	}
}

// maxPlain is how much a key encrypts at once; a sealed text may be longer by the
// head and the tag.
const (
	maxPlain  = 4096
	maxSealed = 6144
)

// encrypting finds a key to encrypt or decrypt with.
func (s *Service) encrypting(c *wire.Call, id, algorithm string) (*key, *wire.Error) {
	k, err := s.find(c, id, true)
	if err != nil {
		return nil, err
	}
	return k, s.encrypts(k, algorithm)
}

func (s *Service) encrypts(k *key, algorithm string) *wire.Error {
	if err := s.usable(k); err != nil {
		return err
	}
	if k.Spec != symmetric {
		return wire.Errorf("InvalidKeyUsageException", "%s key usage is %s which is not valid for this operation.", s.keyARN(k), k.Usage)
	}
	if algorithm != "" && algorithm != symmetric {
		return wire.Errorf("InvalidKeyUsageException", "Algorithm %s is incompatible with key spec %s.", algorithm, k.Spec)
	}
	return nil
}

func checkSealed(member string, sealed []byte) *wire.Error {
	if len(sealed) == 0 {
		return invalid("1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length greater than or equal to 1", member)
	}
	if len(sealed) > maxSealed {
		return tooLong(member, maxSealed)
	}
	return nil
}

// rehearsed ends a call that was only to be tried.
func rehearsed(dry bool) error {
	if dry {
		return &wire.Error{Code: "DryRunOperationException", Message: "The request would have succeeded, but the DryRun option is set.", Status: 412}
	}
	return nil
}

type encryptOut struct {
	CiphertextBlob      []byte
	KeyId               string
	EncryptionAlgorithm string
}

func (s *Service) encrypt(c *wire.Call, in *struct {
	KeyId               string `wire:",required"`
	Plaintext           []byte `wire:",required"`
	EncryptionContext   map[string]string
	EncryptionAlgorithm string
	GrantTokens         []string
	DryRun              bool
}) (*encryptOut, error) {
	switch {
	case len(in.Plaintext) == 0:
		return nil, invalid("1 validation error detected: Value at 'plaintext' failed to satisfy constraint: Member must have length greater than or equal to 1")
	case len(in.Plaintext) > maxPlain:
		return nil, tooLong("plaintext", maxPlain)
	}
	k, refusal := s.encrypting(c, in.KeyId, in.EncryptionAlgorithm)
	if refusal != nil {
		return nil, refusal
	}
	if err := rehearsed(in.DryRun); err != nil {
		return nil, err
	}
	sealed, err := s.seal(k, in.Plaintext, in.EncryptionContext)
	if err != nil {
		return nil, err
	}
	return &encryptOut{sealed, s.keyARN(k), symmetric}, nil
}

// opening finds the key of a ciphertext; id is the one that the caller expects, or "".
func (s *Service) opening(c *wire.Call, sealed []byte, id, algorithm string) (*key, *wire.Error) {
	k, err := s.keyOf(c, sealed)
	if id != "" {
		wanted, missing := s.find(c, id, true)
		if missing != nil {
			return nil, missing
		}
		if err == nil && wanted.ID != k.ID {
			return nil, wire.Errorf("IncorrectKeyException", "The key ID in the request does not identify a CMK that can perform this operation.")
		}
	}
	if err != nil {
		return nil, err
	}
	return k, s.encrypts(k, algorithm)
}

type decryptOut struct {
	KeyId               string
	Plaintext           []byte
	EncryptionAlgorithm string
	KeyMaterialId       string
}

func (s *Service) decrypt(c *wire.Call, in *struct {
	CiphertextBlob      []byte `wire:",required"`
	EncryptionContext   map[string]string
	KeyId               string
	EncryptionAlgorithm string
	GrantTokens         []string
	DryRun              bool
}) (*decryptOut, error) {
	if err := checkSealed("ciphertextBlob", in.CiphertextBlob); err != nil {
		return nil, err
	}
	k, refusal := s.opening(c, in.CiphertextBlob, in.KeyId, in.EncryptionAlgorithm)
	if refusal != nil {
		return nil, refusal
	}
	plain, generation, err := s.open(k, in.CiphertextBlob, in.EncryptionContext)
	if err == nil {
		err = rehearsed(in.DryRun)
	}
	if err != nil {
		return nil, err
	}
	return &decryptOut{s.keyARN(k), plain, symmetric, generation}, nil
}

type reEncryptOut struct {
	CiphertextBlob                                            []byte
	SourceKeyId, KeyId                                        string
	SourceEncryptionAlgorithm, DestinationEncryptionAlgorithm string
	SourceKeyMaterialId, DestinationKeyMaterialId             string
}

func (s *Service) reEncrypt(c *wire.Call, in *struct {
	CiphertextBlob                 []byte `wire:",required"`
	SourceEncryptionContext        map[string]string
	SourceKeyId                    string
	DestinationKeyId               string `wire:",required"`
	DestinationEncryptionContext   map[string]string
	SourceEncryptionAlgorithm      string
	DestinationEncryptionAlgorithm string
	GrantTokens                    []string
	DryRun                         bool
}) (*reEncryptOut, error) {
	if err := checkSealed("ciphertextBlob", in.CiphertextBlob); err != nil {
		return nil, err
	}
	from, refusal := s.opening(c, in.CiphertextBlob, in.SourceKeyId, in.SourceEncryptionAlgorithm)
	if refusal != nil {
		return nil, refusal
	}
	to, refusal := s.encrypting(c, in.DestinationKeyId, in.DestinationEncryptionAlgorithm)
	if refusal != nil {
		return nil, refusal
	}
	plain, generation, err := s.open(from, in.CiphertextBlob, in.SourceEncryptionContext)
	if err == nil {
		err = rehearsed(in.DryRun)
	}
	if err != nil {
		return nil, err
	}
	sealed, err := s.seal(to, plain, in.DestinationEncryptionContext)
	if err != nil {
		return nil, err
	}
	return &reEncryptOut{sealed, s.keyARN(from), s.keyARN(to), symmetric, symmetric, generation, to.Materials[len(to.Materials)-1].ID}, nil
}

type dataKeyIn struct {
	KeyId             string `wire:",required"`
	EncryptionContext map[string]string
	NumberOfBytes     *int
	KeySpec           string
	GrantTokens       []string
	DryRun            bool
}

type dataKeyOut struct {
	CiphertextBlob []byte
	Plaintext      []byte
	KeyId          string
	KeyMaterialId  string
}

// length is how long the data key is to be.
func (in *dataKeyIn) length() (int, *wire.Error) {
	sizes := map[string]int{"AES_256": 32, "AES_128": 16}
	switch {
	case (in.NumberOfBytes == nil) == (in.KeySpec == ""):
		return 0, invalid("Please specify either number of bytes or key spec.")
	case in.NumberOfBytes != nil:
		return *in.NumberOfBytes, checkCount(*in.NumberOfBytes)
	case sizes[in.KeySpec] == 0:
		return 0, invalid("1 validation error detected: Value '%s' at 'keySpec' failed to satisfy constraint: Member must satisfy enum value set: [AES_256, AES_128]", in.KeySpec)
	}
	return sizes[in.KeySpec], nil
}

func checkCount(n int) *wire.Error {
	if n < 1 || n > 1024 {
		return invalid("1 validation error detected: Value '%d' at 'numberOfBytes' failed to satisfy constraint: Member must have value between 1 and 1024", n)
	}
	return nil
}

func (s *Service) dataKey(c *wire.Call, in *dataKeyIn) (*dataKeyOut, error) {
	n, refusal := in.length()
	if refusal != nil {
		return nil, refusal
	}
	k, refusal := s.encrypting(c, in.KeyId, "")
	if refusal != nil {
		return nil, refusal
	}
	if err := rehearsed(in.DryRun); err != nil {
		return nil, err
	}
	plain := s.bytes(n)
	sealed, err := s.seal(k, plain, in.EncryptionContext)
	if err != nil {
		return nil, err
	}
	return &dataKeyOut{sealed, plain, s.keyARN(k), k.Materials[len(k.Materials)-1].ID}, nil
}

func (s *Service) sealedDataKey(c *wire.Call, in *dataKeyIn) (*dataKeyOut, error) {
	out, err := s.dataKey(c, in)
	if err != nil {
		return nil, err
	}
	out.Plaintext = nil
	return out, nil
}

type randomOut struct{ Plaintext []byte }

func (s *Service) random(_ *wire.Call, in *struct {
	NumberOfBytes *int `wire:",required"`
}) (*randomOut, error) {
	if err := checkCount(*in.NumberOfBytes); err != nil {
		return nil, err
	}
	return &randomOut{s.bytes(*in.NumberOfBytes)}, nil
}
