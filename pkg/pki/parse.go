// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// minRSA is the smallest RSA key (bits) that is taken from outside.
const minRSA = 2048

// ImportCA makes an item of somebody's own certificate authority: one certificate and
// its private key, both PEM. All that is wrong with them is in one ErrInvalid.
func ImportCA(certPEM []byte, keyPEM Secret, o MakeOptions) (Item, error) {
	o = o.complete()
	item, err := blank(o)
	if err != nil {
		return Item{}, err
	}
	cert, err := parseCertificate(string(certPEM))
	if err != nil {
		return Item{}, fmt.Errorf("import a CA: certificate: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return Item{}, fmt.Errorf("import a CA: private key: %w", err)
	}
	if faults := checkCA(cert, key, o.Now()); len(faults) > 0 {
		return Item{}, fmt.Errorf("import a CA: %w: %s", ErrInvalid, strings.Join(faults, "; "))
	}
	item.Certificate = encodePEM(certificateBlock, cert.Raw)
	item.Private, err = encodeKey(key)
	return item, err
}

// ImportKey makes an item of a KindKey keyset of somebody's own private key, PEM.
func ImportKey(keyPEM Secret, o MakeOptions) (Item, error) {
	o = o.complete()
	item, err := blank(o)
	if err != nil {
		return Item{}, err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return Item{}, fmt.Errorf("import a key: %w", err)
	}
	if item.PublicKey, err = encodePublic(key.Public()); err != nil {
		return Item{}, err
	}
	item.Private, err = encodeKey(key)
	return item, err
}

// weak are the signatures that verifiers no longer accept.
var weak = []x509.SignatureAlgorithm{
	x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.DSAWithSHA256, x509.ECDSAWithSHA1,
}

// checkCA returns what keeps a certificate from being a cluster's authority.
func checkCA(cert *x509.Certificate, key crypto.Signer, now time.Time) []string {
	var faults []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	say(!cert.BasicConstraintsValid || !cert.IsCA, "the certificate of %q is no CA (basic constraints)", cert.Subject)
	say(cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0, "its key usage does not allow signing certificates")
	say(now.After(cert.NotAfter), "it expired at %s", cert.NotAfter.Format(time.RFC3339))
	say(now.Before(cert.NotBefore), "it is not valid before %s", cert.NotBefore.Format(time.RFC3339))
	say(slices.Contains(weak, cert.SignatureAlgorithm), "it is signed with %s, which verifiers refuse", cert.SignatureAlgorithm)
	say(len(cert.UnhandledCriticalExtensions) > 0, "it has critical extensions that are not understood: %v", cert.UnhandledCriticalExtensions)
	if public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(key.Public()) {
		faults = append(faults, "the private key does not belong to the certificate")
	}
	return faults
}

// parseCertificate reads exactly one certificate.
func parseCertificate(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	switch {
	case block == nil || block.Type != certificateBlock:
		return nil, fmt.Errorf("%w: it holds no PEM block of type CERTIFICATE", ErrInvalid)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, fmt.Errorf("%w: it holds more than one certificate; give the issuing one alone", ErrInvalid)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return cert, nil
}

// parsePublic reads exactly one public key.
func parsePublic(text string) (crypto.PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != publicBlock || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%w: it holds no single PEM block of type PUBLIC KEY", ErrInvalid)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return key, nil
}

// parseKey reads one private key in any of the usual forms. Causes from below are left
// out of its errors: they could quote the key.
func parseKey(text Secret) (crypto.Signer, error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, fmt.Errorf("%w: it holds no private key in PEM form", ErrInvalid)
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, fmt.Errorf("%w: it is protected by a password; decrypt it first, for example with `openssl pkey`", ErrInvalid)
		case block.Type == "EC PARAMETERS":
			continue // openssl writes it in front of the key
		}
		key, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("%w: the PEM block of type %s is no usable key: %w", ErrInvalid, block.Type, err)
		}
		return key, nil
	}
}

func parseBlock(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case privateBlock:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return nil, errors.New("expected PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY")
	}
	if err != nil {
		return nil, errors.New("it is malformed")
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() < minRSA {
			return nil, fmt.Errorf("an RSA key needs %d bits, this has %d", minRSA, k.N.BitLen())
		}
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, fmt.Errorf("keys of type %T are not supported by all components; use RSA or ECDSA", key)
}

// matches reports whether a private key belongs to an item's public part.
func (i Item) matches(key crypto.Signer) bool {
	public, err := i.publicKey()
	if err != nil {
		return false
	}
	known, ok := public.(interface{ Equal(crypto.PublicKey) bool })
	return ok && known.Equal(key.Public())
}

func (i Item) publicKey() (crypto.PublicKey, error) {
	if i.Certificate == "" {
		return parsePublic(i.PublicKey)
	}
	cert, err := i.certificate()
	if err != nil {
		return nil, err
	}
	return cert.PublicKey, nil
}
