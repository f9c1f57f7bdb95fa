// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

type listZonesOut struct {
	XMLName     xml.Name   `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListHostedZonesResponse"`
	HostedZones []zoneView `xml:"HostedZones>HostedZone"`
	Marker      string
	IsTruncated bool
	NextMarker  string `xml:",omitempty"`
	MaxItems    string
}

// listZones gives zones in the order of their ids, from the marker on.
func (s *Service) listZones(r *request) (any, error) {
	most, err := r.maxItems(100)
	if err != nil {
		return nil, err
	}
	q := r.query()
	if t := q.Get("hostedzonetype"); t != "" && t != "PrivateHostedZone" {
		return nil, invalidInput("1 validation error detected: Value '%s' at 'hostedZoneType' failed to satisfy constraint: Member must satisfy enum value set: [PrivateHostedZone]", t)
	}
	out := listZonesOut{Marker: q.Get("marker"), MaxItems: strconv.Itoa(most)}
	if q.Get("delegationsetid") != "" {
		return out, nil
	}
	rows := slices.Clone(s.zones.Visible(""))
	slices.SortFunc(rows, func(a, b *zone) int { return cmp.Compare(a.ID, b.ID) })
	for _, z := range rows {
		if z.ID < out.Marker || q.Get("hostedzonetype") != "" && !z.Private {
			continue
		}
		if len(out.HostedZones) == r.cap(most) {
			out.IsTruncated, out.NextMarker = true, z.ID
			break
		}
		out.HostedZones = append(out.HostedZones, s.view(z))
	}
	return out, nil
}

type byNameOut struct {
	XMLName          xml.Name   `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListHostedZonesByNameResponse"`
	HostedZones      []zoneView `xml:"HostedZones>HostedZone"`
	DNSName          string     `xml:",omitempty"`
	HostedZoneID     string     `xml:"HostedZoneId,omitempty"`
	IsTruncated      bool
	NextDNSName      string `xml:",omitempty"`
	NextHostedZoneID string `xml:"NextHostedZoneId,omitempty"`
	MaxItems         string
}

// listZonesByName gives zones in the order of their names' reversed labels,
// from a name on: the first of the answer need not have that name.
func (s *Service) listZonesByName(r *request) (any, error) {
	most, err := r.maxItems(100)
	if err != nil {
		return nil, err
	}
	q := r.query()
	out := byNameOut{DNSName: q.Get("dnsname"), HostedZoneID: q.Get("hostedzoneid"), MaxItems: strconv.Itoa(most)}
	if out.HostedZoneID != "" && out.DNSName == "" {
		return nil, invalidInput("The HostedZoneId parameter requires the DNSName parameter")
	}
	from := ""
	if out.DNSName != "" {
		name, nerr := normalise(out.DNSName)
		if nerr != nil {
			return nil, invalidInput("%s is not a valid domain name", out.DNSName)
		}
		from = reversed(name)
	}
	rows := slices.Clone(s.zones.Visible(""))
	slices.SortFunc(rows, func(a, b *zone) int {
		return cmp.Or(cmp.Compare(reversed(a.Name), reversed(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	first := strings.TrimPrefix(out.HostedZoneID, "/hostedzone/")
	for _, z := range rows {
		name := reversed(z.Name)
		if name < from || name == from && z.ID < first {
			continue
		}
		if len(out.HostedZones) == r.cap(most) {
			out.IsTruncated, out.NextDNSName, out.NextHostedZoneID = true, z.Name, z.ID
			break
		}
		out.HostedZones = append(out.HostedZones, s.view(z))
	}
	return out, nil
}

type byVPCOut struct {
	XMLName   xml.Name      `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListHostedZonesByVPCResponse"`
	Summaries []zoneSummary `xml:"HostedZoneSummaries>HostedZoneSummary"`
	MaxItems  string
	NextToken string `xml:",omitempty"`
}

type zoneSummary struct {
	HostedZoneID string `xml:"HostedZoneId"`
	Name         string
	Owner        struct{ OwningAccount string }
}

func (s *Service) listZonesByVPC(r *request) (any, error) {
	most, err := r.maxItems(100)
	if err != nil {
		return nil, err
	}
	q := r.query()
	v := vpc{VPCRegion: q.Get("vpcregion"), VPCId: q.Get("vpcid")}
	if v.VPCId == "" || v.VPCRegion == "" {
		return nil, invalidInput("VPCId and VPCRegion must both be given")
	}
	if !s.networks.HasVPC(v.VPCRegion, v.VPCId) {
		return nil, invalidInput("The VPC %s in region %s does not exist", v.VPCId, v.VPCRegion)
	}
	out := byVPCOut{MaxItems: strconv.Itoa(most)}
	rows := slices.Clone(s.zones.Visible(""))
	slices.SortFunc(rows, func(a, b *zone) int { return cmp.Compare(a.ID, b.ID) })
	for _, z := range rows {
		if z.ID < q.Get("nexttoken") || !slices.Contains(z.VPCs, v) {
			continue
		}
		if len(out.Summaries) == r.cap(most) {
			out.NextToken = z.ID
			break
		}
		row := zoneSummary{HostedZoneID: z.ID, Name: z.Name}
		row.Owner.OwningAccount = r.Account
		out.Summaries = append(out.Summaries, row)
	}
	return out, nil
}
