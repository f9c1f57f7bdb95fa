// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// grant is a row of the table of grants.
type grant struct {
	ID, Token, KeyID, Name string
	Grantee, Retiring      string
	Operations             []string
	Constraints            *constraints
	Created                time.Time
}

// constraints are encryption contexts that a grant holds for only.
type constraints struct {
	EncryptionContextSubset map[string]string `wire:",omitempty"`
	EncryptionContextEquals map[string]string `wire:",omitempty"`
}

// grantable are the operations that a grant on a symmetric key may allow.
var grantable = []string{"Decrypt", "Encrypt", "GenerateDataKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo", "CreateGrant", "RetireGrant", "DescribeKey"}

func (s *Service) grantOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"CreateGrant": wire.JSONOp(s.createGrant), "ListGrants": wire.JSONOp(s.listGrants),
		"RevokeGrant": wire.JSONOp(s.revokeGrant), "RetireGrant": wire.JSONOp(s.retireGrant),
	}
}

type grantIn struct {
	KeyId             string `wire:",required"`
	GranteePrincipal  string `wire:",required"`
	RetiringPrincipal string
	Operations        []string `wire:",required"`
	Constraints       *constraints
	GrantTokens       []string
	Name              string
	DryRun            bool
}

type grantOut struct{ GrantToken, GrantId string }

var (
	principalARN = regexp.MustCompile(`^arn:aws(-cn|-us-gov)?:(iam|sts)::\d{12}:(root|(user|role|assumed-role|federated-user)/.+)$`)
	grantName    = regexp.MustCompile(`^[a-zA-Z0-9:/_-]{1,256}$`)
)

func (in *grantIn) check() *wire.Error {
	for _, p := range []string{in.GranteePrincipal, in.RetiringPrincipal} {
		if p != "" && !principalARN.MatchString(p) {
			return wire.Errorf("InvalidArnException", "ARN does not refer to a valid principal: %s", p)
		}
	}
	if len(in.Operations) == 0 {
		return invalid("1 validation error detected: Value '[]' at 'operations' failed to satisfy constraint: Member must not be empty")
	}
	for _, op := range in.Operations {
		if !slices.Contains(grantable, op) {
			return invalid("1 validation error detected: Value '[%s]' at 'operations' failed to satisfy constraint: Member must satisfy enum value set: [%s]", op, strings.Join(grantable, ", "))
		}
	}
	if in.Name != "" && !grantName.MatchString(in.Name) {
		return invalid("1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: ^[a-zA-Z0-9:/_-]+$", in.Name)
	}
	if in.Constraints != nil && (in.Constraints.EncryptionContextSubset == nil) == (in.Constraints.EncryptionContextEquals == nil) {
		return invalid("Constraints must hold exactly one of EncryptionContextSubset and EncryptionContextEquals")
	}
	return nil
}

// same tells whether a grant is what a call with its name asks for again.
func (g *grant) same(k *key, in *grantIn) bool {
	a, b := slices.Sorted(slices.Values(g.Operations)), slices.Sorted(slices.Values(in.Operations))
	var have, want constraints
	if g.Constraints != nil {
		have = *g.Constraints
	}
	if in.Constraints != nil {
		want = *in.Constraints
	}
	return in.Name != "" && g.Name == in.Name && g.KeyID == k.ID && g.Grantee == in.GranteePrincipal && g.Retiring == in.RetiringPrincipal &&
		slices.Equal(a, b) && maps.Equal(have.EncryptionContextSubset, want.EncryptionContextSubset) &&
		maps.Equal(have.EncryptionContextEquals, want.EncryptionContextEquals)
}

func (s *Service) createGrant(c *wire.Call, in *grantIn) (*grantOut, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	k, refusal := s.find(c, in.KeyId, false)
	if refusal != nil {
		return nil, refusal
	}
	if err := s.usable(k); err != nil {
		return nil, err
	}
	if err := rehearsed(in.DryRun); err != nil {
		return nil, err
	}
	for _, g := range s.grants.All(c.Region) {
		if g.same(k, in) {
			return &grantOut{g.Token, g.ID}, nil
		}
	}
	g := &grant{ID: hex.EncodeToString(s.bytes(32)), Token: base64.StdEncoding.EncodeToString(s.bytes(96)), KeyID: k.ID, Name: in.Name,
		Grantee: in.GranteePrincipal, Retiring: in.RetiringPrincipal, Operations: in.Operations, Constraints: in.Constraints, Created: c.Now.UTC()}
	s.grants.Put(c.Region, g.ID, g)
	return &grantOut{g.Token, g.ID}, nil
}

type grantEntry struct {
	KeyId, GrantId, Name                                string
	CreationDate                                        time.Time
	GranteePrincipal, RetiringPrincipal, IssuingAccount string
	Operations                                          []string
	Constraints                                         *constraints
}

type grantsOut struct {
	paged
	Grants []grantEntry
}

func (s *Service) listGrants(c *wire.Call, in *struct {
	KeyId            string `wire:",required"`
	GrantId          string
	GranteePrincipal string
	Limit            int
	Marker           string
}) (*grantsOut, error) {
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(slices.Clone(s.grants.Visible(c.Region)), func(g *grant) bool {
		return g.KeyID != k.ID || in.GrantId != "" && g.ID != in.GrantId || in.GranteePrincipal != "" && g.Grantee != in.GranteePrincipal
	})
	rows, p, err := page(c, rows, paging{in.Limit, in.Marker}, 100, 50)
	if err != nil {
		return nil, err
	}
	out := &grantsOut{paged: p, Grants: []grantEntry{}}
	for _, g := range rows {
		out.Grants = append(out.Grants, grantEntry{s.keyARN(k), g.ID, g.Name, g.Created, g.Grantee, g.Retiring,
			"arn:aws:iam::" + s.account + ":root", g.Operations, g.Constraints})
	}
	return out, nil
}

func (s *Service) grant(c *wire.Call, k *key, id string) (*grant, *wire.Error) {
	g := s.grants.Get(c.Region, id)
	if g == nil || g.KeyID != k.ID {
		return nil, notFound("Grant ID %s not found", id)
	}
	return g, nil
}

func (s *Service) revokeGrant(c *wire.Call, in *struct {
	KeyId   string `wire:",required"`
	GrantId string `wire:",required"`
	DryRun  bool
}) (*struct{}, error) {
	k, refusal := s.find(c, in.KeyId, false)
	if refusal != nil {
		return nil, refusal
	}
	g, refusal := s.grant(c, k, in.GrantId)
	if refusal != nil {
		return nil, refusal
	}
	if err := rehearsed(in.DryRun); err != nil {
		return nil, err
	}
	s.grants.Delete(c.Region, g.ID)
	return nil, nil
}

func (s *Service) retireGrant(c *wire.Call, in *struct {
	GrantToken, KeyId, GrantId string
	DryRun                     bool
}) (*struct{}, error) {
	g, refusal := s.named(c, in.GrantToken, in.KeyId, in.GrantId)
	if refusal != nil {
		return nil, refusal
	}
	if err := rehearsed(in.DryRun); err != nil {
		return nil, err
	}
	s.grants.Delete(c.Region, g.ID)
	return nil, nil
}

// named finds a grant by its token, or by key and id.
func (s *Service) named(c *wire.Call, token, keyARN, id string) (*grant, *wire.Error) {
	if token != "" {
		for _, g := range s.grants.All(c.Region) {
			if g.Token == token {
				return g, nil
			}
		}
		return nil, wire.Errorf("InvalidGrantTokenException", "The grant token is not valid")
	}
	if keyARN == "" || id == "" {
		return nil, invalid("Either a grant token, or a key ARN and a grant ID must be specified")
	}
	k, err := s.find(c, keyARN, false)
	if err != nil {
		return nil, err
	}
	return s.grant(c, k, id)
}
