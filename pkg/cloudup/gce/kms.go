// SPDX-License-Identifier: Apache-2.0

package gce

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"time"

	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/googleapi"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// KMSScheme stands before the resource name of a key in the names of what it sealed.
const KMSScheme = "gcp-kms"

// keyName is the resource name of a key, without a version: Cloud KMS finds the version
// that a ciphertext needs.
var keyName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}$`)

// IsKey reports whether a text names a key of Cloud KMS.
func IsKey(name string) bool { return keyName.MatchString(name) }

// KMS seals data keys with Cloud KMS. The context of an object is the additional
// authenticated data, in the one JSON form that it has with its keys sorted.
type KMS struct {
	o Options

	mu      sync.Mutex
	service *cloudkms.Service
}

var _ pki.KMS = (*KMS)(nil)

// OpenKMS calls nothing and reads no credentials yet.
func OpenKMS(o Options) *KMS { return &KMS{o: o} }

func (k *KMS) connect(ctx context.Context) (*cloudkms.Service, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.service == nil {
		// The client's tokens are renewed in a context that must outlive this call's.
		s, err := service(context.WithoutCancel(ctx), k.o)
		if err != nil {
			return nil, err
		}
		k.service = s
	}
	return k.service, nil
}

// Key looks a key up and refuses one that cannot seal.
func (k *KMS) Key(ctx context.Context, name string) error {
	if !IsKey(name) {
		return fmt.Errorf("KMS key %s: %w: expected projects/P/locations/L/keyRings/R/cryptoKeys/K", name, pki.ErrInvalid)
	}
	var key *cloudkms.CryptoKey
	err := k.call(ctx, func(s *cloudkms.Service) (err error) {
		key, err = s.Projects.Locations.KeyRings.CryptoKeys.Get(name).Context(ctx).Do()
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("look up KMS key %s: %w", name, err)
	case key.Purpose != "ENCRYPT_DECRYPT":
		return fmt.Errorf("KMS key %s: %w: its purpose is %s; a symmetric key (ENCRYPT_DECRYPT) is needed", name, pki.ErrInvalid, key.Purpose)
	case key.Primary == nil || key.Primary.State != "ENABLED":
		return fmt.Errorf("KMS key %s: %w: it has no enabled primary version; enable one, or choose another key", name, pki.ErrInvalid)
	}
	return nil
}

// Encrypt seals up to 64 KiB, bound to the context. Sums of both directions are checked,
// as the service's own pages ask for.
func (k *KMS) Encrypt(ctx context.Context, key string, plain pki.Secret, context map[string]string) ([]byte, error) {
	aad, err := json.Marshal(context)
	if err != nil {
		return nil, err
	}
	in := &cloudkms.EncryptRequest{
		Plaintext: base64.StdEncoding.EncodeToString(plain), PlaintextCrc32c: sum(plain),
		AdditionalAuthenticatedData: base64.StdEncoding.EncodeToString(aad), AdditionalAuthenticatedDataCrc32c: sum(aad),
		ForceSendFields: []string{"PlaintextCrc32c", "AdditionalAuthenticatedDataCrc32c"},
	}
	var out *cloudkms.EncryptResponse
	err = k.call(ctx, func(s *cloudkms.Service) (err error) {
		out, err = s.Projects.Locations.KeyRings.CryptoKeys.Encrypt(key, in).Context(ctx).Do()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("encrypt with KMS key %s: %w", key, err)
	}
	sealed, err := base64.StdEncoding.DecodeString(out.Ciphertext)
	if err != nil || !out.VerifiedPlaintextCrc32c || !out.VerifiedAdditionalAuthenticatedDataCrc32c || out.CiphertextCrc32c != sum(sealed) {
		return nil, fmt.Errorf("encrypt with KMS key %s: %w: request or answer was altered on its way", key, pki.ErrTampered)
	}
	return sealed, nil
}

// Decrypt is the reverse, with exactly that key and context.
func (k *KMS) Decrypt(ctx context.Context, key string, sealed []byte, context map[string]string) (pki.Secret, error) {
	aad, err := json.Marshal(context)
	if err != nil {
		return nil, err
	}
	in := &cloudkms.DecryptRequest{
		Ciphertext: base64.StdEncoding.EncodeToString(sealed), CiphertextCrc32c: sum(sealed),
		AdditionalAuthenticatedData: base64.StdEncoding.EncodeToString(aad), AdditionalAuthenticatedDataCrc32c: sum(aad),
		ForceSendFields: []string{"CiphertextCrc32c", "AdditionalAuthenticatedDataCrc32c"},
	}
	var out *cloudkms.DecryptResponse
	err = k.call(ctx, func(s *cloudkms.Service) (err error) {
		out, err = s.Projects.Locations.KeyRings.CryptoKeys.Decrypt(key, in).Context(ctx).Do()
		return err
	})
	var refused *googleapi.Error
	if errors.As(err, &refused) && refused.Code == http.StatusBadRequest {
		return nil, fmt.Errorf("decrypt with KMS key %s: %w: ciphertext, key and context do not belong together", key, pki.ErrTampered)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt with KMS key %s: %w", key, err)
	}
	plain, err := base64.StdEncoding.DecodeString(out.Plaintext)
	if err != nil || out.PlaintextCrc32c != sum(plain) {
		return nil, fmt.Errorf("decrypt with KMS key %s: %w: the answer was altered on its way", key, pki.ErrTampered)
	}
	return plain, nil
}

// sum is the CRC32C (Castagnoli) that Cloud KMS checks requests and answers with.
func sum(b []byte) int64 { return int64(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))) }

// tries is how often a call is made that finds the service busy; all calls may be
// repeated.
const tries = 4

// call makes a call, with pauses while the service is busy, and says what is missing.
func (k *KMS) call(ctx context.Context, do func(*cloudkms.Service) error) error {
	s, err := k.connect(ctx)
	if err != nil {
		return err
	}
	pause := 200 * time.Millisecond
	for try := 1; ; try++ {
		err := do(s)
		if err == nil || try == tries || !busy(err) {
			return explained(err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
			pause *= 2
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func busy(err error) bool {
	var refused *googleapi.Error
	if errors.As(err, &refused) {
		return refused.Code == http.StatusTooManyRequests || refused.Code >= 500
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// explained adds what to do to the refusals that a user can do something about.
func explained(err error) error {
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("%w; these credentials need the role roles/cloudkms.cryptoKeyEncrypterDecrypter on the key, and roles/cloudkms.viewer to choose it", err)
	case http.StatusNotFound:
		return fmt.Errorf("%w: there is no such key (%v)", pki.ErrInvalid, err)
	}
	return err
}
