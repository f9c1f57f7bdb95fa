// SPDX-License-Identifier: Apache-2.0

package nodeconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// ErrNewer says that a document was written by a newer tool than this one: the
// machine needs a newer agent.
var ErrNewer = errors.New("form is newer than this program")

// MaxSize is the largest document, in bytes, that Decode and DecodePointer read.
const MaxSize = 1 << 20

const family = "slipway.dev/node/v"

// Marshal returns a node config's one canonical form: YAML with sorted keys. Equal
// configs give equal bytes, so the digest of the bytes names the content.
func Marshal(c *Config) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("write node config of group %s: %w", c.Group, err)
	}
	b, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write node config of group %s: %w", c.Group, err)
	}
	return b, nil
}

// Decode reads a node config, strictly: an unknown or doubled field, a wrong type, a
// second document, a missing part and a newer form (ErrNewer) are errors.
func Decode(b []byte) (*Config, error) {
	c := &Config{}
	if err := decode(b, c); err != nil {
		return nil, fmt.Errorf("read node config: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("read node config: %w", err)
	}
	return c, nil
}

// MarshalPointer returns a pointer's one canonical form, as Marshal does.
func MarshalPointer(p *Pointer) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("write pointer of group %s: %w", p.Group, err)
	}
	b, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write pointer of group %s: %w", p.Group, err)
	}
	return b, nil
}

// DecodePointer reads a pointer as strictly as Decode.
func DecodePointer(b []byte) (*Pointer, error) {
	p := &Pointer{}
	if err := decode(b, p); err != nil {
		return nil, fmt.Errorf("read pointer: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("read pointer: %w", err)
	}
	return p, nil
}

// Digest returns the lower-case hexadecimal SHA-256 of a document.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Key returns where a node config of a group lies below the cluster's prefix of the
// store.
func Key(group, digest string) string { return "nodes/" + group + "/" + digest + ".yaml" }

func decode(b []byte, into any) error {
	if len(b) > MaxSize {
		return fmt.Errorf("it has %d bytes, at most %d are read", len(b), MaxSize)
	}
	if err := oneDocument(b); err != nil {
		return err
	}
	if err := checkVersion(b); err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(b, into); err != nil {
		return err
	}
	return faithful(b, into)
}

// oneDocument refuses document markers: the YAML reader stops at the second document
// and would drop it without a word. A marker at the start of a line is one even inside
// a block of text.
func oneDocument(b []byte) error {
	for n, line := range bytes.Split(b, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("...")) {
			return fmt.Errorf("line %d: a document marker; there is exactly one document, without markers", n+1)
		}
	}
	return nil
}

// checkVersion comes before the strict reading: a newer form has fields that are
// unknown here, and the answer has to be "newer", not "unknown field".
func checkVersion(b []byte) error {
	var head struct {
		Version string `json:"version"`
	}
	if err := yaml.Unmarshal(b, &head); err != nil {
		return err
	}
	if head.Version == Version {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(head.Version, family), 10, 32)
	if own, _ := strconv.ParseUint(strings.TrimPrefix(Version, family), 10, 32); strings.HasPrefix(head.Version, family) && err == nil && n > own {
		return fmt.Errorf("version %s: %w, which reads %s: use the agent of that release", head.Version, ErrNewer, Version)
	}
	return fmt.Errorf("version is %q, not %s", head.Version, Version)
}

// faithful compares what was read with what the text says. It catches what the YAML
// reader lets pass: names in another case and scalars that it bent to the field's type.
func faithful(b []byte, read any) error {
	back, err := yaml.Marshal(read)
	if err != nil {
		return err
	}
	var text, got any
	if err := yaml.Unmarshal(b, &text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(back, &got); err != nil {
		return err
	}
	return sameTree("", text, got)
}

func sameTree(path string, text, got any) error {
	switch t := text.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range t {
			at := strings.TrimPrefix(path+"."+k, ".")
			w, known := g[k]
			if !known && !empty(v) {
				return fmt.Errorf("unknown field %q", at)
			}
			if known {
				if err := sameTree(at, v, w); err != nil {
					return err
				}
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(t) {
			return fmt.Errorf("%s: wrong type", path)
		}
		for i := range t {
			if err := sameTree(fmt.Sprintf("%s[%d]", path, i), t[i], g[i]); err != nil {
				return err
			}
		}
	case nil:
	default:
		switch got.(type) {
		case map[string]any, []any:
			return fmt.Errorf("%s: wrong type", path)
		}
		if text != got {
			return fmt.Errorf("%s: wrong type: %v has to be quoted", path, text)
		}
	}
	return nil
}

// empty reports whether leaving the value out says the same.
func empty(v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case string:
		return t == ""
	case []any:
		return len(t) == 0
	case map[string]any:
		return len(t) == 0
	}
	return false
}
