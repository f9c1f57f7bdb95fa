// SPDX-License-Identifier: Apache-2.0

// Package kops reads manifests of kops.k8s.io/v1alpha2 and v1alpha3 and turns them into
// ours; commands that read a file use it.
//
// Every field is converted, left out with a warning that says why it is not needed, or
// refused with its path. None is dropped in silence.
package kops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// Group is the API group of the manifests; its versions are v1alpha2 and v1alpha3.
const Group = "kops.k8s.io/"

// Is reports whether a file holds a manifest of that group.
func Is(data []byte) bool {
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("apiVersion:")); ok &&
			bytes.HasPrefix(bytes.Trim(bytes.TrimSpace(rest), `"'`), []byte(Group)) {
			return true
		}
	}
	return false
}

// Convert turns the documents of a file into ours, as YAML that api.Load reads. The
// faults are those of the file, with paths in its own words; warnings among them name
// what is left out. With other faults there is no YAML.
func Convert(data []byte, source string) ([]byte, api.Faults, error) {
	docs, err := documents(data, source)
	if err != nil {
		return nil, nil, err
	}
	c := &converter{}
	for _, d := range docs {
		c.document(d)
	}
	if err := c.faults.Err(); err != nil {
		return nil, c.faults, err
	}
	var out bytes.Buffer
	for i, d := range c.out {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := sigsyaml.Marshal(d)
		if err != nil {
			return nil, c.faults, fmt.Errorf("convert %s: %w", source, err)
		}
		out.Write(text)
	}
	return out.Bytes(), c.faults, nil
}

func documents(data []byte, source string) ([]map[string]any, error) {
	var out []map[string]any
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", source, err)
		}
		if len(doc) > 0 {
			out = append(out, doc)
		}
	}
}

// converter collects what documents become.
type converter struct {
	cluster string // the cluster's name, for documents that name none
	out     []map[string]any
	faults  api.Faults
}

func (c *converter) fault(path string, value any, format string, args ...any) {
	c.faults = append(c.faults, api.Fault{Path: path, Value: short(value), Message: fmt.Sprintf(format, args...)})
}

func (c *converter) warn(path, why string) {
	c.faults = append(c.faults, api.Fault{Path: path, Message: "is left out: " + why, Warning: true})
}

func short(v any) string {
	switch t := v.(type) {
	case nil:
		return ""
	case map[string]any, []any:
		return ""
	default:
		return fmt.Sprint(t)
	}
}

func (c *converter) document(d map[string]any) {
	version, _ := d["apiVersion"].(string)
	kind, _ := d["kind"].(string)
	metadata, _ := d["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	spec, _ := d["spec"].(map[string]any)
	where := strings.ToLower(kind) + "/" + name + " "
	v, isKops := strings.CutPrefix(version, Group)
	switch {
	case !isKops:
		c.fault(where+"apiVersion", version, "other objects beside a cluster's manifests are not supported yet: keep them in a file of their own, and apply it with kubectl")
	case v != "v1alpha2" && v != "v1alpha3":
		c.fault(where+"apiVersion", version, "is read as v1alpha2 or v1alpha3")
	case kind == "Cluster":
		c.cluster = name
		c.convert(d, where, clusterRules(v), name, spec)
	case kind == "InstanceGroup":
		c.convert(d, where, groupRules(v), name, spec)
	case kind == "SSHCredential":
		c.credential(where, name, metadata, spec)
	default:
		c.fault(where+"kind", kind, "is Cluster, InstanceGroup or SSHCredential")
	}
}

// convert turns a spec into one of ours by a set of rules.
func (c *converter) convert(d map[string]any, where string, rules rules, name string, spec map[string]any) {
	w := &walk{converter: c, rules: rules, where: where + "spec.", out: map[string]any{}}
	w.node("", spec, nil)
	for _, finish := range rules.finish {
		finish(w, spec)
	}
	metadata := map[string]any{"name": name}
	if cluster := labelled(d); cluster != "" {
		metadata["labels"] = map[string]any{"slipway.dev/cluster": cluster}
	}
	c.out = append(c.out, map[string]any{"apiVersion": "slipway.dev/v1", "kind": d["kind"], "metadata": metadata, "spec": w.out})
}

// labelled is the cluster that a group's label names.
func labelled(d map[string]any) string {
	metadata, _ := d["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	cluster, _ := labels["kops.k8s.io/cluster"].(string)
	return cluster
}

func (c *converter) credential(where, name string, metadata, spec map[string]any) {
	key, _ := spec["publicKey"].(string)
	if key == "" {
		c.fault(where+"spec.publicKey", "", "is missing")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(spec)) {
		if k != "publicKey" {
			c.fault(where+"spec."+k, spec[k], "is not a field of an SSHCredential")
		}
	}
	out := map[string]any{"name": name}
	if cluster := labelled(map[string]any{"metadata": metadata}); cluster != "" {
		out["labels"] = map[string]any{"slipway.dev/cluster": cluster}
	}
	c.out = append(c.out, map[string]any{"apiVersion": "slipway.dev/v1", "kind": "SSHPublicKey", "metadata": out, "spec": map[string]any{"publicKey": key}})
}
