// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a spec.
type Fault struct {
	Path    string `json:"path"` // such as spec.networking.subnets[1].cidr, after the object it is in
	Value   string `json:"value,omitempty"`
	Message string `json:"message"` // what is wrong and what is allowed
	Warning bool   `json:"warning,omitempty"`
	Check   string `json:"check,omitempty"` // names a check whose data ages; see ValidateStored
}

// String returns the fault on one line.
func (f Fault) String() string {
	if f.Value == "" {
		return f.Path + ": " + f.Message
	}
	return fmt.Sprintf("%s: %s (is %q)", f.Path, f.Message, f.Value)
}

// Faults is everything that is wrong, in the order of the spec.
type Faults []Fault

// Errors returns the faults that are not warnings.
func (fs Faults) Errors() Faults { return fs.filter(false) }

// Warnings returns the faults that do not stop anything.
func (fs Faults) Warnings() Faults { return fs.filter(true) }

func (fs Faults) filter(warning bool) Faults {
	var out Faults
	for _, f := range fs {
		if f.Warning == warning {
			out = append(out, f)
		}
	}
	return out
}

// Err returns an *InvalidError with all faults that are not warnings, or nil.
func (fs Faults) Err() error {
	if errs := fs.Errors(); len(errs) > 0 {
		return &InvalidError{Faults: errs}
	}
	return nil
}

// InvalidError is a spec that cannot be accepted. Commands exit with 3 on it.
type InvalidError struct {
	Source string // file or store object, when known
	Faults Faults
}

// Error lists all faults, one a line.
func (e *InvalidError) Error() string {
	var b strings.Builder
	if e.Source != "" {
		b.WriteString(e.Source + ": ")
	}
	if len(e.Faults) == 1 {
		return b.String() + e.Faults[0].String()
	}
	fmt.Fprintf(&b, "%d faults:", len(e.Faults))
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}
