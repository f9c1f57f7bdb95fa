// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Load reads a manifest: YAML documents or JSON values, in any order. Reading is
// strict: unknown fields, wrong types, keys and names that stand twice and foreign
// versions are faults, and all faults of all documents are in the one *InvalidError.
// Source names the file or store object in that error. Objects of other API groups
// become Manifest.Objects. Cluster is nil when the file holds none.
func Load(data []byte, source string) (*Manifest, error) {
	docs, faults := parse(data)
	l := loader{m: &Manifest{}, seen: map[string]string{}}
	for _, doc := range docs {
		l.add(doc)
	}
	if faults = append(faults, l.faults...); len(faults) > 0 {
		return nil, &InvalidError{Source: source, Faults: faults}
	}
	return l.m, nil
}

// loader sorts documents into a manifest.
type loader struct {
	m      *Manifest
	seen   map[string]string // kind and name -> where
	faults Faults
}

func (l *loader) fault(path, value, format string, args ...any) {
	l.faults = append(l.faults, Fault{Path: path, Value: value, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) add(doc document) {
	obj, ok := doc.value.(map[string]any)
	if !ok {
		l.fault(doc.where(), "", "must be an object with apiVersion and kind, is %s", typeName(doc.value))
		return
	}
	version, okVersion := l.text(doc, obj, "apiVersion")
	kind, okKind := l.text(doc, obj, "kind")
	if !okVersion || !okKind {
		return
	}
	if !ours(version, kind) {
		l.addObject(doc, obj, version, kind)
		return
	}
	obj, faults := current(doc, obj, version)
	if len(faults) > 0 {
		l.faults = append(l.faults, faults...)
		return
	}
	l.addTyped(doc, obj, kind)
}

// text returns a key of the document that must be a string.
func (l *loader) text(doc document, obj map[string]any, key string) (string, bool) {
	v, present := obj[key]
	s, ok := v.(string)
	switch {
	case !present:
		hint := ""
		if n := nearest(key, sortedKeys(obj)); n != "" {
			hint = fmt.Sprintf(" (there is %s)", n)
		}
		l.fault(doc.where()+" "+key, "", "is missing%s", hint)
	case !ok:
		l.fault(doc.where()+" "+key, "", "must be a string, is %s", typeName(v))
	case s == "":
		l.fault(doc.where()+" "+key, "", "is empty")
	}
	return s, ok && s != ""
}

var kinds = []string{KindCluster, KindInstanceGroup, KindSSHPublicKey}

// ours says whether a document is meant for this package. A kind of ours in a foreign
// group that could be a real one (two words with a dot) is somebody else's object.
func ours(version, kind string) bool {
	group, _, _ := strings.Cut(version, "/")
	ourGroup, _, _ := strings.Cut(Version, "/")
	if group == ourGroup || group == "kops.k8s.io" {
		return true
	}
	return slices.Contains(kinds, kind) &&
		(!strings.Contains(group, ".") || distance(group, ourGroup, 4) < 4)
}

// current brings a document of ours to the current version. Versions that can be
// converted are told apart here.
func current(doc document, obj map[string]any, version string) (map[string]any, Faults) {
	switch version {
	case Version:
		return obj, nil
	default:
		return nil, Faults{{Path: doc.where() + " apiVersion", Value: version,
			Message: "this version cannot be read; write " + Version}}
	}
}

// addTyped decodes a document of the current version.
func (l *loader) addTyped(doc document, obj map[string]any, kind string) {
	if !slices.Contains(kinds, kind) {
		l.fault(doc.where()+" kind", kind, "is unknown%s", didYouMean(kind, kinds))
		return
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	object := doc.where() + " "
	if name != "" {
		object = objectPath(kind, name)
	}
	d := decoder{object: object}
	switch kind {
	case KindCluster:
		c := &Cluster{TypeMeta: TypeMeta{Version, kind}}
		d.document(reflect.ValueOf(c).Elem(), obj)
		if l.m.Cluster != nil {
			l.fault(doc.where(), name, "is a second cluster; a file holds one, cut it in two")
		}
		l.m.Cluster = c
	case KindInstanceGroup:
		g := &InstanceGroup{TypeMeta: TypeMeta{Version, kind}}
		d.document(reflect.ValueOf(g).Elem(), obj)
		l.m.Groups = append(l.m.Groups, g)
	case KindSSHPublicKey:
		k := &SSHPublicKey{TypeMeta: TypeMeta{Version, kind}}
		d.document(reflect.ValueOf(k).Elem(), obj)
		l.m.SSHKeys = append(l.m.SSHKeys, k)
	}
	l.faults = append(l.faults, d.faults...)
	l.once(doc, kind, name)
}

// document decodes all but apiVersion and kind, which the loader has read.
func (d *decoder) document(dst reflect.Value, obj map[string]any) {
	rest := make(map[string]any, len(obj))
	for k, v := range obj {
		if k != "apiVersion" && k != "kind" {
			rest[k] = v
		}
	}
	d.decodeStruct(dst, rest, "")
}

// once notes the name of an object and faults a missing or a second one.
func (l *loader) once(doc document, kind, name string) {
	if name == "" {
		l.fault(doc.where()+" metadata.name", "", "is missing")
		return
	}
	key := strings.ToLower(kind) + "/" + name
	if first, twice := l.seen[key]; twice && kind != KindCluster {
		l.fault(doc.where(), name, "%s is already in %s; names are unique", key, first)
	}
	l.seen[key] = doc.where()
}

// addObject keeps a Kubernetes object of another group.
func (l *loader) addObject(doc document, obj map[string]any, version, kind string) {
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if n := nearest(kind, kinds); n != "" && !knownGroup(version) {
		l.fault(doc.where()+" kind", kind, "is unknown; did you mean %s of %s?", n, Version)
		return
	}
	d := decoder{object: doc.where() + " "}
	plain, _ := d.plain(obj, "").(map[string]any)
	l.faults = append(l.faults, d.faults...)
	l.m.Objects = append(l.m.Objects, plain)
	l.once(doc, version+"/"+kind+"/"+namespace, name)
}

// knownGroup says whether a group can be one of Kubernetes: the core ("v1"), one of
// its few without a dot, or any with a dot.
func knownGroup(version string) bool {
	group, _, hasGroup := strings.Cut(version, "/")
	return !hasGroup || strings.Contains(group, ".") ||
		slices.Contains([]string{"apps", "autoscaling", "batch", "policy", "extensions"}, group)
}

// plain turns json.Number into int64 or float64, as other readers of raw objects do.
func (d *decoder) plain(v any, path string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			if bad := badKey(k); bad != "" {
				d.fault(path, "", "%s", bad)
			}
			out[k] = d.plain(v[k], join(path, k))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.plain(v[i], fmt.Sprintf("%s[%d]", path, i))
		}
		return out
	case string:
		if bad := unprintable(v); bad != "" {
			d.fault(path, "", "holds the character %s, which YAML cannot carry", bad)
		}
		return v
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			d.fault(path, v.String(), "is not a number that can be held")
		}
		return f
	default:
		return v
	}
}

// objectPath is what stands before the path of a fault in an object of that name. The
// cluster's own paths stand alone.
func objectPath(kind, name string) string {
	if kind == KindCluster {
		return ""
	}
	return strings.ToLower(kind) + "/" + name + " "
}
