// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"strconv"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// launchChecks are the rights of RunInstances: on everything that it uses and
// makes, whether the call or its template says so, and on the role that it hands over.
func (s *Service) launchChecks(c *wire.Call) []wire.Check {
	var d LaunchData
	template := ""
	ref := TemplateRef{LaunchTemplateId: c.Params.Get("LaunchTemplate.LaunchTemplateId"),
		LaunchTemplateName: c.Params.Get("LaunchTemplate.LaunchTemplateName"), Version: c.Params.Get("LaunchTemplate.Version")}
	if t, v, err := s.TemplateVersion(c, ref); err == nil {
		d, template = v.LaunchTemplateData, t.LaunchTemplateId
	}
	or := func(param, own string) string {
		if v := c.Params.Get(param); v != "" {
			return v
		}
		return own
	}
	subnet := or("SubnetId", or("NetworkInterface.1.SubnetId", cardSubnet(d.NetworkInterfaces)))
	out := []wire.Check{s.on(c, "RunInstances", "image", or("ImageId", d.ImageId))}
	vm := s.making(c, "instance")
	vm.Set("ec2:InstanceType", or("InstanceType", d.InstanceType))
	if n := s.subnets.table.Get(c.Region, subnet); n != nil {
		vm.Set("ec2:AvailabilityZone", n.AvailabilityZone)
		out = append(out, s.on(c, "RunInstances", "subnet", subnet))
	}
	pass, arn := s.passRole(d.IamInstanceProfile, c.Params.Get("IamInstanceProfile.Arn"), c.Params.Get("IamInstanceProfile.Name"))
	if arn != "" {
		vm.Set("ec2:InstanceProfile", arn)
	}
	card := s.making(c, "network-interface")
	s.placeKeys(c, &card, subnet)
	disk := s.check(c, "RunInstances", s.arn(c, "volume", "*"))
	disk.RequestTags(tagsOfSpecs(c, "volume"))
	disk.Set("ec2:Encrypted", strconv.FormatBool(len(d.BlockDeviceMappings) > 0 && d.BlockDeviceMappings[0].Ebs != nil && deref(d.BlockDeviceMappings[0].Ebs.Encrypted) ||
		c.Params.Get("BlockDeviceMapping.1.Ebs.Encrypted") == "true"))
	out = append(out, vm, card, disk)
	groups := append(c.Values("SecurityGroupId"), c.Values("NetworkInterface.1.SecurityGroupId")...)
	if len(groups) == 0 {
		groups = d.SecurityGroupIds
	}
	for _, g := range groups {
		out = append(out, s.on(c, "RunInstances", "security-group", g))
	}
	if name := or("KeyName", d.KeyName); name != "" {
		out = append(out, s.on(c, "RunInstances", "key-pair", name))
	}
	if template != "" {
		out = append(out, s.on(c, "RunInstances", "launch-template", template))
	}
	return append(out, pass...)
}

func cardSubnet(cards []LaunchCard) string {
	if len(cards) == 0 {
		return ""
	}
	return cards[0].SubnetId
}

// passRole is the right to hand the role of an instance profile to EC2.
func (s *Service) passRole(own *ProfileRef, arn, name string) (checks []wire.Check, profile string) {
	ref := arn + name
	if ref == "" && own != nil {
		ref = own.Arn + own.Name
	}
	if ref == "" || s.profiles == nil {
		return nil, ""
	}
	profile, _, ok := s.profiles.InstanceProfile(ref)
	people, asks := s.profiles.(interface {
		RoleOfProfile(arn string) (name, role, id string)
	})
	if !ok || !asks {
		return nil, profile
	}
	_, role, _ := people.RoleOfProfile(profile)
	if role == "" {
		return nil, profile
	}
	k := wire.Check{Action: "iam:PassRole", Resource: role}
	k.Set("iam:PassedToService", "ec2.amazonaws.com")
	return []wire.Check{k}, profile
}
