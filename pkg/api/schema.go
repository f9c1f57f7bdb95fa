// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// schemaTypes are the types behind the kinds, in the order of a manifest.
var schemaTypes = map[string]reflect.Type{
	KindCluster:       reflect.TypeFor[Cluster](),
	KindInstanceGroup: reflect.TypeFor[InstanceGroup](),
	KindSSHPublicKey:  reflect.TypeFor[SSHPublicKey](),
}

// enums are the values of closed types.
var enums = map[string][]string{
	"Topology":                    {string(TopologyPublic), string(TopologyPrivate)},
	"DNSMode":                     {string(DNSPublic), string(DNSPrivate), string(DNSNone)},
	"SubnetType":                  {string(SubnetPublic), string(SubnetPrivate), string(SubnetUtility)},
	"LoadBalancerType":            {string(LoadBalancerPublic), string(LoadBalancerInternal)},
	"Role":                        {string(RoleControlPlane), string(RoleNode), string(RoleBastion)},
	"InstanceMetadata.HTTPTokens": {"required", "optional"},
}

// choices are the types of which exactly one member is set.
var choices = map[string]bool{"CloudProvider": true, "CNI": true}

// Schema returns the JSON Schema (draft 2020-12) of a kind for editors, or with ""
// that of any kind. The schema knows less than Load and Validate: it is for completion
// and first mistakes.
func Schema(kind string) ([]byte, error) {
	s := schemas{defs: map[string]any{}}
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://slipway.dev/schemas/" + strings.ToLower(kindOr(kind, "manifest")) + ".json",
	}
	if kind == "" {
		var each []any
		for _, k := range kinds {
			each = append(each, s.kind(k))
		}
		root["title"], root["oneOf"] = "Slipway manifest", each
	} else {
		if schemaTypes[kind] == nil {
			return nil, &InvalidError{Faults: Faults{{Path: "kind", Value: kind, Message: "there is no schema of it" + didYouMean(kind, kinds)}}}
		}
		for k, v := range s.kind(kind) {
			root[k] = v
		}
	}
	root["$defs"] = s.defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(out, '\n'), nil
}

func kindOr(kind, otherwise string) string {
	if kind == "" {
		return otherwise
	}
	return kind
}

// schemas gathers the definitions of the types that a schema refers to.
type schemas struct{ defs map[string]any }

// kind is the schema of a whole object.
func (s schemas) kind(kind string) map[string]any {
	obj := s.object(schemaTypes[kind])
	obj["title"] = kind
	props := obj["properties"].(map[string]any)
	props["apiVersion"] = map[string]any{"const": Version}
	props["kind"] = map[string]any{"const": kind}
	obj["required"] = append([]string{"apiVersion", "kind"}, obj["required"].([]string)...)
	return obj
}

// object is the schema of a struct.
func (s schemas) object(t reflect.Type) map[string]any {
	props := map[string]any{}
	required := []string{}
	for _, f := range fieldsOf(t) {
		p := s.value(f.typ)
		if f.number {
			p = map[string]any{"type": []string{"string", "number"}}
		}
		if allowed := enums[f.doc]; allowed != nil {
			p["enum"] = allowed
		}
		if text := descriptions[f.doc]; text != "" {
			p["description"] = text
		}
		props[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	obj := map[string]any{"type": "object", "additionalProperties": false, "properties": props, "required": required}
	if choices[t.Name()] {
		obj["minProperties"], obj["maxProperties"] = 1, 1
	}
	if text := descriptions[t.Name()]; text != "" {
		obj["description"] = text
	}
	return obj
}

// value is the schema of a field's type; structs with names are referred to.
func (s schemas) value(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.String:
		if allowed := enums[t.Name()]; allowed != nil {
			return map[string]any{"type": "string", "enum": allowed}
		}
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32:
		return map[string]any{"type": "integer", "minimum": -1 << 31, "maximum": 1<<31 - 1}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.value(t.Elem())}
	}
	if t == emptyStruct {
		return map[string]any{"type": "object", "maxProperties": 0}
	}
	if s.defs[t.Name()] == nil {
		s.defs[t.Name()] = true // a type within itself ends here
		s.defs[t.Name()] = s.object(t)
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}
