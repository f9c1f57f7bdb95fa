// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// bookRecord is the ledger's kind for a DNS name that is ours: Route 53 tags no records.
// The entry's ID is "<zone id> <name>"; it stands for the name's A and AAAA records.
const bookRecord = "aws/record"

// Record is a DNS name of the cluster. One of a load balancer is an alias of it; another
// is kept by the control planes, and only its ownership is ours.
type Record struct {
	resource
	name     string
	zone     *Zone
	balancer *LoadBalancer // nil: the control planes keep it
}

func newRecord(s *survey, zone *Zone, balancer *LoadBalancer, m model.Record) *Record {
	r := &Record{
		resource: resource{s: s, kind: "record", key: m.Name, deps: []tasks.Task{zone}},
		name:     m.Name, zone: zone, balancer: balancer,
	}
	if balancer != nil {
		r.deps = append(r.deps, balancer)
	}
	s.recordNames = append(s.recordNames, m.Name)
	return r
}

// Describe says who keeps the content.
func (r *Record) Describe() string {
	if r.balancer == nil {
		return "name that the control planes keep themselves"
	}
	return "name of load balancer " + r.balancer.key
}

func (r *Record) entry() string { return r.zone.CloudID.Value() + " " + r.name }

// Observe finds the name's address record, and whether it is ours by the ledger.
func (r *Record) Observe(ctx context.Context) (tasks.Change, error) {
	if zone, known := r.zone.Name.Get(); known && r.name != zone && !strings.HasSuffix(r.name, "."+zone) {
		return tasks.Change{}, fmt.Errorf("%s does not lie in the hosted zone %s (%s): correct spec.dnsZone or the name", r.name, zone, r.zone.CloudID.Value())
	}
	ours, err := r.s.book.has(ctx, bookRecord, r.entry())
	if err != nil {
		return tasks.Change{}, err
	}
	set, there, err := r.s.addressRecord(ctx, r.zone.CloudID.Value(), r.name)
	if err != nil {
		return tasks.Change{}, err
	}
	if there && !ours {
		return tasks.Change{}, fmt.Errorf("%s exists in hosted zone %s and is not this cluster's: remove it, or choose another name", r.name, r.zone.CloudID.Value())
	}
	r.s.claimRecord(r.entry())
	r.CloudID.Set(r.entry())
	if r.balancer == nil {
		d := tasks.NewDiff(ours)
		d.Field("zone", r.zone.CloudID.Plan(), r.zone.CloudID.Plan())
		return d.Change(set), nil
	}
	d := tasks.NewDiff(there)
	d.Field("zone", r.zone.CloudID.Plan(), r.zone.CloudID.Plan())
	d.Field("alias", aliasOf(set), r.balancer.DNSName.Plan())
	d.Field("records", valuesOf(set), "")
	c := d.Change(set)
	c.Exact = exactly(set)
	return c, nil
}

// aliasOf returns the name that a record is an alias of, as load balancers spell theirs.
func aliasOf(set r53types.ResourceRecordSet) string {
	if set.AliasTarget == nil {
		return ""
	}
	return bareAlias(aws.ToString(set.AliasTarget.DNSName))
}

func bareAlias(name string) string {
	return strings.TrimPrefix(strings.TrimSuffix(name, "."), "dualstack.")
}

func valuesOf(set r53types.ResourceRecordSet) []string {
	var out []string
	for _, v := range set.ResourceRecords {
		out = append(out, aws.ToString(v.Value))
	}
	return out
}

// Apply writes the name down as ours and then the alias.
func (r *Record) Apply(ctx context.Context, _ tasks.Change) error {
	if err := r.s.book.record(ctx, bookRecord, r.entry(), ""); err != nil {
		return err
	}
	if r.balancer == nil {
		return nil
	}
	return r.s.changeRecord(ctx, r.zone.CloudID.Value(), r53types.ChangeActionUpsert, r53types.ResourceRecordSet{
		Name: aws.String(r.name + "."), Type: r53types.RRTypeA,
		AliasTarget: &r53types.AliasTarget{
			DNSName: aws.String(r.balancer.DNSName.Value()), HostedZoneId: aws.String(r.balancer.Zone.Value()),
		},
	})
}

func (s *survey) changeRecord(ctx context.Context, zone string, a r53types.ChangeAction, set r53types.ResourceRecordSet) error {
	_, err := s.route53.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone,
		ChangeBatch:  &r53types.ChangeBatch{Changes: []r53types.Change{{Action: a, ResourceRecordSet: &set}}},
	})
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", strings.ToLower(string(a)), aws.ToString(set.Name), set.Type, err)
	}
	return nil
}

// zoneRecords are the address records of one zone between our first and last name.
type zoneRecords struct {
	zone string
	sets []r53types.ResourceRecordSet
}

// addressRecord returns the A record of a name, or any other address record it has. All
// names of a graph are read together: in most zones with one call.
func (s *survey) addressRecord(ctx context.Context, zone, name string) (r53types.ResourceRecordSet, bool, error) {
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	if s.records == nil || s.records.zone != zone {
		names := slices.Clone(s.recordNames)
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(dnsOrder(a), dnsOrder(b)) })
		sets, err := s.readRecords(ctx, zone, names[0], names[len(names)-1])
		if err != nil {
			return r53types.ResourceRecordSet{}, false, err
		}
		s.records = &zoneRecords{zone: zone, sets: sets}
	}
	for _, t := range addressTypes {
		for _, set := range s.records.sets {
			if set.Type == t && bareName(aws.ToString(set.Name)) == name {
				return set, true, nil
			}
		}
	}
	return r53types.ResourceRecordSet{}, false, nil
}

// addressTypes are the types of records that we touch; NS, SOA and all others never.
var addressTypes = []r53types.RRType{r53types.RRTypeA, r53types.RRTypeAaaa, r53types.RRTypeCname}

// readRecords reads the address records from one name to another, both included.
func (s *survey) readRecords(ctx context.Context, zone, first, last string) ([]r53types.ResourceRecordSet, error) {
	in := &route53.ListResourceRecordSetsInput{HostedZoneId: &zone, StartRecordName: aws.String(first + ".")}
	var out []r53types.ResourceRecordSet
	for {
		page, err := s.route53.ListResourceRecordSets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read the records of hosted zone %s: %w", zone, err)
		}
		for _, set := range page.ResourceRecordSets {
			switch order := dnsOrder(bareName(aws.ToString(set.Name))); {
			case order > dnsOrder(last):
				return out, nil
			case order >= dnsOrder(first) && slices.Contains(addressTypes, set.Type):
				out = append(out, set)
			}
		}
		if !page.IsTruncated {
			return out, nil
		}
		in.StartRecordName, in.StartRecordType, in.StartRecordIdentifier = page.NextRecordName, page.NextRecordType, page.NextRecordIdentifier
	}
}

// dnsOrder is the key by which Route 53 sorts names: the labels from the last one on.
func dnsOrder(name string) string {
	labels := strings.Split(strings.ToLower(name), ".")
	slices.Reverse(labels)
	return strings.Join(labels, "\x00")
}

func (s *survey) claimRecord(entry string) {
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	s.claimedRecords[entry] = true
}

// recordLeftovers returns the names that the ledger knows as ours and no task wants.
func (s *survey) recordLeftovers(ctx context.Context) ([]leftover, error) {
	names, err := s.book.names(ctx, bookRecord)
	if err != nil {
		return nil, err
	}
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	var out []leftover
	for _, n := range names {
		if _, name, ok := strings.Cut(n, " "); ok && !s.claimedRecords[n] {
			out = append(out, leftover{Key: name, ID: n})
		}
	}
	return out, nil
}

// removeRecord deletes the address records of a name of ours, whoever wrote their
// content, and then the ledger's entry. A zone that is gone took them with it.
func (s *survey) removeRecord(ctx context.Context, l leftover) error {
	zone, name, _ := strings.Cut(l.ID, " ")
	sets, err := s.readRecords(ctx, zone, name, name)
	if ifThere(err) != nil {
		return err
	}
	for _, set := range sets {
		if set.Type == r53types.RRTypeCname {
			continue
		}
		if err := s.changeRecord(ctx, zone, r53types.ChangeActionDelete, set); err != nil {
			return err
		}
	}
	return s.book.forget(ctx, bookRecord, l.ID)
}

// Export writes the alias of a load balancer. A name that the control planes keep has no
// content for Terraform to keep.
func (r *Record) Export(ctx context.Context, m *terraform.Module) error {
	if m.Deploy {
		if err := r.s.book.record(ctx, bookRecord, r.entry(), ""); err != nil {
			return err
		}
	}
	if r.balancer == nil {
		return nil
	}
	b := m.Resource("aws_route53_record", r.key)
	r.zone.setZone(b)
	b.SetText("name", r.name)
	b.SetText("type", string(r53types.RRTypeA))
	a := b.Block("alias")
	a.SetText("name", r.balancer.DNSName.Value())
	a.SetText("zone_id", r.balancer.Zone.Value())
	a.Set("evaluate_target_health", terraform.Bool(false))
	if m.Imports && r.s.recordIsThere(r.name) {
		b.Import(r.zone.CloudID.Value() + "_" + r.name + "_A")
	}
	return nil
}

// recordIsThere reports whether the observation found an address record of a name.
func (s *survey) recordIsThere(name string) bool {
	s.recordsMu.Lock()
	defer s.recordsMu.Unlock()
	return s.records != nil && slices.ContainsFunc(s.records.sets, func(set r53types.ResourceRecordSet) bool {
		return bareName(aws.ToString(set.Name)) == name && set.Type == r53types.RRTypeA
	})
}
