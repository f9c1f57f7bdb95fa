// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
)

// record is a row of the table of record sets.
type record struct {
	Name, Type       string
	SetIdentifier    string       `json:",omitempty"`
	Weight           *int64       `json:",omitempty"`
	Region           string       `json:",omitempty"`
	GeoLocation      *geoLocation `json:",omitempty"`
	Failover         string       `json:",omitempty"`
	MultiValueAnswer *bool        `json:",omitempty"`
	TTL              *int64       `json:",omitempty"`
	Values           []string     `json:",omitempty"`
	AliasTarget      *aliasTarget `json:",omitempty"`
	HealthCheckID    string       `json:",omitempty"`
}

type geoLocation struct {
	ContinentCode   string `xml:",omitempty"`
	CountryCode     string `xml:",omitempty"`
	SubdivisionCode string `xml:",omitempty"`
}

type aliasTarget struct {
	HostedZoneID         string `xml:"HostedZoneId"`
	DNSName              string
	EvaluateTargetHealth bool
}

// key identifies a record set in its zone.
func (r *record) key() string { return r.Name + " " + r.Type + " " + r.SetIdentifier }

// atApex tells whether a record is one of those that every zone has.
func (r *record) atApex(z *zone) bool {
	return r.Name == z.Name && (r.Type == "NS" || r.Type == "SOA")
}

// recordView is a record set in an answer: one element per value.
type recordView struct {
	Name, Type       string
	SetIdentifier    string `xml:",omitempty"`
	Weight           *int64
	Region           string `xml:",omitempty"`
	GeoLocation      *geoLocation
	Failover         string `xml:",omitempty"`
	MultiValueAnswer *bool
	TTL              *int64
	ResourceRecords  *recordValues
	AliasTarget      *aliasTarget
	HealthCheckID    string `xml:"HealthCheckId,omitempty"`
}

type recordValues struct {
	ResourceRecord []struct{ Value string }
}

func (r *record) view() recordView {
	v := recordView{r.Name, r.Type, r.SetIdentifier, r.Weight, r.Region, r.GeoLocation, r.Failover, r.MultiValueAnswer, r.TTL, nil, r.AliasTarget, r.HealthCheckID}
	if len(r.Values) > 0 {
		v.ResourceRecords = &recordValues{}
		for _, value := range r.Values {
			v.ResourceRecords.ResourceRecord = append(v.ResourceRecords.ResourceRecord, struct{ Value string }{value})
		}
	}
	return v
}

// order is Route 53's: by reversed labels, then type, then set identifier.
func order(a, b *record) int {
	return cmp.Or(cmp.Compare(reversed(a.Name), reversed(b.Name)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier))
}

type listRecordsOut struct {
	XMLName              xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListResourceRecordSetsResponse"`
	ResourceRecordSets   recordList
	IsTruncated          bool
	MaxItems             string
	NextRecordName       string `xml:",omitempty"`
	NextRecordType       string `xml:",omitempty"`
	NextRecordIdentifier string `xml:",omitempty"`
}

type recordList struct{ ResourceRecordSet []recordView }

// listRecords gives a zone's records from a place on, which need not exist.
func (s *Service) listRecords(r *request) (any, error) {
	z, err := s.zone(r.id)
	if err != nil {
		return nil, err
	}
	most, err := r.maxItems(300)
	if err != nil {
		return nil, err
	}
	q := r.query()
	from := &record{Type: q.Get("type"), SetIdentifier: q.Get("identifier")}
	switch {
	case from.Type != "" && q.Get("name") == "":
		return nil, invalidInput("The input is not valid: StartRecordType was given without StartRecordName")
	case from.SetIdentifier != "" && from.Type == "":
		return nil, invalidInput("The input is not valid: StartRecordIdentifier was given without StartRecordType")
	case q.Get("name") != "":
		var nerr error
		if from.Name, nerr = normalise(q.Get("name")); nerr != nil {
			return nil, invalidInput("%s is not a valid domain name", q.Get("name"))
		}
	}
	rows := slices.Clone(s.records.Visible(z.ID))
	slices.SortFunc(rows, order)
	out := listRecordsOut{MaxItems: strconv.Itoa(most)}
	for _, rec := range rows {
		if from.Name != "" && order(rec, from) < 0 {
			continue
		}
		if len(out.ResourceRecordSets.ResourceRecordSet) == r.cap(most) {
			out.IsTruncated, out.NextRecordName, out.NextRecordType, out.NextRecordIdentifier = true, rec.Name, rec.Type, rec.SetIdentifier
			break
		}
		out.ResourceRecordSets.ResourceRecordSet = append(out.ResourceRecordSets.ResourceRecordSet, rec.view())
	}
	return out, nil
}
