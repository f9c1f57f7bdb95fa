// SPDX-License-Identifier: Apache-2.0

package terraform

import "encoding/json"

// Kind names what a value is, for those who hold it against a schema.
func (v Value) Kind() string {
	switch v.kind {
	case kindNumber:
		return "number"
	case kindBool:
		return "bool"
	case kindList, kindNames:
		return "list"
	case kindMap:
		return "map"
	default:
		return "text"
	}
}

// Fits reports whether a value fits a type as provider schemas write it: "string", or
// ["set","string"]. A reference fits any type, text any simple one that it converts to.
func (v Value) Fits(schema string) bool {
	var simple string
	if json.Unmarshal([]byte(schema), &simple) == nil {
		switch v.Kind() {
		case "text":
			return simple == "string" || v.IsReference()
		case "number", "bool":
			return simple == v.Kind()
		}
		return false
	}
	var compound []json.RawMessage
	if json.Unmarshal([]byte(schema), &compound) != nil || len(compound) != 2 {
		return false
	}
	var outer string
	if json.Unmarshal(compound[0], &outer) != nil {
		return false
	}
	switch {
	case v.IsReference():
		return true
	case v.Kind() == "map":
		return outer == "map"
	case v.Kind() != "list" || outer != "list" && outer != "set":
		return false
	}
	for _, e := range v.list {
		if !e.Fits(string(compound[1])) {
			return false
		}
	}
	return true
}
