// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// decoder sets typed values from generic ones (map[string]any, []any, string, bool,
// json.Number, nil) and gathers every fault instead of stopping at the first.
type decoder struct {
	object string // "instancegroup/nodes " before each path; empty for the cluster
	faults Faults
}

func (d *decoder) fault(path, value, format string, args ...any) {
	d.faults = append(d.faults, Fault{Path: d.object + path, Value: value, Message: fmt.Sprintf(format, args...)})
}

// decode sets dst, which must be settable, from src.
func (d *decoder) decode(dst reflect.Value, src any, path string) {
	if src == nil {
		if dst.Kind() == reflect.Pointer && dst.Type().Elem() == emptyStruct {
			d.fault(path, "", "has no value; to choose it write {}")
		}
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		elem := reflect.New(dst.Type().Elem())
		d.decode(elem.Elem(), src, path)
		dst.Set(elem)
	case reflect.Struct:
		d.decodeStruct(dst, src, path)
	case reflect.Slice:
		d.decodeSlice(dst, src, path)
	case reflect.Map:
		d.decodeMap(dst, src, path)
	default:
		d.decodeScalar(dst, src, path)
	}
}

func (d *decoder) decodeStruct(dst reflect.Value, src any, path string) {
	m, ok := src.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", src)
		return
	}
	for _, key := range sortedKeys(m) {
		f, ok := fieldByName(dst.Type(), key)
		if !ok {
			d.fault(join(path, key), "", "unknown field%s", didYouMean(key, fieldNames(dst.Type())))
			continue
		}
		value := m[key]
		if n, isNumber := value.(json.Number); isNumber && f.number {
			value = n.String()
		}
		d.decode(dst.Field(f.index), value, join(path, key))
	}
}

func (d *decoder) decodeSlice(dst reflect.Value, src any, path string) {
	list, ok := src.([]any)
	if !ok {
		d.wrongType(path, "a list", src)
		return
	}
	if len(list) == 0 {
		return // as if not given, so that what is written reads back the same
	}
	out := reflect.MakeSlice(dst.Type(), len(list), len(list))
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item == nil {
			d.fault(at, "", "is empty")
			continue
		}
		d.decode(out.Index(i), item, at)
	}
	dst.Set(out)
}

func (d *decoder) decodeMap(dst reflect.Value, src any, path string) {
	m, ok := src.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", src)
		return
	}
	if len(m) == 0 {
		return
	}
	out := reflect.MakeMapWithSize(dst.Type(), len(m))
	for _, key := range sortedKeys(m) {
		if bad := badKey(key); bad != "" {
			d.fault(path, "", "%s", bad)
			continue
		}
		elem := reflect.New(dst.Type().Elem()).Elem()
		d.decode(elem, m[key], join(path, key))
		out.SetMapIndex(reflect.ValueOf(key), elem)
	}
	dst.Set(out)
}

func (d *decoder) decodeScalar(dst reflect.Value, src any, path string) {
	switch dst.Kind() {
	case reflect.String:
		s, ok := src.(string)
		if !ok {
			d.wrongType(path, "a string", src)
			return
		}
		if bad := unprintable(s); bad != "" {
			d.fault(path, "", "holds the character %s, which YAML cannot carry", bad)
			return
		}
		dst.SetString(s)
	case reflect.Bool:
		b, ok := src.(bool)
		if !ok {
			d.wrongType(path, "true or false", src)
			return
		}
		dst.SetBool(b)
	case reflect.Int32:
		n, ok := src.(json.Number)
		if !ok {
			d.wrongType(path, "a whole number", src)
			return
		}
		i, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil || i > math.MaxInt32 || i < math.MinInt32 {
			d.fault(path, n.String(), "must be a whole number between %d and %d", math.MinInt32, math.MaxInt32)
			return
		}
		dst.SetInt(i)
	default:
		// A field of another kind is a mistake in this package; the test of all
		// types finds it.
		d.fault(path, "", "cannot be read into %s", dst.Type())
	}
}

// wrongType says what is wanted and what stands there instead.
func (d *decoder) wrongType(path, want string, got any) {
	hint := ""
	if want == "a string" {
		switch got.(type) {
		case bool, json.Number:
			hint = ": put it in quotes"
		}
	}
	d.fault(path, "", "must be %s, is %s%s", want, typeName(got), hint)
}

// typeName names the type of a generic value as its writer would.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// join adds a key to a path; a key that would be taken for several stands in brackets.
func join(path, key string) string {
	if strings.ContainsAny(key, ".[]/ ") {
		return path + "[" + key + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// unprintable returns the first character that YAML does not carry unchanged, or "".
func unprintable(s string) string {
	for _, r := range s {
		switch {
		case r == 0x2028, r == 0x2029: // line breaks to YAML 1.1
			return fmt.Sprintf("%U", r)
		case r == '\t', r == '\n', r == '\r',
			r >= 0x20 && r <= 0x7e, r >= 0xa0 && r <= 0xfffd && r != 0xfeff, r >= 0x10000:
		default:
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// badKey says what is wrong with the key of a map, or "".
func badKey(key string) string {
	if key == "<<" {
		return "a key is <<, which YAML takes for an instruction"
	}
	if bad := unprintable(key); bad != "" {
		return "a key holds the character " + bad + ", which YAML cannot carry"
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
