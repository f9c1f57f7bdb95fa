// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// redacted is all that a Secret ever shows of itself.
const redacted = "(sensitive)"

// Secret is bytes that must not be shown: however it is printed, logged or encoded, it
// says only that it is sensitive. Convert it to []byte where its content is needed.
type Secret []byte

var (
	_ fmt.Formatter  = Secret(nil)
	_ fmt.Stringer   = Secret(nil)
	_ slog.LogValuer = Secret(nil)
)

// Format writes the same for every verb, %x and %#v included.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String returns no part of the content.
func (Secret) String() string { return redacted }

// LogValue returns no part of the content.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns no part of the content; JSON and YAML use it too.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText refuses: what MarshalText writes is not the content.
func (*Secret) UnmarshalText([]byte) error {
	return errors.New("a secret is not read from text: open its sealed form")
}

// Equal compares without telling by its duration where the first difference is.
func (s Secret) Equal(other Secret) bool { return subtle.ConstantTimeCompare(s, other) == 1 }

// Digest returns the SHA-256 in hex, to notice changes by. It is only for contents that
// cannot be guessed; a password's digest must not be published.
func (s Secret) Digest() string {
	sum := sha256.Sum256(s)
	return hex.EncodeToString(sum[:])
}
