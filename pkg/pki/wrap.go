// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"filippo.io/age"
)

const noneName = "none"

// None leaves data keys as they are: whoever reads the object reads its content. It is
// for those who rely on the bucket's own encryption, and must be chosen by name.
func None() Wrapper { return none{} }

type none struct{}

func (none) Name() string { return noneName }

func (none) Wrap(_ context.Context, key Secret, _ map[string]string) ([]byte, error) {
	return bytes.Clone(key), nil
}

func (none) Unwrap(_ context.Context, wrapped []byte, _ map[string]string) (Secret, error) {
	return bytes.Clone(wrapped), nil
}

// KMS is the little that is needed of a cloud's key management service. The context
// must be given to the service as what it binds a ciphertext to.
type KMS interface {
	Encrypt(ctx context.Context, key string, plain Secret, context map[string]string) ([]byte, error)
	// Decrypt returns ErrTampered when the service says that ciphertext, key or context
	// do not belong together.
	Decrypt(ctx context.Context, key string, sealed []byte, context map[string]string) (Secret, error)
}

// KMSWrapper wraps with one key of a service. scheme tells services apart in names.
func KMSWrapper(scheme, key string, service KMS) Wrapper { return kmsWrapper{scheme, key, service} }

type kmsWrapper struct {
	scheme, key string
	service     KMS
}

func (w kmsWrapper) Name() string { return w.scheme + ":" + w.key }

func (w kmsWrapper) Wrap(ctx context.Context, key Secret, context map[string]string) ([]byte, error) {
	return w.service.Encrypt(ctx, w.key, key, context)
}

func (w kmsWrapper) Unwrap(ctx context.Context, wrapped []byte, context map[string]string) (Secret, error) {
	return w.service.Decrypt(ctx, w.key, wrapped, context)
}

const ageScheme = "age:"

// AgeRecipient wraps for the owner of an age recipient ("age1..."). It cannot unwrap.
func AgeRecipient(recipient string) (Wrapper, error) {
	recipient = strings.TrimSpace(recipient)
	parsed, err := age.ParseRecipients(strings.NewReader(recipient))
	if err != nil || len(parsed) != 1 {
		return nil, fmt.Errorf("age recipient %.20q: %w: it is none of age's own (age1...)", recipient, ErrInvalid)
	}
	return ageWrapper{name: ageScheme + recipient, recipient: parsed[0]}, nil
}

// AgeRecipientOf returns the age recipient that a wrapper's name names.
func AgeRecipientOf(name string) (recipient string, ok bool) {
	return strings.CutPrefix(name, ageScheme)
}

// AgeIdentities reads the identities of a file as age-keygen writes it; each wraps and
// unwraps. The errors hold no part of the file.
func AgeIdentities(file Secret) ([]Wrapper, error) {
	parsed, err := age.ParseIdentities(bytes.NewReader(file))
	if err != nil || len(parsed) == 0 {
		return nil, fmt.Errorf("age identities: %w: expected lines of the form AGE-SECRET-KEY-1..., as age-keygen writes them", ErrInvalid)
	}
	var out []Wrapper
	for _, identity := range parsed {
		w := ageWrapper{identity: identity}
		switch i := identity.(type) {
		case *age.X25519Identity:
			w.name, w.recipient = ageScheme+i.Recipient().String(), i.Recipient()
		case *age.HybridIdentity:
			w.name, w.recipient = ageScheme+i.Recipient().String(), i.Recipient()
		default:
			return nil, fmt.Errorf("age identities: %w: plug-ins and SSH keys are not supported", ErrInvalid)
		}
		out = append(out, w)
	}
	return out, nil
}

// NewAgeIdentity makes an identity, in the form of an identity file, and its recipient.
func NewAgeIdentity() (file Secret, recipient string, err error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", fmt.Errorf("make an age identity: %w", err)
	}
	recipient = identity.Recipient().String()
	return Secret(fmt.Sprintf("# public key: %s\n%s\n", recipient, identity)), recipient, nil
}

// ageWrapper wraps with age. age binds to no context, so a digest of it goes with the
// data key.
type ageWrapper struct {
	name      string
	recipient age.Recipient
	identity  age.Identity // nil: wraps only
}

func (w ageWrapper) Name() string { return w.name }

func (w ageWrapper) Wrap(_ context.Context, key Secret, context map[string]string) ([]byte, error) {
	var out bytes.Buffer
	to, err := age.Encrypt(&out, w.recipient)
	if err != nil {
		return nil, err
	}
	if _, err := to.Write(append(contextDigest(context), key...)); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (w ageWrapper) Unwrap(_ context.Context, wrapped []byte, context map[string]string) (Secret, error) {
	if w.identity == nil {
		return nil, fmt.Errorf("%s: %w: its private side is not here", w.name, ErrNoKey)
	}
	from, err := age.Decrypt(bytes.NewReader(wrapped), w.identity)
	var mismatch *age.NoIdentityMatchError
	if errors.As(err, &mismatch) {
		return nil, fmt.Errorf("%s: %w: the data key was wrapped for somebody else", w.name, ErrNoKey)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: the wrapped data key is malformed", w.name, ErrTampered)
	}
	plain, err := io.ReadAll(from)
	if err != nil || len(plain) < sha256.Size {
		return nil, fmt.Errorf("%s: %w: the wrapped data key is altered or cut off", w.name, ErrTampered)
	}
	if !bytes.Equal(plain[:sha256.Size], contextDigest(context)) {
		return nil, fmt.Errorf("%s: %w: it was sealed as another object or for another cluster", w.name, ErrMoved)
	}
	return plain[sha256.Size:], nil
}

func contextDigest(context map[string]string) []byte {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(context)) {
		fmt.Fprintf(h, "%q=%q\n", key, context[key])
	}
	return h.Sum(nil)
}
