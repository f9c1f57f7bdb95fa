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

// bookAssociation is the ledger's kind for a private zone that we tied to our VPC; the
// entry's ID is "<zone id> <vpc id>".
const bookAssociation = "aws/zone-association"

// Zone is the hosted zone of the cluster's names. It exists and is kept; a private one
// is tied to the cluster's VPC if it is not yet.
type Zone struct {
	resource
	zone model.Zone
	vpc  *VPC

	// Name is the zone's own name, without the final dot.
	Name tasks.Output[string]

	tied        bool   // to our VPC, when it was observed
	placeholder string // what an export's zone id stands for
}

// zoneFacts is what was read of a zone.
type zoneFacts struct {
	ID, Name string
	Private  bool
	VPCs     []string // of a private zone
}

func newZone(s *survey, vpc *VPC, m model.Zone) *Zone {
	key := m.Name
	if key == "" {
		key = m.ID
	}
	z := &Zone{resource: resource{s: s, kind: "zone", key: key}, zone: m, vpc: vpc}
	if m.Private {
		z.deps = append(z.deps, vpc)
	}
	return z
}

// Describe says what kind of zone it is.
func (z *Zone) Describe() string {
	if z.zone.Private {
		return "existing private hosted zone"
	}
	return "existing public hosted zone"
}

// Observe finds the one zone that is meant. Several are told apart by being public or
// private and by the VPC; where that leaves more than one, the error lists them.
func (z *Zone) Observe(ctx context.Context) (tasks.Change, error) {
	facts, err := z.find(ctx)
	if err != nil {
		return tasks.Change{}, err
	}
	if facts.Private != z.zone.Private {
		return tasks.Change{}, fmt.Errorf("hosted zone %s is %s, spec.networking.dns says %s: correct spec.dnsZone or spec.networking.dns",
			facts.ID, publicity(facts.Private), publicity(z.zone.Private))
	}
	c := kept(&z.resource, facts.ID, facts)
	z.Name.Set(facts.Name)
	if !facts.Private {
		return c, nil
	}
	vpc, known := z.vpc.CloudID.Get()
	if known {
		z.s.associations[facts.ID+" "+vpc] = true
	}
	if z.tied = known && slices.Contains(facts.VPCs, vpc); z.tied {
		return c, nil
	}
	c.Action, c.Reason = tasks.Update, "machines see a private zone only in the VPCs that it is tied to"
	c.Fields = []tasks.Field{{Path: "vpc", New: z.vpc.CloudID.Plan()}}
	return c, nil
}

func publicity(private bool) string {
	if private {
		return "private"
	}
	return "public"
}

func (z *Zone) find(ctx context.Context) (zoneFacts, error) {
	if z.zone.ID != "" {
		return z.s.readZone(ctx, z.zone.ID)
	}
	candidates, err := z.candidates(ctx)
	if err != nil {
		return zoneFacts{}, err
	}
	if len(candidates) > 1 && z.zone.Private {
		if vpc, known := z.vpc.CloudID.Get(); known {
			tied := slices.DeleteFunc(slices.Clone(candidates), func(f zoneFacts) bool { return !slices.Contains(f.VPCs, vpc) })
			if len(tied) > 0 {
				candidates = tied
			}
		}
	}
	switch len(candidates) {
	case 1:
		return candidates[0], nil
	case 0:
		return zoneFacts{}, fmt.Errorf("there is no %s hosted zone %s: make it, or set spec.dnsZone to another zone's name or id, or spec.networking.dns to none",
			publicity(z.zone.Private), z.zone.Name)
	}
	var ids []string
	for _, f := range candidates {
		ids = append(ids, f.ID)
	}
	return zoneFacts{}, fmt.Errorf("%d %s hosted zones are named %s (%s): set spec.dnsZone to the id of the one that is meant",
		len(ids), publicity(z.zone.Private), z.zone.Name, strings.Join(ids, ", "))
}

// candidates reads the zones of the name and kind.
func (z *Zone) candidates(ctx context.Context) ([]zoneFacts, error) {
	var out []zoneFacts
	in := &route53.ListHostedZonesByNameInput{DNSName: aws.String(z.zone.Name + ".")}
	for {
		page, err := z.s.route53.ListHostedZonesByName(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list hosted zones named %s: %w", z.zone.Name, err)
		}
		for _, h := range page.HostedZones {
			f := factsOf(h)
			if f.Name != z.zone.Name { // they are sorted by name: the rest is others'
				return out, nil
			}
			if f.Private != z.zone.Private {
				continue
			}
			if f.Private {
				if f, err = z.s.readZone(ctx, f.ID); err != nil {
					return nil, err
				}
			}
			out = append(out, f)
		}
		if !page.IsTruncated {
			return out, nil
		}
		in.DNSName, in.HostedZoneId = page.NextDNSName, page.NextHostedZoneId
	}
}

// readZone reads one zone by its id.
func (s *survey) readZone(ctx context.Context, id string) (zoneFacts, error) {
	out, err := s.route53.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
	if gone(err) {
		return zoneFacts{}, fmt.Errorf("there is no hosted zone %s: correct spec.dnsZone", id)
	}
	if err != nil {
		return zoneFacts{}, fmt.Errorf("read hosted zone %s: %w", id, err)
	}
	f := factsOf(*out.HostedZone)
	for _, v := range out.VPCs {
		f.VPCs = append(f.VPCs, aws.ToString(v.VPCId))
	}
	return f, nil
}

func factsOf(h r53types.HostedZone) zoneFacts {
	return zoneFacts{
		ID: bareZone(aws.ToString(h.Id)), Name: bareName(aws.ToString(h.Name)),
		Private: h.Config != nil && h.Config.PrivateZone,
	}
}

func bareZone(id string) string { return strings.TrimPrefix(id, "/hostedzone/") }

// bareName is a name as Route 53 shows it, without the final dot and its escape of "*".
func bareName(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "."), `\052`, "*")
}

// Apply ties a private zone to the VPC. The ledger knows of it first.
func (z *Zone) Apply(ctx context.Context, c tasks.Change) error {
	if c.Action != tasks.Update {
		return nil
	}
	id, vpc := z.CloudID.Value(), z.vpc.CloudID.Value()
	if err := z.s.book.record(ctx, bookAssociation, id+" "+vpc, z.key); err != nil {
		return err
	}
	_, err := z.s.route53.AssociateVPCWithHostedZone(ctx, &route53.AssociateVPCWithHostedZoneInput{
		HostedZoneId: &id, VPC: &r53types.VPC{VPCId: &vpc, VPCRegion: r53types.VPCRegion(z.s.region)},
	})
	if err != nil {
		return fmt.Errorf("tie hosted zone %s to %s: %w", id, vpc, err)
	}
	return nil
}

// associationLeftovers returns what the ledger knows and no task wants.
func (s *survey) associationLeftovers(ctx context.Context) ([]leftover, error) {
	names, err := s.book.names(ctx, bookAssociation)
	if err != nil {
		return nil, err
	}
	var out []leftover
	for _, n := range names {
		if !s.associations[n] {
			out = append(out, leftover{Key: strings.ReplaceAll(n, " ", "/"), ID: n})
		}
	}
	return out, nil
}

// removeAssociation unties a zone from a VPC. The last VPC of a zone stays tied: Route 53
// keeps no private zone without one, and the zone is not ours to delete.
func (s *survey) removeAssociation(ctx context.Context, l leftover) error {
	zone, vpc, _ := strings.Cut(l.ID, " ")
	_, err := s.route53.DisassociateVPCFromHostedZone(ctx, &route53.DisassociateVPCFromHostedZoneInput{
		HostedZoneId: &zone, VPC: &r53types.VPC{VPCId: &vpc, VPCRegion: r53types.VPCRegion(s.region)},
	})
	if err != nil && !gone(err) && !is(err, "LastVPCAssociation", "VPCAssociationNotFound") {
		return err
	}
	return s.book.forget(ctx, bookAssociation, l.ID)
}

// Export writes that a private zone is tied to a VPC of ours; the zone itself is someone
// else's. Without a look at Route 53 its id is known only where the spec gives it.
func (z *Zone) Export(_ context.Context, m *terraform.Module) error {
	if m.Review {
		z.Name.Set(z.zone.Name)
		if z.CloudID.Set(z.zone.ID); z.zone.ID == "" {
			z.placeholder = "the id of the " + publicity(z.zone.Private) + " hosted zone " + z.zone.Name
			z.CloudID.Set("Z0000000000000")
		}
	}
	if !z.zone.Private {
		return nil
	}
	if !m.Review && !z.s.associations[z.CloudID.Value()+" "+z.vpc.importID] && z.vpc.shared != "" {
		return nil
	}
	b := m.Resource("aws_route53_zone_association", z.key)
	z.setZone(b)
	b.SetText("vpc_id", z.vpc.CloudID.Value())
	if z.vpc.importID != "" && z.tied {
		b.Import(z.CloudID.Value() + ":" + z.vpc.importID)
	}
	return nil
}

// setZone adds the argument that names the zone.
func (z *Zone) setZone(b *terraform.Resource) {
	if z.placeholder != "" {
		b.Placeholder("zone_id", terraform.Text(z.CloudID.Value()), z.placeholder)
		return
	}
	b.SetText("zone_id", z.CloudID.Value())
}
