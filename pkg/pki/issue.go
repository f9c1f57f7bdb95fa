// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Profile says what a certificate is for.
type Profile string

// The profiles.
const (
	Server Profile = "server"
	Client Profile = "client"
	Peer   Profile = "peer" // both sides of a connection between equals
)

// Request describes a certificate.
type Request struct {
	Profile       Profile
	CommonName    string   // a Kubernetes or etcd user name in client certificates
	Organizations []string // groups in client certificates
	DNSNames      []string
	IPs           []netip.Addr
	Lifetime      time.Duration // never beyond the authority's own end
	// PublicKey is whose certificate it is; nil makes a key of Algorithm.
	PublicKey crypto.PublicKey
	Algorithm Algorithm // "" means ECDSAP256
}

// IssueOptions are the clock and the source of serial numbers; nil means the real ones.
type IssueOptions struct {
	Now  func() time.Time
	Rand io.Reader
}

// Issued is a certificate with, where it was made here, its private key.
type Issued struct {
	Certificate string // PEM, the leaf alone
	Private     Secret // PEM (PKCS #8); nil when the request brought its public key
	NotBefore   time.Time
	NotAfter    time.Time
}

// Issue signs a certificate with the primary of an opened CA keyset.
func (k Keyset) Issue(r Request, o IssueOptions) (Issued, error) {
	fail := func(err error) (Issued, error) {
		return Issued{}, fmt.Errorf("issue a %s certificate for %q from keyset %s: %w", r.Profile, r.CommonName, k.Name, err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if err := r.check(); err != nil {
		return fail(err)
	}
	authority, signer, err := k.signer()
	if err != nil {
		return fail(err)
	}
	now := stamp(o.Now())
	if now.After(authority.NotAfter) {
		return fail(fmt.Errorf("%w: the authority expired at %s; make and promote a new one", ErrInvalid, authority.NotAfter.Format(time.RFC3339)))
	}
	var out Issued
	if r.PublicKey == nil {
		key, err := newKey(MakeOptions{Algorithm: r.Algorithm}.complete().Algorithm)
		if err != nil {
			return fail(err)
		}
		if out.Private, err = encodeKey(key); err != nil {
			return fail(err)
		}
		r.PublicKey = key.Public()
	}
	template := r.template(now)
	if template.SerialNumber, err = newSerial(o.Rand); err != nil {
		return fail(err)
	}
	if template.NotBefore.Before(authority.NotBefore) {
		template.NotBefore = authority.NotBefore
	}
	if template.NotAfter.After(authority.NotAfter) {
		template.NotAfter = authority.NotAfter
	}
	der, err := x509.CreateCertificate(o.Rand, template, authority, r.PublicKey, signer)
	if err != nil {
		return fail(err)
	}
	out.Certificate = encodePEM(certificateBlock, der)
	out.NotBefore, out.NotAfter = template.NotBefore, template.NotAfter
	return out, nil
}

// check returns what is missing in a request.
func (r Request) check() error {
	var faults []string
	say := func(bad bool, text string) {
		if bad {
			faults = append(faults, text)
		}
	}
	names := len(r.DNSNames) + len(r.IPs)
	say(r.Profile != Server && r.Profile != Client && r.Profile != Peer, "the profile is one of server, client, peer")
	say(r.Profile != Client && names == 0, "a server needs DNS names or addresses: verifiers ignore the common name")
	say(r.Profile == Client && r.CommonName == "", "a client needs a common name: it is the user's name")
	say(r.Lifetime <= 0, "the lifetime must be positive")
	for _, name := range r.DNSNames {
		say(name == "" || strings.TrimSpace(name) != name, fmt.Sprintf("%q is no DNS name", name))
	}
	for _, ip := range r.IPs {
		say(!ip.IsValid(), "an address is not valid")
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(faults, "; "))
	}
	return nil
}

func (r Request) template(now time.Time) *x509.Certificate {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: r.CommonName, Organization: r.Organizations},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(r.Lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		DNSNames:              r.DNSNames,
	}
	if _, isRSA := r.PublicKey.(*rsa.PublicKey); isRSA {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	for _, ip := range r.IPs {
		t.IPAddresses = append(t.IPAddresses, net.IP(ip.Unmap().AsSlice()))
	}
	if r.Profile != Client {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if r.Profile != Server {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	return t
}

// signer returns the certificate and the key of the primary.
func (k Keyset) signer() (*x509.Certificate, crypto.Signer, error) {
	item, ok := k.Primary()
	switch {
	case k.Kind != KindCA:
		return nil, nil, fmt.Errorf("%w: the keyset is no certificate authority", ErrInvalid)
	case !ok:
		return nil, nil, fmt.Errorf("%w: the keyset has no primary key pair", ErrInvalid)
	case len(item.Private) == 0:
		return nil, nil, fmt.Errorf("%w: the keyset is sealed; open it first", ErrInvalid)
	}
	cert, err := item.certificate()
	if err != nil {
		return nil, nil, err
	}
	key, err := parseKey(item.Private)
	if err != nil {
		return nil, nil, err
	}
	if !item.matches(key) {
		return nil, nil, fmt.Errorf("%w: the private key of %s does not belong to its certificate", ErrInvalid, item.ID)
	}
	return cert, key, nil
}
