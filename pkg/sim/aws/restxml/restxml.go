// SPDX-License-Identifier: Apache-2.0

// Package restxml reads request documents strictly for the simulated services that take XML bodies, S3 and Route 53.
package restxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Decode reads a document into the struct that out points to. Another root
// than the one named is an error, and so is an element that out has no field
// for: the standard decoder would drop it.
func Decode(raw []byte, out any, root string) error {
	if err := xml.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read %s: %w", root, err)
	}
	known, err := xml.Marshal(out)
	if err != nil {
		return fmt.Errorf("read %s: %w", root, err)
	}
	given, name, err := elements(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", root, err)
	}
	if name != root {
		return fmt.Errorf("the document is a %s, not a %s", name, root)
	}
	kept, _, err := elements(known)
	if err != nil {
		return fmt.Errorf("read %s: %w", root, err)
	}
	for path, n := range given {
		if kept[path] < n {
			return fmt.Errorf("unexpected element %s in %s", path, root)
		}
	}
	return nil
}

// elements counts the paths of a document's elements below its root.
func elements(raw []byte) (map[string]int, string, error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	out, root := map[string]int{}, ""
	var path []string
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, root, nil
		}
		if err != nil {
			return nil, "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if root == "" {
				root = t.Name.Local
				continue
			}
			path = append(path, t.Name.Local)
			out[strings.Join(path, "/")]++
		case xml.EndElement:
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
		}
	}
}
