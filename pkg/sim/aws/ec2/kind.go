// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// kind is a table of resources with all that describe calls and tags need.
type kind[T any] struct {
	table    *world.Table[T]
	resource string // as tag specifications spell it
	prefix   string // of ids, with the hyphen
	notFound string // error code
	word     string // of messages: "The vpc ID 'x' does not exist"
	id       func(*T) string
	tags     func(*T) *[]Tag
	filters  map[string]func(*T) []string
	bounds   wire.Bounds
}

// tagged is a kind, whatever its row type.
type tagged interface {
	find(c *wire.Call, id string) (*[]Tag, *wire.Error)
	save(c *wire.Call, id string)
	each(c *wire.Call, fn func(id string, tags []Tag))
	resourceType() string
}

// describe is what most Describe operations take; they embed it.
type describe struct {
	Filters    []Filter `wire:"Filter"`
	MaxResults int
	NextToken  string
}

func newKind[T any](s *Service, w *world.World, k kind[T]) (*kind[T], error) {
	t, err := world.NewTable[T](w, "ec2/"+k.resource)
	if err != nil {
		return nil, err
	}
	k.table = t
	if k.bounds.Max == 0 {
		k.bounds = wire.Bounds{Min: 5, Max: 1000, Default: 1000}
	}
	if k.tags != nil {
		s.kinds[k.prefix] = &k
	}
	return &k, nil
}

var idPattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)*-([0-9a-f]{8}|[0-9a-f]{17})$`)

func (k *kind[T]) missing(id string) *wire.Error {
	if strings.HasSuffix(k.notFound, ".NotFound") && (!strings.HasPrefix(id, k.prefix) || !idPattern.MatchString(id)) {
		return wire.Errorf(strings.TrimSuffix(k.notFound, ".NotFound")+".Malformed", "Invalid id: \"%s\" (expecting \"%s...\")", id, k.prefix)
	}
	return wire.Errorf(k.notFound, "The %s '%s' does not exist", k.word, id)
}

// get returns a row for an operation that works on it.
func (k *kind[T]) get(c *wire.Call, id string) (*T, *wire.Error) {
	if row := k.table.Get(c.Region, id); row != nil {
		return row, nil
	}
	return nil, k.missing(id)
}

// put saves a new or changed row.
func (k *kind[T]) put(c *wire.Call, row *T) { k.table.Put(c.Region, k.id(row), row) }

func (k *kind[T]) remove(c *wire.Call, row *T) { k.table.Delete(c.Region, k.id(row)) }

func (k *kind[T]) all(c *wire.Call) []*T { return k.table.All(c.Region) }

// first returns a row that meets want, or nil.
func (k *kind[T]) first(c *wire.Call, want func(*T) bool) *T {
	for _, row := range k.all(c) {
		if want(row) {
			return row
		}
	}
	return nil
}

// list answers a describe call: the rows with these ids (all when none is
// given) that meet every filter, one page of them.
func (k *kind[T]) list(c *wire.Call, ids []string, d describe) ([]*T, string, error) {
	if len(ids) > 0 && d.MaxResults != 0 {
		return nil, "", wire.Errorf("InvalidParameterCombination", "The parameter %sIds cannot be used with the parameter maxResults", k.resource)
	}
	rows, err := k.pick(c, ids)
	if err != nil {
		return nil, "", err
	}
	rows, err = filter(rows, d.Filters, k.filters, k.tags)
	if err != nil {
		return nil, "", err
	}
	page, next, err := wire.Page(c, rows, d.MaxResults, d.NextToken, k.bounds)
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

func (k *kind[T]) pick(c *wire.Call, ids []string) ([]*T, *wire.Error) {
	if len(ids) == 0 {
		return k.table.Visible(c.Region), nil
	}
	var rows []*T
	for _, id := range ids {
		row := k.table.Find(c.Region, id)
		if row == nil {
			return nil, k.missing(id)
		}
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (k *kind[T]) find(c *wire.Call, id string) (*[]Tag, *wire.Error) {
	row, err := k.get(c, id)
	if err != nil {
		return nil, err
	}
	return k.tags(row), nil
}

func (k *kind[T]) save(c *wire.Call, id string) { k.table.Put(c.Region, id, k.table.Get(c.Region, id)) }

func (k *kind[T]) each(c *wire.Call, fn func(id string, tags []Tag)) {
	for _, row := range k.table.Visible(c.Region) {
		fn(k.id(row), *k.tags(row))
	}
}

func (k *kind[T]) resourceType() string { return k.resource }
