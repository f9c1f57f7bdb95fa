// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// checks are the record types with what a value must look like; the text is
// the problem that Route 53 names, "" when the value is fine.
var checks = map[string]func(value string) string{
	"A": func(v string) string {
		if a, err := netip.ParseAddr(v); err != nil || !a.Is4() {
			return "ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address)"
		}
		return ""
	},
	"AAAA": func(v string) string {
		if a, err := netip.ParseAddr(v); err != nil || !a.Is6() || a.Zone() != "" {
			return "AAAARRDATAIllegalIPv6Address (Value is not a valid IPv6 address)"
		}
		return ""
	},
	"CNAME": domainValue, "NS": domainValue, "PTR": domainValue,
	"TXT": quotedValue, "SPF": quotedValue,
	"MX":  numbersThenName(1, "MXRRDATANotTwoFields (MX record doesn't have 2 fields)"),
	"SRV": numbersThenName(3, "SRVRRDATANotFourFields (SRV record doesn't have 4 fields)"),
	"CAA": caaValue,
	"SOA": anyValue, "NAPTR": anyValue, "DS": anyValue, "TLSA": anyValue, "SSHFP": anyValue, "SVCB": anyValue, "HTTPS": anyValue,
}

func anyValue(v string) string {
	if strings.TrimSpace(v) == "" {
		return "EmptyValue (Value is empty)"
	}
	return ""
}

func domainValue(v string) string {
	if _, err := normalise(v); err != nil {
		return "DomainLabelEmpty (Domain label is empty)"
	}
	return ""
}

var quotedStrings = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"(?:\s+"(?:[^"\\]|\\.)*")*$`)

func quotedValue(v string) string {
	if !quotedStrings.MatchString(v) {
		return "InvalidCharacterString (Value should be enclosed in quotation marks)"
	}
	for part := range strings.SplitSeq(v, `" "`) {
		if len(strings.Trim(part, `"`)) > 255 {
			return "CharacterStringTooLong (Value is too long)"
		}
	}
	return ""
}

func numbersThenName(numbers int, problem string) func(string) string {
	return func(v string) string {
		fields := strings.Fields(v)
		if len(fields) != numbers+1 {
			return problem
		}
		for _, n := range fields[:numbers] {
			if _, err := strconv.ParseUint(n, 10, 16); err != nil {
				return problem
			}
		}
		return domainValue(fields[numbers])
	}
}

var caaPattern = regexp.MustCompile(`^\d{1,3} [a-z0-9]+ ".*"$`)

func caaValue(v string) string {
	if !caaPattern.MatchString(v) {
		return "CAARRDATANotThreeFields (CAA record doesn't have 3 fields)"
	}
	return ""
}

// checkRecord judges a record set that would be written.
func (b *batch) checkRecord(rec *record, s *Service) {
	if rec.Type == "CNAME" && rec.Name == b.zone.Name {
		b.fault("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", rec.Name, b.zone.Name)
	}
	if rec.TTL != nil && (*rec.TTL < 0 || *rec.TTL > 2147483647) {
		b.fault("Invalid TTL %d for resource record set %s", *rec.TTL, rec.words())
	}
	seen := map[string]bool{}
	for _, v := range rec.Values {
		if problem := checks[rec.Type](v); problem != "" {
			b.fault("Invalid Resource Record: 'FATAL problem: %s encountered with '%s''", problem, v)
		}
		if seen[v] {
			b.fault("Duplicate Resource Record: '%s'", v)
		}
		seen[v] = true
	}
	if rec.Type == "CNAME" && len(rec.Values) > 1 {
		b.fault("RRSet of type CNAME with DNS name %s may have only one value", rec.Name)
	}
	if len(rec.Values) > 400 {
		b.fault("Number of values for %s exceeds the limit of 400", rec.words())
	}
	b.checkRouting(rec)
	if rec.AliasTarget != nil {
		b.checkAlias(rec, s)
	}
}

// checkRouting judges routing policies: at most one, with a set identifier,
// and the same for every record set of a name and type.
func (b *batch) checkRouting(rec *record) {
	policies := 0
	for _, set := range []bool{rec.Weight != nil, rec.Region != "", rec.GeoLocation != nil, rec.Failover != "", rec.MultiValueAnswer != nil} {
		if set {
			policies++
		}
	}
	switch {
	case policies > 1 || (policies == 1) != (rec.SetIdentifier != ""):
		b.fault("Invalid request: Expected exactly one of [Weight, Region, Failover, GeoLocation, MultiValueAnswer] together with SetIdentifier in resource record set %s", rec.words())
	case rec.Weight != nil && (*rec.Weight < 0 || *rec.Weight > 255):
		b.fault("Invalid weight %d in resource record set %s", *rec.Weight, rec.words())
	case rec.Failover != "" && rec.Failover != "PRIMARY" && rec.Failover != "SECONDARY":
		b.fault("Invalid failover %s in resource record set %s", rec.Failover, rec.words())
	}
	for k, other := range b.after {
		if k == rec.key() || other.Name != rec.Name || other.Type != rec.Type {
			continue
		}
		if (other.SetIdentifier == "") != (rec.SetIdentifier == "") {
			b.fault("RRSet with DNS name %s, type %s, SetIdentifier %s cannot be created as a non-simple and a simple RRSet with the same name and type cannot exist together", rec.Name, rec.Type, rec.SetIdentifier)
		}
	}
}

// balancerZones are the hosted zones of network load balancers by region, as
// AWS publishes them.
var balancerZones = map[string]string{
	"us-east-1": "Z26RNL4JYFTOTI", "us-east-2": "ZLMOA37VPKANP", "us-west-1": "Z24FKFUX50B4VW", "us-west-2": "Z18D5FSROUN65G",
	"ca-central-1": "Z2EPGBW3API2WT", "sa-east-1": "ZTK26PT1VY4CU", "eu-west-1": "Z2IFOLAFXWLO4F", "eu-west-2": "ZD4D7Y8KGAS4G",
	"eu-west-3": "Z1CMS0P5QUZ6D5", "eu-central-1": "Z3F0SRJ5LGBH90", "eu-north-1": "Z1UDT6IFJ4EJM", "eu-south-1": "Z23146JA1KNAFP",
	"ap-south-1": "ZVDDRBQ08TROA", "ap-southeast-1": "ZKVM4W9LS7TM", "ap-southeast-2": "ZCT6FZBF4DROD", "ap-northeast-1": "Z31USIVHYNEOWT",
	"ap-northeast-2": "ZIBE1TIR4HY56", "ap-northeast-3": "Z1GWIQ4HH19I5X", "ap-east-1": "Z12Y7K3UBGUAD1", "me-south-1": "Z3QSRYVP46NYYV",
	"af-south-1": "Z203XCE67M25HM",
}

// BalancerZone is the hosted zone that names of a region's network load
// balancers lie in.
func BalancerZone(region string) string {
	if z, ok := balancerZones[region]; ok {
		return z
	}
	return "Z26RNL4JYFTOTI"
}

// checkAlias judges where an alias points: to a record of its own zone, which
// must exist, or to a name that lies in a balancer's zone.
func (b *batch) checkAlias(rec *record, s *Service) {
	a := rec.AliasTarget
	words := "Tried to create an alias that targets " + a.DNSName + ", type " + rec.Type + " in zone " + a.HostedZoneID
	if rec.Type == "NS" || rec.Type == "SOA" {
		b.fault("%s, but an alias may not have the type %s", words, rec.Type)
		return
	}
	if a.HostedZoneID == b.zone.ID {
		for _, other := range b.after {
			if other.Name == a.DNSName && other.Type == rec.Type && other != rec {
				return
			}
		}
		b.fault("%s, but that target was not found", words)
		return
	}
	if s.zones.Get("", a.HostedZoneID) != nil {
		b.fault("%s, but the alias target name does not lie within the target zone", words)
		return
	}
	for region, id := range balancerZones {
		if id == a.HostedZoneID {
			if !strings.HasSuffix(a.DNSName, ".elb."+region+".amazonaws.com.") {
				b.fault("%s, but the alias target name does not lie within the target zone", words)
			}
			return
		}
	}
	if !strings.HasSuffix(a.DNSName, ".amazonaws.com.") && !strings.HasSuffix(a.DNSName, ".cloudfront.net.") {
		b.fault("%s, but the alias target name does not lie within the target zone", words)
	}
}
