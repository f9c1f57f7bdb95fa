// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Document is a policy.
type Document struct {
	Version   string
	Id        string
	Statement Statements
}

// Statement is one statement of a policy, its one-or-many values as lists.
type Statement struct {
	Sid                     string
	Effect                  string
	Principal, NotPrincipal Principals
	Action, NotAction       OneOrMany
	Resource, NotResource   OneOrMany
	Condition               map[string]map[string]OneOrMany // by operator and key
}

// Parse reads a document strictly: an element that the language does not have is
// an error. What the elements hold is checked by who keeps the policy.
func Parse(text string) (Document, error) {
	var doc Document
	return doc, strictJSON([]byte(text), &doc)
}

// Statements is a list, or a single statement.
type Statements []Statement

// UnmarshalJSON reads a list or a single statement.
func (s *Statements) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "[") {
		var list []Statement
		err := strictJSON(raw, &list)
		*s = list
		return err
	}
	var one Statement
	err := strictJSON(raw, &one)
	*s = Statements{one}
	return err
}

// OneOrMany is a string (or a bare boolean or number, in conditions) or a list.
type OneOrMany []string

// UnmarshalJSON reads a value or a list of values.
func (o *OneOrMany) UnmarshalJSON(raw []byte) error {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	*o = OneOrMany{}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			*o = append(*o, item)
		case bool, json.Number:
			*o = append(*o, fmt.Sprint(item))
		default:
			return fmt.Errorf("unexpected value")
		}
	}
	return nil
}

// Principals maps AWS, Service, Federated to names; "*" stands for AWS: *.
type Principals map[string]OneOrMany

// UnmarshalJSON reads "*" or a map.
func (p *Principals) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"*"` {
		*p = Principals{"AWS": {"*"}}
		return nil
	}
	var m map[string]OneOrMany
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*p = m
	return nil
}

func strictJSON(raw []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("text after the document")
	}
	return nil
}
