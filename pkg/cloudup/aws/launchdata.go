// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// launchData is the content of a launch template version, in the words of a plan. Want
// and have are both brought into this form, so that each field is compared once.
type launchData struct {
	Image, Machine, Key, Profile string

	PublicIP bool
	Groups   tasks.Value // security group ids

	RootDevice           string
	RootGiB              int32
	RootType             string
	RootIOPS, Throughput int32
	Encrypted            bool
	EncryptionKey        string

	Tokens       string // required, optional
	HopLimit     int32
	MetadataTags bool
	Monitoring   bool
	Tenancy      string
	Credits      string
	Spot         bool
	MaxPrice     string

	InstanceTags, VolumeTags, InterfaceTags map[string]string

	UserData tasks.Value // base64, or unknown; as a digest
	userData string      // base64
}

// diff compares two contents. Every difference makes a new version, none a new template.
func (want launchData) diff(d *tasks.Diff, have launchData) {
	d.Field("image", have.Image, want.Image)
	d.Field("machineType", have.Machine, want.Machine)
	d.Field("key", have.Key, want.Key)
	d.Field("instanceProfile", have.Profile, want.Profile)
	d.Field("publicIP", have.PublicIP, want.PublicIP)
	d.Field("securityGroups", have.Groups, want.Groups)
	d.Field("rootVolume.device", have.RootDevice, want.RootDevice)
	d.Field("rootVolume.size", some(have.RootGiB), some(want.RootGiB))
	d.Field("rootVolume.type", have.RootType, want.RootType)
	d.Field("rootVolume.iops", some(have.RootIOPS), some(want.RootIOPS))
	d.Field("rootVolume.throughput", some(have.Throughput), some(want.Throughput))
	d.Field("rootVolume.encrypted", have.Encrypted, want.Encrypted)
	d.Field("rootVolume.key", have.EncryptionKey, want.EncryptionKey)
	d.Field("metadata.tokens", have.Tokens, want.Tokens)
	d.Field("metadata.hopLimit", some(have.HopLimit), some(want.HopLimit))
	d.Field("metadata.tags", have.MetadataTags, want.MetadataTags)
	d.Field("monitoring", have.Monitoring, want.Monitoring)
	d.Field("tenancy", have.Tenancy, want.Tenancy)
	d.Field("cpuCredits", have.Credits, want.Credits)
	d.Field("spot", have.Spot, want.Spot)
	d.Field("maxPrice", have.MaxPrice, want.MaxPrice)
	d.Field("userData", have.UserData, want.UserData)
	d.Map("instanceTags", have.InstanceTags, want.InstanceTags)
	d.Map("volumeTags", have.VolumeTags, want.VolumeTags)
	d.Map("interfaceTags", have.InterfaceTags, want.InterfaceTags)
}

// request is the form in which EC2 takes the content.
func (want launchData) request() *ec2types.RequestLaunchTemplateData {
	r := &ec2types.RequestLaunchTemplateData{
		ImageId: &want.Image, InstanceType: ec2types.InstanceType(want.Machine),
		BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: &want.RootDevice, Ebs: want.disk()}},
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), AssociatePublicIpAddress: &want.PublicIP, DeleteOnTermination: aws.Bool(true),
			Groups: listOf(want.Groups),
		}},
		MetadataOptions: &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointStateEnabled,
			HttpTokens:              ec2types.LaunchTemplateHttpTokensState(want.Tokens),
			HttpPutResponseHopLimit: &want.HopLimit,
		},
		Monitoring:        &ec2types.LaunchTemplatesMonitoringRequest{Enabled: &want.Monitoring},
		TagSpecifications: want.tagSpecs(),
	}
	if want.MetadataTags {
		r.MetadataOptions.InstanceMetadataTags = ec2types.LaunchTemplateInstanceMetadataTagsStateEnabled
	}
	if want.Key != "" {
		r.KeyName = &want.Key
	}
	if want.Profile != "" {
		r.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &want.Profile}
	}
	if want.Tenancy != "" {
		r.Placement = &ec2types.LaunchTemplatePlacementRequest{Tenancy: ec2types.Tenancy(want.Tenancy)}
	}
	if want.Credits != "" {
		r.CreditSpecification = &ec2types.CreditSpecificationRequest{CpuCredits: &want.Credits}
	}
	if want.Spot {
		r.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType:  ec2types.MarketTypeSpot,
			SpotOptions: &ec2types.LaunchTemplateSpotMarketOptionsRequest{MaxPrice: &want.MaxPrice},
		}
	}
	if want.userData != "" {
		r.UserData = &want.userData
	}
	return r
}

func (want launchData) disk() *ec2types.LaunchTemplateEbsBlockDeviceRequest {
	d := &ec2types.LaunchTemplateEbsBlockDeviceRequest{
		VolumeSize: &want.RootGiB, VolumeType: ec2types.VolumeType(want.RootType),
		Encrypted: &want.Encrypted, DeleteOnTermination: aws.Bool(true),
	}
	if want.EncryptionKey != "" {
		d.KmsKeyId = &want.EncryptionKey
	}
	if want.RootIOPS != 0 {
		d.Iops = &want.RootIOPS
	}
	if want.Throughput != 0 {
		d.Throughput = &want.Throughput
	}
	return d
}

func (want launchData) tagSpecs() []ec2types.LaunchTemplateTagSpecificationRequest {
	var out []ec2types.LaunchTemplateTagSpecificationRequest
	for _, s := range []struct {
		kind ec2types.ResourceType
		tags map[string]string
	}{
		{ec2types.ResourceTypeInstance, want.InstanceTags},
		{ec2types.ResourceTypeVolume, want.VolumeTags},
		{ec2types.ResourceTypeNetworkInterface, want.InterfaceTags},
	} {
		if len(s.tags) > 0 {
			out = append(out, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: s.kind, Tags: ec2Tags(s.tags)})
		}
	}
	return out
}

// launchDataOf brings what EC2 shows of a version into the form of a plan.
func launchDataOf(r *ec2types.ResponseLaunchTemplateData) launchData {
	if r == nil {
		return launchData{}
	}
	have := launchData{
		Image: aws.ToString(r.ImageId), Machine: string(r.InstanceType), Key: aws.ToString(r.KeyName),
		Monitoring: r.Monitoring != nil && aws.ToBool(r.Monitoring.Enabled),
		UserData:   digestOf(aws.ToString(r.UserData)), userData: aws.ToString(r.UserData),
	}
	if p := r.IamInstanceProfile; p != nil {
		have.Profile = aws.ToString(p.Name)
	}
	if len(r.NetworkInterfaces) > 0 {
		n := r.NetworkInterfaces[0]
		have.PublicIP = aws.ToBool(n.AssociatePublicIpAddress)
		have.Groups = tasks.V(slices.Sorted(slices.Values(n.Groups)))
	}
	if len(r.BlockDeviceMappings) > 0 {
		b := r.BlockDeviceMappings[0]
		have.RootDevice = aws.ToString(b.DeviceName)
		if e := b.Ebs; e != nil {
			have.RootGiB, have.RootType = aws.ToInt32(e.VolumeSize), string(e.VolumeType)
			have.RootIOPS, have.Throughput = aws.ToInt32(e.Iops), aws.ToInt32(e.Throughput)
			have.Encrypted, have.EncryptionKey = aws.ToBool(e.Encrypted), aws.ToString(e.KmsKeyId)
		}
	}
	if m := r.MetadataOptions; m != nil {
		have.Tokens, have.HopLimit = string(m.HttpTokens), aws.ToInt32(m.HttpPutResponseHopLimit)
		have.MetadataTags = m.InstanceMetadataTags == ec2types.LaunchTemplateInstanceMetadataTagsStateEnabled
	}
	if r.Placement != nil {
		have.Tenancy = string(r.Placement.Tenancy)
	}
	if r.CreditSpecification != nil {
		have.Credits = aws.ToString(r.CreditSpecification.CpuCredits)
	}
	if m := r.InstanceMarketOptions; m != nil {
		have.Spot = m.MarketType == ec2types.MarketTypeSpot
		if m.SpotOptions != nil {
			have.MaxPrice = price(aws.ToString(m.SpotOptions.MaxPrice))
		}
	}
	for _, s := range r.TagSpecifications {
		into := map[ec2types.ResourceType]*map[string]string{
			ec2types.ResourceTypeInstance: &have.InstanceTags, ec2types.ResourceTypeVolume: &have.VolumeTags,
			ec2types.ResourceTypeNetworkInterface: &have.InterfaceTags,
		}[s.ResourceType]
		if into == nil {
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		maps.Copy(*into, tagMap(s.Tags))
	}
	return have
}

// price writes an amount as AWS does, without needless zeros: 0.20 is 0.2.
func price(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
