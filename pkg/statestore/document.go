// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// header is the first YAML document of a stored file; what it describes follows it
// byte by byte. It holds the content's size and SHA-256, and its last line is the
// SHA-256 of the lines above, so that any cut or change shows, and a history can be
// read by headers alone.
type header struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"` // "Revision" or "JournalSegment"
	Cluster    string    `json:"cluster"`
	Run        string    `json:"run,omitempty"` // of a journal segment
	Number     int       `json:"number"`
	UID        string    `json:"uid,omitempty"`
	Tombstone  bool      `json:"tombstone,omitempty"`
	Who        string    `json:"who,omitempty"`
	Host       string    `json:"host,omitempty"`
	Tool       string    `json:"tool,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	When       time.Time `json:"when,omitzero"`
	Size       int       `json:"size"`    // of the content, in bytes
	Content    string    `json:"content"` // its SHA-256
	SHA256     string    `json:"sha256"`
}

const (
	separator = "---\n"
	sumField  = "sha256: "
)

// encodeDocument writes the header, in its own order, and the content.
func encodeDocument(h header, content []byte) ([]byte, error) {
	var b bytes.Buffer
	for _, line := range []struct {
		name  string
		value any
		skip  bool
	}{
		{"apiVersion", h.APIVersion, false},
		{"kind", h.Kind, false},
		{"cluster", h.Cluster, false},
		{"run", h.Run, h.Run == ""},
		{"number", h.Number, false},
		{"uid", h.UID, h.UID == ""},
		{"tombstone", h.Tombstone, !h.Tombstone},
		{"who", h.Who, h.Who == ""},
		{"host", h.Host, h.Host == ""},
		{"tool", h.Tool, h.Tool == ""},
		{"reason", h.Reason, h.Reason == ""},
		{"when", h.When, h.When.IsZero()},
		{"size", len(content), false},
		{"content", sum(content), false},
	} {
		if line.skip {
			continue
		}
		value, err := json.Marshal(line.value) // JSON is YAML on one line
		if err != nil {
			return nil, fmt.Errorf("encode %s of %s %d: %w", line.name, h.Kind, h.Number, err)
		}
		fmt.Fprintf(&b, "%s: %s\n", line.name, value)
	}
	fmt.Fprintf(&b, "%s%q\n%s", sumField, sum(b.Bytes()), separator)
	b.Write(content)
	return b.Bytes(), nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// errNoEnd says that a header does not end within the bytes at hand.
var errNoEnd = errors.New("it is cut off within its header")

// decodeDocument checks and splits a file. Its errors say what is wrong, not where.
func decodeDocument(data []byte, kind string) (header, []byte, error) {
	h, content, err := splitDocument(data, kind)
	if err != nil {
		return header{}, nil, err
	}
	if len(content) != h.Size || sum(content) != h.Content {
		return header{}, nil, fmt.Errorf("it was cut off or altered: its content has %d bytes, written were %d, or its checksum does not match", len(content), h.Size)
	}
	return h, content, nil
}

// splitDocument checks the header of a file and returns what follows it, unchecked.
func splitDocument(data []byte, kind string) (header, []byte, error) {
	if len(data) == 0 {
		return header{}, nil, errors.New("it is empty")
	}
	head, content, ok := bytes.Cut(data, []byte("\n"+separator))
	if !ok {
		return header{}, nil, errNoEnd
	}
	at := bytes.LastIndexByte(head, '\n') + 1
	if string(head[at:]) != fmt.Sprintf("%s%q", sumField, sum(head[:at])) {
		return header{}, nil, errors.New("its header was altered: the checksum does not match")
	}
	h, err := decodeHeader(head)
	if err != nil {
		return header{}, nil, fmt.Errorf("its header cannot be read; a newer Slipway may have written it: %w", err)
	}
	if h.APIVersion != apiVersion || h.Kind != kind {
		return header{}, nil, fmt.Errorf("it is a %s of %s, wanted is a %s of %s; a newer Slipway may have written it", h.Kind, h.APIVersion, kind, apiVersion)
	}
	return h, content, nil
}

// decodeHeader reads the lines that encodeDocument writes: a name and a JSON value.
func decodeHeader(head []byte) (header, error) {
	var fields []string
	for i, line := range strings.Split(string(head), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			return header{}, fmt.Errorf("line %d is no field", i+1)
		}
		fields = append(fields, fmt.Sprintf("%q:%s", name, value))
	}
	var h header
	err := strictJSON([]byte("{"+strings.Join(fields, ",")+"}"), &h)
	return h, err
}

// record is how the store's small JSON objects are written: the checksum covers the
// body without its white space.
type record struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	SHA256     string          `json:"sha256"`
	Body       json.RawMessage `json:"body"`
}

func encodeRecord(kind string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	data, err := json.MarshalIndent(record{apiVersion, kind, sum(raw), raw}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return append(data, '\n'), nil
}

// decodeRecord is strict: an unknown field means that a newer tool wrote the object,
// and dropping it would lose it.
func decodeRecord(data []byte, kind string, body any) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	var r record
	if err := strictJSON(data, &r); err != nil {
		return fmt.Errorf("it is cut off or altered: %w", err)
	}
	if r.APIVersion != apiVersion || r.Kind != kind {
		return fmt.Errorf("it is a %q of %q, wanted is a %s of %s; a newer Slipway may have written it", r.Kind, r.APIVersion, kind, apiVersion)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Body); err != nil {
		return fmt.Errorf("it is cut off or altered: %w", err)
	}
	if sum(compact.Bytes()) != r.SHA256 {
		return errors.New("it was altered: its checksum does not match")
	}
	if err := strictJSON(r.Body, body); err != nil {
		return fmt.Errorf("it cannot be read; a newer Slipway may have written it: %w", err)
	}
	return nil
}

func strictJSON(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the JSON value")
	}
	return nil
}
