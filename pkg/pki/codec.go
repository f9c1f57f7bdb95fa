// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// apiVersion is the form that this package writes; it reads no other one.
const apiVersion = "slipway.dev/pki/v1"

// maxObject bounds what is read: far more than any keyset or secret that is written.
const maxObject = 4 << 20

const (
	keysetKind = "Keyset"
	secretKind = "Secret"
)

type metadata struct {
	Name       string `json:"name"`
	ClusterUID string `json:"clusterUID"`
}

// keysetDocument is the stored form of a keyset.
type keysetDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Type       Kind           `json:"type"`
	Items      []itemDocument `json:"items"`
	Sealing    Sealing        `json:"sealing"`
}

type itemDocument struct {
	ID           string    `json:"id"`
	State        State     `json:"state"`
	Created      time.Time `json:"created"`
	Since        time.Time `json:"since"`
	TrustedSince time.Time `json:"trustedSince,omitzero"`
	Signed       bool      `json:"signed,omitempty"`
	Certificate  string    `json:"certificate,omitempty"`
	PublicKey    string    `json:"publicKey,omitempty"`
	Sealed       []byte    `json:"sealed"`
}

// secretDocument is the stored form of a secret.
type secretDocument struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   metadata  `json:"metadata"`
	Created    time.Time `json:"created"`
	Sealed     []byte    `json:"sealed"`
	Sealing    Sealing   `json:"sealing"`
}

const checksumField = "checksum: sha256:"

// withChecksum adds the last line, so that any cut or change of a file shows.
func withChecksum(body []byte) []byte {
	sum := sha256.Sum256(body)
	return fmt.Appendf(bytes.Clone(body), "%s%s\n", checksumField, hex.EncodeToString(sum[:]))
}

// withoutChecksum is the reverse; it fails for a file that is not whole.
func withoutChecksum(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, errors.New("it is empty")
	}
	if len(data) > maxObject {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", len(data), maxObject)
	}
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	last := data[at:]
	if !bytes.HasPrefix(last, []byte(checksumField)) || !bytes.HasSuffix(last, []byte("\n")) {
		return nil, errors.New("its last line is not its checksum: it is cut off")
	}
	body := data[:at]
	if !bytes.Equal(withChecksum(body), data) {
		return nil, errors.New("its checksum does not fit: it was altered")
	}
	return body, nil
}

// encode writes a document as YAML with its checksum.
func encode(document any) ([]byte, error) {
	body, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode a sealed object: %w", err)
	}
	return withChecksum(body), nil
}

// decode reads a document strictly: known version and kind, no unknown field.
func decode(data []byte, kind string, document any) error {
	body, err := withoutChecksum(data)
	if err != nil {
		return err
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(body, &head); err != nil {
		return errors.New("it is no YAML")
	}
	if head.APIVersion != apiVersion || head.Kind != kind {
		return fmt.Errorf("it is %q %q, and this program reads %q %q", head.APIVersion, head.Kind, apiVersion, kind)
	}
	return yaml.UnmarshalStrict(body, document)
}

// signed returns what the tag of a document is made of: all of it but the tag.
func signed(document any) ([]byte, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode a sealed object: %w", err)
	}
	return content, nil
}

var (
	itemForm = regexp.MustCompile(`^[a-z0-9][-a-z0-9]{0,62}$`)
	nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,126}[a-z0-9])?$`)
)

// check returns what no writer of ours would have written.
func (d keysetDocument) check() error {
	if !nameForm.MatchString(d.Metadata.Name) || d.Metadata.ClusterUID == "" {
		return fmt.Errorf("it has no usable name (%q) and cluster UID (%q)", d.Metadata.Name, d.Metadata.ClusterUID)
	}
	if d.Type != KindCA && d.Type != KindKey {
		return fmt.Errorf("its type is %q", d.Type)
	}
	if len(d.Items) == 0 {
		return errors.New("it has no items")
	}
	var ids []string
	primaries := 0
	for _, i := range d.Items {
		if slices.Contains(ids, i.ID) {
			return fmt.Errorf("two items have the ID %q", i.ID)
		}
		ids = append(ids, i.ID)
		if err := i.check(d.Type); err != nil {
			return fmt.Errorf("item %q: %w", i.ID, err)
		}
		if i.State == Primary {
			primaries++
		}
	}
	if primaries != 1 {
		return fmt.Errorf("it has %d primary items, not one", primaries)
	}
	if !slices.IsSorted(ids) {
		return errors.New("its items are not sorted by ID")
	}
	return d.Sealing.check()
}

func (i itemDocument) check(kind Kind) error {
	switch {
	case !itemForm.MatchString(i.ID):
		return errors.New("it has no usable ID")
	case i.State != Trusted && i.State != Primary && i.State != Distrusted:
		return fmt.Errorf("its state is %q", i.State)
	case i.Created.IsZero() || i.Since.IsZero():
		return errors.New("its times are missing")
	case len(i.Sealed) == 0:
		return errors.New("its private part is missing")
	case (kind == KindCA) != (i.Certificate != "") || (kind == KindKey) != (i.PublicKey != ""):
		return fmt.Errorf("what it shows is not that of a keyset of type %q", kind)
	}
	if _, err := i.item().publicKey(); err != nil {
		return err
	}
	if cert, err := i.item().certificate(); kind == KindCA && (err != nil || !cert.IsCA) {
		return errors.New("its certificate is no CA's")
	}
	return nil
}

func (i itemDocument) item() Item {
	return Item{ID: i.ID, State: i.State, Created: i.Created.UTC(), Since: i.Since.UTC(), TrustedSince: i.TrustedSince.UTC(), Signed: i.Signed,
		Certificate: i.Certificate, PublicKey: i.PublicKey}
}

func (s Sealing) check() error {
	if s.Algorithm != sealAlgorithm {
		return fmt.Errorf("it is sealed by %q, which this program does not know", s.Algorithm)
	}
	if len(s.Keys) == 0 || len(s.Tag) == 0 {
		return errors.New("its sealing is not whole")
	}
	for _, k := range s.Keys {
		if k.Wrapper == "" || len(k.Key) == 0 {
			return errors.New("a wrapped key of its sealing is not whole")
		}
	}
	return nil
}
