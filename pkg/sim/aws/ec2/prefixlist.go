// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// PrefixList is a named set of ranges.
type PrefixList struct {
	PrefixListId   string
	AddressFamily  string
	State          string
	PrefixListArn  string
	PrefixListName string
	MaxEntries     int
	Version        int64
	Tags           []Tag `wire:"tagSet"`
	OwnerId        string
	Entries        []PrefixEntry `wire:"-"`
}

// PrefixEntry is a range of a list.
type PrefixEntry struct {
	Cidr        string `wire:"Cidr,required"`
	Description string
}

func newPrefixListKind(s *Service, w *world.World) (*kind[PrefixList], error) {
	return newKind(s, w, kind[PrefixList]{
		resource: "prefix-list", prefix: "pl-", notFound: "InvalidPrefixListID.NotFound", word: "prefix list ID",
		id:   func(p *PrefixList) string { return p.PrefixListId },
		tags: func(p *PrefixList) *[]Tag { return &p.Tags },
		filters: map[string]func(*PrefixList) []string{
			"prefix-list-id": one(func(p *PrefixList) string { return p.PrefixListId }), "prefix-list-name": one(func(p *PrefixList) string { return p.PrefixListName }),
			"owner-id": one(func(p *PrefixList) string { return p.OwnerId }),
		},
		bounds: wire.Bounds{Min: 1, Max: 100, Default: 100},
	})
}

func (s *Service) prefixListOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateManagedPrefixList": op(s.createPrefixList), "DescribeManagedPrefixLists": op(s.describePrefixLists),
		"GetManagedPrefixListEntries": op(s.prefixEntries), "DeleteManagedPrefixList": op(s.deletePrefixList),
	}
}

type createPrefixListIn struct {
	PrefixListName    string        `wire:"PrefixListName,required"`
	AddressFamily     string        `wire:"AddressFamily,required"`
	MaxEntries        int           `wire:"MaxEntries,required"`
	Entries           []PrefixEntry `wire:"Entry"`
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type prefixListOut struct{ PrefixList PrefixList }

func (s *Service) createPrefixList(c *wire.Call, in *createPrefixListIn) (*prefixListOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "prefix-list")
	if tagErr != nil {
		return nil, tagErr
	}
	if in.AddressFamily != "IPv4" && in.AddressFamily != "IPv6" {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter addressFamily is invalid. It must be IPv4 or IPv6", in.AddressFamily)
	}
	if len(in.Entries) > in.MaxEntries || in.MaxEntries < 1 || in.MaxEntries > 1000 {
		return nil, wire.Errorf("PrefixListMaxEntriesExceeded", "You've reached the maximum number of entries for the prefix list: %d of %d.", len(in.Entries), in.MaxEntries)
	}
	for i := range in.Entries {
		cidr, err := canonicalCidr(in.Entries[i].Cidr, in.AddressFamily == "IPv4")
		if err != nil {
			return nil, err
		}
		in.Entries[i].Cidr = cidr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		p := &PrefixList{
			PrefixListId: s.newID("pl-"), AddressFamily: in.AddressFamily, State: "create-complete", PrefixListName: in.PrefixListName,
			MaxEntries: in.MaxEntries, Version: 1, Tags: tags, OwnerId: s.account, Entries: in.Entries,
		}
		p.PrefixListArn = s.arn(c, "prefix-list", p.PrefixListId)
		s.prefixLists.put(c, p)
		return p.PrefixListId, nil
	})
	if err != nil {
		return nil, err
	}
	p, err := s.prefixLists.get(c, id)
	if err != nil {
		return nil, err
	}
	shown := *p
	shown.State = "create-in-progress"
	return &prefixListOut{shown}, nil
}

type describePrefixListsIn struct {
	Ids []string `wire:"PrefixListId"`
	describe
}

type describePrefixListsOut struct {
	NextToken string
	Lists     []*PrefixList `wire:"prefixListSet"`
}

func (s *Service) describePrefixLists(c *wire.Call, in *describePrefixListsIn) (*describePrefixListsOut, error) {
	rows, next, err := s.prefixLists.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describePrefixListsOut{next, rows}, nil
}

type prefixEntriesIn struct {
	PrefixListId  string `wire:"PrefixListId,required"`
	TargetVersion int64
	MaxResults    int
	NextToken     string
}

type prefixEntriesOut struct {
	NextToken string
	Entries   []PrefixEntry `wire:"entrySet"`
}

func (s *Service) prefixEntries(c *wire.Call, in *prefixEntriesIn) (*prefixEntriesOut, error) {
	p, err := s.prefixLists.get(c, in.PrefixListId)
	if err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, p.Entries, in.MaxResults, in.NextToken, s.prefixLists.bounds)
	if err != nil {
		return nil, err
	}
	return &prefixEntriesOut{next, page}, nil
}

func (s *Service) deletePrefixList(c *wire.Call, in *struct {
	Id string `wire:"PrefixListId,required"`
}) (*prefixListOut, error) {
	p, err := s.prefixLists.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	used := s.rules.first(c, func(r *Rule) bool { return r.PrefixListId == p.PrefixListId }) != nil
	for _, t := range s.routeTables.all(c) {
		for _, r := range t.Routes {
			used = used || r.DestinationPrefixListId == p.PrefixListId
		}
	}
	if used {
		return nil, wire.Errorf("DependencyViolation", "The prefix list '%s' has dependencies and cannot be deleted.", p.PrefixListId)
	}
	s.prefixLists.remove(c, p)
	shown := *p
	shown.State = "delete-in-progress"
	return &prefixListOut{shown}, nil
}
