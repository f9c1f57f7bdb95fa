// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// DecodeJSON fills the struct that in points to, by the same field tags as
// Decode. Names are matched to the letter; a member without a field is refused,
// and so is a required one not given; null counts as not given.
func DecodeJSON(raw []byte, in any) *Error {
	var doc any = map[string]any{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			return Errorf("SerializationException", "The document is no JSON: %v", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return Errorf("SerializationException", "Text follows the document")
		}
	}
	return jsonStruct("", doc, reflect.ValueOf(in).Elem())
}

func serialization(path, kind string) *Error {
	return Errorf("SerializationException", "The member %s must be %s", path, kind)
}

// memberName is how messages write a member: its first letter small.
func memberName(path, name string) string {
	small := strings.ToLower(name[:1]) + name[1:]
	if path == "" {
		return small
	}
	return path + "." + small
}

func jsonStruct(path string, doc any, v reflect.Value) *Error {
	members, ok := doc.(map[string]any)
	if !ok {
		return serialization(path, "an object")
	}
	known := map[string]bool{}
	for _, f := range fields(v.Type()) {
		known[f.name] = true
		full, member := memberName(path, f.name), members[f.name]
		if member == nil {
			if f.required {
				return Errorf("ValidationException", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", full)
			}
			continue
		}
		if err := jsonValue(full, member, v.Field(f.index)); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(members) {
		if !known[name] {
			return Errorf("ValidationException", "The member %s is not recognized", memberName(path, name))
		}
	}
	return nil
}

func jsonValue(path string, doc any, v reflect.Value) *Error {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return jsonValue(path, doc, v.Elem())
	case v.Type() == bytesType:
		return jsonBytes(path, doc, v)
	case v.Kind() == reflect.Struct:
		return jsonStruct(path, doc, v)
	case v.Kind() == reflect.Slice:
		items, ok := doc.([]any)
		if !ok {
			return serialization(path, "a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			if err := jsonValue(path+"."+strconv.Itoa(i+1), item, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Map:
		return jsonMap(path, doc, v)
	}
	return jsonScalar(path, doc, v)
}

func jsonBytes(path string, doc any, v reflect.Value) *Error {
	s, ok := doc.(string)
	raw, err := base64.StdEncoding.DecodeString(s)
	if !ok || err != nil {
		return serialization(path, "base64")
	}
	v.SetBytes(raw)
	return nil
}

func jsonMap(path string, doc any, v reflect.Value) *Error {
	members, ok := doc.(map[string]any)
	if !ok {
		return serialization(path, "an object")
	}
	out := make(map[string]string, len(members))
	for k, member := range members {
		s, ok := member.(string)
		if !ok {
			return serialization(path+"."+k, "a string")
		}
		out[k] = s
	}
	v.Set(reflect.ValueOf(out))
	return nil
}

func jsonScalar(path string, doc any, v reflect.Value) *Error {
	switch {
	case v.Kind() == reflect.String:
		s, ok := doc.(string)
		if !ok {
			return serialization(path, "a string")
		}
		v.SetString(s)
	case v.Kind() == reflect.Bool:
		b, ok := doc.(bool)
		if !ok {
			return serialization(path, "a boolean")
		}
		v.SetBool(b)
	case v.CanInt():
		n, ok := doc.(json.Number)
		i, err := n.Int64()
		if !ok || err != nil || v.OverflowInt(i) {
			return serialization(path, "an integer")
		}
		v.SetInt(i)
	default:
		return serialization(path, "something else than "+v.Kind().String())
	}
	return nil
}

// EncodeJSON writes the struct out as a JSON object. What Encode leaves out,
// this leaves out too; times are seconds since 1970, bytes base64.
func EncodeJSON(out any) ([]byte, error) {
	v := reflect.ValueOf(out)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return json.Marshal(jsonMembers(v))
}

func jsonMembers(v reflect.Value) map[string]any {
	members := map[string]any{}
	for _, f := range fields(v.Type()) {
		fv := v.Field(f.index)
		if f.embedded {
			for k, member := range jsonMembers(fv) {
				members[k] = member
			}
			continue
		}
		if skipped(fv, f) {
			continue
		}
		members[f.name] = jsonOut(fv)
	}
	return members
}

func skipped(v reflect.Value, f field) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0 && (f.omitEmpty || v.Type() == bytesType)
	}
	never := v.Kind() == reflect.Pointer || v.Type() == timeType || v.Kind() == reflect.String
	return v.IsZero() && !f.keep && (f.omitEmpty || never)
}

func jsonOut(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer:
		return jsonOut(v.Elem())
	case v.Type() == timeType:
		t := v.Interface().(time.Time)
		return json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64))
	case v.Type() == bytesType:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case v.Kind() == reflect.Struct:
		return jsonMembers(v)
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = jsonOut(v.Index(i))
		}
		return list
	}
	return v.Interface()
}
