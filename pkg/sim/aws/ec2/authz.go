// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var _ wire.Authorised = (*Service)(nil)

// rights says which resources each operation is judged on: type:Parameter for
// one that exists, +type for one that it makes. Operations that are not here are
// judged on none. RunInstances is judged by code.
var rights = map[string]string{
	"AllocateAddress": "+elastic-ip", "ReleaseAddress": "elastic-ip:AllocationId",
	"AssociateAddress":    "elastic-ip:AllocationId instance:InstanceId network-interface:NetworkInterfaceId",
	"DisassociateAddress": "elastic-ip:AssociationId",
	"CreateDhcpOptions":   "+dhcp-options", "DeleteDhcpOptions": "dhcp-options:DhcpOptionsId", "AssociateDhcpOptions": "dhcp-options:DhcpOptionsId vpc:VpcId",
	"CreateRouteTable": "+route-table vpc:VpcId", "DeleteRouteTable": "route-table:RouteTableId",
	"AssociateRouteTable":    "route-table:RouteTableId subnet:SubnetId internet-gateway:GatewayId",
	"DisassociateRouteTable": "route-table:AssociationId", "ReplaceRouteTableAssociation": "route-table:RouteTableId",
	"CreateRoute": "route-table:RouteTableId", "DeleteRoute": "route-table:RouteTableId", "ReplaceRoute": "route-table:RouteTableId",
	"CreateVpc": "+vpc", "DeleteVpc": "vpc:VpcId", "ModifyVpcAttribute": "vpc:VpcId", "DescribeVpcAttribute": "vpc:VpcId",
	"AssociateVpcCidrBlock": "vpc:VpcId", "DisassociateVpcCidrBlock": "vpc:AssociationId",
	"CreateSubnet": "+subnet vpc:VpcId", "DeleteSubnet": "subnet:SubnetId", "ModifySubnetAttribute": "subnet:SubnetId",
	"AssociateSubnetCidrBlock": "subnet:SubnetId", "DisassociateSubnetCidrBlock": "subnet:AssociationId",
	"CreateInternetGateway": "+internet-gateway", "DeleteInternetGateway": "internet-gateway:InternetGatewayId",
	"AttachInternetGateway": "internet-gateway:InternetGatewayId vpc:VpcId", "DetachInternetGateway": "internet-gateway:InternetGatewayId vpc:VpcId",
	"CreateEgressOnlyInternetGateway": "+egress-only-internet-gateway vpc:VpcId",
	"DeleteEgressOnlyInternetGateway": "egress-only-internet-gateway:EgressOnlyInternetGatewayId",
	"CreateNatGateway":                "+natgateway subnet:SubnetId elastic-ip:AllocationId", "DeleteNatGateway": "natgateway:NatGatewayId",
	"CreateSecurityGroup": "+security-group vpc:VpcId", "DeleteSecurityGroup": "security-group:GroupId",
	"AuthorizeSecurityGroupIngress": "security-group:GroupId", "AuthorizeSecurityGroupEgress": "security-group:GroupId",
	"RevokeSecurityGroupIngress": "security-group:GroupId", "RevokeSecurityGroupEgress": "security-group:GroupId",
	"ModifySecurityGroupRules":                   "security-group:GroupId",
	"UpdateSecurityGroupRuleDescriptionsIngress": "security-group:GroupId", "UpdateSecurityGroupRuleDescriptionsEgress": "security-group:GroupId",
	"CreateNetworkInterface": "+network-interface subnet:SubnetId security-group:SecurityGroupId",
	"DeleteNetworkInterface": "network-interface:NetworkInterfaceId", "ModifyNetworkInterfaceAttribute": "network-interface:NetworkInterfaceId",
	"AttachNetworkInterface": "network-interface:NetworkInterfaceId instance:InstanceId", "DetachNetworkInterface": "network-interface:AttachmentId",
	"CreateVolume": "+volume snapshot:SnapshotId", "DeleteVolume": "volume:VolumeId", "ModifyVolume": "volume:VolumeId",
	"AttachVolume": "volume:VolumeId instance:InstanceId", "DetachVolume": "volume:VolumeId instance:InstanceId",
	"ImportKeyPair": "+key-pair", "DeleteKeyPair": "key-pair:KeyName",
	"CreateLaunchTemplate": "+launch-template", "DeleteLaunchTemplate": "launch-template:LaunchTemplateId", "ModifyLaunchTemplate": "launch-template:LaunchTemplateId",
	"CreateLaunchTemplateVersion": "launch-template:LaunchTemplateId", "DeleteLaunchTemplateVersions": "launch-template:LaunchTemplateId",
	"CreateImage": "+image instance:InstanceId", "RegisterImage": "+image", "DeregisterImage": "image:ImageId",
	"StartInstances": "instance:InstanceId", "StopInstances": "instance:InstanceId", "RebootInstances": "instance:InstanceId", "TerminateInstances": "instance:InstanceId",
	"ModifyInstanceAttribute": "instance:InstanceId", "ModifyInstanceMetadataOptions": "instance:InstanceId", "DescribeInstanceAttribute": "instance:InstanceId",
	"CreateVpcEndpoint": "+vpc-endpoint vpc:VpcId route-table:RouteTableId subnet:SubnetId security-group:SecurityGroupId", "DeleteVpcEndpoints": "vpc-endpoint:VpcEndpointId",
	"CreateManagedPrefixList": "+prefix-list", "DeleteManagedPrefixList": "prefix-list:PrefixListId", "GetManagedPrefixListEntries": "prefix-list:PrefixListId",
	"CreatePlacementGroup": "+placement-group", "DeletePlacementGroup": "placement-group:GroupName",
	"CreateCapacityReservation": "+capacity-reservation", "CancelCapacityReservation": "capacity-reservation:CapacityReservationId",
	"CreateTransitGateway": "+transit-gateway", "DeleteTransitGateway": "transit-gateway:TransitGatewayId",
}

// launchTypes are the types that RunInstances is judged on.
var launchTypes = []string{"image", "instance", "network-interface", "volume", "subnet", "security-group", "key-pair", "launch-template"}

// Actions lists what Checks may ask.
func (s *Service) Actions() map[string][]string {
	out := map[string][]string{"iam:PassRole": {"role"}, "ec2:RunInstances": launchTypes}
	for op := range s.Ops {
		if op == "RunInstances" {
			continue
		}
		out["ec2:"+op] = nil
		for spec := range strings.FieldsSeq(rights[op]) {
			kind, _, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
			out["ec2:"+op] = append(out["ec2:"+op], kind)
		}
	}
	for _, op := range []string{"ec2:CreateTags", "ec2:DeleteTags"} {
		out[op] = nil
		for _, k := range s.kinds {
			out[op] = append(out[op], k.resourceType())
		}
		slices.Sort(out[op])
	}
	return out
}

// Checks says which rights a call needs.
func (s *Service) Checks(c *wire.Call) []wire.Check {
	var checks []wire.Check
	switch c.Action {
	case "RunInstances":
		checks = s.launchChecks(c)
	case "CreateTags", "DeleteTags":
		checks = s.tagChecks(c)
	default:
		for spec := range strings.FieldsSeq(rights[c.Action]) {
			checks = append(checks, s.specChecks(c, spec)...)
		}
	}
	if len(checks) == 0 {
		checks = []wire.Check{s.check(c, c.Action, "*")}
	}
	return append(checks, s.tagsOnCreate(c)...)
}

func (s *Service) check(c *wire.Call, action, resource string) wire.Check {
	k := wire.Check{Action: "ec2:" + action, Resource: resource}
	k.Set("ec2:Region", c.Region)
	return k
}

// specChecks are the checks of one word of rights.
func (s *Service) specChecks(c *wire.Call, spec string) []wire.Check {
	if kind, makes := strings.CutPrefix(spec, "+"); makes {
		return []wire.Check{s.making(c, kind)}
	}
	kind, param, _ := strings.Cut(spec, ":")
	ids := c.Values(param)
	if len(ids) == 0 {
		ids = s.meant(c, kind)
	}
	var out []wire.Check
	for _, id := range ids {
		out = append(out, s.on(c, c.Action, kind, id))
	}
	return out
}

// meant finds a resource that a call names by something else than its id.
func (s *Service) meant(c *wire.Call, kind string) []string {
	switch kind {
	case "launch-template":
		if t := s.templates.first(c, func(t *LaunchTemplate) bool { return t.LaunchTemplateName == c.Params.Get("LaunchTemplateName") }); t != nil {
			return []string{t.LaunchTemplateId}
		}
	case "security-group":
		if g := s.groups.first(c, func(g *SecurityGroup) bool { return g.GroupName == c.Params.Get("GroupName") }); g != nil {
			return []string{g.GroupId}
		}
	case "key-pair":
		if k := s.keys.first(c, func(k *KeyPair) bool { return k.KeyPairId == c.Params.Get("KeyPairId") }); k != nil {
			return []string{k.KeyName}
		}
	case "instance":
		if v := s.volumes.table.Get(c.Region, c.Params.Get("VolumeId")); c.Action == "DetachVolume" && v != nil && len(v.Attachments) > 0 {
			return []string{v.Attachments[0].InstanceId}
		}
	}
	return nil
}

// making is the check of a resource that the call makes.
func (s *Service) making(c *wire.Call, kind string) wire.Check {
	k := s.check(c, c.Action, s.typeARN(c, kind, "*"))
	k.RequestTags(tagsOfSpecs(c, kind))
	if kind == "volume" {
		s.volumeKeys(&k, c.Params.Get("AvailabilityZone"), c.Params.Get("VolumeType"), c.Params.Get("Encrypted") == "true", c.Params.Get("Size"))
	}
	return k
}

func (s *Service) typeARN(c *wire.Call, kind, id string) string {
	if kind == "image" {
		return "arn:aws:ec2:" + c.Region + "::image/" + id
	}
	return s.arn(c, kind, id)
}

// on is the check of a resource that exists, with its tags and facts.
func (s *Service) on(c *wire.Call, action, kind, id string) wire.Check {
	id = s.owner(c, id)
	k := s.check(c, action, s.typeARN(c, kind, id))
	if kind == "key-pair" {
		if row := s.keys.first(c, func(p *KeyPair) bool { return p.KeyName == id }); row != nil {
			s.resourceTags(&k, row.Tags)
		}
		return k
	}
	if kind == "placement-group" {
		if row := s.placements.first(c, func(p *PlacementGroup) bool { return p.GroupName == id }); row != nil {
			s.resourceTags(&k, row.Tags)
		}
		return k
	}
	if tags, _, err := s.tagsOf(c, id); err == nil {
		s.resourceTags(&k, *tags)
	}
	s.facts(c, &k, kind, id)
	return k
}

func (s *Service) resourceTags(k *wire.Check, tags []Tag) {
	for _, t := range tags {
		k.ResourceTag("ec2", t.Key, t.Value)
	}
}

// facts gives the condition keys that are of the resource's type, where AWS does.
func (s *Service) facts(c *wire.Call, k *wire.Check, kind, id string) {
	if c.Action == "DeleteTags" || c.Action == "CreateVpcEndpoint" {
		return
	}
	switch kind {
	case "volume":
		if v := s.volumes.table.Get(c.Region, id); v != nil {
			s.volumeKeys(k, v.AvailabilityZone, v.VolumeType, v.Encrypted, strconv.Itoa(v.Size))
		}
	case "instance":
		if vm := s.instances.table.Get(c.Region, id); vm != nil {
			k.Set("ec2:AvailabilityZone", vm.Placement.AvailabilityZone)
			k.Set("ec2:InstanceType", vm.InstanceType)
			if vm.IamInstanceProfile != nil && vm.IamInstanceProfile.Arn != "" {
				k.Set("ec2:InstanceProfile", vm.IamInstanceProfile.Arn)
			}
		}
	case "subnet":
		if n := s.subnets.table.Get(c.Region, id); n != nil {
			k.Set("ec2:AvailabilityZone", n.AvailabilityZone)
			k.Set("ec2:Vpc", s.arn(c, "vpc", n.VpcId))
		}
	case "security-group":
		if g := s.groups.table.Get(c.Region, id); g != nil {
			k.Set("ec2:Vpc", s.arn(c, "vpc", g.VpcId))
		}
	case "route-table":
		if t := s.routeTables.table.Get(c.Region, id); t != nil {
			k.Set("ec2:Vpc", s.arn(c, "vpc", t.VpcId))
		}
	case "network-interface":
		if n := s.interfaces.table.Get(c.Region, id); n != nil {
			s.placeKeys(c, k, n.SubnetId)
		}
	}
}

func (s *Service) volumeKeys(k *wire.Check, zone, kind string, encrypted bool, size string) {
	k.Set("ec2:AvailabilityZone", zone)
	k.Set("ec2:Encrypted", strconv.FormatBool(encrypted))
	if kind != "" {
		k.Set("ec2:VolumeType", kind)
	}
	if size != "" {
		k.Set("ec2:VolumeSize", size)
	}
}

func (s *Service) placeKeys(c *wire.Call, k *wire.Check, subnet string) {
	if n := s.subnets.table.Get(c.Region, subnet); n != nil {
		k.Set("ec2:Subnet", s.arn(c, "subnet", n.SubnetId))
		k.Set("ec2:Vpc", s.arn(c, "vpc", n.VpcId))
		k.Set("ec2:AvailabilityZone", n.AvailabilityZone)
	}
}
