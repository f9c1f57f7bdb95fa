// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"errors"
	"fmt"
)

// The kinds of failure; errors.Is finds them in this package's errors. No error ever
// holds a part of a private key, a data key or a secret.
var (
	// ErrInvalid: the input cannot be used: no such keyset, a certificate that is no CA.
	ErrInvalid = errors.New("invalid")
	// ErrDamaged: the stored object is cut off, altered, or of an unknown form.
	ErrDamaged = errors.New("damaged")
	// ErrTampered: the object is whole, but it was not written by a holder of its keys.
	ErrTampered = errors.New("tampered with")
	// ErrMoved: the object belongs to another cluster or has another name.
	ErrMoved = errors.New("moved from another place")
	// ErrNoKey: none of the keys at hand opens the object.
	ErrNoKey = errors.New("no key opens it")
	// ErrStage: a stage of a rotation would be skipped.
	ErrStage = errors.New("a stage would be skipped")
)

// SealError says why a sealed object could not be read, opened or written.
type SealError struct {
	Op     string // "read", "open", "seal"
	Object string // such as "pki/kubernetes-ca.yaml"
	Kind   error  // one of the kinds above; nil when the cause says it all
	Hint   string // what was found and what to do
	Err    error  // the cause; nil when there is none
}

// Error names the object, what is wrong, and what to do.
func (e *SealError) Error() string {
	msg := e.Op + " " + e.Object
	if e.Kind != nil {
		msg += ": " + e.Kind.Error()
	}
	if e.Hint != "" {
		msg += ": " + e.Hint
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap gives errors.Is both the kind and the cause.
func (e *SealError) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// StageError refuses a step of a rotation. It is ErrStage.
type StageError struct {
	Op     string // "promote", "distrust", "trust", "create"
	Keyset string
	ID     string
	Why    string // the reason, and what to do first
}

// Error names the step and the reason.
func (e *StageError) Error() string {
	what := e.Op + " key pair of keyset " + e.Keyset
	if e.ID != "" {
		what = fmt.Sprintf("%s key pair %s of keyset %s", e.Op, e.ID, e.Keyset)
	}
	return what + ": " + e.Why
}

// Is makes it ErrStage.
func (e *StageError) Is(target error) bool { return target == ErrStage }
