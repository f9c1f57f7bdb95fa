// SPDX-License-Identifier: Apache-2.0

// Package pki holds a cluster's key pairs and secrets: how they are made, rotated,
// issued from, and sealed for the state store. The operations in package cluster keep
// them; control planes and the bootstrap server open them and issue certificates.
//
// Keysets are values: every operation returns a new one and leaves the old one alone.
package pki

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what the items of a keyset are.
type Kind string

// The kinds of keyset.
const (
	KindCA  Kind = "ca"  // key pairs with a self-made or imported CA certificate
	KindKey Kind = "key" // key pairs without a certificate
)

// Definition describes one keyset that every cluster has.
type Definition struct {
	Name string
	Kind Kind
	Use  string // for people
}

// The keysets of a cluster.
const (
	KubernetesCA   = "kubernetes-ca"
	FrontProxyCA   = "front-proxy-ca"
	ServiceAccount = "service-account"
	EtcdPeersCA    = "etcd-peers-ca"
	EtcdClientsCA  = "etcd-clients-ca"
)

// Definitions returns the keysets that every cluster has, in a stable order.
func Definitions() []Definition {
	return []Definition{
		{KubernetesCA, KindCA, "signs the API servers', kubelets' and administrators' certificates"},
		{FrontProxyCA, KindCA, "signs the certificate by which API servers show themselves to aggregated APIs"},
		{ServiceAccount, KindKey, "signs the tokens of service accounts"},
		{EtcdPeersCA, KindCA, "signs the certificates between etcd members"},
		{EtcdClientsCA, KindCA, "signs the certificates of etcd servers and of their clients, for all etcd clusters"},
	}
}

// Names returns the names of Definitions.
func Names() []string {
	var names []string
	for _, d := range Definitions() {
		names = append(names, d.Name)
	}
	return names
}

// Define returns the definition of that name; the error lists what there is.
func Define(name string) (Definition, error) {
	for _, d := range Definitions() {
		if d.Name == name {
			return d, nil
		}
	}
	return Definition{}, fmt.Errorf("keyset %q: %w: there is none of that name; the keysets are %s", name, ErrInvalid, strings.Join(Names(), ", "))
}

// State is how far an item of a keyset may be used.
type State string

// The states of an item. Exactly one item of a keyset is primary.
const (
	Trusted    State = "trusted"    // machines trust what it signed; nothing new is signed
	Primary    State = "primary"    // trusted, and signs
	Distrusted State = "distrusted" // nothing trusts it; kept until it is deleted
)

// Keyset is a named set of key pairs that take each other's place.
type Keyset struct {
	Name       string
	Kind       Kind
	ClusterUID string
	Items      []Item // oldest first
}

// Item is one key pair of a keyset.
type Item struct {
	ID      string // unique in the keyset; sorts by creation
	State   State
	Created time.Time // UTC, whole seconds
	Since   time.Time // when State was reached

	// TrustedSince is when machines could first be told to trust the item; zero while
	// it is distrusted. It starts the wait before the item may sign.
	TrustedSince time.Time

	// Signed says that the item was primary once: what it signed may be in use.
	Signed bool

	Certificate string // PEM, one CA certificate; empty in a KindKey keyset
	PublicKey   string // PEM (PKIX); empty in a KindCA keyset
	Private     Secret // PEM (PKCS #8); nil unless the keyset was opened
}

// Ref returns what the sealed form of the keyset is bound to.
func (k Keyset) Ref() Ref { return KeysetRef(k.ClusterUID, k.Name) }

// KeysetRef is the Ref of a cluster's keyset of that name.
func KeysetRef(clusterUID, name string) Ref {
	return Ref{ClusterUID: clusterUID, Object: KeysetKey(name)}
}

// KeysetKey is where a keyset lies below its cluster's prefix in the state store.
func KeysetKey(name string) string { return "pki/" + name + ".yaml" }

// Primary returns the item that signs; ok is false in an empty keyset.
func (k Keyset) Primary() (item Item, ok bool) {
	for _, i := range k.Items {
		if i.State == Primary {
			return i, true
		}
	}
	return Item{}, false
}

// Item returns the item of that ID; the error lists the IDs that there are.
func (k Keyset) Item(id string) (Item, error) {
	at := slices.IndexFunc(k.Items, func(i Item) bool { return i.ID == id })
	if at < 0 {
		return Item{}, fmt.Errorf("keyset %s: %w: it has no key pair %q; it has %s", k.Name, ErrInvalid, id, strings.Join(k.ids(func(Item) bool { return true }), ", "))
	}
	return k.Items[at], nil
}

// TrustBundle returns what machines must trust, as PEM: the certificates (or, in a
// KindKey keyset, the public keys) of all items that are not distrusted, by ID.
func (k Keyset) TrustBundle() string {
	var b strings.Builder
	for _, i := range k.trusted() {
		b.WriteString(i.public())
	}
	return b.String()
}

// TrustHash returns a digest (hex SHA-256) of what the keysets make machines trust. It
// changes when an item joins or leaves, and not when another one becomes primary: a
// machine whose hash is the same needs no replacement to keep trusting.
func TrustHash(keysets ...Keyset) string {
	sorted := slices.SortedFunc(slices.Values(keysets), func(a, b Keyset) int { return cmp.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, k := range sorted {
		for _, i := range k.trusted() {
			fmt.Fprintf(h, "%s %s\n", k.Name, i.Fingerprint())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Fingerprint returns the SHA-256 of the certificate or public key (DER), in hex. A
// backup carries it to tell which authority it belongs to.
func (i Item) Fingerprint() string {
	block, _ := pem.Decode([]byte(i.public()))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// NotAfter returns when the item's certificate ends; zero for a key without one.
func (i Item) NotAfter() time.Time {
	cert, err := i.certificate()
	if err != nil {
		return time.Time{}
	}
	return cert.NotAfter
}

func (i Item) public() string {
	if i.Certificate != "" {
		return i.Certificate
	}
	return i.PublicKey
}

func (i Item) certificate() (*x509.Certificate, error) { return parseCertificate(i.Certificate) }

func (k Keyset) trusted() []Item {
	return slices.DeleteFunc(slices.Clone(k.Items), func(i Item) bool { return i.State == Distrusted })
}

func (k Keyset) ids(which func(Item) bool) []string {
	var ids []string
	for _, i := range k.Items {
		if which(i) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// Expiry is one certificate authority with its end.
type Expiry struct {
	Keyset   string
	ID       string
	State    State
	NotAfter time.Time
	Left     time.Duration // until NotAfter; negative when it has passed
}

// Expiries lists the ends of all certificates that are still trusted, soonest first.
func Expiries(now time.Time, keysets ...Keyset) []Expiry {
	var out []Expiry
	for _, k := range keysets {
		for _, i := range k.trusted() {
			if end := i.NotAfter(); !end.IsZero() {
				out = append(out, Expiry{Keyset: k.Name, ID: i.ID, State: i.State, NotAfter: end, Left: end.Sub(now)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Expiry) int { return a.NotAfter.Compare(b.NotAfter) })
	return out
}
