// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"fmt"
	"slices"
	"strings"
)

// normalise writes a domain name as Route 53 keeps it: small letters, a dot at
// the end, and unusual characters, the asterisk among them, as \ooo.
func normalise(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 255 {
		return "", fmt.Errorf("a name has 1 to 255 characters")
	}
	var out strings.Builder
	for _, label := range strings.Split(name, ".") {
		raw, err := unescape(label)
		if err != nil {
			return "", err
		}
		if len(raw) == 0 || len(raw) > 63 {
			return "", fmt.Errorf("a label has 1 to 63 characters")
		}
		for _, c := range []byte(strings.ToLower(string(raw))) {
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
				out.WriteByte(c)
			} else {
				fmt.Fprintf(&out, `\%03o`, c)
			}
		}
		out.WriteByte('.')
	}
	return out.String(), nil
}

func unescape(label string) ([]byte, error) {
	var out []byte
	for i := 0; i < len(label); i++ {
		if label[i] != '\\' {
			out = append(out, label[i])
			continue
		}
		if i+3 >= len(label) {
			return nil, fmt.Errorf("an escape has the form \\ooo")
		}
		n := 0
		for _, c := range label[i+1 : i+4] {
			if c < '0' || c > '7' {
				return nil, fmt.Errorf("an escape has the form \\ooo")
			}
			n = n*8 + int(c-'0')
		}
		if n > 255 {
			return nil, fmt.Errorf("an escape has the form \\ooo")
		}
		out, i = append(out, byte(n)), i+3
	}
	return out, nil
}

// reversed is a name's sort key: its labels from the right.
func reversed(name string) string {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "."
}

// within tells whether a name is a zone's or below it.
func within(name, zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) }
