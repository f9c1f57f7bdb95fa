// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"time"
)

// Algorithm is a kind of private key.
type Algorithm string

// The algorithms of keys that are made here.
const (
	ECDSAP256 Algorithm = "ecdsa-p256" // the default
	RSA2048   Algorithm = "rsa-2048"
	RSA4096   Algorithm = "rsa-4096"
)

const (
	// DefaultCALifetime is how long a certificate authority is made for.
	DefaultCALifetime = 10 * 365 * 24 * time.Hour
	// skew is how far certificates are dated back, for machines whose clocks are behind.
	skew = time.Hour
	// serialBits is the size of serial numbers; RFC 5280 takes 20 bytes at most.
	serialBits = 127
)

// MakeOptions tune New. The zero value is usable.
type MakeOptions struct {
	Algorithm Algorithm        // "" means ECDSAP256
	Lifetime  time.Duration    // of a CA certificate; 0 means DefaultCALifetime
	Now       func() time.Time // nil means time.Now
	Rand      io.Reader        // nil means crypto/rand; the private key always comes from there
}

func (o MakeOptions) complete() MakeOptions {
	if o.Algorithm == "" {
		o.Algorithm = ECDSAP256
	}
	if o.Lifetime == 0 {
		o.Lifetime = DefaultCALifetime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// New makes a fresh item for a keyset of that name and kind. Keyset.Add decides its state.
func New(name string, kind Kind, o MakeOptions) (Item, error) {
	o = o.complete()
	item, err := blank(o)
	if err != nil {
		return Item{}, err
	}
	key, err := newKey(o.Algorithm)
	if err != nil {
		return Item{}, fmt.Errorf("make a key for keyset %s: %w", name, err)
	}
	if item.Private, err = encodeKey(key); err != nil {
		return Item{}, err
	}
	if kind == KindKey {
		item.PublicKey, err = encodePublic(key.Public())
		return item, err
	}
	serial, err := newSerial(o.Rand)
	if err != nil {
		return Item{}, err
	}
	// The ID in the subject keeps two authorities of a rotation apart wherever chains
	// are built by subject.
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name + "-" + item.ID},
		NotBefore:             item.Created.Add(-skew),
		NotAfter:              item.Created.Add(o.Lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(o.Rand, template, template, key.Public(), key)
	if err != nil {
		return Item{}, fmt.Errorf("make the certificate of keyset %s: %w", name, err)
	}
	item.Certificate = encodePEM(certificateBlock, der)
	return item, nil
}

// blank returns an item with an ID that sorts by creation.
func blank(o MakeOptions) (Item, error) {
	var b [2]byte
	if _, err := io.ReadFull(o.Rand, b[:]); err != nil {
		return Item{}, fmt.Errorf("make an ID: %w", err)
	}
	now := o.Now().UTC()
	id := fmt.Sprintf("%s%06d-%s", now.Format("20060102t150405"), now.Nanosecond()/int(time.Microsecond), hex.EncodeToString(b[:]))
	return Item{ID: id, Created: stamp(now)}, nil
}

func newKey(a Algorithm) (crypto.Signer, error) {
	switch a {
	case ECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	}
	return nil, fmt.Errorf("key algorithm %q: %w: it is one of %s, %s, %s", a, ErrInvalid, ECDSAP256, RSA2048, RSA4096)
}

// newSerial returns a random, positive serial number.
func newSerial(r io.Reader) (*big.Int, error) {
	serial, err := rand.Int(r, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

const (
	certificateBlock = "CERTIFICATE"
	publicBlock      = "PUBLIC KEY"
	privateBlock     = "PRIVATE KEY"
)

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func encodePublic(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encode a public key: %w", err)
	}
	return encodePEM(publicBlock, der), nil
}

func encodeKey(key crypto.Signer) (Secret, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key of type %T: %w", key, ErrInvalid)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}
