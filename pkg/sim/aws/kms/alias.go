// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// alias is a row of the table of aliases, whose id is the name.
type alias struct {
	Name             string // alias/...
	Target           string // key id
	Created, Updated time.Time
}

func (s *Service) aliasOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"CreateAlias": wire.JSONOp(s.createAlias), "UpdateAlias": wire.JSONOp(s.updateAlias),
		"DeleteAlias": wire.JSONOp(s.deleteAlias), "ListAliases": wire.JSONOp(s.listAliases),
	}
}

var aliasName = regexp.MustCompile(`^alias/[a-zA-Z0-9/_-]+$`)

func checkAliasName(name string) *wire.Error {
	switch {
	case len(name) > 256:
		return tooLong("aliasName", 256)
	case !strings.HasPrefix(name, "alias/"):
		return invalid("Invalid identifier")
	case !aliasName.MatchString(name):
		return wire.Errorf("InvalidAliasNameException", "%s is not a valid alias name", name)
	case strings.HasPrefix(name, "alias/aws/"):
		return wire.Errorf("NotAuthorizedException", "alias/aws/ is reserved for AWS")
	}
	return nil
}

type aliasIn struct {
	AliasName   string `wire:",required"`
	TargetKeyId string `wire:",required"`
}

func (s *Service) target(c *wire.Call, in *aliasIn) (*key, *wire.Error) {
	if err := checkAliasName(in.AliasName); err != nil {
		return nil, err
	}
	if strings.Contains(in.TargetKeyId, "alias/") {
		return nil, invalid("Aliases must refer to keys. Not aliases")
	}
	return s.alive(c, in.TargetKeyId)
}

func (s *Service) createAlias(c *wire.Call, in *aliasIn) (*struct{}, error) {
	k, err := s.target(c, in)
	if err != nil {
		return nil, err
	}
	if s.aliases.Get(c.Region, in.AliasName) != nil {
		return nil, wire.Errorf("AlreadyExistsException", "An alias with the name %s already exists", s.arn(c.Region, in.AliasName))
	}
	if n := len(slices.DeleteFunc(s.aliases.All(c.Region), func(a *alias) bool { return a.Target != k.ID })); n >= c.Quota("aliases-per-key", 50) {
		return nil, wire.Errorf("LimitExceededException", "The key %s has %d aliases already", s.keyARN(k), n)
	}
	now := c.Now.UTC()
	s.aliases.Put(c.Region, in.AliasName, &alias{Name: in.AliasName, Target: k.ID, Created: now, Updated: now})
	return nil, nil
}

func (s *Service) alias(c *wire.Call, name string) (*alias, *wire.Error) {
	if a := s.aliases.Get(c.Region, name); a != nil {
		return a, nil
	}
	return nil, notFound("Alias %s is not found.", s.arn(c.Region, name))
}

func (s *Service) updateAlias(c *wire.Call, in *aliasIn) (*struct{}, error) {
	k, err := s.target(c, in)
	if err != nil {
		return nil, err
	}
	a, err := s.alias(c, in.AliasName)
	if err != nil {
		return nil, err
	}
	if old := s.keys.Get(c.Region, a.Target); old.Spec != k.Spec || old.Usage != k.Usage {
		return nil, invalid("Alias %s must refer to a key of the same kind as before: %s for %s", in.AliasName, old.Spec, old.Usage)
	}
	a.Target, a.Updated = k.ID, c.Now.UTC()
	s.aliases.Put(c.Region, a.Name, a)
	return nil, nil
}

func (s *Service) deleteAlias(c *wire.Call, in *struct {
	AliasName string `wire:",required"`
}) (*struct{}, error) {
	if err := checkAliasName(in.AliasName); err != nil {
		return nil, err
	}
	if _, err := s.alias(c, in.AliasName); err != nil {
		return nil, err
	}
	s.aliases.Delete(c.Region, in.AliasName)
	return nil, nil
}

type aliasEntry struct {
	AliasName, AliasArn, TargetKeyId string
	CreationDate, LastUpdatedDate    time.Time
}

type aliasesOut struct {
	paged
	Aliases []aliasEntry
}

func (s *Service) listAliases(c *wire.Call, in *struct {
	KeyId  string
	Limit  int
	Marker string
}) (*aliasesOut, error) {
	rows := slices.Clone(s.aliases.Visible(c.Region))
	if in.KeyId != "" {
		k, err := s.find(c, in.KeyId, false)
		if err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(a *alias) bool { return a.Target != k.ID })
	}
	rows, p, err := page(c, rows, paging{in.Limit, in.Marker}, 100, 50)
	if err != nil {
		return nil, err
	}
	out := &aliasesOut{paged: p, Aliases: []aliasEntry{}}
	for _, a := range rows {
		out.Aliases = append(out.Aliases, aliasEntry{a.Name, s.arn(c.Region, a.Name), a.Target, a.Created, a.Updated})
	}
	return out, nil
}
