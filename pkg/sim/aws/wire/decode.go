// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Dialect is one of the two query protocols.
type Dialect int

// EC2 flattens lists in requests and names list items "item" in answers; Query
// is the protocol of the others ("member", a Result element).
const (
	EC2 Dialect = iota
	Query
)

// node is the tree that dotted parameter names spell.
type node struct {
	name  string // full name, for messages
	value *string
	kids  map[string]*node
}

func tree(params url.Values) (*node, *Error) {
	root := &node{}
	for name, values := range params {
		if len(values) != 1 {
			return nil, Errorf("InvalidParameterValue", "The parameter %s is given %d times", name, len(values))
		}
		n := root
		for part := range strings.SplitSeq(name, ".") {
			if n.kids == nil {
				n.kids = map[string]*node{}
			}
			kid := n.kids[part]
			if kid == nil {
				full := part
				if n.name != "" {
					full = n.name + "." + part
				}
				kid = &node{name: full}
				n.kids[part] = kid
			}
			n = kid
		}
		n.value = &values[0]
	}
	return root, nil
}

// Decode fills the struct that in points to. Fields are named by their tag
// `wire:"Name,required"`, else by their Go name. Strings, booleans, integers,
// times, []byte (base64), structs, pointers, lists and string maps are known;
// a parameter without a field is refused, and so is a required one not given.
// Tag options: required; flat (a list without ".member" in the query dialect).
func Decode(d Dialect, params url.Values, in any) *Error {
	root, err := tree(params)
	if err != nil {
		return err
	}
	return decodeStruct(d, root, reflect.ValueOf(in).Elem())
}

func decodeStruct(d Dialect, n *node, v reflect.Value) *Error {
	if n.value != nil {
		return Errorf("InvalidParameterValue", "The parameter %s takes members, not a value", n.name)
	}
	known := map[string]bool{}
	if err := decodeFields(d, n, v, known); err != nil {
		return err
	}
	for _, name := range sortedKeys(n.kids) {
		if !known[name] {
			return Errorf("UnknownParameter", "The parameter %s is not recognized", n.kids[name].name)
		}
	}
	return nil
}

func decodeFields(d Dialect, n *node, v reflect.Value, known map[string]bool) *Error {
	for _, f := range fields(v.Type()) {
		if f.embedded {
			if err := decodeFields(d, n, v.Field(f.index), known); err != nil {
				return err
			}
			continue
		}
		known[f.name] = true
		kid := n.kids[f.name]
		if kid == nil {
			if f.required {
				full := f.name
				if n.name != "" {
					full = n.name + "." + f.name
				}
				return Errorf("MissingParameter", "The request must contain the parameter %s", full)
			}
			continue
		}
		if err := decodeValue(d, kid, v.Field(f.index), f); err != nil {
			return err
		}
	}
	return nil
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

func decodeValue(d Dialect, n *node, v reflect.Value, f field) *Error {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(d, n, v.Elem(), f)
	case v.Type() == timeType, v.Type() == bytesType:
		return decodeScalar(n, v)
	case v.Kind() == reflect.Struct:
		return decodeStruct(d, n, v)
	case v.Kind() == reflect.Slice:
		return decodeList(d, n, v, f)
	case v.Kind() == reflect.Map:
		return decodeMap(n, v)
	}
	return decodeScalar(n, v)
}

func decodeScalar(n *node, v reflect.Value) *Error {
	if n.value == nil || n.kids != nil {
		return Errorf("InvalidParameterValue", "The parameter %s takes a value, not members", n.name)
	}
	s := *n.value
	bad := func(kind string) *Error {
		return Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be %s", s, n.name, kind)
	}
	switch {
	case v.Type() == timeType:
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return bad("a timestamp")
		}
		v.Set(reflect.ValueOf(t.UTC()))
	case v.Type() == bytesType:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return bad("base64")
		}
		v.SetBytes(b)
	case v.Kind() == reflect.String:
		v.SetString(s)
	case v.Kind() == reflect.Bool:
		if s != "true" && s != "false" {
			return bad("a boolean")
		}
		v.SetBool(s == "true")
	case v.CanInt():
		i, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return bad("an integer")
		}
		v.SetInt(i)
	case v.CanFloat():
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return bad("a number")
		}
		v.SetFloat(x)
	}
	return nil
}

func decodeList(d Dialect, n *node, v reflect.Value, f field) *Error {
	if n.value != nil {
		if *n.value == "" && n.kids == nil { // how SDKs send an empty list
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return nil
		}
		return Errorf("InvalidParameterValue", "The parameter %s is a list", n.name)
	}
	if d == Query && !f.flat {
		for name := range n.kids {
			if name != "member" {
				return Errorf("UnknownParameter", "The parameter %s is not recognized", n.kids[name].name)
			}
		}
		n = n.kids["member"]
		if n.value != nil {
			return Errorf("InvalidParameterValue", "The parameter %s is a list", n.name)
		}
	}
	indexes := make([]int, 0, len(n.kids))
	for name := range n.kids {
		i, err := strconv.Atoi(name)
		if err != nil || i < 1 || strconv.Itoa(i) != name {
			return Errorf("UnknownParameter", "The parameter %s is not recognized", n.kids[name].name)
		}
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	list := reflect.MakeSlice(v.Type(), len(indexes), len(indexes))
	for pos, i := range indexes {
		if err := decodeValue(d, n.kids[strconv.Itoa(i)], list.Index(pos), field{}); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func decodeMap(n *node, v reflect.Value) *Error {
	out := map[string]string{}
	if entries := n.kids["entry"]; entries != nil {
		for _, e := range entries.kids {
			k, val := e.kids["key"], e.kids["value"]
			if k == nil || k.value == nil || val == nil || val.value == nil {
				return Errorf("MissingParameter", "%s must have a key and a value", e.name)
			}
			out[*k.value] = *val.value
		}
	}
	v.Set(reflect.ValueOf(out))
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
