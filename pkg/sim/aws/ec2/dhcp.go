// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// DhcpOptions are what a network's machines are told at boot.
type DhcpOptions struct {
	DhcpOptionsId  string
	OwnerId        string
	Configurations []DhcpConfiguration `wire:"dhcpConfigurationSet"`
	Tags           []Tag               `wire:"tagSet"`
	Default        bool                `wire:"-"` // the region's own set
}

// DhcpConfiguration is one option with its values.
type DhcpConfiguration struct {
	Key    string
	Values []DhcpValue `wire:"valueSet"`
}

// DhcpValue is a value of an option.
type DhcpValue struct{ Value string }

var dhcpKeys = []string{"domain-name", "domain-name-servers", "ntp-servers", "netbios-name-servers", "netbios-node-type", "ipv6-address-preferred-lease-time"}

func newDhcpKind(s *Service, w *world.World) (*kind[DhcpOptions], error) {
	return newKind(s, w, kind[DhcpOptions]{
		resource: "dhcp-options", prefix: "dopt-", notFound: "InvalidDhcpOptionID.NotFound", word: "dhcpOption ID",
		id:   func(d *DhcpOptions) string { return d.DhcpOptionsId },
		tags: func(d *DhcpOptions) *[]Tag { return &d.Tags },
		filters: map[string]func(*DhcpOptions) []string{
			"dhcp-options-id": one(func(d *DhcpOptions) string { return d.DhcpOptionsId }), "owner-id": one(func(d *DhcpOptions) string { return d.OwnerId }),
			"key": many(func(d *DhcpOptions) []DhcpConfiguration { return d.Configurations }, func(o DhcpConfiguration) string { return o.Key }),
			"value": func(d *DhcpOptions) []string {
				var values []string
				for _, o := range d.Configurations {
					for _, v := range o.Values {
						values = append(values, v.Value)
					}
				}
				return values
			},
		},
	})
}

func (s *Service) dhcpOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateDhcpOptions": op(s.createDhcp), "DescribeDhcpOptions": op(s.describeDhcp), "DeleteDhcpOptions": op(s.deleteDhcp),
		"AssociateDhcpOptions": op(s.associateDhcp),
	}
}

type createDhcpIn struct {
	Configurations []struct {
		Key    string
		Values []string `wire:"Value"`
	} `wire:"DhcpConfiguration,required"`
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type dhcpOut struct{ DhcpOptions DhcpOptions }

func (s *Service) createDhcp(c *wire.Call, in *createDhcpIn) (*dhcpOut, error) {
	tags, err := tagsFor(in.TagSpecifications, "dhcp-options")
	if err != nil {
		return nil, err
	}
	d := &DhcpOptions{DhcpOptionsId: s.newID("dopt-"), OwnerId: s.account, Tags: tags}
	for _, o := range in.Configurations {
		if !slices.Contains(dhcpKeys, o.Key) || len(o.Values) == 0 {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter name is invalid. Unknown DHCP option, or one without values", o.Key)
		}
		if o.Key == "domain-name-servers" && len(o.Values) > 4 {
			return nil, wire.Errorf("InvalidParameterValue", "At most four domain name servers can be given")
		}
		conf := DhcpConfiguration{Key: o.Key}
		for _, v := range o.Values {
			conf.Values = append(conf.Values, DhcpValue{v})
		}
		d.Configurations = append(d.Configurations, conf)
	}
	s.dhcp.put(c, d)
	return &dhcpOut{*d}, nil
}

// defaultDhcp returns the id of the region's own options, made with its first network.
func (s *Service) defaultDhcp(c *wire.Call) string {
	if d := s.dhcp.first(c, func(d *DhcpOptions) bool { return d.Default }); d != nil {
		return d.DhcpOptionsId
	}
	d := &DhcpOptions{DhcpOptionsId: s.newID("dopt-"), OwnerId: s.account, Default: true, Configurations: []DhcpConfiguration{
		{"domain-name", []DhcpValue{{internalDomain(c.Region)}}}, {"domain-name-servers", []DhcpValue{{"AmazonProvidedDNS"}}},
	}}
	s.dhcp.put(c, d)
	return d.DhcpOptionsId
}

type describeDhcpIn struct {
	Ids []string `wire:"DhcpOptionsId"`
	describe
}

type describeDhcpOut struct {
	NextToken string
	Options   []*DhcpOptions `wire:"dhcpOptionsSet"`
}

func (s *Service) describeDhcp(c *wire.Call, in *describeDhcpIn) (*describeDhcpOut, error) {
	rows, next, err := s.dhcp.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeDhcpOut{next, rows}, nil
}

func (s *Service) deleteDhcp(c *wire.Call, in *struct {
	Id string `wire:"DhcpOptionsId,required"`
}) (*done, error) {
	d, err := s.dhcp.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	if s.vpcs.first(c, func(v *Vpc) bool { return v.DhcpOptionsId == d.DhcpOptionsId }) != nil {
		return nil, wire.Errorf("DependencyViolation", "The dhcpOptions '%s' has dependencies and cannot be deleted.", d.DhcpOptionsId)
	}
	s.dhcp.remove(c, d)
	return ok()
}

func (s *Service) associateDhcp(c *wire.Call, in *struct {
	DhcpOptionsId string `wire:"DhcpOptionsId,required"`
	VpcId         string `wire:"VpcId,required"`
}) (*done, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	id := in.DhcpOptionsId
	if id == "default" {
		id = s.defaultDhcp(c)
	} else if _, err := s.dhcp.get(c, id); err != nil {
		return nil, err
	}
	v.DhcpOptionsId = id
	s.vpcs.put(c, v)
	return ok()
}
