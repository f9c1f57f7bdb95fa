// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// printManifest writes a manifest as YAML documents or as one JSON list.
func printManifest(w io.Writer, m *api.Manifest, form string) error {
	data, err := api.Marshal(m)
	if err != nil {
		return err
	}
	return printDocuments(w, data, form)
}

// printDocuments writes YAML documents in the form that --output asks for.
func printDocuments(w io.Writer, data []byte, form string) error {
	switch form {
	case "yaml":
		_, err := w.Write(bytes.TrimSuffix(data, []byte("\n---\n")))
		return err
	case "json":
		return printJSON(w, data)
	default:
		return &usageError{fmt.Errorf("--output is %q; it takes yaml or json", form)}
	}
}

// printJSON turns YAML documents into one JSON object, or a list of several.
func printJSON(w io.Writer, documents []byte) error {
	var all []json.RawMessage
	for doc := range bytes.SplitSeq(documents, []byte("\n---\n")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		j, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return fmt.Errorf("print the manifest: %w", err)
		}
		all = append(all, j)
	}
	var out any = all
	if len(all) == 1 {
		out = all[0]
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// groupDocument picks one instance group of a manifest as the text to edit.
func groupDocument(group string) func(*api.Manifest) *api.Manifest {
	return func(m *api.Manifest) *api.Manifest {
		return &api.Manifest{Groups: []*api.InstanceGroup{m.Group(group)}}
	}
}

// clusterDocument picks the Cluster of a manifest as the text to edit.
func clusterDocument(m *api.Manifest) *api.Manifest { return &api.Manifest{Cluster: m.Cluster} }
