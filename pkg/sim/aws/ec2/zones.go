// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// regionData is a region with its zones. Zone names are the real ones; zone ids
// are numbered in the order of the letters, one of the real mappings.
type regionData struct {
	short   string // of zone ids: use1
	letters string // of availability zones
	optIn   bool   // must be enabled first
	others  []otherZone
}

// otherZone is a local or wavelength zone; accounts are not opted in to them.
type otherZone struct{ name, id, kind, parent string }

var regions = map[string]regionData{
	"us-east-1": {short: "use1", letters: "abcdef", others: []otherZone{
		{"us-east-1-bos-1a", "use1-bos1-az1", "local-zone", "us-east-1a"},
		{"us-east-1-mia-2a", "use1-mia2-az1", "local-zone", "us-east-1b"},
		{"us-east-1-wl1-bos-wlz-1", "use1-wl1-bos-wlz1", "wavelength-zone", "us-east-1c"},
	}},
	"us-east-2": {short: "use2", letters: "abc"},
	"us-west-1": {short: "usw1", letters: "ac"},
	"us-west-2": {short: "usw2", letters: "abcd", others: []otherZone{
		{"us-west-2-lax-1a", "usw2-lax1-az1", "local-zone", "us-west-2a"},
		{"us-west-2-lax-1b", "usw2-lax1-az2", "local-zone", "us-west-2a"},
	}},
	"ca-central-1": {short: "cac1", letters: "abd"}, "ca-west-1": {short: "caw1", letters: "abc", optIn: true},
	"sa-east-1": {short: "sae1", letters: "abc"},
	"eu-west-1": {short: "euw1", letters: "abc"}, "eu-west-2": {short: "euw2", letters: "abc"}, "eu-west-3": {short: "euw3", letters: "abc"},
	"eu-central-1": {short: "euc1", letters: "abc"}, "eu-central-2": {short: "euc2", letters: "abc", optIn: true},
	"eu-north-1": {short: "eun1", letters: "abc"}, "eu-south-1": {short: "eus1", letters: "abc", optIn: true}, "eu-south-2": {short: "eus2", letters: "abc", optIn: true},
	"ap-south-1": {short: "aps1", letters: "abc"}, "ap-south-2": {short: "aps2", letters: "abc", optIn: true},
	"ap-southeast-1": {short: "apse1", letters: "abc"}, "ap-southeast-2": {short: "apse2", letters: "abc"}, "ap-southeast-3": {short: "apse3", letters: "abc", optIn: true},
	"ap-northeast-1": {short: "apne1", letters: "acd"}, "ap-northeast-2": {short: "apne2", letters: "abcd"}, "ap-northeast-3": {short: "apne3", letters: "abc"},
	"ap-east-1":  {short: "ape1", letters: "abc", optIn: true},
	"me-south-1": {short: "mes1", letters: "abc", optIn: true}, "me-central-1": {short: "mec1", letters: "abc", optIn: true},
	"af-south-1": {short: "afs1", letters: "abc", optIn: true}, "il-central-1": {short: "ilc1", letters: "abc", optIn: true},
}

// zone is an availability, local or wavelength zone as answers show it.
type zone struct {
	ZoneState          string
	OptInStatus        string
	Messages           []struct{} `wire:"messageSet"`
	RegionName         string
	ZoneName           string
	ZoneId             string
	GroupName          string
	NetworkBorderGroup string
	ZoneType           string
	ParentZoneName     string
}

// zonesOf lists a region's zones in the order of their names.
func zonesOf(region string) []*zone {
	data := regions[region]
	var list []*zone
	for i, letter := range data.letters {
		list = append(list, &zone{
			ZoneState: "available", OptInStatus: "opt-in-not-required", RegionName: region,
			ZoneName: region + string(letter), ZoneId: data.short + "-az" + strconv.Itoa(i+1),
			GroupName: region + "-zg-1", NetworkBorderGroup: region, ZoneType: "availability-zone",
		})
	}
	for _, o := range data.others {
		group := strings.TrimRight(o.name, "abcdefgh")
		list = append(list, &zone{
			ZoneState: "available", OptInStatus: "not-opted-in", RegionName: region, ZoneName: o.name, ZoneId: o.id,
			GroupName: group, NetworkBorderGroup: group, ZoneType: o.kind, ParentZoneName: o.parent,
		})
	}
	return list
}

// zoneByName finds a zone of the region by name or id.
func zoneByName(region, nameOrID string) *zone {
	for _, z := range zonesOf(region) {
		if z.ZoneName == nameOrID || z.ZoneId == nameOrID {
			return z
		}
	}
	return nil
}

var zoneFilters = map[string]func(*zone) []string{
	"zone-name":     one(func(z *zone) string { return z.ZoneName }),
	"zone-id":       one(func(z *zone) string { return z.ZoneId }),
	"zone-type":     one(func(z *zone) string { return z.ZoneType }),
	"region-name":   one(func(z *zone) string { return z.RegionName }),
	"group-name":    one(func(z *zone) string { return z.GroupName }),
	"opt-in-status": one(func(z *zone) string { return z.OptInStatus }),
	"state":         one(func(z *zone) string { return z.ZoneState }),
}

func zoneOps() map[string]wire.Handler {
	return map[string]wire.Handler{"DescribeAvailabilityZones": op(describeZones), "DescribeRegions": op(describeRegions)}
}

type describeZonesIn struct {
	ZoneNames            []string `wire:"ZoneName"`
	ZoneIds              []string `wire:"ZoneId"`
	AllAvailabilityZones bool
	Filters              []Filter `wire:"Filter"`
}

type describeZonesOut struct {
	Zones []zone `wire:"availabilityZoneInfo"`
}

func describeZones(c *wire.Call, in *describeZonesIn) (*describeZonesOut, error) {
	var rows []*zone
	wanted := append(slices.Clone(in.ZoneNames), in.ZoneIds...)
	for _, name := range wanted {
		z := zoneByName(c.Region, name)
		if z == nil {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
		rows = append(rows, z)
	}
	if len(wanted) == 0 {
		for _, z := range zonesOf(c.Region) {
			if in.AllAvailabilityZones || z.OptInStatus != "not-opted-in" {
				rows = append(rows, z)
			}
		}
	}
	rows, err := filter(rows, in.Filters, zoneFilters, nil)
	if err != nil {
		return nil, err
	}
	out := &describeZonesOut{}
	for _, z := range rows {
		out.Zones = append(out.Zones, *z)
	}
	return out, nil
}

type region struct {
	RegionName     string
	RegionEndpoint string
	OptInStatus    string
}

var regionFilters = map[string]func(*region) []string{
	"region-name":   one(func(r *region) string { return r.RegionName }),
	"endpoint":      one(func(r *region) string { return r.RegionEndpoint }),
	"opt-in-status": one(func(r *region) string { return r.OptInStatus }),
}

type describeRegionsIn struct {
	RegionNames []string `wire:"RegionName"`
	AllRegions  bool
	Filters     []Filter `wire:"Filter"`
}

type describeRegionsOut struct {
	Regions []region `wire:"regionInfo"`
}

func describeRegions(_ *wire.Call, in *describeRegionsIn) (*describeRegionsOut, error) {
	names := in.RegionNames
	if len(names) == 0 {
		for name, data := range regions {
			if in.AllRegions || !data.optIn {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	var rows []*region
	for _, name := range names {
		data, found := regions[name]
		if !found {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid region: [%s]", name)
		}
		status := "opt-in-not-required"
		if data.optIn {
			status = "not-opted-in"
		}
		rows = append(rows, &region{name, "ec2." + name + ".amazonaws.com", status})
	}
	rows, err := filter(rows, in.Filters, regionFilters, nil)
	if err != nil {
		return nil, err
	}
	out := &describeRegionsOut{}
	for _, r := range rows {
		out.Regions = append(out.Regions, *r)
	}
	return out, nil
}
