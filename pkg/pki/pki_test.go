// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// made returns a keyset with one fresh item, made at noon.
func made(t *testing.T, name string) Keyset {
	t.Helper()
	d, err := Define(name)
	if err != nil {
		t.Fatal(err)
	}
	k := Keyset{Name: d.Name, Kind: d.Kind, ClusterUID: "uid-1"}
	return added(t, k, noon)
}

func added(t *testing.T, k Keyset, when time.Time) Keyset {
	t.Helper()
	item, err := New(k.Name, k.Kind, MakeOptions{Now: at(when)})
	if err != nil {
		t.Fatal(err)
	}
	if k, err = k.Add(item); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestNewAuthority(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []Algorithm{ECDSAP256, RSA2048} {
		item, err := New(KubernetesCA, KindCA, MakeOptions{Algorithm: algorithm, Now: at(noon), Lifetime: 48 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		cert, err := item.certificate()
		if err != nil {
			t.Fatal(err)
		}
		if !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 || cert.SerialNumber.Sign() <= 0 || len(cert.SubjectKeyId) == 0 {
			t.Errorf("%s: no usable CA: %+v", algorithm, cert.Subject)
		}
		if !cert.NotBefore.Equal(noon.Add(-skew)) || !item.NotAfter().Equal(noon.Add(48*time.Hour)) {
			t.Errorf("%s: valid from %s to %s", algorithm, cert.NotBefore, cert.NotAfter)
		}
		key, err := parseKey(item.Private)
		if err != nil || !item.matches(key) {
			t.Errorf("%s: the key does not fit: %v", algorithm, err)
		}
	}
	if _, err := New("x", KindKey, MakeOptions{Algorithm: "dsa"}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "ecdsa-p256") {
		t.Errorf("an unknown algorithm: %v", err)
	}
	if _, err := Define("kubernetes-ca-2"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), EtcdPeersCA) {
		t.Errorf("an unknown keyset: %v", err)
	}
}

func TestKeysetsOfKeys(t *testing.T) {
	t.Parallel()
	k := made(t, ServiceAccount)
	if !strings.Contains(k.TrustBundle(), "BEGIN PUBLIC KEY") || !k.Items[0].NotAfter().IsZero() {
		t.Errorf("bundle:\n%s", k.TrustBundle())
	}
	if _, err := k.Issue(Request{Profile: Client, CommonName: "x", Lifetime: time.Hour}, IssueOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key without a certificate signed: %v", err)
	}
}

func TestExpiries(t *testing.T) {
	t.Parallel()
	now := noon.Add(24 * time.Hour)
	list := Expiries(now, made(t, EtcdPeersCA), made(t, ServiceAccount), made(t, KubernetesCA))
	if len(list) != 2 || list[0].Left != DefaultCALifetime-24*time.Hour {
		t.Errorf("got %+v", list)
	}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	k := made(t, KubernetesCA)
	ca, err := k.Items[0].certificate()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(k.TrustBundle()))
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request Request
		usages  []x509.ExtKeyUsage
	}{
		"server": {Request{Profile: Server, CommonName: "kube-apiserver", DNSNames: []string{"api.internal"}, IPs: []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1")}, Lifetime: time.Hour}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"client": {Request{Profile: Client, CommonName: "admin", Organizations: []string{"system:masters"}, Lifetime: time.Hour, PublicKey: own.Public()}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"peer":   {Request{Profile: Peer, CommonName: "etcd-a", DNSNames: []string{"a.etcd"}, Lifetime: time.Hour, Algorithm: RSA2048}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	} {
		out, err := k.Issue(c.request, IssueOptions{Now: at(noon)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leaf, err := parseCertificate(out.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: noon, KeyUsages: c.usages}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(leaf.ExtKeyUsage) != len(c.usages) || leaf.IsCA {
			t.Errorf("%s: usages %v", name, leaf.ExtKeyUsage)
		}
		if (out.Private == nil) != (c.request.PublicKey != nil) {
			t.Errorf("%s: private key: %v", name, out.Private != nil)
		}
		if leaf.SerialNumber.Cmp(ca.SerialNumber) == 0 || leaf.NotBefore.After(noon) || !leaf.NotAfter.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s: serial %v, valid %s to %s", name, leaf.SerialNumber, leaf.NotBefore, leaf.NotAfter)
		}
		if name == "server" && (leaf.VerifyHostname("10.0.0.1") != nil || leaf.VerifyHostname("api.internal") != nil) {
			t.Errorf("names: %v %v", leaf.DNSNames, leaf.IPAddresses)
		}
	}
}

func TestIssueEndsWithItsAuthority(t *testing.T) {
	t.Parallel()
	k := made(t, KubernetesCA)
	end := k.Items[0].NotAfter()
	request := Request{Profile: Client, CommonName: "x", Lifetime: 48 * time.Hour}
	out, err := k.Issue(request, IssueOptions{Now: at(end.Add(-time.Hour))})
	if err != nil || !out.NotAfter.Equal(end) {
		t.Errorf("ends %s, the authority %s: %v", out.NotAfter, end, err)
	}
	if _, err := k.Issue(request, IssueOptions{Now: at(end.Add(time.Second))}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired authority signed: %v", err)
	}
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	k := made(t, EtcdClientsCA)
	for name, r := range map[string]Request{
		"no profile":       {CommonName: "x", DNSNames: []string{"x"}, Lifetime: 1},
		"server, no names": {Profile: Server, CommonName: "x", Lifetime: 1},
		"client, no name":  {Profile: Client, Lifetime: 1},
		"no lifetime":      {Profile: Client, CommonName: "x"},
		"bad address":      {Profile: Server, IPs: []netip.Addr{{}}, Lifetime: 1},
		"bad DNS name":     {Profile: Server, DNSNames: []string{" x"}, Lifetime: 1},
	} {
		if _, err := k.Issue(r, IssueOptions{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Keyset{Name: "x", Kind: KindCA}).Issue(Request{Profile: Client, CommonName: "x", Lifetime: 1}, IssueOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an empty keyset: %v", err)
	}
}

// foreign makes somebody else's certificate.
func foreign(t *testing.T, change func(*x509.Certificate)) (cert []byte, key Secret) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "corp"}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	return []byte(encodePEM(certificateBlock, der)), pkcs1
}

func TestImportCA(t *testing.T) {
	t.Parallel()
	cert, key := foreign(t, func(*x509.Certificate) {})
	item, err := ImportCA(cert, key, MakeOptions{Now: at(noon)})
	if err != nil {
		t.Fatal(err)
	}
	k, err := (Keyset{Name: KubernetesCA, Kind: KindCA, ClusterUID: "u"}).Add(item)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Issue(Request{Profile: Client, CommonName: "x", Lifetime: time.Minute}, IssueOptions{Now: at(noon)}); err != nil {
		t.Error(err)
	}
	if _, err := k.Add(item); !errors.Is(err, ErrInvalid) {
		t.Errorf("the same pair twice: %v", err)
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	good, goodKey := foreign(t, func(*x509.Certificate) {})
	other, _ := foreign(t, func(*x509.Certificate) {})
	leaf, leafKey := foreign(t, func(c *x509.Certificate) { c.IsCA = false })
	noSign, noSignKey := foreign(t, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
	old, oldKey := foreign(t, func(c *x509.Certificate) { c.NotAfter = noon.Add(-time.Minute) })
	early, earlyKey := foreign(t, func(c *x509.Certificate) { c.NotBefore = noon.Add(time.Minute) })
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edwardsKey, err := encodeKey(edwards)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		cert      []byte
		key       Secret
		complaint string
	}{
		{"another key", other, goodKey, "does not belong"},
		{"a leaf", leaf, leafKey, "no CA"},
		{"may not sign", noSign, noSignKey, "key usage"},
		{"expired", old, oldKey, "expired"},
		{"not yet valid", early, earlyKey, "not valid before"},
		{"no certificate", []byte("x"), goodKey, "no PEM block"},
		{"two certificates", append(append([]byte{}, good...), other...), goodKey, "more than one"},
		{"no key", good, Secret("x"), "no private key"},
		{"key with a password", good, Secret("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), "password"},
		{"malformed key", good, Secret("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "malformed"},
		{"Ed25519", good, edwardsKey, "RSA or ECDSA"},
	} {
		_, err := ImportCA(c.cert, c.key, MakeOptions{Now: at(noon)})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	small := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(weak)})
	if _, err := ImportKey(small, MakeOptions{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "2048") {
		t.Errorf("a small RSA key: %v", err)
	}
	item, err := ImportKey(goodKey, MakeOptions{})
	if err != nil || item.PublicKey == "" || item.Certificate != "" {
		t.Errorf("a good key: %+v, %v", item, err)
	}
}
