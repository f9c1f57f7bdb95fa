// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Limits of a batch: values in it, an UPSERT counting twice, and their
// characters.
const (
	maxBatchValues     = 1000
	maxBatchCharacters = 32000
)

type changeRecordsIn struct {
	XMLName     xml.Name `xml:"ChangeResourceRecordSetsRequest"`
	ChangeBatch struct {
		Comment string         `xml:",omitempty"`
		Changes []recordChange `xml:"Changes>Change"`
	}
}

type recordChange struct {
	Action            string
	ResourceRecordSet recordView
}

// batch is a list of changes on the way to being made together.
type batch struct {
	zone   *zone
	before map[string]*record
	after  map[string]*record
	faults []string
}

func (b *batch) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

func (s *Service) changeRecords(r *request) (any, error) {
	var in changeRecordsIn
	if err := r.decode(&in, "ChangeResourceRecordSetsRequest"); err != nil {
		return nil, err
	}
	z, err := s.zone(r.id)
	if err != nil {
		return nil, err
	}
	if len(in.ChangeBatch.Changes) == 0 {
		return nil, invalidInput("1 validation error detected: Value '[]' at 'changeBatch.changes' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if err := checkSize(in.ChangeBatch.Changes); err != nil {
		return nil, err
	}
	b := &batch{zone: z, before: map[string]*record{}, after: map[string]*record{}}
	for _, rec := range s.records.All(z.ID) {
		b.before[rec.key()], b.after[rec.key()] = rec, rec
	}
	seen := map[string]bool{}
	for _, ch := range in.ChangeBatch.Changes {
		rec, err := ch.record()
		if err != nil {
			return nil, err
		}
		if once := ch.Action + " " + rec.key(); seen[once] {
			b.fault("The request contains an invalid set of changes for a resource record set '%s %s'", rec.Type, rec.Name)
		} else {
			seen[once] = true
		}
		b.apply(ch.Action, rec, s)
	}
	b.checkWhole()
	if len(b.faults) > 0 {
		return nil, wire.Errorf("InvalidChangeBatch", "[%s]", strings.Join(b.faults, ", "))
	}
	s.commit(b)
	return s.answer("ChangeResourceRecordSetsResponse", s.submit(r, in.ChangeBatch.Comment)), nil
}

func (s *Service) commit(b *batch) {
	for k, old := range b.before {
		if b.after[k] == nil {
			s.records.Delete(b.zone.ID, k)
		} else if b.after[k] != old {
			s.records.Put(b.zone.ID, k, b.after[k])
		}
	}
	for k, rec := range b.after {
		if b.before[k] == nil {
			s.records.Put(b.zone.ID, k, rec)
		}
	}
}

func checkSize(changes []recordChange) *wire.Error {
	values, characters := 0, 0
	for _, ch := range changes {
		weight := 1
		if ch.Action == "UPSERT" {
			weight = 2
		}
		if ch.ResourceRecordSet.ResourceRecords == nil {
			values += weight
			continue
		}
		for _, v := range ch.ResourceRecordSet.ResourceRecords.ResourceRecord {
			values += weight
			characters += weight * len(v.Value)
		}
	}
	if values > maxBatchValues {
		return wire.Errorf("InvalidChangeBatch", "[Number of records limit of %d exceeded.]", maxBatchValues)
	}
	if characters > maxBatchCharacters {
		return wire.Errorf("InvalidChangeBatch", "[Number of characters limit of %d exceeded.]", maxBatchCharacters)
	}
	return nil
}

// record reads the record set of a change and checks its form.
func (ch recordChange) record() (*record, *wire.Error) {
	v := ch.ResourceRecordSet
	if !slices.Contains([]string{"CREATE", "UPSERT", "DELETE"}, ch.Action) {
		return nil, invalidInput("1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.action' failed to satisfy constraint: Member must satisfy enum value set: [CREATE, DELETE, UPSERT]", ch.Action)
	}
	name, err := normalise(v.Name)
	if err != nil {
		return nil, wire.Errorf("InvalidChangeBatch", "[FATAL problem: DomainLabelEmpty (Domain label is empty) encountered with '%s']", v.Name)
	}
	if checks[v.Type] == nil {
		return nil, invalidInput("1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.resourceRecordSet.type' failed to satisfy constraint: Member must satisfy enum value set: [SOA, A, TXT, NS, CNAME, MX, NAPTR, PTR, SRV, SPF, AAAA, CAA, DS, TLSA, SSHFP, SVCB, HTTPS]", v.Type)
	}
	rec := &record{name, v.Type, v.SetIdentifier, v.Weight, v.Region, v.GeoLocation, v.Failover, v.MultiValueAnswer, v.TTL, nil, v.AliasTarget, v.HealthCheckID}
	if v.ResourceRecords != nil {
		for _, value := range v.ResourceRecords.ResourceRecord {
			rec.Values = append(rec.Values, value.Value)
		}
	}
	plain := rec.TTL != nil && len(rec.Values) > 0
	if (rec.AliasTarget != nil) == plain || rec.AliasTarget != nil && (rec.TTL != nil || len(rec.Values) > 0) {
		found := "none"
		if rec.AliasTarget != nil {
			found = "more than one"
		}
		id := rec.SetIdentifier
		if id == "" {
			id = "null"
		}
		return nil, invalidInput("Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], but found %s in Change with [Action=%s, Name=%s, Type=%s, SetIdentifier=%s]",
			found, ch.Action, v.Name, v.Type, id)
	}
	if a := rec.AliasTarget; a != nil {
		if a.DNSName, err = normalise(a.DNSName); err != nil {
			return nil, invalidInput("Invalid request: the alias target name is not a valid domain name")
		}
		a.HostedZoneID = strings.TrimPrefix(a.HostedZoneID, "/hostedzone/")
	}
	return rec, nil
}

// apply makes one change in the batch's copy, or notes why it cannot be made.
func (b *batch) apply(action string, rec *record, s *Service) {
	if !within(rec.Name, b.zone.Name) {
		b.fault("RRSet with DNS name %s is not permitted in zone %s", rec.Name, b.zone.Name)
		return
	}
	have := b.after[rec.key()]
	switch action {
	case "DELETE":
		switch {
		case have == nil:
			b.fault("Tried to delete resource record set %s but it was not found", rec.words())
		case !have.same(rec):
			b.fault("Tried to delete resource record set %s but the values provided do not match the current values", rec.words())
		default:
			delete(b.after, rec.key())
		}
		return
	case "CREATE":
		if have != nil {
			b.fault("Tried to create resource record set %s but it already exists", rec.words())
			return
		}
	}
	b.checkRecord(rec, s)
	b.after[rec.key()] = rec
}

// words names a record set in messages.
func (r *record) words() string {
	if r.SetIdentifier != "" {
		return fmt.Sprintf("[name='%s', type='%s', set identifier='%s']", r.Name, r.Type, r.SetIdentifier)
	}
	return fmt.Sprintf("[name='%s', type='%s']", r.Name, r.Type)
}

// same compares everything that a DELETE must state rightly; the order of
// values does not count.
func (r *record) same(o *record) bool {
	a, b := slices.Sorted(slices.Values(r.Values)), slices.Sorted(slices.Values(o.Values))
	return equal(r.TTL, o.TTL) && equal(r.Weight, o.Weight) && equal(r.MultiValueAnswer, o.MultiValueAnswer) &&
		equal(r.AliasTarget, o.AliasTarget) && equal(r.GeoLocation, o.GeoLocation) && slices.Equal(a, b) &&
		r.Region == o.Region && r.Failover == o.Failover && r.HealthCheckID == o.HealthCheckID
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// checkWhole judges the zone as it would be: its own records, and CNAMEs that
// stand alone.
func (b *batch) checkWhole() {
	types := map[string]map[string]int{}
	for _, rec := range b.after {
		if types[rec.Name] == nil {
			types[rec.Name] = map[string]int{}
		}
		types[rec.Name][rec.Type]++
	}
	apex := types[b.zone.Name]
	if apex["SOA"] != 1 {
		b.fault("A HostedZone must contain exactly one SOA record.")
	}
	if apex["NS"] == 0 {
		b.fault("A HostedZone must contain at least one NS record for the zone itself.")
	}
	for k, rec := range b.after {
		if b.before[k] == rec {
			continue
		}
		for other := range types[rec.Name] {
			if (rec.Type == "CNAME") != (other == "CNAME") {
				b.fault("RRSet of type %s with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s", rec.Type, rec.Name, b.zone.Name)
			}
		}
	}
	slices.Sort(b.faults)
	b.faults = slices.Compact(b.faults)
}
