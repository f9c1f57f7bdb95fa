// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TimeFormat is how both dialects write a timestamp.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// field is what a tag says of one struct field.
type field struct {
	index           int
	name, out       string // in requests, in answers ("" for the dialect's spelling)
	required, flat  bool
	omitEmpty, keep bool
	embedded        bool
	item            string // element name of list items, "" for the dialect's
}

var fieldCache sync.Map // reflect.Type -> []field

func fields(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	var list []field
	for i := range t.NumField() {
		sf := t.Field(i)
		f := field{index: i, embedded: sf.Anonymous}
		tag := sf.Tag.Get("wire")
		if tag == "-" || (!sf.IsExported() && !sf.Anonymous) {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		f.name, f.out, _ = strings.Cut(name, "|")
		if f.name == "" {
			f.name = sf.Name
		} else if f.out == "" && f.name != sf.Name {
			f.out = f.name
		}
		for opt := range strings.SplitSeq(rest, ",") {
			switch {
			case opt == "required":
				f.required = true
			case opt == "flat":
				f.flat = true
			case opt == "keep":
				f.keep = true
			case opt == "omitempty":
				f.omitEmpty = true
			case strings.HasPrefix(opt, "item="):
				f.item = strings.TrimPrefix(opt, "item=")
			}
		}
		list = append(list, f)
	}
	fieldCache.Store(t, list)
	return list
}

// Encode writes the members of the struct out as XML elements. Names come from
// the tag `wire:"name"` or `wire:"request|answer"`, else from the Go name, with
// a small first letter in the EC2 dialect. Nil pointers, zero times and empty
// strings are left out; booleans, numbers and lists always stand, unless tagged
// omitempty; keep lets an empty string stand too. Option item=NAME names list
// items; flat repeats the element itself.
func Encode(d Dialect, buf *bytes.Buffer, out any) {
	v := reflect.ValueOf(out)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	encodeStruct(d, buf, v)
}

func encodeStruct(d Dialect, buf *bytes.Buffer, v reflect.Value) {
	for _, f := range fields(v.Type()) {
		fv := v.Field(f.index)
		if f.embedded {
			encodeStruct(d, buf, fv)
			continue
		}
		name := f.out
		if name == "" {
			name = f.name
			if d == EC2 {
				name = strings.ToLower(name[:1]) + name[1:]
			}
		}
		encodeField(d, buf, name, fv, f)
	}
}

func encodeField(d Dialect, buf *bytes.Buffer, name string, v reflect.Value, f field) {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			encodeField(d, buf, name, v.Elem(), field{item: f.item, flat: f.flat, index: -1})
		}
	case v.Type() == bytesType:
		if v.Len() > 0 {
			element(buf, name, base64.StdEncoding.EncodeToString(v.Bytes()))
		}
	case v.Type() == timeType:
		if t := v.Interface().(time.Time); !t.IsZero() {
			element(buf, name, t.UTC().Format(TimeFormat))
		}
	case v.Kind() == reflect.Slice:
		encodeList(d, buf, name, v, f)
	case v.Kind() == reflect.Map:
		encodeMap(buf, name, v)
	case v.Kind() == reflect.Struct:
		if f.omitEmpty && v.IsZero() {
			return
		}
		buf.WriteString("<" + name + ">")
		encodeStruct(d, buf, v)
		buf.WriteString("</" + name + ">")
	case v.IsZero() && !f.keep && (f.omitEmpty || (v.Kind() == reflect.String && f.index != -1)):
	default:
		element(buf, name, scalar(v))
	}
}

func encodeList(d Dialect, buf *bytes.Buffer, name string, v reflect.Value, f field) {
	if v.Len() == 0 && f.omitEmpty {
		return
	}
	item := f.item
	if item == "" {
		item = "item"
		if d == Query {
			item = "member"
		}
	}
	if f.flat {
		item = name
	} else {
		buf.WriteString("<" + name + ">")
	}
	for i := range v.Len() {
		encodeField(d, buf, item, v.Index(i), field{index: -1})
	}
	if !f.flat {
		buf.WriteString("</" + name + ">")
	}
}

func encodeMap(buf *bytes.Buffer, name string, v reflect.Value) {
	m := v.Interface().(map[string]string)
	buf.WriteString("<" + name + ">")
	for _, k := range sortedKeys(m) {
		buf.WriteString("<entry>")
		element(buf, "key", k)
		element(buf, "value", m[k])
		buf.WriteString("</entry>")
	}
	buf.WriteString("</" + name + ">")
}

func scalar(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return v.String()
}

func element(buf *bytes.Buffer, name, text string) {
	buf.WriteString("<" + name + ">")
	_ = xml.EscapeText(buf, []byte(text)) // a bytes.Buffer does not fail
	buf.WriteString("</" + name + ">")
}
