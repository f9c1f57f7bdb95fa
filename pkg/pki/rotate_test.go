// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

const wait = 24 * time.Hour

func TestRotationStages(t *testing.T) {
	t.Parallel()
	start := made(t, KubernetesCA)
	first := start.Items[0].ID
	later := noon.Add(time.Hour)
	two := added(t, start, later)
	second := two.Items[1].ID
	if p, _ := two.Primary(); p.ID != first || len(start.Items) != 1 {
		t.Fatal("a new pair became primary at once, or the old value changed")
	}

	refused := func(what string, err error, word string) {
		t.Helper()
		if !errors.Is(err, ErrStage) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := two.Promote("", Gate{Now: later.Add(wait - time.Minute), Wait: wait})
	refused("promote too early", err, "1m0s")
	_, err = two.Distrust(first, Gate{Now: later.Add(10 * wait), Wait: wait})
	refused("distrust the primary", err, "promote another")
	_, err = start.Promote("", Gate{Now: noon})
	refused("promote with nothing to promote", err, "create keypair")

	promotedAt := later.Add(wait)
	promoted, err := two.Promote("", Gate{Now: promotedAt, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := promoted.Primary(); p.ID != second {
		t.Fatal("the new pair is not primary")
	}
	if p, _ := two.Primary(); p.ID != first {
		t.Fatal("the old value changed")
	}
	_, err = promoted.Distrust("", Gate{Now: promotedAt.Add(wait / 2), Wait: wait})
	refused("distrust too early", err, "in use")
	done, err := promoted.Distrust("", Gate{Now: promotedAt.Add(time.Minute), Wait: wait, Confirmed: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = done.Promote(first, Gate{Now: promotedAt.Add(10 * wait), Confirmed: true})
	refused("promote a distrusted pair", err, "trust keypair")

	back, err := done.Trust("", promotedAt.Add(2*wait))
	if err != nil {
		t.Fatal(err)
	}
	_, err = back.Promote(first, Gate{Now: promotedAt.Add(2*wait + time.Minute), Wait: wait})
	refused("promote what was distrusted until now", err, "may not trust it yet")

	hashes := []string{TrustHash(start), TrustHash(two), TrustHash(promoted), TrustHash(done), TrustHash(back)}
	if hashes[0] == hashes[1] || hashes[1] != hashes[2] || hashes[2] == hashes[3] || hashes[4] != hashes[1] {
		t.Errorf("trust hashes: %v", hashes)
	}
	if TrustHash(start, made(t, EtcdPeersCA)) == TrustHash(start) {
		t.Error("a second keyset does not show")
	}
}

func TestRotationIsRepeatable(t *testing.T) {
	t.Parallel()
	k := added(t, made(t, ServiceAccount), noon.Add(time.Hour))
	gate := Gate{Now: noon.Add(2 * time.Hour)}
	once, err := k.Promote(k.Items[1].ID, gate)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := once.Promote(k.Items[1].ID, Gate{Now: noon.Add(5 * time.Hour), Wait: 1000 * time.Hour})
	if err != nil || !slices.EqualFunc(once.Items, twice.Items, func(a, b Item) bool { return a.Since.Equal(b.Since) && a.State == b.State }) {
		t.Errorf("promoting the primary: %v", err)
	}
	// A pair that never signed can go at once.
	unused := added(t, once, noon.Add(3*time.Hour))
	gone, err := unused.Distrust(unused.Items[2].ID, Gate{Now: noon.Add(3 * time.Hour), Wait: wait})
	if err != nil || gone.Items[2].State != Distrusted {
		t.Errorf("an unused pair: %v", err)
	}
	if _, err := unused.Distrust("", gate); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), unused.Items[0].ID) {
		t.Errorf("an ambiguous ID: %v", err)
	}
	if _, err := k.Trust("", noon); !errors.Is(err, ErrInvalid) {
		t.Errorf("nothing to trust: %v", err)
	}
	if _, err := k.Promote("nope", gate); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), k.Items[0].ID) {
		t.Errorf("an unknown ID: %v", err)
	}
}

// machine is one side of a connection: what it trusts, and the certificate it shows.
type machine struct {
	trust string
	shows Issued
}

func (m machine) config(t *testing.T) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(m.trust))
	pair, err := tls.X509KeyPair([]byte(m.shows.Certificate), m.shows.Private)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ServerName: "peer",
		ClientAuth: tls.RequireAndVerifyClientCert, Time: at(noon.Add(time.Hour)), MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
	}
}

// talk makes a real handshake with both sides checked, and sends one byte: only that
// tells a client of TLS 1.3 that it was accepted.
func talk(t *testing.T, a, b machine) error {
	t.Helper()
	left, right := net.Pipe()
	defer right.Close()
	server, client := tls.Server(left, a.config(t)), tls.Client(right, b.config(t))
	failed := make(chan error, 1)
	go func() {
		defer left.Close()
		err := server.Handshake()
		if err == nil {
			_, err = server.Write([]byte{1})
		}
		failed <- err
	}()
	_, err := client.Read(make([]byte, 1))
	right.Close()
	return errors.Join(err, <-failed)
}

// TestHandshakesThroughARotation has machines of two neighbouring stages talk at every
// step, as they do while a cluster is rolled, and shows what a skipped stage breaks.
func TestHandshakesThroughARotation(t *testing.T) {
	t.Parallel()
	at := func(k Keyset) machine {
		out, err := k.Issue(Request{Profile: Peer, CommonName: "peer", DNSNames: []string{"peer"}, Lifetime: 48 * time.Hour}, IssueOptions{Now: at(noon)})
		if err != nil {
			t.Fatal(err)
		}
		return machine{k.TrustBundle(), out}
	}
	one := made(t, EtcdPeersCA)
	created := added(t, one, noon.Add(time.Minute))
	promoted, err := created.Promote("", Gate{Now: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	distrusted, err := promoted.Distrust("", Gate{Now: noon.Add(2 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	stages := []machine{at(one), at(created), at(promoted), at(distrusted)}
	for n := range stages {
		for m := range stages {
			err := talk(t, stages[n], stages[m])
			if near := n-m <= 1 && m-n <= 1; near != (err == nil) {
				t.Errorf("stage %d with stage %d: %v", n, m, err)
			}
		}
	}
}
