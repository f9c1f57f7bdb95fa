// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Volume is a disk. Sizes in GiB, throughput in MiB/s.
type Volume struct {
	VolumeId           string
	VolumeArn          string
	OwnerId            string
	Size               int
	SnapshotId         string `wire:"snapshotId,keep"`
	AvailabilityZone   string
	AvailabilityZoneId string
	Status             string
	CreateTime         time.Time
	Attachments        []VolumeAttachment `wire:"attachmentSet"`
	VolumeType         string
	Iops               int `wire:"iops,omitempty"`
	Throughput         int `wire:"throughput,omitempty"`
	Encrypted          bool
	KmsKeyId           string
	MultiAttachEnabled bool
	Tags               []Tag                `wire:"tagSet"`
	Modifications      []VolumeModification `wire:"-"` // the newest last
}

// VolumeAttachment joins a volume to an instance.
type VolumeAttachment struct {
	VolumeId            string
	InstanceId          string
	Device              string
	Status              string
	AttachTime          time.Time
	DeleteOnTermination bool
}

// volumeLimit is what a volume type takes.
type volumeLimit struct {
	minSize, maxSize int // GiB
	minIops, maxIops int // 0 when iops cannot be set
	defaultIops      int
	maxThroughput    int // MiB/s, 0 when it cannot be set
	iopsPerGiB       int
}

var volumeLimits = map[string]volumeLimit{
	"gp2": {minSize: 1, maxSize: 16384, defaultIops: 100}, "gp3": {minSize: 1, maxSize: 65536, minIops: 3000, maxIops: 80000, defaultIops: 3000, maxThroughput: 2000, iopsPerGiB: 500},
	"io1": {minSize: 4, maxSize: 16384, minIops: 100, maxIops: 64000, iopsPerGiB: 50}, "io2": {minSize: 4, maxSize: 65536, minIops: 100, maxIops: 256000, iopsPerGiB: 1000},
	"st1": {minSize: 125, maxSize: 16384}, "sc1": {minSize: 125, maxSize: 16384}, "standard": {minSize: 1, maxSize: 1024},
}

const defaultKmsAlias = "alias/aws/ebs"

func newVolumeKind(s *Service, w *world.World) (*kind[Volume], error) {
	attachment := func(get func(VolumeAttachment) string) func(*Volume) []string {
		return many(func(v *Volume) []VolumeAttachment { return v.Attachments }, get)
	}
	return newKind(s, w, kind[Volume]{
		resource: "volume", prefix: "vol-", notFound: "InvalidVolume.NotFound", word: "volume",
		id:   func(v *Volume) string { return v.VolumeId },
		tags: func(v *Volume) *[]Tag { return &v.Tags },
		filters: map[string]func(*Volume) []string{
			"volume-id": one(func(v *Volume) string { return v.VolumeId }), "availability-zone": one(func(v *Volume) string { return v.AvailabilityZone }),
			"status": one(func(v *Volume) string { return v.Status }), "volume-type": one(func(v *Volume) string { return v.VolumeType }),
			"snapshot-id": one(func(v *Volume) string { return v.SnapshotId }), "encrypted": flag(func(v *Volume) bool { return v.Encrypted }),
			"size":                   one(func(v *Volume) string { return itoa(v.Size) }),
			"attachment.instance-id": attachment(func(a VolumeAttachment) string { return a.InstanceId }),
			"attachment.device":      attachment(func(a VolumeAttachment) string { return a.Device }),
			"attachment.status":      attachment(func(a VolumeAttachment) string { return a.Status }),
		},
	})
}

func (s *Service) volumeOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateVolume": op(s.createVolume), "DescribeVolumes": op(s.describeVolumes), "DeleteVolume": op(s.deleteVolume),
		"ModifyVolume": op(s.modifyVolume), "DescribeVolumesModifications": op(s.describeVolumesModifications),
		"AttachVolume": op(s.attachVolume), "DetachVolume": op(s.detachVolume),
		"GetEbsEncryptionByDefault": op(s.getEncryption), "EnableEbsEncryptionByDefault": op(s.enableEncryption), "DisableEbsEncryptionByDefault": op(s.disableEncryption),
	}
}

type createVolumeIn struct {
	AvailabilityZone   string
	AvailabilityZoneId string
	Size               int
	VolumeType         string
	Iops               int
	Throughput         int
	Encrypted          *bool
	KmsKeyId           string
	SnapshotId         string
	MultiAttachEnabled bool
	ClientToken        string
	TagSpecifications  []TagSpecification `wire:"TagSpecification"`
}

func (s *Service) createVolume(c *wire.Call, in *createVolumeIn) (*Volume, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "volume")
	if tagErr != nil {
		return nil, tagErr
	}
	name := in.AvailabilityZone + in.AvailabilityZoneId
	if name == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter AvailabilityZone")
	}
	z := zoneByName(c.Region, name)
	if z == nil {
		return nil, wire.Errorf("InvalidZone.NotFound", "The zone '%s' does not exist.", name)
	}
	if in.SnapshotId != "" {
		return nil, wire.Errorf("InvalidSnapshot.NotFound", "The snapshot '%s' does not exist.", in.SnapshotId)
	}
	if in.KmsKeyId != "" && (in.Encrypted == nil || !*in.Encrypted) {
		return nil, wire.Errorf("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		v := &Volume{
			AvailabilityZone: z.ZoneName, AvailabilityZoneId: z.ZoneId, Size: in.Size, VolumeType: in.VolumeType, Iops: in.Iops, Throughput: in.Throughput,
			KmsKeyId: in.KmsKeyId, MultiAttachEnabled: in.MultiAttachEnabled, Tags: tags, Status: "available",
		}
		if in.Encrypted != nil {
			v.Encrypted = *in.Encrypted
		}
		if err := s.makeVolume(c, v); err != nil {
			return "", err
		}
		return v.VolumeId, nil
	})
	if err != nil {
		return nil, err
	}
	v, err := s.volumes.get(c, id)
	if err != nil {
		return nil, err
	}
	shown := *v
	shown.Status = "creating"
	return &shown, nil
}

// makeVolume fills in what the caller left out, checks the limits and saves.
func (s *Service) makeVolume(c *wire.Call, v *Volume) *wire.Error {
	if v.VolumeType == "" {
		v.VolumeType = "gp2"
	}
	if err := v.checkLimits(); err != nil {
		return err
	}
	if limit := c.Quota("volumes", 100000); len(s.volumes.all(c)) >= limit {
		return wire.Errorf("VolumeLimitExceeded", "You have exceeded your maximum number of volumes: %d of %d.", limit, limit)
	}
	v.VolumeId, v.OwnerId, v.CreateTime = s.newID("vol-"), s.account, c.Now.UTC()
	v.VolumeArn = s.arn(c, "volume", v.VolumeId)
	v.Encrypted = v.Encrypted || s.encrypted(c)
	if v.Encrypted && v.KmsKeyId == "" {
		v.KmsKeyId = "arn:aws:kms:" + c.Region + ":" + s.account + ":" + defaultKmsAlias
	}
	s.volumes.put(c, v)
	return nil
}

// checkLimits applies the type's limits and defaults.
func (v *Volume) checkLimits() *wire.Error {
	l := volumeLimits[v.VolumeType]
	switch {
	case l.maxSize == 0:
		return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter volumeType is invalid.", v.VolumeType)
	case v.Size == 0:
		return wire.Errorf("MissingParameter", "The request must contain the parameter size/snapshot")
	case v.Size < l.minSize || v.Size > l.maxSize:
		return wire.Errorf("InvalidParameterValue", "Volume of %dGiB is too small or too large for volume type %s; minimum is %dGiB, maximum is %dGiB.", v.Size, v.VolumeType, l.minSize, l.maxSize)
	case v.Iops != 0 && l.maxIops == 0:
		return wire.Errorf("InvalidParameterCombination", "The parameter iops is not supported for %s volumes.", v.VolumeType)
	case v.Throughput != 0 && l.maxThroughput == 0:
		return wire.Errorf("InvalidParameterCombination", "The parameter throughput is not supported for %s volumes.", v.VolumeType)
	case v.Iops == 0 && l.maxIops != 0 && l.defaultIops == 0:
		return wire.Errorf("MissingParameter", "The parameter iops must be specified for %s volumes.", v.VolumeType)
	case v.Iops != 0 && (v.Iops < l.minIops || v.Iops > l.maxIops):
		return wire.Errorf("InvalidParameterValue", "Volume iops of %d is out of range; minimum is %d, maximum is %d.", v.Iops, l.minIops, l.maxIops)
	case v.Iops > 3000 && l.iopsPerGiB > 0 && v.Iops > v.Size*l.iopsPerGiB:
		return wire.Errorf("InvalidParameterValue", "Iops to volume size ratio of %d:1 is too high; maximum is %d.", v.Iops/v.Size, l.iopsPerGiB)
	case v.Throughput != 0 && (v.Throughput < 125 || v.Throughput > l.maxThroughput):
		return wire.Errorf("InvalidParameterValue", "Throughput value of %d is out of range; minimum is 125, maximum is %d.", v.Throughput, l.maxThroughput)
	}
	if v.Iops == 0 {
		v.Iops = l.defaultIops
	}
	if v.VolumeType == "gp2" {
		v.Iops = min(max(100, 3*v.Size), 16000)
	}
	if v.VolumeType == "gp3" && v.Throughput == 0 {
		v.Throughput = 125
	}
	return nil
}

type describeVolumesIn struct {
	Ids []string `wire:"VolumeId"`
	describe
}

type describeVolumesOut struct {
	NextToken string
	Volumes   []*Volume `wire:"volumeSet"`
}

func (s *Service) describeVolumes(c *wire.Call, in *describeVolumesIn) (*describeVolumesOut, error) {
	rows, next, err := s.volumes.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeVolumesOut{next, rows}, nil
}

type volumeIn struct {
	VolumeId string `wire:"VolumeId,required"`
}

func (s *Service) deleteVolume(c *wire.Call, in *volumeIn) (*done, error) {
	v, err := s.volumes.get(c, in.VolumeId)
	if err != nil {
		return nil, err
	}
	if len(v.Attachments) > 0 {
		return nil, wire.Errorf("VolumeInUse", "Volume %s is currently attached to %s", v.VolumeId, v.Attachments[0].InstanceId)
	}
	s.volumes.remove(c, v)
	return ok()
}

type attachVolumeIn struct {
	VolumeId   string `wire:"VolumeId,required"`
	InstanceId string `wire:"InstanceId,required"`
	Device     string `wire:"Device,required"`
}

func (s *Service) attachVolume(c *wire.Call, in *attachVolumeIn) (*VolumeAttachment, error) {
	v, err := s.volumes.get(c, in.VolumeId)
	if err != nil {
		return nil, err
	}
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	switch {
	case len(v.Attachments) > 0 && v.Attachments[0].InstanceId == in.InstanceId || len(v.Attachments) > 0 && !v.MultiAttachEnabled:
		return nil, wire.Errorf("VolumeInUse", "%s is already attached to an instance", v.VolumeId)
	case vm.State.Name != "running" && vm.State.Name != "stopped":
		return nil, wire.Errorf("IncorrectState", "Instance '%s' is not 'running'.", vm.InstanceId)
	case v.AvailabilityZone != vm.Placement.AvailabilityZone:
		return nil, wire.Errorf("InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", v.VolumeId, vm.InstanceId)
	case slices.ContainsFunc(vm.BlockDevices, func(b AttachedDevice) bool { return b.DeviceName == in.Device }):
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for unixDevice. Attachment point %s is already in use", in.Device, in.Device)
	}
	a := s.join(c, v, vm, in.Device, false)
	shown := a
	shown.Status = "attaching"
	return &shown, nil
}

// join attaches a volume to an instance.
func (s *Service) join(c *wire.Call, v *Volume, vm *Instance, device string, deleteOnTermination bool) VolumeAttachment {
	a := VolumeAttachment{v.VolumeId, vm.InstanceId, device, "attached", c.Now.UTC(), deleteOnTermination}
	v.Attachments = append(v.Attachments, a)
	v.Status = "in-use"
	vm.BlockDevices = append(vm.BlockDevices, AttachedDevice{device, AttachedVolume{v.VolumeId, "attached", a.AttachTime, deleteOnTermination}})
	s.volumes.put(c, v)
	s.instances.put(c, vm)
	return a
}

type detachVolumeIn struct {
	volumeIn
	InstanceId, Device string
	Force              bool
}

func (s *Service) detachVolume(c *wire.Call, in *detachVolumeIn) (*VolumeAttachment, error) {
	v, err := s.volumes.get(c, in.VolumeId)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.Attachments, func(a VolumeAttachment) bool { return in.InstanceId == "" || a.InstanceId == in.InstanceId })
	if i < 0 {
		return nil, wire.Errorf("IncorrectState", "Volume '%s' is in the 'available' state.", v.VolumeId)
	}
	a := v.Attachments[i]
	if vm := s.instances.table.Get(c.Region, a.InstanceId); vm != nil {
		if a.Device == vm.RootDeviceName && vm.State.Name == "running" {
			return nil, wire.Errorf("OperationNotPermitted", "Unable to detach root volume '%s' from instance '%s'", v.VolumeId, a.InstanceId)
		}
		vm.BlockDevices = slices.DeleteFunc(vm.BlockDevices, func(b AttachedDevice) bool { return b.Ebs.VolumeId == v.VolumeId })
		s.instances.put(c, vm)
	}
	v.Attachments = slices.Delete(v.Attachments, i, i+1)
	if len(v.Attachments) == 0 {
		v.Status = "available"
	}
	s.volumes.put(c, v)
	a.Status = "detaching"
	return &a, nil
}
