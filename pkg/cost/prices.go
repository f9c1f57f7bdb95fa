// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"
)

// Version is the apiVersion of a price file.
const Version = "slipway.dev/prices/v1"

// maxHours is the length of the longest month.
const maxHours = 31 * 24

// Prices is a price file; docs/reference/price-file.md describes it.
type Prices struct {
	APIVersion  string                          `json:"apiVersion"`
	Description string                          `json:"description,omitempty"`
	Currency    string                          `json:"currency"`
	Hours       float64                         `json:"hoursPerMonth"`
	Clouds      map[string]map[string]*regional `json:"clouds"` // by cloud and region
}

// regional is the prices of one region; what is nil or absent is unknown.
type regional struct {
	Machines      map[string]float64 `json:"machineHour,omitempty"` // by type
	Volumes       map[string]volume  `json:"volumes,omitempty"`     // by type
	LoadBalancers map[string]float64 `json:"loadBalancerHour,omitempty"`
	NATGateway    *float64           `json:"natGatewayHour,omitempty"`
	Address       *float64           `json:"addressHour,omitempty"`

	where string // for messages
}

// volume is the price of one type of volume.
type volume struct {
	GiB                *float64 `json:"gibMonth"`
	IOPS               *float64 `json:"iopsMonth,omitempty"`
	IncludedIOPS       int32    `json:"includedIOPS,omitempty"`
	Throughput         *float64 `json:"throughputMonth,omitempty"` // per MiB/s
	IncludedThroughput int32    `json:"includedThroughput,omitempty"`
}

// Load reads a price file; name is how errors call it.
func Load(name string, data []byte) (*Prices, error) {
	var p Prices
	if err := yaml.UnmarshalStrict(data, &p); err != nil {
		return nil, fmt.Errorf("price file %s: %w", name, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("price file %s: %w", name, err)
	}
	return &p, nil
}

func (p *Prices) check() error {
	switch {
	case p.APIVersion != Version:
		return fmt.Errorf("apiVersion is %q; it must be %s", p.APIVersion, Version)
	case p.Currency == "":
		return fmt.Errorf("currency: name it, such as USD")
	case !(p.Hours > 0 && p.Hours <= maxHours):
		return fmt.Errorf("hoursPerMonth: %v; it must be above 0 and at most %d", p.Hours, maxHours)
	case len(p.Clouds) == 0:
		return fmt.Errorf("clouds: it has no prices")
	}
	for cloud, regions := range p.Clouds {
		for region, r := range regions {
			path := fmt.Sprintf("clouds.%s.%s", cloud, region)
			if r == nil {
				return fmt.Errorf("%s: it has no prices", path)
			}
			r.where = cloud + " " + region
			if err := r.check(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *regional) check(path string) error {
	bad := func(field string, price float64) error {
		if price >= 0 && !math.IsInf(price, 1) {
			return nil
		}
		return fmt.Errorf("%s.%s: %v is no price", path, field, price)
	}
	for name, prices := range map[string]map[string]float64{"machineHour": r.Machines, "loadBalancerHour": r.LoadBalancers} {
		for kind, price := range prices {
			if err := bad(name+"."+kind, price); err != nil {
				return err
			}
		}
	}
	single := map[string]*float64{"natGatewayHour": r.NATGateway, "addressHour": r.Address}
	for kind, v := range r.Volumes {
		if v.GiB == nil {
			return fmt.Errorf("%s.volumes.%s: gibMonth is lacking", path, kind)
		}
		single["volumes."+kind+".gibMonth"] = v.GiB
		single["volumes."+kind+".iopsMonth"] = v.IOPS
		single["volumes."+kind+".throughputMonth"] = v.Throughput
	}
	for field, price := range single {
		if price != nil {
			if err := bad(field, *price); err != nil {
				return err
			}
		}
	}
	return nil
}

// region returns the prices of a region; of one that is not in the file all are unknown.
func (p *Prices) region(cloud, region string) *regional {
	if r := p.Clouds[cloud][region]; r != nil {
		return r
	}
	return &regional{where: cloud + " " + region}
}

// month is what one of a use's things costs in a month, or which prices are unknown.
func (r *regional) month(u Use, hours float64) (price float64, atMost bool, unknown []string) {
	types := u.Types
	if len(types) == 0 {
		types = []string{""}
	}
	for _, t := range types {
		one, lacking := r.one(u, t, hours)
		unknown = append(unknown, lacking...)
		price = max(price, one)
	}
	atMost = len(types) > 1 || u.Spot
	if limit := u.Limit * hours; u.Spot && limit > 0 && (len(unknown) > 0 || limit < price) {
		return limit, true, nil
	}
	return price, atMost, unknown
}

// one is what a thing of one type costs in a month.
func (r *regional) one(u Use, kind string, hours float64) (float64, []string) {
	hourly := func(price float64, known bool) (float64, []string) {
		if !known {
			return 0, []string{lacking(string(u.Thing), kind, r.where)}
		}
		return price * hours, nil
	}
	pointed := func(price *float64) (float64, []string) {
		if price == nil {
			return hourly(0, false)
		}
		return hourly(*price, true)
	}
	switch u.Thing {
	case Machine:
		price, known := r.Machines[kind]
		return hourly(price, known)
	case LoadBalancer:
		price, known := r.LoadBalancers[kind]
		return hourly(price, known)
	case NATGateway:
		return pointed(r.NATGateway)
	case Address:
		return pointed(r.Address)
	case Volume:
		v, known := r.Volumes[kind]
		if !known {
			return hourly(0, false)
		}
		return v.month(u, kind, r.where)
	}
	return hourly(0, false)
}

func (v volume) month(u Use, kind, where string) (float64, []string) {
	price := *v.GiB * float64(u.GiB)
	var unknown []string
	for _, part := range []struct {
		name           string
		want, included int32
		price          *float64
	}{{"IOPS", u.IOPS, v.IncludedIOPS, v.IOPS}, {"throughput", u.Throughput, v.IncludedThroughput, v.Throughput}} {
		more := part.want - part.included
		switch {
		case more <= 0:
		case part.price == nil:
			unknown = append(unknown, lacking(part.name+" of volume", kind, where))
		default:
			price += *part.price * float64(more)
		}
	}
	return price, unknown
}

// lacking names a price that is not given: "machine p5.48xlarge in aws us-east-1".
func lacking(thing, kind, where string) string {
	if kind != "" {
		thing += " " + kind
	}
	return thing + " in " + where
}

// Amount is money of a month, or hours. It is written with two decimals.
type Amount float64

// cents is the amount as it is shown; a negative nothing is nothing.
func (a Amount) cents() float64 {
	c := math.Round(float64(a)*100) / 100
	if c == 0 {
		return 0
	}
	return c
}

// String writes the amount with a comma between thousands: "12,345.60".
func (a Amount) String() string {
	text := strconv.FormatFloat(math.Abs(a.cents()), 'f', 2, 64)
	digits := []byte(text)
	for i := len(text) - 6; i > 0; i -= 3 {
		digits = slices.Insert(digits, i, ',')
	}
	if a.cents() < 0 {
		return "-" + string(digits)
	}
	return string(digits)
}

// MarshalJSON writes a number of at most two decimals.
func (a Amount) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, a.cents(), 'f', -1, 64), nil
}
