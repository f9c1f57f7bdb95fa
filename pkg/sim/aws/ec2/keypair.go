// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"crypto/md5" //nolint:gosec // the fingerprint that EC2 shows of RSA keys
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// KeyPair is a public key that instances are given.
type KeyPair struct {
	KeyPairId      string
	KeyName        string
	KeyType        string
	KeyFingerprint string
	PublicKey      string
	CreateTime     time.Time
	Tags           []Tag `wire:"tagSet"`
}

const maxKeyName = 255

func newKeyPairKind(s *Service, w *world.World) (*kind[KeyPair], error) {
	return newKind(s, w, kind[KeyPair]{
		resource: "key-pair", prefix: "key-", notFound: "InvalidKeyPair.NotFound", word: "key pair",
		id:   func(k *KeyPair) string { return k.KeyPairId },
		tags: func(k *KeyPair) *[]Tag { return &k.Tags },
		filters: map[string]func(*KeyPair) []string{
			"key-name": one(func(k *KeyPair) string { return k.KeyName }), "key-pair-id": one(func(k *KeyPair) string { return k.KeyPairId }),
			"fingerprint": one(func(k *KeyPair) string { return k.KeyFingerprint }),
		},
	})
}

func (s *Service) keyPairOps() map[string]wire.Handler {
	return map[string]wire.Handler{"ImportKeyPair": op(s.importKey), "DescribeKeyPairs": op(s.describeKeys), "DeleteKeyPair": op(s.deleteKey)}
}

type importKeyIn struct {
	KeyName           string             `wire:"KeyName,required"`
	PublicKeyMaterial []byte             `wire:"PublicKeyMaterial,required"`
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type importKeyOut struct {
	KeyPairId, KeyName, KeyFingerprint string
	Tags                               []Tag `wire:"tagSet"`
}

func (s *Service) importKey(c *wire.Call, in *importKeyIn) (*importKeyOut, error) {
	if in.KeyName == "" || len(in.KeyName) > maxKeyName {
		return nil, wire.Errorf("InvalidParameterValue", "Value for parameter KeyName is invalid. It takes 1 to %d characters.", maxKeyName)
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "key-pair")
	if tagErr != nil {
		return nil, tagErr
	}
	if s.keyByName(c, in.KeyName) != nil {
		return nil, wire.Errorf("InvalidKeyPair.Duplicate", "The keypair already exists")
	}
	k := &KeyPair{KeyPairId: s.newID("key-"), KeyName: in.KeyName, CreateTime: c.Now.UTC(), Tags: tags, PublicKey: strings.TrimSpace(string(in.PublicKeyMaterial))}
	if err := k.fingerprint(in.PublicKeyMaterial); err != nil {
		return nil, err
	}
	s.keys.put(c, k)
	return &importKeyOut{k.KeyPairId, k.KeyName, k.KeyFingerprint, k.Tags}, nil
}

// fingerprint sets type and fingerprint: MD5 over the DER of an RSA key, as AWS
// shows imported ones, and SHA-256 over the wire form of an ED25519 key.
func (k *KeyPair) fingerprint(material []byte) *wire.Error {
	key, _, _, _, err := ssh.ParseAuthorizedKey(material)
	if err != nil {
		return wire.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
	}
	switch key.Type() {
	case ssh.KeyAlgoED25519:
		sum := sha256.Sum256(key.Marshal())
		k.KeyType, k.KeyFingerprint = "ed25519", base64.StdEncoding.EncodeToString(sum[:])
	case ssh.KeyAlgoRSA:
		crypto, ok := key.(ssh.CryptoPublicKey)
		if !ok {
			return wire.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
		}
		der, err := x509.MarshalPKIXPublicKey(crypto.CryptoPublicKey())
		if err != nil {
			return wire.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
		}
		sum := md5.Sum(der) //nolint:gosec // see above
		var pairs []string
		for _, b := range sum {
			pairs = append(pairs, hex.EncodeToString([]byte{b}))
		}
		k.KeyType, k.KeyFingerprint = "rsa", strings.Join(pairs, ":")
	default:
		return wire.Errorf("InvalidKey.Format", "EC2 takes RSA and ED25519 keys, not %s", key.Type())
	}
	return nil
}

func (s *Service) keyByName(c *wire.Call, name string) *KeyPair {
	return s.keys.first(c, func(k *KeyPair) bool { return k.KeyName == name })
}

type describeKeysIn struct {
	KeyNames         []string `wire:"KeyName"`
	KeyPairIds       []string `wire:"KeyPairId"`
	IncludePublicKey bool
	Filters          []Filter `wire:"Filter"`
}

type describeKeysOut struct {
	Keys []KeyPair `wire:"keySet"`
}

func (s *Service) describeKeys(c *wire.Call, in *describeKeysIn) (*describeKeysOut, error) {
	rows, err := s.keys.pick(c, in.KeyPairIds)
	if err != nil {
		return nil, err
	}
	if len(in.KeyNames) > 0 {
		rows = nil
		for _, name := range in.KeyNames {
			k := s.keyByName(c, name)
			if k == nil || s.keys.table.Find(c.Region, k.KeyPairId) == nil {
				return nil, wire.Errorf("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", name)
			}
			rows = append(rows, k)
		}
	}
	if rows, err = filter(rows, in.Filters, s.keys.filters, s.keys.tags); err != nil {
		return nil, err
	}
	out := &describeKeysOut{}
	for _, k := range rows {
		shown := *k
		if !in.IncludePublicKey {
			shown.PublicKey = ""
		}
		out.Keys = append(out.Keys, shown)
	}
	return out, nil
}

type deleteKeyOut struct {
	Return    bool
	KeyPairId string
}

// deleteKey answers true for a key that is not there, as EC2 does.
func (s *Service) deleteKey(c *wire.Call, in *struct{ KeyName, KeyPairId string }) (*deleteKeyOut, error) {
	if in.KeyName == "" && in.KeyPairId == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter KeyName or KeyPairId")
	}
	k := s.keyByName(c, in.KeyName)
	if in.KeyPairId != "" {
		k = s.keys.table.Get(c.Region, in.KeyPairId)
	}
	if k == nil {
		return &deleteKeyOut{Return: true}, nil
	}
	s.keys.remove(c, k)
	return &deleteKeyOut{true, k.KeyPairId}, nil
}
