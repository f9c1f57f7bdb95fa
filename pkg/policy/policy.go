// SPDX-License-Identifier: Apache-2.0

// Package policy holds a plan against rules that an organisation writes: CEL expressions
// over the plan and the spec, evaluated offline and within a limit of work. The commands
// that plan load the files and refuse what a rule denies; docs/operations/policy.md is
// the manual.
package policy

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
)

// Version is the apiVersion of a policy file.
const Version = "slipway.dev/policy/v1"

// Severity says what a violated rule does.
type Severity string

// The severities.
const (
	Deny Severity = "deny" // nothing is applied, and the command exits with 3
	Warn Severity = "warn" // the plan carries a warning
)

// Set is the compiled rules of one or several files, in their order.
type Set struct{ rules []rule }

// rule is one compiled rule.
type rule struct {
	file, name  string
	description string
	severity    Severity
	message     string      // text
	when        cel.Program // nil: always
	deny        cel.Program
	compose     cel.Program // of the message; nil: the text
}

// Len is the number of rules.
func (s *Set) Len() int { return len(s.rules) }

// Add appends the rules of another set.
func (s *Set) Add(more *Set) { s.rules = append(s.rules, more.rules...) }

// Violation is one rule that a plan or a spec does not keep.
type Violation struct {
	File, Rule string
	Severity   Severity
	Message    string
	Matched    []string // what the rule names: items by id, groups by name; may be empty
}

// String returns the violation as a person reads it, without its severity.
func (v Violation) String() string {
	text := v.Rule + ": " + v.Message
	if len(v.Matched) > 0 {
		text += ": " + strings.Join(v.Matched, ", ")
	}
	return text
}

// Review is what came of all rules.
type Review struct {
	Denied []Violation
	Warned []Violation
	// Failed are rules that could not be evaluated: a plan is not let through by a rule
	// that does not work.
	Failed []error
}

// Err returns an error that stops the plan: a *DeniedError, or nil.
func (r *Review) Err() error {
	if len(r.Denied) == 0 && len(r.Failed) == 0 {
		return nil
	}
	return &DeniedError{Violations: r.Denied, Failed: r.Failed}
}

// DeniedError says which rules forbid a plan. Commands exit with 3 on it.
type DeniedError struct {
	Violations []Violation
	Failed     []error
}

// Error names every rule with its message and what it matched.
func (e *DeniedError) Error() string {
	var b strings.Builder
	b.WriteString("the policy denies this plan; nothing was changed")
	for _, v := range e.Violations {
		fmt.Fprintf(&b, "\n  %s: %s", v.File, v.Rule)
		fmt.Fprintf(&b, "\n      %s", v.Message)
		for _, m := range v.Matched {
			fmt.Fprintf(&b, "\n      - %s", m)
		}
	}
	for _, err := range e.Failed {
		fmt.Fprintf(&b, "\n  %s", err)
	}
	return b.String()
}

// Unwrap gives errors.Is the causes of rules that failed.
func (e *DeniedError) Unwrap() []error { return e.Failed }

// FileError is a policy file that cannot be taken: all that is wrong with it. Commands
// exit with 3 on it.
type FileError struct {
	File   string
	Faults []error
}

// Error lists the faults, each with its rule and position.
func (e *FileError) Error() string {
	if len(e.Faults) == 1 {
		return fmt.Sprintf("policy %s: %s", e.File, e.Faults[0])
	}
	return fmt.Sprintf("policy %s: %d faults:\n  %s", e.File, len(e.Faults),
		strings.ReplaceAll(errors.Join(e.Faults...).Error(), "\n", "\n  "))
}

// Unwrap returns the faults.
func (e *FileError) Unwrap() []error { return e.Faults }
