// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"regexp"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// LaunchRequest asks for instances; Auto Scaling fills one in per zone.
type LaunchRequest struct {
	Data        LaunchData // merged: template, then overrides
	Count       int
	SubnetId    string // "" to take it from the interfaces
	PrivateIP   string
	IPv6Count   int
	ClientToken string
	Tags        []Tag // on top of the data's; reserved keys are allowed here
}

// FromTemplate resolves a template version into a request for one instance,
// with the tags that EC2 adds to instances of a template.
func (s *Service) FromTemplate(c *wire.Call, ref TemplateRef) (LaunchRequest, *wire.Error) {
	t, v, err := s.TemplateVersion(c, ref)
	if err != nil {
		return LaunchRequest{}, err
	}
	return LaunchRequest{Data: v.LaunchTemplateData, Count: 1, Tags: templateTags(t, v)}, nil
}

func templateTags(t *LaunchTemplate, v *TemplateVersion) []Tag {
	return []Tag{{"aws:ec2launchtemplate:id", t.LaunchTemplateId}, {"aws:ec2launchtemplate:version", itoa(int(v.VersionNumber))}}
}

// plan is a launch that has been checked.
type plan struct {
	image   *Image
	subnet  *Subnet
	profile *ProfileID
	cards   []InterfaceSpec
	keep    []bool // whether each card outlives the instance
	ids     []string
}

// metadataTag is the keys that instance tags in metadata allow.
var metadataTag = regexp.MustCompile(`^[0-9a-zA-Z\-_+=,.@:]{1,255}$`)

// Launch checks everything that EC2 checks and then makes the instances.
func (s *Service) Launch(c *wire.Call, r LaunchRequest) ([]*Instance, *wire.Error) {
	p, err := s.planLaunch(c, &r)
	if err != nil {
		return nil, err
	}
	reservation := s.newID("r-")
	var list []*Instance
	for index := range r.Count {
		vm, err := s.start(c, &r, p, index)
		if err != nil {
			for _, made := range list {
				s.releaseParts(c, made)
				s.instances.remove(c, made)
			}
			return nil, err
		}
		vm.ReservationId = reservation
		list = append(list, vm)
	}
	return list, nil
}

func (s *Service) planLaunch(c *wire.Call, r *LaunchRequest) (*plan, *wire.Error) {
	d := &r.Data
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.InstanceType == "" {
		d.InstanceType = "m1.small"
	}
	t, known := instanceTypes[d.InstanceType]
	if !known {
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", d.InstanceType)
	}
	if d.ImageId == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter ImageId")
	}
	p := &plan{}
	var err *wire.Error
	if p.image, err = s.Image(c, d.ImageId); err != nil {
		return nil, err
	}
	if p.image.Architecture != t.arch {
		return nil, wire.Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.", t.arch, p.image.Architecture)
	}
	if d.KeyName != "" && s.keyByName(c, d.KeyName) == nil {
		return nil, wire.Errorf("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", d.KeyName)
	}
	if p.profile, err = s.profileOf(d.IamInstanceProfile); err != nil {
		return nil, err
	}
	if err := s.planCards(c, r, p, t); err != nil {
		return nil, err
	}
	zoneName := p.subnet.AvailabilityZone
	if d.Placement != nil && d.Placement.AvailabilityZone != "" && d.Placement.AvailabilityZone != zoneName {
		return nil, wire.Errorf("InvalidParameterValue", "The availability zone %s is not the subnet's, %s", d.Placement.AvailabilityZone, zoneName)
	}
	if !offered(c.Region, zoneName, d.InstanceType) {
		return nil, wire.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", d.InstanceType, zoneName, strings.Join(OfferedIn(c.Region, d.InstanceType), ", "))
	}
	return p, s.checkLaunchLimits(c, r, t)
}

func (s *Service) checkLaunchLimits(c *wire.Call, r *LaunchRequest, t machineType) *wire.Error {
	tags, err := mergeTags(r.Data.tagsOf("instance"), r.Tags)
	if err != nil {
		return err
	}
	if m := r.Data.MetadataOptions; m != nil && m.InstanceMetadataTags == "enabled" {
		for _, tag := range tags {
			if !metadataTag.MatchString(tag.Key) || tag.Key == "." || tag.Key == ".." || tag.Key == "_index" {
				return wire.Errorf("InvalidParameterValue", "'%s' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\\\-_+=,.@:]{1,255}), and must not be a reserved name ('.', '..', '_index')", tag.Key)
			}
		}
	}
	used := 0
	for _, vm := range s.instances.all(c) {
		if vm.Alive() && vm.State.Name != "stopped" {
			used += instanceTypes[vm.InstanceType].vcpus
		}
	}
	if limit := c.Quota("vcpus", 100000); used+t.vcpus*r.Count > limit {
		return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to.", limit)
	}
	return nil
}

func (s *Service) profileOf(ref *ProfileRef) (*ProfileID, *wire.Error) {
	if ref == nil || ref.Arn+ref.Name == "" {
		return nil, nil
	}
	if s.profiles != nil {
		if arn, id, ok := s.profiles.InstanceProfile(ref.Arn + ref.Name); ok {
			return &ProfileID{arn, id}, nil
		}
	}
	if ref.Arn != "" {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN", ref.Arn)
	}
	return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", ref.Name)
}

// planCards settles the subnet and the interfaces.
func (s *Service) planCards(c *wire.Call, r *LaunchRequest, p *plan, t machineType) *wire.Error {
	d := &r.Data
	if len(d.NetworkInterfaces) > 0 && (len(d.SecurityGroupIds) > 0 || r.PrivateIP != "") {
		return wire.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	if len(d.NetworkInterfaces) > t.interfaces {
		return wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(d.NetworkInterfaces), d.InstanceType)
	}
	cards := d.NetworkInterfaces
	if len(cards) == 0 {
		cards = []LaunchCard{{Groups: d.SecurityGroupIds, PrivateIpAddress: r.PrivateIP, Ipv6AddressCount: &r.IPv6Count}}
	}
	for i, card := range cards {
		subnet := card.SubnetId
		if subnet == "" {
			subnet = r.SubnetId
		}
		if subnet == "" {
			return wire.Errorf("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
		}
		n, err := s.subnets.get(c, subnet)
		if err != nil {
			return err
		}
		if i == 0 {
			p.subnet = n
		}
		if n.AvailabilityZone != p.subnet.AvailabilityZone {
			return wire.Errorf("InvalidParameterCombination", "The interfaces of an instance must be in one availability zone")
		}
		if _, err := s.groupsFor(c, n.VpcId, card.Groups, "interface"); err != nil {
			return err
		}
		spec := InterfaceSpec{SubnetId: subnet, Description: card.Description, GroupIds: card.Groups, PrivateIP: card.PrivateIpAddress, Public: n.MapPublicIpOnLaunch, Tags: d.tagsOf("network-interface")}
		if card.AssociatePublicIpAddress != nil {
			spec.Public = *card.AssociatePublicIpAddress
		}
		if card.Ipv6AddressCount != nil {
			spec.IPv6Count = *card.Ipv6AddressCount
		}
		p.cards = append(p.cards, spec)
		p.keep = append(p.keep, card.DeleteOnTermination != nil && !*card.DeleteOnTermination)
		p.ids = append(p.ids, card.NetworkInterfaceId)
	}
	return nil
}

// start makes one instance of the plan.
func (s *Service) start(c *wire.Call, r *LaunchRequest, p *plan, index int) (*Instance, *wire.Error) {
	d := &r.Data
	tags, err := mergeTags(d.tagsOf("instance"), r.Tags)
	if err != nil {
		return nil, err
	}
	vm := &Instance{
		InstanceId: s.newID("i-"), ImageId: p.image.ImageId, KeyName: d.KeyName, AmiLaunchIndex: index, InstanceType: d.InstanceType, LaunchTime: c.Now.UTC().Truncate(time.Second),
		Placement: Placement{AvailabilityZone: p.subnet.AvailabilityZone, AvailabilityZoneId: p.subnet.AvailabilityZoneId, Tenancy: "default"}, Monitoring: MonitoringState{"disabled"},
		SubnetId: p.subnet.SubnetId, VpcId: p.subnet.VpcId, Architecture: p.image.Architecture, RootDeviceType: "ebs", RootDeviceName: p.image.RootDeviceName,
		VirtualizationType: "hvm", Hypervisor: "xen", ClientToken: r.ClientToken, Tags: tags, IamInstanceProfile: p.profile, EnaSupport: true,
		MetadataOptions: metadataDefaults(d.MetadataOptions), PrivateDnsNameOptions: d.PrivateDnsNameOptions, MaintenanceOptions: Maintenance{"default"},
		PlatformDetails: "Linux/UNIX", UsageOperation: "RunInstances", UserData: d.UserData, ShutdownBehavior: d.InstanceInitiatedShutdownBehavior,
	}
	vm.fill(d, p.subnet)
	for i, spec := range p.cards {
		var card *NetworkInterface
		var err *wire.Error
		if p.ids[i] != "" {
			card, err = s.interfaces.get(c, p.ids[i])
		} else {
			card, err = s.CreateInterface(c, spec)
		}
		if err != nil {
			s.releaseParts(c, vm)
			return nil, err
		}
		s.attach(c, card, vm, i, !p.keep[i] && p.ids[i] == "")
	}
	s.instances.put(c, vm)
	if err := s.startDisks(c, vm, d, p.image); err != nil {
		s.releaseParts(c, vm)
		s.instances.remove(c, vm)
		return nil, err
	}
	vm.enter("pending", c.Now.Add(s.delay))
	s.refresh(c, vm)
	s.instances.put(c, vm)
	return vm, nil
}

// fill sets what the launch data says beyond the defaults.
func (vm *Instance) fill(d *LaunchData, n *Subnet) {
	if p := d.Placement; p != nil {
		vm.Placement.GroupName, vm.Placement.GroupId = p.GroupName, p.GroupId
		if p.Tenancy != "" {
			vm.Placement.Tenancy = p.Tenancy
		}
	}
	if m := d.Monitoring; m != nil && m.Enabled != nil && *m.Enabled {
		vm.Monitoring.State = "enabled"
	}
	if o := d.InstanceMarketOptions; o != nil && o.MarketType == "spot" {
		vm.InstanceLifecycle = "spot"
	}
	vm.EbsOptimized = d.EbsOptimized != nil && *d.EbsOptimized
	vm.DisableApiTermination = d.DisableApiTermination != nil && *d.DisableApiTermination
	vm.DisableApiStop = d.DisableApiStop != nil && *d.DisableApiStop
	if vm.ShutdownBehavior == "" {
		vm.ShutdownBehavior = "stop"
	}
	if d.MaintenanceOptions != nil && d.MaintenanceOptions.AutoRecovery != "" {
		vm.MaintenanceOptions = *d.MaintenanceOptions
	}
	if vm.PrivateDnsNameOptions == nil {
		o := n.PrivateDnsNameOptionsOnLaunch
		vm.PrivateDnsNameOptions = &DNSNameOptions{o.HostnameType, &o.EnableResourceNameDnsARecord, &o.EnableResourceNameDnsAAAARecord}
	}
}

func metadataDefaults(m *MetadataOptions) MetadataOptions {
	hops := 1
	out := MetadataOptions{"applied", "optional", &hops, "enabled", "disabled", "disabled"}
	if m == nil {
		return out
	}
	for _, p := range [][2]*string{
		{&out.HttpTokens, &m.HttpTokens}, {&out.HttpEndpoint, &m.HttpEndpoint}, {&out.HttpProtocolIpv6, &m.HttpProtocolIpv6}, {&out.InstanceMetadataTags, &m.InstanceMetadataTags},
	} {
		if *p[1] != "" {
			*p[0] = *p[1]
		}
	}
	if m.HttpPutResponseHopLimit != nil {
		out.HttpPutResponseHopLimit = m.HttpPutResponseHopLimit
	}
	return out
}

// startDisks makes the image's disks with the launch's changes, and the launch's own.
func (s *Service) startDisks(c *wire.Call, vm *Instance, d *LaunchData, image *Image) *wire.Error {
	merged := map[string]EbsDevice{}
	var order []string
	for _, b := range append(append([]BlockDevice{}, image.BlockDeviceMappings...), d.BlockDeviceMappings...) {
		if b.NoDevice != nil {
			delete(merged, b.DeviceName)
			continue
		}
		if b.Ebs == nil {
			continue
		}
		e, known := merged[b.DeviceName]
		if !known {
			order = append(order, b.DeviceName)
		}
		if b.Ebs.VolumeType != "" && b.Ebs.VolumeType != e.VolumeType {
			e.VolumeType, e.Iops, e.Throughput = b.Ebs.VolumeType, nil, nil
		}
		set(&e.VolumeSize, b.Ebs.VolumeSize)
		set(&e.Iops, b.Ebs.Iops)
		set(&e.Throughput, b.Ebs.Throughput)
		set(&e.Encrypted, b.Ebs.Encrypted)
		set(&e.DeleteOnTermination, b.Ebs.DeleteOnTermination)
		if b.Ebs.KmsKeyId != "" {
			e.KmsKeyId = b.Ebs.KmsKeyId
		}
		merged[b.DeviceName] = e
	}
	for _, device := range order {
		e, wanted := merged[device]
		if !wanted {
			continue
		}
		v := &Volume{
			AvailabilityZone: vm.Placement.AvailabilityZone, AvailabilityZoneId: vm.Placement.AvailabilityZoneId, VolumeType: e.VolumeType,
			Size: deref(e.VolumeSize), Iops: deref(e.Iops), Throughput: deref(e.Throughput), Encrypted: deref(e.Encrypted), KmsKeyId: e.KmsKeyId,
			Tags: d.tagsOf("volume"), Status: "available",
		}
		if err := s.makeVolume(c, v); err != nil {
			return err
		}
		// Disks of the image go with the instance; the launch's own likewise unless it says otherwise.
		s.join(c, v, vm, device, e.DeleteOnTermination == nil || *e.DeleteOnTermination)
	}
	return nil
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
