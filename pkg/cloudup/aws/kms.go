// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// KMSScheme stands before the ARN in the names of what was sealed by a key of AWS KMS.
const KMSScheme = "aws-kms"

// KMS seals data keys with AWS KMS. A key's region is that of its ARN.
type KMS struct {
	o Options

	mu      sync.Mutex
	clients map[string]*kms.Client // by region
}

var _ pki.KMS = (*KMS)(nil)

// OpenKMS makes a KMS with the session's options; of these, Region is where keys are
// looked for that are not given as an ARN. It calls nothing.
func OpenKMS(o Options) *KMS { return &KMS{o: o, clients: map[string]*kms.Client{}} }

// Key returns the ARN of a key that is given by id, ARN or alias, and refuses one that
// cannot seal.
func (k *KMS) Key(ctx context.Context, id string) (arn string, err error) {
	client, err := k.client(ctx, id)
	if err != nil {
		return "", err
	}
	return sealsWith(ctx, client, id)
}

// sealsWith looks a key up by id, ARN or alias.
func sealsWith(ctx context.Context, client *kms.Client, id string) (arn string, err error) {
	out, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
	if err != nil {
		return "", fmt.Errorf("look up KMS key %s: %w", id, err)
	}
	key := out.KeyMetadata
	switch {
	case key.KeyState != types.KeyStateEnabled:
		return "", fmt.Errorf("KMS key %s: %w: it is %s; enable it, or choose another one", id, pki.ErrInvalid, key.KeyState)
	case key.KeySpec != types.KeySpecSymmetricDefault || key.KeyUsage != types.KeyUsageTypeEncryptDecrypt:
		return "", fmt.Errorf("KMS key %s: %w: it is a %s key for %s; a symmetric key that encrypts is needed", id, pki.ErrInvalid, key.KeySpec, key.KeyUsage)
	}
	return aws.ToString(key.Arn), nil
}

// Encrypt seals up to 4,096 bytes, bound to the encryption context.
func (k *KMS) Encrypt(ctx context.Context, key string, plain pki.Secret, context map[string]string) ([]byte, error) {
	client, err := k.client(ctx, key)
	if err != nil {
		return nil, err
	}
	out, err := client.Encrypt(ctx, &kms.EncryptInput{KeyId: &key, Plaintext: plain, EncryptionContext: context})
	if err != nil {
		return nil, fmt.Errorf("encrypt with KMS key %s: %w", key, err)
	}
	return out.CiphertextBlob, nil
}

// Decrypt is the reverse, with exactly that key and encryption context.
func (k *KMS) Decrypt(ctx context.Context, key string, sealed []byte, context map[string]string) (pki.Secret, error) {
	client, err := k.client(ctx, key)
	if err != nil {
		return nil, err
	}
	out, err := client.Decrypt(ctx, &kms.DecryptInput{KeyId: &key, CiphertextBlob: sealed, EncryptionContext: context})
	if is(err, "InvalidCiphertextException", "IncorrectKeyException") {
		return nil, fmt.Errorf("decrypt with KMS key %s: %w: ciphertext, key and encryption context do not belong together", key, pki.ErrTampered)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt with KMS key %s: %w", key, err)
	}
	return out.Plaintext, nil
}

// client returns the client of a key's region.
func (k *KMS) client(ctx context.Context, key string) (*kms.Client, error) {
	o := k.o
	// arn:aws:kms:us-east-1:123456789012:key/...
	if parts := strings.SplitN(key, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		if parts[2] != "kms" {
			return nil, fmt.Errorf("KMS key %s: %w: that is the ARN of something else", key, pki.ErrInvalid)
		}
		o.Region = parts[3]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[o.Region]; c != nil {
		return c, nil
	}
	cfg, err := session(ctx, o, &caller{})
	if err != nil {
		return nil, err
	}
	k.clients[o.Region] = kms.NewFromConfig(cfg)
	return k.clients[o.Region], nil
}
