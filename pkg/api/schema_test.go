// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, kind := range append([]string{""}, kinds...) {
		text, err := Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Schema(kind)
		var s map[string]any
		if err := json.Unmarshal(text, &s); err != nil || !bytes.Equal(text, again) || s["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%q: %v\n%.200s", kind, err, text)
		}
		// Every reference leads somewhere.
		defs := s["$defs"].(map[string]any)
		for _, part := range strings.Split(string(text), `"#/$defs/`)[1:] {
			name, _, _ := strings.Cut(part, `"`)
			if _, ok := defs[name].(map[string]any); !ok {
				t.Errorf("%q: nothing is at %s", kind, name)
			}
		}
	}
	_, err := Schema("InstanceGrup")
	if got := faultsOf(t, err); !strings.Contains(got, "did you mean InstanceGroup?") {
		t.Error(got)
	}
}

// TestSchemaKnowsTheTypes: required, enums, descriptions and choices stand in it.
func TestSchemaKnowsTheTypes(t *testing.T) {
	t.Parallel()
	text, err := Schema(KindCluster)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Required []string                   `json:"required"`
		Defs     map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Required, " "); got != "apiVersion kind metadata spec" {
		t.Errorf("required: %s", got)
	}
	for def, want := range map[string]string{
		"CNI":           `"maxProperties": 1`,
		"Networking":    `"enum": [`,
		"ClusterSpec":   "SSHAccess lists the CIDRs that may reach port 22",
		"Subnet":        `"required": [`,
		"RollingUpdate": `"number"`,
	} {
		if !strings.Contains(string(s.Defs[def]), want) {
			t.Errorf("%s has no %s:\n%s", def, want, s.Defs[def])
		}
	}
}

// TestTypes: every field can be read by the loader and shown in the schema.
func TestTypes(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{}
	for _, typ := range schemaTypes {
		reach(typ, reached)
	}
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for i, f := range fieldsOf(typ) {
				if f.name == "" || f.name == "-" {
					t.Errorf("%s: field %d has no name", path, i)
				}
				walk(f.typ, path+"."+f.name)
			}
		case reflect.String, reflect.Bool, reflect.Int32:
		default:
			t.Errorf("%s: a %s cannot be read", path, typ)
		}
	}
	for kind, typ := range schemaTypes {
		walk(typ, kind)
	}
}
