// SPDX-License-Identifier: Apache-2.0

// Package policy reads and evaluates AWS's policy language for the simulated AWS: its services keep policies with it, and pkg/sim/aws/authz asks it what they say of a call.
package policy

import (
	"fmt"
	"strings"
)

// Query is one question: may this caller do this action to this resource.
type Query struct {
	Action   string // ec2:AttachVolume
	Resource string // ARN, or "*" for actions that have none
	Keys     Keys
	Caller   Caller
}

// Caller is who asks, as policies with principals name it.
type Caller struct {
	ARN     string // of the user or the session; "" for somebody who signed nothing
	Role    string // ARN of a session's role, "" for users
	Account string
}

// Level says how a statement with principals means the caller.
type Level int

// Levels, from the weakest.
const (
	Nobody    Level = iota
	ByAccount       // as a member of the account: its identity policies decide
	ByName          // as everybody, or by the role's name
	Exactly         // by the user's or the session's own name
)

// Verdict is what a document says. Statements are named by their Sid, else by
// their number.
type Verdict struct {
	Denied  string   // the statement that denies, "" when none does
	Allowed []string // the statements that allow
	Level   Level    // the strongest of those, for documents with principals
}

// UnknownKeyError is a condition key that means nothing for an action.
type UnknownKeyError struct{ Key, Action, Statement string }

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("statement %s has the condition key %s, which %s does not know or the simulator does not evaluate", e.Statement, e.Key, e.Action)
}

// Judge evaluates the document. An unknown condition key in a statement for the
// action is an *UnknownKeyError.
func (d Document) Judge(q Query) (Verdict, error) {
	var v Verdict
	for i, st := range d.Statement {
		name := st.Sid
		if name == "" {
			name = fmt.Sprintf("#%d", i+1)
		}
		level, met, err := st.meets(q)
		if unknown, ok := err.(*UnknownKeyError); ok {
			unknown.Statement = name
		}
		if err != nil {
			return v, err
		}
		switch {
		case !met:
		case st.Effect == "Deny" && v.Denied == "":
			v.Denied = name
		case st.Effect == "Allow":
			v.Allowed = append(v.Allowed, name)
			v.Level = max(v.Level, level)
		}
	}
	return v, nil
}

func (st Statement) meets(q Query) (Level, bool, error) {
	if !st.hasAction(q.Action) {
		return Nobody, false, nil
	}
	for _, keys := range st.Condition {
		for key := range keys {
			if !Known(q.Action, key) {
				return Nobody, false, &UnknownKeyError{Key: key, Action: q.Action}
			}
		}
	}
	level := st.level(q.Caller)
	if level == Nobody && (st.Principal != nil || st.NotPrincipal != nil) {
		return Nobody, false, nil
	}
	if !st.hasResource(q) {
		return level, false, nil
	}
	for op, keys := range st.Condition {
		for key, values := range keys {
			ok, err := holds(op, key, values, q.Keys)
			if err != nil || !ok {
				return level, false, err
			}
		}
	}
	return level, true, nil
}

func (st Statement) hasAction(action string) bool {
	for _, pattern := range st.Action {
		if foldGlob(pattern, action) {
			return true
		}
	}
	if st.NotAction == nil {
		return false
	}
	for _, pattern := range st.NotAction {
		if foldGlob(pattern, action) {
			return false
		}
	}
	return true
}

// hasResource tells whether the statement covers the resource. One without
// resources, as in a trust policy, is about what it is attached to.
func (st Statement) hasResource(q Query) bool {
	if st.Resource == nil && st.NotResource == nil {
		return true
	}
	for _, pattern := range st.Resource {
		if text, ok := expand(pattern, q.Keys); ok && resourceGlob(text, q.Resource) {
			return true
		}
	}
	if st.NotResource == nil {
		return false
	}
	for _, pattern := range st.NotResource {
		if text, ok := expand(pattern, q.Keys); ok && resourceGlob(text, q.Resource) {
			return false
		}
	}
	return true
}

// level finds how the statement means the caller.
func (st Statement) level(c Caller) Level {
	if st.NotPrincipal != nil {
		for _, name := range st.NotPrincipal["AWS"] {
			if c.is(name) > Nobody {
				return Nobody
			}
		}
		return ByName
	}
	best := Nobody
	for _, name := range st.Principal["AWS"] {
		best = max(best, c.is(name))
	}
	return best
}

func (c Caller) is(name string) Level {
	switch {
	case name == "*":
		return ByName
	case c.ARN == "":
		return Nobody
	case name == c.ARN:
		return Exactly
	case c.Role != "" && name == c.Role:
		return ByName
	case name == c.Account || strings.HasPrefix(name, "arn:") && strings.HasSuffix(name, ":iam::"+c.Account+":root"):
		return ByAccount
	}
	return Nobody
}
