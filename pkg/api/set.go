// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Set gives one field of the cluster (object "cluster") or of the group of that name a
// value, typed by the field: lists as "a,b", anything as JSON. The path may start with
// "spec."; an item of a list is chosen by [index], by [name] or, for all, by [*], and
// [length] appends; a key of a map follows a dot or stands in brackets. On an error,
// an *InvalidError, nothing is changed.
func Set(m *Manifest, object, path, value string) error {
	return edit(m, object, path, &value)
}

// Unset takes away one field, list item or map key, in the same words as Set. To take
// away what is not set is no error.
func Unset(m *Manifest, object, path string) error {
	return edit(m, object, path, nil)
}

// edit changes a copy and puts it in place when all went well; nil unsets.
func edit(m *Manifest, object, path string, value *string) error {
	if object == "cluster" && m.Cluster != nil {
		c, err := clone(m.Cluster)
		if err == nil {
			err = editObject(reflect.ValueOf(c).Elem(), "", path, value)
		}
		if err == nil {
			*m.Cluster = *c
		}
		return err
	}
	g := m.Group(object)
	if g == nil {
		names := []string{"cluster"}
		for _, g := range m.Groups {
			names = append(names, g.Metadata.Name)
		}
		return &InvalidError{Faults: Faults{{Path: "object", Value: object, Message: "is neither the cluster nor a group" + didYouMean(object, names)}}}
	}
	c, err := clone(g)
	if err == nil {
		err = editObject(reflect.ValueOf(c).Elem(), objectPath(KindInstanceGroup, object), path, value)
	}
	if err == nil {
		*g = *c
	}
	return err
}

// editor walks a path through a value.
type editor struct {
	decoder
	value *string // nil unsets
}

func editObject(obj reflect.Value, object, path string, value *string) error {
	e := &editor{decoder: decoder{object: object}, value: value}
	steps, err := cutPath(path)
	if err != nil {
		return &InvalidError{Faults: Faults{{Path: object + path, Message: err.Error()}}}
	}
	switch steps[0].name {
	case "spec":
		e.walk(obj.FieldByName("Spec"), steps[1:], "spec")
	case "metadata":
		if len(steps) < 2 || steps[1].name != "labels" && steps[1].name != "annotations" {
			e.fault(path, "", "only metadata.labels and metadata.annotations can be changed")
			break
		}
		e.walk(obj.FieldByName("Metadata"), steps[1:], "metadata")
	default:
		e.walk(obj.FieldByName("Spec"), steps, "spec")
	}
	if len(e.faults) > 0 {
		return &InvalidError{Faults: e.faults}
	}
	return nil
}

// step is one part of a path: a name after a dot, or what stands in brackets.
type step struct {
	name    string
	bracket bool
}

func cutPath(path string) ([]step, error) {
	var steps []step
	for rest := path; rest != ""; {
		if rest[0] == '[' {
			name, after, ok := strings.Cut(rest[1:], "]")
			if !ok || name == "" {
				return nil, errors.New("a bracket is not closed or empty")
			}
			steps = append(steps, step{name, true})
			rest = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		switch {
		case end < 0:
			end = len(rest)
		case end == 0:
			return nil, errors.New("a name is missing between two dots")
		}
		steps = append(steps, step{rest[:end], false})
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	if len(steps) == 0 {
		return nil, errors.New("a path is needed, such as spec.kubernetesVersion")
	}
	return steps, nil
}

// walk follows the steps below v and changes what they end at.
func (e *editor) walk(v reflect.Value, steps []step, path string) {
	if len(steps) == 0 {
		e.change(v, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		e.walkPointer(v, steps, path)
	case reflect.Struct:
		f, ok := fieldByName(v.Type(), steps[0].name)
		if !ok || steps[0].bracket {
			e.fault(join(path, steps[0].name), "", "unknown field%s", didYouMean(steps[0].name, fieldNames(v.Type())))
			return
		}
		e.walk(v.Field(f.index), steps[1:], join(path, f.name))
	case reflect.Map:
		e.walkMap(v, steps, path)
	case reflect.Slice:
		e.walkSlice(v, steps, path)
	default:
		e.fault(path, "", "is a single value and has no %s in it", steps[0].name)
	}
}

func (e *editor) walkPointer(v reflect.Value, steps []step, path string) {
	if !v.IsNil() {
		e.walk(v.Elem(), steps, path)
		return
	}
	// What is below an absent object is made only when something is set there; the
	// path is judged all the same.
	fresh := reflect.New(v.Type().Elem())
	e.walk(fresh.Elem(), steps, path)
	if e.value != nil {
		v.Set(fresh)
	}
}

// walkMap takes the rest of the path as one key when the values are plain, so that
// keys with dots need no brackets.
func (e *editor) walkMap(v reflect.Value, steps []step, path string) {
	key, rest := steps[0].name, steps[1:]
	if kind := v.Type().Elem().Kind(); kind == reflect.String {
		for _, s := range rest {
			if s.bracket {
				e.fault(join(path, key), "", "is a single value and has no %s in it", s.name)
				return
			}
			key += "." + s.name
		}
		rest = nil
	}
	item := reflect.New(v.Type().Elem()).Elem()
	if old := v.MapIndex(reflect.ValueOf(key)); old.IsValid() {
		item.Set(old)
	}
	if e.value == nil && len(rest) == 0 {
		if !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf(key), reflect.Value{})
		}
		return
	}
	if bad := badKey(key); bad != "" {
		e.fault(path, "", "%s", bad)
		return
	}
	e.walk(item, rest, join(path, key))
	if e.value != nil && v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	if !v.IsNil() {
		v.SetMapIndex(reflect.ValueOf(key), item)
	}
}

func (e *editor) walkSlice(v reflect.Value, steps []step, path string) {
	name := steps[0].name
	if name == "*" && steps[0].bracket {
		if e.value == nil && len(steps) == 1 {
			v.SetZero()
			return
		}
		for i := range v.Len() {
			e.walk(v.Index(i), steps[1:], fmt.Sprintf("%s[%d]", path, i))
		}
		return
	}
	i, known := e.find(v, name)
	switch {
	case i < 0:
		e.fault(path+"["+name+"]", "", "no such item%s", didYouMean(name, known))
	case e.value == nil && i == v.Len():
		// Nothing stands there.
	case e.value == nil && len(steps) == 1:
		v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
	case i == v.Len():
		item := reflect.New(v.Type().Elem()).Elem()
		e.walk(item, steps[1:], fmt.Sprintf("%s[%d]", path, i))
		v.Set(reflect.Append(v, item))
	default:
		e.walk(v.Index(i), steps[1:], fmt.Sprintf("%s[%d]", path, i))
	}
}

// find returns the position of an item by index or name, the length for the place
// behind the last, or -1 and what is known.
func (e *editor) find(v reflect.Value, name string) (int, []string) {
	var known []string
	if v.Type().Elem().Kind() == reflect.Struct {
		if f, ok := fieldByName(v.Type().Elem(), "name"); ok {
			for i := range v.Len() {
				known = append(known, v.Index(i).Field(f.index).String())
			}
		}
	}
	if i := slices.Index(known, name); i >= 0 {
		return i, known
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i <= v.Len() {
		return i, known
	}
	if known == nil {
		known = []string{fmt.Sprintf("the indices 0 to %d", v.Len())}
	}
	return -1, known
}

// change sets or unsets the value that a path ends at.
func (e *editor) change(v reflect.Value, path string) {
	if e.value == nil {
		v.SetZero()
		return
	}
	text := *e.value
	target := v.Type()
	if target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	var src any
	switch target.Kind() {
	case reflect.String:
		src = text
	case reflect.Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			src = b
		} else {
			e.fault(path, text, "must be true or false")
			return
		}
	case reflect.Int32:
		src = json.Number(text)
	case reflect.Slice:
		src = listOf(text)
	default:
		if target == emptyStruct && text == "true" {
			text = "{}"
		}
		src = text
	}
	if s, ok := src.(string); ok && target.Kind() != reflect.String {
		parsed, err := jsonOf(s)
		if err != nil {
			example := "{}"
			if target.Kind() == reflect.Slice {
				example = `["a","b"], or a,b without brackets`
			}
			e.fault(path, s, "must be JSON here, such as %s: %v", example, err)
			return
		}
		src = parsed
	}
	v.SetZero()
	e.decode(v, src, path)
}

// listOf reads "a,b" or, when it starts with a bracket, JSON.
func listOf(text string) any {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return text
	}
	list := []any{}
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// jsonOf reads one JSON value and nothing after it.
func jsonOf(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	r := jsonReader{dec: dec}
	v, err := r.value("", 0)
	if err != nil {
		return nil, noEOF(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the value")
	}
	if err := r.faults.Err(); err != nil {
		return nil, err
	}
	return v, nil
}
