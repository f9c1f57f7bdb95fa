// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Marshal writes a manifest as YAML documents: the cluster, its groups and keys in
// their order, then other objects; keys sorted. Equal manifests give equal bytes and
// Load reads them back to an equal manifest.
func Marshal(m *Manifest) ([]byte, error) {
	var out bytes.Buffer
	for _, obj := range m.documents() {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return nil, fmt.Errorf("write manifest: %w", err)
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// documents returns the objects of a manifest in canonical order.
func (m *Manifest) documents() []any {
	var out []any
	if m.Cluster != nil {
		out = append(out, m.Cluster)
	}
	for _, g := range m.Groups {
		out = append(out, g)
	}
	for _, k := range m.SSHKeys {
		out = append(out, k)
	}
	for _, o := range m.Objects {
		out = append(out, o)
	}
	return out
}

// clone returns a deep copy of a typed object.
func clone[T any](in *T) (*T, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("copy %T: %w", in, err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("copy %T: %w", in, err)
	}
	return out, nil
}
