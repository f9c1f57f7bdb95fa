// SPDX-License-Identifier: Apache-2.0

package gce

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/api/cloudkms/v1"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

const key = "projects/p/locations/europe-west1/keyRings/slipway/cryptoKeys/clusters"

// keeper answers as Cloud KMS does, with one key.
type keeper struct {
	material [32]byte
	purpose  string
	state    string
	busy     atomic.Int32 // calls that find the service busy
	denied   bool
	altered  bool // answers are altered on their way
	calls    atomic.Int32
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.calls.Add(1)
	refuse := func(code int, status, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message, "status": status}})
	}
	name, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), ":")
	switch {
	case k.busy.Add(-1) >= 0:
		refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "try again")
	case k.denied:
		refuse(http.StatusForbidden, "PERMISSION_DENIED", "Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied")
	case name != key:
		refuse(http.StatusNotFound, "NOT_FOUND", "CryptoKey "+name+" not found.")
	case verb == "" && r.Method == http.MethodGet:
		json.NewEncoder(w).Encode(&cloudkms.CryptoKey{Name: key, Purpose: k.purpose, Primary: &cloudkms.CryptoKeyVersion{State: k.state}})
	case verb == "encrypt":
		var in cloudkms.EncryptRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(http.StatusBadRequest, "INVALID_ARGUMENT", err.Error())
			return
		}
		plain, aad := decode(in.Plaintext), decode(in.AdditionalAuthenticatedData)
		nonce := make([]byte, 12)
		rand.Read(nonce)
		sealed := append(nonce, k.aead().Seal(nil, nonce, plain, aad)...)
		out := &cloudkms.EncryptResponse{
			Ciphertext: base64.StdEncoding.EncodeToString(sealed), CiphertextCrc32c: sum(sealed),
			VerifiedPlaintextCrc32c: in.PlaintextCrc32c == sum(plain), VerifiedAdditionalAuthenticatedDataCrc32c: in.AdditionalAuthenticatedDataCrc32c == sum(aad),
		}
		if k.altered {
			out.CiphertextCrc32c++
		}
		json.NewEncoder(w).Encode(out)
	case verb == "decrypt":
		var in cloudkms.DecryptRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(http.StatusBadRequest, "INVALID_ARGUMENT", err.Error())
			return
		}
		sealed, aad := decode(in.Ciphertext), decode(in.AdditionalAuthenticatedData)
		if in.CiphertextCrc32c != sum(sealed) || len(sealed) < 12 {
			refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "The checksum in field ciphertext_crc32c did not match the data in field ciphertext.")
			return
		}
		plain, err := k.aead().Open(nil, sealed[:12], sealed[12:], aad)
		if err != nil {
			refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "Decryption failed: verify that 'name' refers to the correct CryptoKey.")
			return
		}
		out := &cloudkms.DecryptResponse{Plaintext: base64.StdEncoding.EncodeToString(plain), PlaintextCrc32c: sum(plain)}
		if k.altered {
			out.PlaintextCrc32c++
		}
		json.NewEncoder(w).Encode(out)
	default:
		refuse(http.StatusNotFound, "NOT_FOUND", r.Method+" "+r.URL.Path)
	}
}

func decode(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

func (k *keeper) aead() cipher.AEAD {
	block, err := aes.NewCipher(k.material[:])
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}

func newKeeper(t *testing.T) (*keeper, *KMS) {
	t.Helper()
	k := &keeper{purpose: "ENCRYPT_DECRYPT", state: "ENABLED"}
	rand.Read(k.material[:])
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	return k, OpenKMS(Options{Endpoint: server.URL})
}

func TestSealAndOpenInCloudKMS(t *testing.T) {
	t.Parallel()
	k, service := newKeeper(t)
	if err := service.Key(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	here := map[string]string{"slipway.dev/cluster-uid": "u", "slipway.dev/object": "pki/x"}
	plain := pki.Secret("a data key of thirty-two bytes..")
	sealed, err := service.Encrypt(t.Context(), key, plain, here)
	if err != nil || bytes.Contains(sealed, plain) {
		t.Fatalf("encrypt: %q, %v", sealed, err)
	}
	opened, err := service.Decrypt(t.Context(), key, sealed, map[string]string{"slipway.dev/object": "pki/x", "slipway.dev/cluster-uid": "u"})
	if err != nil || !bytes.Equal(opened, plain) {
		t.Fatalf("decrypt: %v", err)
	}
	for name, elsewhere := range map[string]map[string]string{
		"another object": {"slipway.dev/cluster-uid": "u", "slipway.dev/object": "pki/y"}, "another cluster": {"slipway.dev/cluster-uid": "v", "slipway.dev/object": "pki/x"}, "no context": nil,
	} {
		if _, err := service.Decrypt(t.Context(), key, sealed, elsewhere); !errors.Is(err, pki.ErrTampered) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := service.Decrypt(t.Context(), key, sealed[:20], here); !errors.Is(err, pki.ErrTampered) {
		t.Errorf("cut off: %v", err)
	}
	k.altered = true
	if _, err := service.Encrypt(t.Context(), key, plain, here); !errors.Is(err, pki.ErrTampered) {
		t.Errorf("an altered answer of encrypt: %v", err)
	}
	if _, err := service.Decrypt(t.Context(), key, sealed, here); !errors.Is(err, pki.ErrTampered) {
		t.Errorf("an altered answer of decrypt: %v", err)
	}
}

func TestKeysThatCannotSeal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name string
		set  func(*keeper)
		want string
	}{
		"another form":    {"alias/x", func(*keeper) {}, "projects/P/locations/L/keyRings/R/cryptoKeys/K"},
		"a version":       {key + "/cryptoKeyVersions/1", func(*keeper) {}, "expected"},
		"not there":       {key + "x", func(*keeper) {}, "no such key"},
		"for signing":     {key, func(k *keeper) { k.purpose = "ASYMMETRIC_SIGN" }, "ASYMMETRIC_SIGN"},
		"disabled":        {key, func(k *keeper) { k.state = "DISABLED" }, "no enabled primary version"},
		"without a right": {key, func(k *keeper) { k.denied = true }, "roles/cloudkms.cryptoKeyEncrypterDecrypter"},
	} {
		k, service := newKeeper(t)
		c.set(k)
		if err := service.Key(t.Context(), c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABusyServiceIsAskedAgain(t *testing.T) {
	t.Parallel()
	k, service := newKeeper(t)
	k.busy.Store(2)
	if err := service.Key(t.Context(), key); err != nil || k.calls.Load() != 3 {
		t.Errorf("after %d calls: %v", k.calls.Load(), err)
	}
	k.busy.Store(100)
	if err := service.Key(t.Context(), key); err == nil || k.calls.Load() != 3+tries {
		t.Errorf("after %d calls: %v", k.calls.Load(), err)
	}
}
