// SPDX-License-Identifier: Apache-2.0

// Package kms is the simulated KMS: keys that really encrypt, aliases, grants and key policies, with KMS's refusals and limits; pkg/sim registers it.
package kms

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of ids, key material and nonces; crypto/rand when nil
}

// Service is the simulated KMS. Rows are by region.
type Service struct {
	*wire.JSONService
	account string
	rand    io.Reader
	keys    *world.Table[key]
	aliases *world.Table[alias]
	grants  *world.Table[grant]
}

var (
	_ wire.Service = (*Service)(nil)
	_ wire.Settler = (*Service)(nil)
)

// New makes the service with its tables in w.
func New(w *world.World, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	var err error
	if s.keys, err = world.NewTable[key](w, "kms/key"); err != nil {
		return nil, err
	}
	if s.aliases, err = world.NewTable[alias](w, "kms/alias"); err != nil {
		return nil, err
	}
	if s.grants, err = world.NewTable[grant](w, "kms/grant"); err != nil {
		return nil, err
	}
	s.JSONService = &wire.JSONService{ServiceName: "kms", TargetPrefix: "TrentService", Ops: map[string]wire.JSONHandler{}}
	for _, ops := range []map[string]wire.JSONHandler{s.keyOps(), s.stateOps(), s.policyOps(), s.aliasOps(), s.tagOps(), s.cryptoOps(), s.grantOps()} {
		maps.Copy(s.Ops, ops)
	}
	return s, nil
}

// Settle removes keys whose time has come and rotates those that are due.
func (s *Service) Settle(now time.Time) {
	for _, region := range s.keys.Scopes() {
		for _, k := range s.keys.All(region) {
			switch {
			case k.State == statePending && now.After(k.Deletion):
				s.remove(region, k)
			case k.State == stateEnabled && k.Rotating && now.After(k.NextRotation):
				k.Materials = append(k.Materials, s.newMaterial())
				k.NextRotation = k.NextRotation.AddDate(0, 0, k.RotationDays)
				s.keys.Put(region, k.ID, k)
			}
		}
	}
}

// remove takes a key away, with its aliases and grants: what it sealed is lost.
func (s *Service) remove(region string, k *key) {
	for _, a := range s.aliases.All(region) {
		if a.Target == k.ID {
			s.aliases.Delete(region, a.Name)
		}
	}
	for _, g := range s.grants.All(region) {
		if g.KeyID == k.ID {
			s.grants.Delete(region, g.ID)
		}
	}
	s.keys.Delete(region, k.ID)
}

func (s *Service) bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = io.ReadFull(s.rand, b) // a short read leaves zeros: a test's reader that ran out
	return b
}

func (s *Service) uuid() string {
	b := s.bytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (s *Service) arn(region, rest string) string {
	return "arn:aws:kms:" + region + ":" + s.account + ":" + rest
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationException", format, args...)
}

func notFound(format string, args ...any) *wire.Error {
	return wire.Errorf("NotFoundException", format, args...)
}

// find resolves what a caller names a key by. Operations that use a key take its
// id, its ARN, an alias or an alias's ARN; those that change it no alias.
func (s *Service) find(c *wire.Call, id string, alias bool) (*key, *wire.Error) {
	name := id
	if strings.HasPrefix(id, "arn:") {
		own := s.arn(c.Region, "")
		rest, ok := strings.CutPrefix(id, own)
		if !ok {
			return nil, notFound("Invalid arn %s", arnRegion(id))
		}
		name = strings.TrimPrefix(rest, "key/")
		if name == rest && !strings.HasPrefix(rest, "alias/") {
			return nil, wire.Errorf("InvalidArnException", "%s is not a valid key ARN", id)
		}
	}
	if strings.HasPrefix(name, "alias/") {
		if !alias {
			return nil, notFound("Invalid keyId %s", id)
		}
		a := s.aliases.Find(c.Region, name)
		if a == nil {
			return nil, notFound("Alias %s is not found.", s.arn(c.Region, name))
		}
		name = a.Target
	}
	if k := s.keys.Find(c.Region, name); k != nil {
		return k, nil
	}
	if !keyID.MatchString(name) {
		return nil, notFound("Invalid keyId '%s'", id)
	}
	return nil, notFound("Key '%s' does not exist", s.arn(c.Region, "key/"+name))
}

// arnRegion is what KMS names of an ARN that is not its own.
func arnRegion(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 3 {
		return parts[3]
	}
	return arn
}

// paging is what list operations take.
type paging struct {
	Limit  int
	Marker string
}

// paged is what they answer besides the rows.
type paged struct {
	NextMarker string
	Truncated  bool
}

func page[T any](c *wire.Call, rows []T, p paging, most, usual int) ([]T, paged, *wire.Error) {
	rows, next, err := wire.Page(c, rows, p.Limit, p.Marker, wire.Bounds{Min: 1, Max: most, Default: usual, Code: "ValidationException"})
	if err != nil {
		if err.Code == "InvalidNextToken" {
			err.Code = "InvalidMarkerException"
		}
		return nil, paged{}, err
	}
	return rows, paged{NextMarker: next, Truncated: next != ""}, nil
}
