// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The forms of what a cloud invents.
var (
	token    = regexp.MustCompile(`[A-Za-z0-9:/._-]+`)
	invented = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,17}|\bZ[A-Z0-9]{15,}\b|ns-\d+\.awsdns-\d+\.[a-z.]+`)
	// Every cluster has an authority of its own.
	certificate = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----`)

	address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`)
)

// rounds is how far an object's neighbours count: from a machine's template over its
// security group to the network there are three steps.
const rounds = 4

// Canonical returns a world without the names that a cloud invents: two worlds have the
// same one when there is a one-to-one relation of their objects under which all content
// and all references are equal, as far as a few steps of references can tell. Volatile
// are the JSON fields that do not count.
func Canonical(objects map[string]string, volatile []string) []string {
	labels := map[string]string{} // of ids, finer with each round
	content := map[string]any{}
	for key, text := range objects {
		kind, id, _ := strings.Cut(key, " ")
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			v = text
		}
		content[key] = strip(v, volatile)
		if labels[id] == "" || kind < labels[id] {
			labels[id] = kind
		}
	}
	named := map[string]string{}
	for range rounds {
		next := map[string][]string{}
		for key, v := range content {
			kind, id, _ := strings.Cut(key, " ")
			named[key] = kind + " " + digest(render(v, labels))
			next[id] = append(next[id], named[key])
		}
		for id, of := range next {
			slices.Sort(of)
			labels[id] = digest(strings.Join(of, ";"))
		}
	}
	var out []string
	for key, name := range named {
		out = append(out, name+" "+render(content[key], nil))
	}
	slices.Sort(out)
	return out
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// strip takes volatile fields out of an object, and what is not set.
func strip(v any, volatile []string) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			switch text, isText := e.(string); {
			case slices.Contains(volatile, k) || e == nil:
				delete(t, k)
			case k == "UserData" && isText:
				if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
					t[k] = certificate.ReplaceAllString(address.ReplaceAllString(string(plain), "ADDRESS"), "CERTIFICATE")
				}
			default:
				t[k] = strip(e, volatile)
			}
		}
	case []any:
		for i, e := range t {
			t[i] = strip(e, volatile)
		}
	}
	return v
}

// render writes a value with labels in the place of ids, keys and lists in an order.
func render(v any, labels map[string]string) string {
	switch t := v.(type) {
	case map[string]any:
		var parts []string
		for k, e := range t {
			parts = append(parts, k+": "+render(e, labels))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range t {
			parts = append(parts, render(e, labels))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		words := strings.Split(t, ",") // a list of ids in one field
		for i, w := range words {
			words[i] = token.ReplaceAllStringFunc(w, func(word string) string {
				if label, known := labels[word]; known {
					return "<" + label + ">"
				}
				return invented.ReplaceAllString(word, "#")
			})
		}
		slices.Sort(words)
		return strings.Join(words, ",")
	default:
		return fmt.Sprint(t)
	}
}
