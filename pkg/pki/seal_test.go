// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeKMS binds a ciphertext to its key and context, as the real services do.
type fakeKMS struct{ down error }

func (f fakeKMS) box(key string, context map[string]string) []byte {
	sum := sha256.Sum256(append(contextDigest(context), key...))
	return sum[:]
}

func (f fakeKMS) Encrypt(_ context.Context, key string, plain Secret, context map[string]string) ([]byte, error) {
	pad := f.box(key, context)
	out := slices.Clone(pad)
	for i, b := range plain {
		out = append(out, b^pad[i%len(pad)]^0x5a)
	}
	return out, f.down
}

func (f fakeKMS) Decrypt(_ context.Context, key string, sealed []byte, context map[string]string) (Secret, error) {
	pad := f.box(key, context)
	if f.down != nil {
		return nil, f.down
	}
	if len(sealed) < len(pad) || !bytes.Equal(sealed[:len(pad)], pad) {
		return nil, fmt.Errorf("fake KMS: %w", ErrTampered)
	}
	var out Secret
	for i, b := range sealed[len(pad):] {
		out = append(out, b^pad[i%len(pad)]^0x5a)
	}
	return out, nil
}

func ageWrapperOf(t *testing.T) (identity, recipient Wrapper) {
	t.Helper()
	file, public, err := NewAgeIdentity()
	if err != nil {
		t.Fatal(err)
	}
	identities, err := AgeIdentities(file)
	if err != nil || len(identities) != 1 {
		t.Fatal(identities, err)
	}
	if recipient, err = AgeRecipient(public); err != nil || recipient.Name() != identities[0].Name() {
		t.Fatal(recipient, err)
	}
	return identities[0], recipient
}

func sealed(t *testing.T, k Keyset, to ...Wrapper) *Sealed {
	t.Helper()
	s, err := Seal(t.Context(), k, SealOptions{To: to})
	if err != nil {
		t.Fatal(err)
	}
	return again(t, s)
}

// again sends a keyset through its stored form.
func again(t *testing.T, s *Sealed) *Sealed {
	t.Helper()
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := Decode(data, "pki/x.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return out
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	identity, recipient := ageWrapperOf(t)
	_, escrow := ageWrapperOf(t)
	kms := KMSWrapper("fake-kms", "key-1", fakeKMS{})
	for name, c := range map[string]struct {
		to   []Wrapper
		ring Keyring
	}{
		"age":                 {[]Wrapper{recipient, escrow}, Ring(identity)},
		"kms":                 {[]Wrapper{kms}, Ring(kms)},
		"kms, age":            {[]Wrapper{kms, recipient}, Ring(identity)},
		"kms down, age":       {[]Wrapper{kms, recipient}, Ring(KMSWrapper("fake-kms", "key-1", fakeKMS{down: errors.New("down")}), identity)},
		"none":                {[]Wrapper{None()}, Ring(None())},
		"the same one, twice": {[]Wrapper{recipient, identity}, Ring(identity)},
	} {
		k := added(t, made(t, KubernetesCA), noon.Add(time.Hour))
		s := sealed(t, k, c.to...)
		for _, i := range s.Items {
			if i.Private != nil {
				t.Errorf("%s: the sealed form has a private part", name)
			}
		}
		o, err := s.Open(t.Context(), k.Ref(), c.ring)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for n := range k.Items {
			if !o.Items[n].Private.Equal(k.Items[n].Private) || o.Items[n].Certificate != k.Items[n].Certificate || !o.Items[n].Since.Equal(k.Items[n].Since) {
				t.Errorf("%s: item %d came back changed", name, n)
			}
		}
	}
}

func TestChangesKeepTheDataKey(t *testing.T) {
	t.Parallel()
	identity, recipient := ageWrapperOf(t)
	k := made(t, EtcdPeersCA)
	s := sealed(t, k, recipient)
	o, err := s.Open(t.Context(), k.Ref(), Ring(identity))
	if err != nil {
		t.Fatal(err)
	}
	next, err := o.Seal(added(t, o.Keyset, noon.Add(time.Hour)), nil)
	if err != nil {
		t.Fatal(err)
	}
	next = again(t, next)
	if !bytes.Equal(next.Sealing.Keys[0].Key, s.Sealing.Keys[0].Key) {
		t.Error("the data key was wrapped anew")
	}
	if got, err := next.Open(t.Context(), k.Ref(), Ring(identity)); err != nil || len(got.Items) != 2 {
		t.Error(err)
	}
	if _, err := o.Seal(made(t, EtcdClientsCA), nil); !errors.Is(err, ErrMoved) {
		t.Errorf("another keyset under this data key: %v", err)
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	identity, recipient := ageWrapperOf(t)
	kms := KMSWrapper("fake-kms", "key-1", fakeKMS{})
	k := made(t, FrontProxyCA)
	s := sealed(t, k, recipient)
	moved, err := s.Reseal(t.Context(), k.Ref(), Ring(identity), SealOptions{To: []Wrapper{kms}})
	if err != nil {
		t.Fatal(err)
	}
	moved = again(t, moved)
	if _, err := moved.Open(t.Context(), k.Ref(), Ring(identity)); !errors.Is(err, ErrNoKey) {
		t.Errorf("the old key still opens it: %v", err)
	}
	o, err := moved.Open(t.Context(), k.Ref(), Ring(kms))
	if err != nil || !o.Items[0].Private.Equal(k.Items[0].Private) {
		t.Errorf("the content changed: %v", err)
	}
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()
	_, recipient := ageWrapperOf(t)
	k := made(t, FrontProxyCA)
	for name, to := range map[string][]Wrapper{"nobody": nil, "none and age": {None(), recipient}} {
		if _, err := Seal(t.Context(), k, SealOptions{To: to}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.ClusterUID = ""
	if _, err := Seal(t.Context(), k, SealOptions{To: []Wrapper{recipient}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no UID: %v", err)
	}
	k = made(t, FrontProxyCA)
	k.Items[0].Private = nil
	if _, err := Seal(t.Context(), k, SealOptions{To: []Wrapper{recipient}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no private part: %v", err)
	}
	if _, err := AgeRecipient("ssh-ed25519 AAAA"); !errors.Is(err, ErrInvalid) {
		t.Errorf("an SSH key as recipient: %v", err)
	}
}

// TestEveryCutAndFlipShows damages a stored keyset at every byte.
func TestEveryCutAndFlipShows(t *testing.T) {
	t.Parallel()
	_, recipient := ageWrapperOf(t)
	data, err := sealed(t, made(t, ServiceAccount), recipient).Encode()
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, bad []byte) {
		t.Helper()
		if _, err := Decode(bad, "pki/service-account.yaml"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "pki/service-account.yaml") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for n := range data {
		check(fmt.Sprintf("cut at %d", n), data[:n])
		flipped := slices.Clone(data)
		flipped[n] ^= 1
		check(fmt.Sprintf("flipped at %d", n), flipped)
	}
	check("doubled", append(slices.Clone(data), data...))
	check("a secret", mustSecret(t))
}

func mustSecret(t *testing.T) []byte {
	t.Helper()
	s, err := SealSecret(t.Context(), PlainSecret{Name: "x", ClusterUID: "uid-1", Created: noon, Content: Secret("y")}, SealOptions{To: []Wrapper{None()}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTampering changes a sealed keyset as somebody who may write the store, and can
// make checksums, would.
func TestTampering(t *testing.T) {
	t.Parallel()
	identity, recipient := ageWrapperOf(t)
	stranger, _ := ageWrapperOf(t)
	kms := KMSWrapper("fake-kms", "key-1", fakeKMS{})
	k := added(t, made(t, KubernetesCA), noon.Add(time.Hour))
	evil := added(t, added(t, Keyset{Name: k.Name, Kind: k.Kind, ClusterUID: k.ClusterUID}, noon), noon.Add(time.Hour))
	for _, c := range []struct {
		name   string
		tamper func(*Sealed)
		want   Ref
		ring   Keyring
		kind   error
	}{
		{"another certificate", func(s *Sealed) { s.Items[0].Certificate = evil.Items[0].Certificate }, k.Ref(), Ring(identity), ErrTampered},
		{"another state", func(s *Sealed) { s.Items[0].State, s.Items[1].State = Trusted, Primary }, k.Ref(), Ring(identity), ErrTampered},
		{"an item less", func(s *Sealed) { s.Items = s.Items[:1] }, k.Ref(), Ring(identity), ErrTampered},
		{"private parts exchanged", func(s *Sealed) {
			a, b := s.Items[0].ID, s.Items[1].ID
			s.private[a], s.private[b] = s.private[b], s.private[a]
		}, k.Ref(), Ring(identity), ErrTampered},
		{"a private part altered", func(s *Sealed) { s.private[s.Items[0].ID][30] ^= 1 }, k.Ref(), Ring(identity), ErrTampered},
		{"a private part cut off", func(s *Sealed) { s.private[s.Items[0].ID] = []byte{1, 2, 3} }, k.Ref(), Ring(identity), ErrTampered},
		{"the wrapped key altered", func(s *Sealed) { s.Sealing.Keys[0].Key[len(s.Sealing.Keys[0].Key)-1] ^= 1 }, k.Ref(), Ring(identity), ErrTampered},
		{"the tag altered", func(s *Sealed) { s.Sealing.Tag[0] ^= 1 }, k.Ref(), Ring(identity), ErrTampered},
		{"as another cluster's", func(*Sealed) {}, KeysetRef("uid-2", k.Name), Ring(identity), ErrMoved},
		{"as another cluster's, renamed", func(s *Sealed) { s.ClusterUID = "uid-2" }, KeysetRef("uid-2", k.Name), Ring(identity), ErrMoved},
		{"as another keyset, renamed", func(s *Sealed) { s.Name = EtcdPeersCA }, KeysetRef("uid-1", EtcdPeersCA), Ring(identity), ErrMoved},
		{"by KMS, renamed", func(s *Sealed) { s.ClusterUID = "uid-2" }, KeysetRef("uid-2", k.Name), Ring(kms), ErrTampered},
		{"with a stranger's key", func(*Sealed) {}, k.Ref(), Ring(stranger), ErrNoKey},
		{"with the public side alone", func(*Sealed) {}, k.Ref(), Ring(recipient), ErrNoKey},
		{"the whole replaced, unsealed", func(s *Sealed) {
			forged, err := Seal(t.Context(), evil, SealOptions{To: []Wrapper{None()}})
			if err != nil {
				t.Fatal(err)
			}
			*s = *forged
		}, k.Ref(), Ring(identity, kms), ErrNoKey},
	} {
		s := sealed(t, k, recipient, kms)
		c.tamper(s)
		s = again(t, s)
		o, err := s.Open(t.Context(), c.want, c.ring)
		if o != nil || !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOpenStopsWithItsContext(t *testing.T) {
	t.Parallel()
	kms := KMSWrapper("fake-kms", "key-1", fakeKMS{down: context.Canceled})
	good := KMSWrapper("fake-kms", "key-1", fakeKMS{})
	k := made(t, EtcdPeersCA)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sealed(t, k, good).Open(ctx, k.Ref(), Ring(kms)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	identity, recipient := ageWrapperOf(t)
	content := make(Secret, 5000)
	rand.Read(content)
	s, err := SealSecret(t.Context(), PlainSecret{Name: "registry", ClusterUID: "uid-1", Created: noon, Content: content}, SealOptions{To: []Wrapper{recipient}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s, err = DecodeSecret(data, "secrets/registry")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Open(t.Context(), SecretRef("uid-1", "registry"), Ring(identity))
	if err != nil || !got.Equal(content) || !s.Created.Equal(noon) {
		t.Fatal(err)
	}
	kms := KMSWrapper("fake-kms", "key-1", fakeKMS{})
	r, err := s.Reseal(t.Context(), s.Ref(), Ring(identity), SealOptions{To: []Wrapper{kms}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Open(t.Context(), s.Ref(), Ring(kms)); err != nil || !got.Equal(content) || !r.Created.Equal(noon) {
		t.Errorf("resealed: %v", err)
	}
	if _, err := s.Open(t.Context(), SecretRef("uid-1", "other"), Ring(identity)); !errors.Is(err, ErrMoved) {
		t.Errorf("under another name: %v", err)
	}
	s.content[40] ^= 1
	if _, err := s.Open(t.Context(), s.Ref(), Ring(identity)); !errors.Is(err, ErrTampered) {
		t.Errorf("altered: %v", err)
	}
	for n := range data {
		if _, err := DecodeSecret(data[:n], "secrets/registry"); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for _, name := range []string{"", "A", "a/b", "../x", "-a"} {
		if _, err := SealSecret(t.Context(), PlainSecret{Name: name, ClusterUID: "u", Content: content}, SealOptions{To: []Wrapper{recipient}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, size := range []int{0, maxSecret + 1} {
		if _, err := SealSecret(t.Context(), PlainSecret{Name: "x", ClusterUID: "u", Content: make(Secret, size)}, SealOptions{To: []Wrapper{recipient}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestCanary puts a known word where secrets are and looks for it in all that can be
// printed, logged or stored.
func TestCanary(t *testing.T) {
	t.Parallel()
	const canary = "CANARY0123456789CANARY"
	var seen bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&seen, nil))
	text := slog.New(slog.NewTextHandler(&seen, nil))
	identity, recipient := ageWrapperOf(t)

	s := Secret(canary)
	plain := PlainSecret{Name: "x", ClusterUID: "u", Created: noon, Content: s}
	k := Keyset{Name: "x", Items: []Item{{ID: "i", Private: s}}}
	for _, v := range []any{s, &s, plain, &plain, k, Issued{Private: s}, &Opened{Keyset: k}, []Secret{s}, map[string]Secret{"a": s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&seen, verb+"\n", v)
		}
		log.Info("x", "v", v)
		text.Info("x", "v", v)
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(data)
	}
	_, err := ImportCA(nil, s, MakeOptions{})
	fmt.Fprintln(&seen, err)
	_, err = ImportKey(Secret("-----BEGIN PRIVATE KEY-----\n"+canary+"AA\n-----END PRIVATE KEY-----\n"), MakeOptions{})
	fmt.Fprintln(&seen, err)
	_, err = AgeIdentities(Secret("AGE-SECRET-KEY-1" + canary))
	fmt.Fprintln(&seen, err)
	stored, err := SealSecret(t.Context(), plain, SealOptions{To: []Wrapper{recipient}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	seen.Write(data)
	stored.content[0] ^= 1
	_, err = stored.Open(t.Context(), stored.Ref(), Ring(identity))
	fmt.Fprintln(&seen, err)

	hex := fmt.Sprintf("%x", []byte(canary))
	numbers := strings.Trim(fmt.Sprint([]byte(canary)), "[]")
	for _, form := range []string{canary, hex, strings.ToUpper(hex), numbers, "Q0FOQVJZMDEy"} {
		if strings.Contains(seen.String(), form) {
			t.Errorf("the canary shows as %s", form)
		}
	}
	if err := json.Unmarshal([]byte(`"x"`), &s); err == nil {
		t.Error("a secret was read from JSON")
	}
}

func FuzzDecode(f *testing.F) {
	k := Keyset{Name: ServiceAccount, Kind: KindKey, ClusterUID: "uid-1"}
	item, err := New(k.Name, k.Kind, MakeOptions{Now: at(noon)})
	if err != nil {
		f.Fatal(err)
	}
	if k, err = k.Add(item); err != nil {
		f.Fatal(err)
	}
	s, err := Seal(f.Context(), k, SealOptions{To: []Wrapper{None()}})
	if err != nil {
		f.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil {
		f.Fatal(err)
	}
	body, err := withoutChecksum(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte("apiVersion: slipway.dev/pki/v1\nkind: Keyset\n"))
	f.Add([]byte("apiVersion: slipway.dev/pki/v1\nkind: Secret\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		Decode(body, "x")
		DecodeSecret(withChecksum(body), "x")
		s, err := Decode(withChecksum(body), "x")
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		first, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		s, err = Decode(first, "x")
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, err := s.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("it changes by being read: %v", err)
		}
	})
}
