// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// DHCPOptions give the machines of our own VPC their domain name and name server.
type DHCPOptions struct {
	resource
	vpc    *VPC
	domain string
}

// amazonDNS stands for the VPC's own resolver.
const amazonDNS = "AmazonProvidedDNS"

func newDHCPOptions(s *survey, vpc *VPC) *DHCPOptions {
	domain := s.region + ".compute.internal"
	if s.region == "us-east-1" {
		domain = "ec2.internal"
	}
	return &DHCPOptions{
		resource: resource{
			s: s, kind: "dhcpoptions", key: s.cluster, deps: []tasks.Task{vpc},
			tags: s.tagsFor(s.cluster, s.cluster, nil),
		},
		vpc: vpc, domain: domain,
	}
}

// Observe finds the options and whether the VPC uses them; they cannot be edited.
func (p *DHCPOptions) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := p.s.dhcp.find(ctx, p.key)
	if err != nil {
		return tasks.Change{}, err
	}
	vpc, _, err := p.s.vpcs.find(ctx, p.vpc.key)
	if err != nil {
		return tasks.Change{}, err
	}
	used := ""
	if id, known := p.vpc.CloudID.Get(); known && exists && vpc.ID == id && aws.ToString(vpc.Value.DhcpOptionsId) == o.ID {
		used = id
	}
	d := tasks.NewDiff(exists)
	d.Fixed("domainName", dhcpValue(o.Value, "domain-name"), p.domain)
	d.Fixed("nameServers", dhcpValue(o.Value, "domain-name-servers"), amazonDNS)
	d.Field("vpc", used, p.vpc.CloudID.Plan())
	diffTags(d, o.Tags, p.tags)
	return found(&p.resource, p.s.dhcp, o, exists, d), nil
}

func dhcpValue(o ec2types.DhcpOptions, key string) string {
	var values []string
	for _, c := range o.DhcpConfigurations {
		if aws.ToString(c.Key) == key {
			for _, v := range c.Values {
				values = append(values, aws.ToString(v.Value))
			}
		}
	}
	slices.Sort(values)
	return strings.Join(values, ",")
}

// Apply makes the options and has the VPC use them.
func (p *DHCPOptions) Apply(ctx context.Context, c tasks.Change) error {
	id := c.Observed.(owned[ec2types.DhcpOptions]).ID
	if c.Action == tasks.Replace {
		if err := p.s.retire(ctx, id, p.key); err != nil {
			return err
		}
	}
	if c.Action == tasks.Update {
		if err := p.s.applyTags(ctx, id, c); err != nil {
			return err
		}
	} else {
		var err error
		if id, err = p.s.dhcp.makeOnce(ctx, p.key, p.create); err != nil {
			return fmt.Errorf("create DHCP options: %w", err)
		}
	}
	if c.Action != tasks.Update || c.Has("vpc") {
		vpc := p.vpc.CloudID.Value()
		if _, err := p.s.ec2.AssociateDhcpOptions(ctx, &ec2.AssociateDhcpOptionsInput{DhcpOptionsId: &id, VpcId: &vpc}); err != nil {
			return fmt.Errorf("use DHCP options %s in %s: %w", id, vpc, err)
		}
	}
	p.CloudID.Set(id)
	return nil
}

func (p *DHCPOptions) create(ctx context.Context) (string, error) {
	out, err := p.s.ec2.CreateDhcpOptions(ctx, &ec2.CreateDhcpOptionsInput{
		DhcpConfigurations: []ec2types.NewDhcpConfiguration{
			{Key: aws.String("domain-name"), Values: []string{p.domain}},
			{Key: aws.String("domain-name-servers"), Values: []string{amazonDNS}},
		},
		TagSpecifications: tagSpec(ec2types.ResourceTypeDhcpOptions, p.tags),
	})
	if err != nil {
		return "", err
	}
	id := aws.ToString(out.DhcpOptions.DhcpOptionsId)
	return id, p.s.ensureTags(ctx, id, out.DhcpOptions.Tags, p.tags)
}

func (s *survey) listDHCP(ctx context.Context) ([]owned[ec2types.DhcpOptions], error) {
	var out []owned[ec2types.DhcpOptions]
	err := pages(ctx, ec2.NewDescribeDhcpOptionsPaginator(s.ec2, &ec2.DescribeDhcpOptionsInput{Filters: s.mine()}),
		func(page *ec2.DescribeDhcpOptionsOutput) {
			for _, d := range page.DhcpOptions {
				if o, ours := ownedEC2(s, d.DhcpOptionsId, d.Tags, d); ours {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeDHCP(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteDhcpOptions(ctx, &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: &l.ID})
	return ifThere(err)
}

// Export writes the options and that the VPC uses them.
func (p *DHCPOptions) Export(_ context.Context, m *terraform.Module) error {
	vpc := p.vpc.CloudID.Value()
	_, there := p.CloudID.Get()
	b := p.export(m, "aws_vpc_dhcp_options")
	b.SetText("domain_name", p.domain)
	b.Set("domain_name_servers", terraform.Texts(amazonDNS))
	p.exportTags(b)
	a := m.Resource("aws_vpc_dhcp_options_association", p.key)
	a.SetText("vpc_id", vpc)
	a.Set("dhcp_options_id", b.Ref("id"))
	if there {
		a.Import(p.vpc.importID)
	}
	return nil
}
