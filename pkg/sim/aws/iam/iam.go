// SPDX-License-Identifier: Apache-2.0

// Package iam is the simulated IAM: roles, users, policies, instance profiles and OIDC providers, with IAM's refusals and limits; pkg/sim registers it, and EC2 and STS ask it who exists.
package iam

import (
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Options of the service.
type Options struct {
	Account string    // account id, 12 digits
	Rand    io.Reader // of ids and secrets; crypto/rand when nil
}

// Service is the simulated IAM. It is global: its rows have no region.
type Service struct {
	*wire.QueryService
	account  string
	rand     io.Reader
	roles    *world.Table[role]
	users    *world.Table[user]
	policies *world.Table[managedPolicy]
	profiles *world.Table[profile]
	oidc     *world.Table[provider]
	keys     *world.Table[accessKey]
}

// New makes the service with its tables in w.
func New(w *world.World, opts Options) (*Service, error) {
	s := &Service{account: opts.Account, rand: opts.Rand}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if err := s.open(w); err != nil {
		return nil, err
	}
	s.QueryService = &wire.QueryService{
		ServiceName: "iam", Version: "2010-05-08", Namespace: "https://iam.amazonaws.com/doc/2010-05-08/",
		Dialect: wire.Query, Ops: map[string]wire.Handler{},
	}
	for _, ops := range []map[string]wire.Handler{
		s.roleOps(), s.userOps(), s.inlineOps(), s.attachOps(), s.policyOps(), s.profileOps(), s.oidcOps(), s.tagOps(), s.keyOps(),
	} {
		maps.Copy(s.Ops, ops)
	}
	return s, nil
}

func (s *Service) open(w *world.World) (err error) {
	if s.roles, err = world.NewTable[role](w, "iam/role"); err != nil {
		return err
	}
	if s.users, err = world.NewTable[user](w, "iam/user"); err != nil {
		return err
	}
	if s.policies, err = world.NewTable[managedPolicy](w, "iam/policy"); err != nil {
		return err
	}
	if s.profiles, err = world.NewTable[profile](w, "iam/instance-profile"); err != nil {
		return err
	}
	if s.oidc, err = world.NewTable[provider](w, "iam/oidc-provider"); err != nil {
		return err
	}
	s.keys, err = world.NewTable[accessKey](w, "iam/access-key")
	return err
}

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// newID makes an id such as AROA and 17 more characters.
func (s *Service) newID(prefix string) string { return prefix + s.random(17, idAlphabet) }

func (s *Service) random(n int, alphabet string) string {
	b := make([]byte, n)
	_, _ = io.ReadFull(s.rand, b) // a short read leaves zeros: still an id
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}

func (s *Service) arn(kind, path, name string) string {
	return "arn:aws:iam::" + s.account + ":" + kind + path + name
}

// key is the row id of a name: names are unique whatever their case.
func key(name string) string { return strings.ToLower(name) }

// refuse makes a refusal with a status.
func refuse(status int, code, format string, args ...any) *wire.Error {
	e := wire.Errorf(code, format, args...)
	e.Status = status
	return e
}

func noSuchEntity(format string, args ...any) *wire.Error {
	return refuse(http.StatusNotFound, "NoSuchEntity", format, args...)
}

func exists(kind, name string) *wire.Error {
	return refuse(http.StatusConflict, "EntityAlreadyExists", "%s with name %s already exists.", kind, name)
}

func conflict(format string, args ...any) *wire.Error {
	return refuse(http.StatusConflict, "DeleteConflict", format, args...)
}

func limitExceeded(format string, args ...any) *wire.Error {
	return refuse(http.StatusConflict, "LimitExceeded", format, args...)
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_+=,.@-]+$`)
	pathPattern = regexp.MustCompile(`^(/|/[\x21-\x7e]+/)$`)
)

// checkName checks a name's length and alphabet.
func checkName(param, name string, most int) *wire.Error {
	if len(name) == 0 || len(name) > most {
		return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length between 1 and %d", name, param, most)
	}
	if !namePattern.MatchString(name) {
		return invalid("The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-", param)
	}
	return nil
}

// checkPath completes a path and checks it.
func checkPath(path *string) *wire.Error {
	if *path == "" {
		*path = "/"
	}
	if len(*path) > 512 || !pathPattern.MatchString(*path) {
		return invalid("The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}

// paging is what list operations take.
type paging struct {
	Marker   string
	MaxItems int
}

// paged is what they answer besides the rows.
type paged struct {
	IsTruncated bool
	Marker      string
}

func page[T any](c *wire.Call, rows []T, p paging) ([]T, paged, error) {
	rows, next, err := wire.Page(c, rows, p.MaxItems, p.Marker, wire.Bounds{Min: 1, Max: 1000, Default: 100, Code: "ValidationError"})
	if err != nil {
		return nil, paged{}, err
	}
	return rows, paged{IsTruncated: next != "", Marker: next}, nil
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
