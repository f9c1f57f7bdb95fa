// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"slices"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type associateVpcCidrIn struct {
	VpcId                           string `wire:"VpcId,required"`
	CidrBlock                       string
	AmazonProvidedIpv6CidrBlock     bool
	Ipv6CidrBlockNetworkBorderGroup string
}

type vpcCidrOut struct {
	VpcId string
	V4    *CidrAssociation     `wire:"cidrBlockAssociation"`
	V6    *Ipv6CidrAssociation `wire:"ipv6CidrBlockAssociation"`
}

func (s *Service) associateVpcCidr(c *wire.Call, in *associateVpcCidrIn) (*vpcCidrOut, error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	switch {
	case (in.CidrBlock != "") == in.AmazonProvidedIpv6CidrBlock:
		return nil, wire.Errorf("InvalidParameterCombination", "Give either cidrBlock or amazonProvidedIpv6CidrBlock")
	case in.CidrBlock == "":
		if len(v.Ipv6CidrBlocks) >= c.Quota("ipv6-cidrs-per-vpc", 5) {
			return nil, wire.Errorf("CidrLimitExceeded", "The maximum number of IPv6 CIDR blocks has been reached for %s.", v.VpcId)
		}
		a := s.amazonIpv6(c)
		v.Ipv6CidrBlocks = append(v.Ipv6CidrBlocks, a)
		s.vpcs.put(c, v)
		a.Ipv6CidrBlockState.State = "associating"
		return &vpcCidrOut{VpcId: v.VpcId, V6: &a}, nil
	}
	cidr, err := ipv4Range(in.CidrBlock, "InvalidVpc.Range")
	if err != nil {
		return nil, err
	}
	for _, a := range v.CidrBlocks {
		if overlap(a.CidrBlock, cidr) {
			return nil, wire.Errorf("InvalidVpc.Range", "The CIDR '%s' conflicts with another range of the VPC.", in.CidrBlock)
		}
	}
	if len(v.CidrBlocks) >= c.Quota("ipv4-cidrs-per-vpc", maxIpv4PerVpc) {
		return nil, wire.Errorf("CidrLimitExceeded", "The maximum number of CIDR blocks has been reached for %s.", v.VpcId)
	}
	a := CidrAssociation{s.newID("vpc-cidr-assoc-"), cidr.String(), AssociationState{State: "associated"}}
	v.CidrBlocks = append(v.CidrBlocks, a)
	s.vpcs.put(c, v)
	a.CidrBlockState.State = "associating"
	return &vpcCidrOut{VpcId: v.VpcId, V4: &a}, nil
}

type associationIdIn struct {
	AssociationId string `wire:"AssociationId,required"`
}

func (s *Service) disassociateVpcCidr(c *wire.Call, in *associationIdIn) (*vpcCidrOut, error) {
	for _, v := range s.vpcs.all(c) {
		if i := slices.IndexFunc(v.CidrBlocks, func(a CidrAssociation) bool { return a.AssociationId == in.AssociationId }); i >= 0 {
			a := v.CidrBlocks[i]
			if a.CidrBlock == v.CidrBlock {
				return nil, wire.Errorf("OperationNotPermitted", "The vpc CIDR block with association ID %s may not be disassociated. It is the primary IPv4 CIDR block of the VPC", a.AssociationId)
			}
			if s.rangeInUse(c, v.VpcId, a.CidrBlock) {
				return nil, wire.Errorf("InvalidCidrBlock.InUse", "The vpc %s currently has a subnet within CIDR block %s", v.VpcId, a.CidrBlock)
			}
			v.CidrBlocks = slices.Delete(v.CidrBlocks, i, i+1)
			s.vpcs.put(c, v)
			a.CidrBlockState.State = "disassociating"
			return &vpcCidrOut{VpcId: v.VpcId, V4: &a}, nil
		}
		if i := slices.IndexFunc(v.Ipv6CidrBlocks, func(a Ipv6CidrAssociation) bool { return a.AssociationId == in.AssociationId }); i >= 0 {
			a := v.Ipv6CidrBlocks[i]
			if s.rangeInUse(c, v.VpcId, a.Ipv6CidrBlock) {
				return nil, wire.Errorf("InvalidCidrBlock.InUse", "The vpc %s currently has a subnet within CIDR block %s", v.VpcId, a.Ipv6CidrBlock)
			}
			v.Ipv6CidrBlocks = slices.Delete(v.Ipv6CidrBlocks, i, i+1)
			s.vpcs.put(c, v)
			a.Ipv6CidrBlockState.State = "disassociating"
			return &vpcCidrOut{VpcId: v.VpcId, V6: &a}, nil
		}
	}
	return nil, wire.Errorf("InvalidVpcCidrBlockAssociationID.NotFound", "The vpc CIDR block association ID '%s' does not exist", in.AssociationId)
}

// overlap says whether the range written in text meets p.
func overlap(text string, p netip.Prefix) bool {
	other, err := netip.ParsePrefix(text)
	return err == nil && other.Overlaps(p)
}
