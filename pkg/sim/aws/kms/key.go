// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"encoding/hex"
	"regexp"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// States of a key.
const (
	stateEnabled  = "Enabled"
	stateDisabled = "Disabled"
	statePending  = "PendingDeletion"
)

const symmetric = "SYMMETRIC_DEFAULT"

// key is a row of the table of keys.
type key struct {
	ID, Region        string
	Description       string
	Spec, Usage       string
	State             string
	Created, Deletion time.Time
	Policy            string
	Tags              []Tag
	Materials         []material // the newest last; none for keys that do not encrypt
	Rotating          bool
	RotationDays      int
	NextRotation      time.Time
}

// material is one generation of a key's secret: 32 bytes.
type material struct {
	ID     string // 64 hexadecimal digits
	Secret []byte
}

var keyID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (s *Service) newMaterial() material {
	return material{ID: hex.EncodeToString(s.bytes(32)), Secret: s.bytes(32)}
}

// usages are the kinds of keys that can be made, with what each is for. Only
// symmetric ones do something: the others are there to be refused.
var usages = map[string]string{
	symmetric: "ENCRYPT_DECRYPT", "RSA_2048": "SIGN_VERIFY", "RSA_4096": "SIGN_VERIFY",
	"ECC_NIST_P256": "SIGN_VERIFY", "ECC_NIST_P384": "SIGN_VERIFY", "HMAC_256": "GENERATE_VERIFY_MAC",
}

var algorithms = map[string][]string{
	"RSA_2048": {"RSASSA_PKCS1_V1_5_SHA_256"}, "RSA_4096": {"RSASSA_PKCS1_V1_5_SHA_256"},
	"ECC_NIST_P256": {"ECDSA_SHA_256"}, "ECC_NIST_P384": {"ECDSA_SHA_384"},
}

func (s *Service) keyOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"CreateKey": wire.JSONOp(s.createKey), "DescribeKey": wire.JSONOp(s.describeKey), "ListKeys": wire.JSONOp(s.listKeys),
		"UpdateKeyDescription": wire.JSONOp(s.updateDescription),
	}
}

// metadata is KMS's KeyMetadata.
type metadata struct {
	AWSAccountId, KeyId, Arn                  string
	CreationDate                              time.Time
	Enabled                                   bool
	Description                               string `wire:",keep"`
	KeyUsage, KeyState                        string
	DeletionDate                              time.Time
	Origin, KeyManager, CustomerMasterKeySpec string
	KeySpec                                   string
	EncryptionAlgorithms, SigningAlgorithms   []string `wire:",omitempty"`
	MacAlgorithms                             []string `wire:",omitempty"`
	MultiRegion                               bool
	CurrentKeyMaterialId                      string
}

func (s *Service) view(k *key) *metadata {
	m := &metadata{
		AWSAccountId: s.account, KeyId: k.ID, Arn: s.keyARN(k), CreationDate: k.Created, Enabled: k.State == stateEnabled,
		Description: k.Description, KeyUsage: k.Usage, KeyState: k.State, Origin: "AWS_KMS", KeyManager: "CUSTOMER",
		CustomerMasterKeySpec: k.Spec, KeySpec: k.Spec, SigningAlgorithms: algorithms[k.Spec],
	}
	switch {
	case k.Spec == symmetric:
		m.EncryptionAlgorithms = []string{symmetric}
		m.CurrentKeyMaterialId = k.Materials[len(k.Materials)-1].ID
	case k.Usage == "GENERATE_VERIFY_MAC":
		m.MacAlgorithms = []string{"HMAC_SHA_256"}
	}
	if k.State == statePending {
		m.DeletionDate = k.Deletion
	}
	return m
}

func (s *Service) keyARN(k *key) string { return s.arn(k.Region, "key/"+k.ID) }

type keyOut struct{ KeyMetadata *metadata }

func (s *Service) createKey(c *wire.Call, in *struct {
	Policy, Description, KeyUsage  string
	CustomerMasterKeySpec, KeySpec string
	Origin                         string
	BypassPolicyLockoutSafetyCheck bool
	MultiRegion                    bool
	Tags                           []Tag
}) (*keyOut, error) {
	spec := in.KeySpec
	if spec == "" {
		spec = in.CustomerMasterKeySpec
	} else if in.CustomerMasterKeySpec != "" {
		return nil, invalid("You cannot specify KeySpec and CustomerMasterKeySpec in the same request. CustomerMasterKeySpec is deprecated.")
	}
	if spec == "" {
		spec = symmetric
	}
	switch usage := usages[spec]; {
	case usage == "":
		return nil, wire.Errorf("UnsupportedOperationException", "The simulator has no keys of spec %s", spec)
	case in.KeyUsage == "" && spec != symmetric:
		return nil, invalid("You must specify a KeyUsage value for all KMS keys except for symmetric encryption keys.")
	case in.KeyUsage != "" && in.KeyUsage != usage:
		return nil, wire.Errorf("UnsupportedOperationException", "KeyUsage %s is not compatible with KeySpec %s", in.KeyUsage, spec)
	case in.MultiRegion:
		return nil, wire.Errorf("UnsupportedOperationException", "The simulator has no multi-Region keys")
	case in.Origin != "" && in.Origin != "AWS_KMS":
		return nil, wire.Errorf("UnsupportedOperationException", "The simulator has no keys of origin %s", in.Origin)
	case len(in.Description) > 8192:
		return nil, tooLong("description", 8192)
	}
	tags, err := mergeTags(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	if in.Policy == "" {
		in.Policy = s.defaultPolicy()
	}
	k := &key{ID: s.uuid(), Region: c.Region, Description: in.Description, Spec: spec, Usage: usages[spec], State: stateEnabled,
		Created: c.Now.UTC(), Policy: in.Policy, Tags: tags}
	if err := s.checkPolicy(c, k, in.Policy, in.BypassPolicyLockoutSafetyCheck); err != nil {
		return nil, err
	}
	if spec == symmetric {
		k.Materials = []material{s.newMaterial()}
	}
	s.keys.Put(c.Region, k.ID, k)
	return &keyOut{s.view(k)}, nil
}

func tooLong(member string, most int) *wire.Error {
	return invalid("1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length less than or equal to %d", member, most)
}

func (s *Service) describeKey(c *wire.Call, in *struct {
	KeyId       string `wire:",required"`
	GrantTokens []string
}) (*keyOut, error) {
	k, err := s.find(c, in.KeyId, true)
	if err != nil {
		return nil, err
	}
	return &keyOut{s.view(k)}, nil
}

type keyEntry struct{ KeyId, KeyArn string }

type keysOut struct {
	paged
	Keys []keyEntry
}

func (s *Service) listKeys(c *wire.Call, in *paging) (*keysOut, error) {
	rows := slices.Clone(s.keys.Visible(c.Region))
	rows, p, err := page(c, rows, *in, 1000, 100)
	if err != nil {
		return nil, err
	}
	out := &keysOut{paged: p, Keys: []keyEntry{}}
	for _, k := range rows {
		out.Keys = append(out.Keys, keyEntry{k.ID, s.keyARN(k)})
	}
	return out, nil
}

func (s *Service) updateDescription(c *wire.Call, in *struct {
	KeyId       string  `wire:",required"`
	Description *string `wire:",required"`
}) (*struct{}, error) {
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	if k.State == statePending {
		return nil, s.isPending(k)
	}
	if len(*in.Description) > 8192 {
		return nil, tooLong("description", 8192)
	}
	k.Description = *in.Description
	s.keys.Put(c.Region, k.ID, k)
	return nil, nil
}
