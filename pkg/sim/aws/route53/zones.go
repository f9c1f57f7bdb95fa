// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// zone is a row of the table of hosted zones. A zone with networks is private.
type zone struct {
	ID, Name, Reference, Comment string
	Private                      bool
	VPCs                         []vpc
	NameServers                  []string
	Tags                         []tag
}

type vpc struct {
	VPCRegion string
	VPCId     string
}

type zoneConfig struct {
	Comment     string `xml:",omitempty"`
	PrivateZone bool
}

type zoneView struct {
	ID                     string `xml:"Id"`
	Name                   string
	CallerReference        string
	Config                 zoneConfig
	ResourceRecordSetCount int
}

type delegationSet struct {
	NameServers []string `xml:"NameServers>NameServer"`
}

func (s *Service) view(z *zone) zoneView {
	return zoneView{"/hostedzone/" + z.ID, z.Name, z.Reference, zoneConfig{z.Comment, z.Private}, len(s.records.All(z.ID))}
}

func (z *zone) delegation() *delegationSet {
	if z.Private {
		return nil
	}
	return &delegationSet{z.NameServers}
}

// zone finds a zone for an operation that works on it.
func (s *Service) zone(id string) (*zone, *wire.Error) {
	if z := s.zones.Get("", id); z != nil {
		return z, nil
	}
	return nil, refuse(http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: %s", id)
}

type createZoneIn struct {
	XMLName          xml.Name `xml:"CreateHostedZoneRequest"`
	Name             string
	VPC              *vpc
	CallerReference  string
	HostedZoneConfig *struct {
		Comment     string
		PrivateZone bool
	}
	DelegationSetId string `xml:",omitempty"`
}

type createZoneOut struct {
	XMLName       xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ CreateHostedZoneResponse"`
	HostedZone    zoneView
	ChangeInfo    changeInfo
	DelegationSet *delegationSet
	VPC           *vpc
}

func (o createZoneOut) location() string { return strings.TrimPrefix(o.HostedZone.ID, "/") }

const defaultZoneQuota = 500

func (s *Service) createZone(r *request) (any, error) {
	var in createZoneIn
	if err := r.decode(&in, "CreateHostedZoneRequest"); err != nil {
		return nil, err
	}
	z := &zone{Reference: in.CallerReference, Private: in.VPC != nil}
	if err := s.fillZone(r, z, &in); err != nil {
		return nil, err
	}
	if len(s.zones.All("")) >= r.Quota("hosted-zones", defaultZoneQuota) {
		return nil, wire.Errorf("TooManyHostedZones", "Limits Exceeded: MAX_HOSTED_ZONES_BY_OWNER - Cannot create more hosted zones.")
	}
	z.ID = s.newID("Z")
	if !z.Private {
		z.NameServers = nameServers(z.ID)
	}
	s.zones.Put("", z.ID, z)
	s.apex(z)
	return createZoneOut{HostedZone: s.view(z), ChangeInfo: s.submit(r, ""), DelegationSet: z.delegation(), VPC: in.VPC}, nil
}

func (s *Service) fillZone(r *request, z *zone, in *createZoneIn) *wire.Error {
	name, err := normalise(in.Name)
	switch {
	case in.Name == "" || err != nil:
		return wire.Errorf("InvalidDomainName", "%s is not a valid domain name", in.Name)
	case in.CallerReference == "" || len(in.CallerReference) > 128:
		return invalidInput("1 validation error detected: Value '%s' at 'callerReference' failed to satisfy constraint: Member must have length between 1 and 128", in.CallerReference)
	case in.DelegationSetId != "":
		return wire.Errorf("NoSuchDelegationSet", "No delegation set found with ID: %s", in.DelegationSetId)
	}
	for _, other := range s.zones.All("") {
		if other.Reference == in.CallerReference {
			return refuse(http.StatusConflict, "HostedZoneAlreadyExists", "A hosted zone has already been created with the specified caller reference.")
		}
	}
	z.Name = name
	if c := in.HostedZoneConfig; c != nil {
		if len(c.Comment) > 256 {
			return invalidInput("1 validation error detected: Value at 'hostedZoneConfig.comment' failed to satisfy constraint: Member must have length less than or equal to 256")
		}
		if c.PrivateZone && in.VPC == nil {
			return invalidInput("When you're creating a private hosted zone (when you specify true for PrivateZone), you must also specify values for VPCId and VPCRegion.")
		}
		z.Comment = c.Comment
	}
	if in.VPC != nil {
		if err := s.checkVPC(r, z, *in.VPC); err != nil {
			return err
		}
		z.VPCs = []vpc{*in.VPC}
	}
	return nil
}

// checkVPC judges whether a private zone may be joined to a network.
func (s *Service) checkVPC(_ *request, z *zone, v vpc) *wire.Error {
	if v.VPCId == "" || v.VPCRegion == "" {
		return invalidInput("VPCId and VPCRegion must both be given")
	}
	if !s.networks.HasVPC(v.VPCRegion, v.VPCId) {
		return wire.Errorf("InvalidVPCId", "The VPC: %s in region %s that you provided does not exist or is not authorized to make the association.", v.VPCId, v.VPCRegion)
	}
	for _, other := range s.zones.All("") {
		if other.ID != z.ID && other.Name == z.Name && slices.Contains(other.VPCs, v) {
			return wire.Errorf("ConflictingDomainExists", "The VPC %s in region %s has already been associated with the hosted zone %s with the same domain name.", v.VPCId, v.VPCRegion, other.ID)
		}
	}
	return nil
}

// nameServers spells four name servers out of a zone's id.
func nameServers(id string) []string {
	n := 0
	for _, c := range id {
		n = (n*31 + int(c)) % 2048
	}
	return []string{fmt.Sprintf("ns-%d.awsdns-%02d.com", n%512, n%64), fmt.Sprintf("ns-%d.awsdns-%02d.net", 512+n%512, n%64),
		fmt.Sprintf("ns-%d.awsdns-%02d.org", 1024+n%512, n%64), fmt.Sprintf("ns-%d.awsdns-%02d.co.uk", 1536+n%512, n%64)}
}

// apex adds the records that every zone has.
func (s *Service) apex(z *zone) {
	servers := z.NameServers
	if z.Private {
		servers = []string{"ns-0.awsdns-00.com", "ns-512.awsdns-00.net", "ns-1024.awsdns-00.org", "ns-1536.awsdns-00.co.uk"}
	}
	ns := record{Name: z.Name, Type: "NS", TTL: ptr(int64(172800))}
	for _, server := range servers {
		ns.Values = append(ns.Values, server+".")
	}
	soa := record{Name: z.Name, Type: "SOA", TTL: ptr(int64(900)), Values: []string{servers[0] + ". awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"}}
	s.records.Put(z.ID, ns.key(), &ns)
	s.records.Put(z.ID, soa.key(), &soa)
}

func ptr[T any](v T) *T { return &v }

type getZoneOut struct {
	XMLName       xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ GetHostedZoneResponse"`
	HostedZone    zoneView
	DelegationSet *delegationSet
	VPCs          *vpcList
}

type vpcList struct{ VPC []vpc }

func (s *Service) getZone(r *request) (any, error) {
	z, err := s.zone(r.id)
	if err != nil || s.zones.Find("", r.id) == nil {
		return nil, refuse(http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: %s", r.id)
	}
	out := getZoneOut{HostedZone: s.view(z), DelegationSet: z.delegation()}
	if z.Private {
		out.VPCs = &vpcList{z.VPCs}
	}
	return out, nil
}

type commentIn struct {
	XMLName xml.Name `xml:"UpdateHostedZoneCommentRequest"`
	Comment string   `xml:",omitempty"`
}

type commentOut struct {
	XMLName    xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ UpdateHostedZoneCommentResponse"`
	HostedZone zoneView
}

func (s *Service) updateComment(r *request) (any, error) {
	var in commentIn
	if err := r.decode(&in, "UpdateHostedZoneCommentRequest"); err != nil {
		return nil, err
	}
	z, err := s.zone(r.id)
	if err != nil {
		return nil, err
	}
	z.Comment = in.Comment
	s.zones.Put("", z.ID, z)
	return commentOut{HostedZone: s.view(z)}, nil
}

func (s *Service) deleteZone(r *request) (any, error) {
	z, err := s.zone(r.id)
	if err != nil {
		return nil, err
	}
	rows := s.records.All(z.ID)
	for _, rec := range rows {
		if !rec.atApex(z) {
			return nil, wire.Errorf("HostedZoneNotEmpty", "The specified hosted zone contains non-required resource record sets and so cannot be deleted.")
		}
	}
	for _, rec := range rows {
		s.records.Delete(z.ID, rec.key())
	}
	s.zones.Delete("", z.ID)
	return s.answer("DeleteHostedZoneResponse", s.submit(r, "")), nil
}

type countOut struct {
	XMLName         xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ GetHostedZoneCountResponse"`
	HostedZoneCount int
}

func (s *Service) countZones(*request) (any, error) {
	return countOut{HostedZoneCount: len(s.zones.Visible(""))}, nil
}

// maxItems reads the page size, most at most and by default.
func (r *request) maxItems(most int) (int, *wire.Error) {
	raw := r.query().Get("maxitems")
	if raw == "" {
		return most, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 {
		return 0, invalidInput("1 validation error detected: Value '%s' at 'maxItems' failed to satisfy constraint: Member must have value greater than or equal to 1", raw)
	}
	return min(n, most), nil
}

// cap lowers a page size to the simulator's own setting.
func (r *request) cap(n int) int {
	if r.Settings != nil && r.Settings.PageSize > 0 {
		return min(n, r.Settings.PageSize)
	}
	return n
}

type vpcIn struct {
	XMLName xml.Name
	VPC     *vpc
	Comment string `xml:",omitempty"`
}

func (s *Service) vpcRequest(r *request, root string) (*zone, *vpcIn, *wire.Error) {
	in := &vpcIn{XMLName: xml.Name{Local: root}}
	if err := r.decode(in, root); err != nil {
		return nil, nil, err
	}
	z, err := s.zone(r.id)
	if err != nil {
		return nil, nil, err
	}
	if in.VPC == nil {
		return nil, nil, invalidInput("VPC must be given")
	}
	return z, in, nil
}

func (s *Service) associate(r *request) (any, error) {
	z, in, err := s.vpcRequest(r, "AssociateVPCWithHostedZoneRequest")
	if err != nil {
		return nil, err
	}
	if !z.Private {
		return nil, wire.Errorf("PublicZoneVPCAssociation", "You're trying to associate a VPC with a public hosted zone. Amazon Route 53 doesn't support associating a VPC with a public hosted zone.")
	}
	if err := s.checkVPC(r, z, *in.VPC); err != nil {
		return nil, err
	}
	if slices.Contains(z.VPCs, *in.VPC) {
		return nil, wire.Errorf("ConflictingDomainExists", "The VPC %s in region %s has already been associated with the hosted zone %s with the same domain name.", in.VPC.VPCId, in.VPC.VPCRegion, z.ID)
	}
	z.VPCs = append(z.VPCs, *in.VPC)
	s.zones.Put("", z.ID, z)
	return s.answer("AssociateVPCWithHostedZoneResponse", s.submit(r, in.Comment)), nil
}

func (s *Service) disassociate(r *request) (any, error) {
	z, in, err := s.vpcRequest(r, "DisassociateVPCFromHostedZoneRequest")
	if err != nil {
		return nil, err
	}
	i := slices.Index(z.VPCs, *in.VPC)
	switch {
	case i < 0:
		return nil, refuse(http.StatusNotFound, "VPCAssociationNotFound", "The VPC: %s and hosted zone: %s that you specified are not currently associated.", in.VPC.VPCId, z.ID)
	case len(z.VPCs) == 1:
		return nil, wire.Errorf("LastVPCAssociation", "You can't disassociate the last VPC from a private hosted zone.")
	}
	z.VPCs = slices.Delete(slices.Clone(z.VPCs), i, i+1)
	s.zones.Put("", z.ID, z)
	return s.answer("DisassociateVPCFromHostedZoneResponse", s.submit(r, in.Comment)), nil
}
