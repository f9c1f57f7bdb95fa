// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// Image is a machine image.
type Image struct {
	ImageId             string
	ImageLocation       string
	ImageState          string
	ImageOwnerId        string
	ImageOwnerAlias     string
	CreationDate        string
	DeprecationTime     string
	IsPublic            bool
	Architecture        string
	ImageType           string
	Name                string
	Description         string
	RootDeviceType      string
	RootDeviceName      string
	BlockDeviceMappings []BlockDevice `wire:"BlockDeviceMapping|blockDeviceMapping"`
	VirtualizationType  string
	Hypervisor          string
	EnaSupport          bool
	SriovNetSupport     string
	BootMode            string
	PlatformDetails     string
	UsageOperation      string
	SourceInstanceId    string
	Tags                []Tag `wire:"tagSet"`
}

// Owners of the built-in images: the real publishers' accounts.
const (
	ownerUbuntu = "099720109477"
	ownerDebian = "136693071363"
)

func newImageKind(s *Service, w *world.World) (*kind[Image], error) {
	return newKind(s, w, kind[Image]{
		resource: "image", prefix: "ami-", notFound: "InvalidAMIID.NotFound", word: "image id",
		id:   func(i *Image) string { return i.ImageId },
		tags: func(i *Image) *[]Tag { return &i.Tags },
		filters: map[string]func(*Image) []string{
			"image-id": one(func(i *Image) string { return i.ImageId }), "name": one(func(i *Image) string { return i.Name }),
			"architecture": one(func(i *Image) string { return i.Architecture }), "owner-id": one(func(i *Image) string { return i.ImageOwnerId }),
			"owner-alias": one(func(i *Image) string { return i.ImageOwnerAlias }), "state": one(func(i *Image) string { return i.ImageState }),
			"description": one(func(i *Image) string { return i.Description }), "creation-date": one(func(i *Image) string { return i.CreationDate }),
			"image-type": one(func(i *Image) string { return i.ImageType }), "is-public": flag(func(i *Image) bool { return i.IsPublic }),
			"root-device-type": one(func(i *Image) string { return i.RootDeviceType }), "root-device-name": one(func(i *Image) string { return i.RootDeviceName }),
			"virtualization-type": one(func(i *Image) string { return i.VirtualizationType }), "hypervisor": one(func(i *Image) string { return i.Hypervisor }),
			"ena-support": flag(func(i *Image) bool { return i.EnaSupport }), "boot-mode": one(func(i *Image) string { return i.BootMode }),
		},
		bounds: wire.Bounds{Min: 1, Max: 1000},
	})
}

func (s *Service) imageOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"DescribeImages": op(s.describeImages), "RegisterImage": op(s.registerImage), "CreateImage": op(s.createImage), "DeregisterImage": op(s.deregisterImage),
	}
}

// catalogue is the built-in images, the same in every region: stand-ins for the
// publishers' own, with names of their form.
var catalogue = buildCatalogue()

func buildCatalogue() []*Image {
	var list []*Image
	add := func(id, name, owner, arch, date, description, root string, size int) {
		location := owner + "/" + name
		yes := true
		list = append(list, &Image{
			ImageId: id, ImageLocation: location, ImageState: "available", ImageOwnerId: owner, CreationDate: date, IsPublic: true, Architecture: arch,
			ImageType: "machine", Name: name, Description: description + " (stand-in of the simulator)", RootDeviceType: "ebs", RootDeviceName: root,
			VirtualizationType: "hvm", Hypervisor: "xen", EnaSupport: true, SriovNetSupport: "simple", BootMode: "uefi-preferred",
			PlatformDetails: "Linux/UNIX", UsageOperation: "RunInstances",
			BlockDeviceMappings: []BlockDevice{{DeviceName: root, Ebs: &EbsDevice{DeleteOnTermination: &yes, VolumeSize: &size, VolumeType: "gp3", SnapshotId: "snap-" + id[4:]}}},
		})
	}
	for i, u := range []struct{ code, version, form, date, stamp string }{
		{"jammy", "22.04", "hvm-ssd", "20260610", "2026-06-10T06:12:00.000Z"}, {"jammy", "22.04", "hvm-ssd", "20260915", "2026-09-15T06:12:00.000Z"},
		{"noble", "24.04", "hvm-ssd-gp3", "20260714", "2026-07-14T05:40:00.000Z"}, {"noble", "24.04", "hvm-ssd-gp3", "20261008", "2026-10-08T05:40:00.000Z"},
		{"resolute", "26.04", "hvm-ssd-gp3", "20261015", "2026-10-15T07:01:00.000Z"},
	} {
		for j, a := range [][2]string{{"amd64", "x86_64"}, {"arm64", "arm64"}} {
			name := "ubuntu/images/" + u.form + "/ubuntu-" + u.code + "-" + u.version + "-" + a[0] + "-server-" + u.date
			add("ami-0000000000000b"+itoa(i)+"0"+itoa(j), name, ownerUbuntu, a[1], u.stamp, "Canonical, Ubuntu, "+u.version+", "+a[0], "/dev/sda1", 8)
		}
	}
	for i, d := range []struct{ version, date, stamp string }{
		{"12", "20260812-2201", "2026-08-12T10:00:00.000Z"}, {"12", "20261103-2290", "2026-11-03T10:00:00.000Z"}, {"13", "20260901-2222", "2026-09-01T10:00:00.000Z"}, {"13", "20261110-2297", "2026-11-10T10:00:00.000Z"},
	} {
		for j, a := range [][2]string{{"amd64", "x86_64"}, {"arm64", "arm64"}} {
			add("ami-0000000000000d"+itoa(i)+"0"+itoa(j), "debian-"+d.version+"-"+a[0]+"-"+d.date, ownerDebian, a[1], d.stamp, "Debian "+d.version+" ("+d.date+")", "/dev/xvda", 8)
		}
	}
	return list
}

// Image finds an image of the region, built-in or the account's own.
func (s *Service) Image(c *wire.Call, id string) (*Image, *wire.Error) {
	for _, i := range catalogue {
		if i.ImageId == id {
			return i, nil
		}
	}
	if i := s.images.table.Get(c.Region, id); i != nil {
		return i, nil
	}
	if !strings.HasPrefix(id, "ami-") || !idPattern.MatchString(id) {
		return nil, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
	}
	return nil, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
}

type describeImagesIn struct {
	ImageIds          []string `wire:"ImageId"`
	Owners            []string `wire:"Owner"`
	ExecutableBy      []string
	IncludeDeprecated bool
	IncludeDisabled   bool
	describe
}

type describeImagesOut struct {
	NextToken string
	Images    []*Image `wire:"imagesSet"`
}

func (s *Service) describeImages(c *wire.Call, in *describeImagesIn) (*describeImagesOut, error) {
	rows := append(slices.Clone(catalogue), s.images.table.Visible(c.Region)...)
	if len(in.ImageIds) > 0 {
		rows = nil
		for _, id := range in.ImageIds {
			i, err := s.Image(c, id)
			if err != nil {
				return nil, err
			}
			rows = append(rows, i)
		}
	}
	if len(in.Owners) > 0 {
		rows = slices.DeleteFunc(rows, func(i *Image) bool {
			self := slices.Contains(in.Owners, "self") && i.ImageOwnerId == s.account
			return !self && !slices.Contains(in.Owners, i.ImageOwnerId)
		})
	}
	rows, err := filter(rows, in.Filters, s.images.filters, s.images.tags)
	if err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, s.images.bounds)
	if err != nil {
		return nil, err
	}
	return &describeImagesOut{next, page}, nil
}

type registerImageIn struct {
	Name                string `wire:"Name,required"`
	Description         string
	Architecture        string
	RootDeviceName      string
	BlockDeviceMappings []BlockDevice `wire:"BlockDeviceMapping"`
	VirtualizationType  string
	SriovNetSupport     string
	EnaSupport          bool
	BootMode            string
	ImdsSupport         string
	TagSpecifications   []TagSpecification `wire:"TagSpecification"`
}

type imageIdOut struct{ ImageId string }

func (s *Service) registerImage(c *wire.Call, in *registerImageIn) (*imageIdOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "image", "snapshot")
	if tagErr != nil {
		return nil, tagErr
	}
	i := &Image{
		Name: in.Name, Description: in.Description, Architecture: in.Architecture, RootDeviceName: in.RootDeviceName, BlockDeviceMappings: in.BlockDeviceMappings,
		VirtualizationType: in.VirtualizationType, SriovNetSupport: in.SriovNetSupport, EnaSupport: in.EnaSupport, BootMode: in.BootMode, Tags: tags,
	}
	if err := s.makeImage(c, i); err != nil {
		return nil, err
	}
	return &imageIdOut{i.ImageId}, nil
}

func (s *Service) makeImage(c *wire.Call, i *Image) *wire.Error {
	if len(i.Name) < 3 || len(i.Name) > 128 {
		return wire.Errorf("InvalidAMIName.Malformed", "AMI names must be between 3 and 128 characters long")
	}
	if s.images.first(c, func(o *Image) bool { return o.Name == i.Name }) != nil {
		return wire.Errorf("InvalidAMIName.Duplicate", "AMI name %s is already in use", i.Name)
	}
	if i.Architecture == "" {
		i.Architecture = "i386"
	}
	if !slices.Contains([]string{"i386", "x86_64", "arm64", "x86_64_mac", "arm64_mac"}, i.Architecture) {
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for architecture", i.Architecture)
	}
	if i.RootDeviceName == "" {
		i.RootDeviceName = "/dev/sda1"
	}
	if i.VirtualizationType == "" {
		i.VirtualizationType = "paravirtual"
	}
	i.ImageId, i.ImageOwnerId, i.ImageState, i.ImageType = s.newID("ami-"), s.account, "available", "machine"
	i.ImageLocation, i.CreationDate, i.RootDeviceType, i.Hypervisor = s.account+"/"+i.Name, c.Now.UTC().Format(wire.TimeFormat), "ebs", "xen"
	i.PlatformDetails, i.UsageOperation = "Linux/UNIX", "RunInstances"
	s.images.put(c, i)
	return nil
}

type createImageIn struct {
	InstanceId          string `wire:"InstanceId,required"`
	Name                string `wire:"Name,required"`
	Description         string
	NoReboot            bool
	BlockDeviceMappings []BlockDevice      `wire:"BlockDeviceMapping"`
	TagSpecifications   []TagSpecification `wire:"TagSpecification"`
}

func (s *Service) createImage(c *wire.Call, in *createImageIn) (*imageIdOut, error) {
	vm, err := s.instances.get(c, in.InstanceId)
	if err != nil {
		return nil, err
	}
	tags, tagErr := tagsFor(in.TagSpecifications, "image", "snapshot")
	if tagErr != nil {
		return nil, tagErr
	}
	i := &Image{
		Name: in.Name, Description: in.Description, Architecture: vm.Architecture, RootDeviceName: vm.RootDeviceName, BlockDeviceMappings: in.BlockDeviceMappings,
		VirtualizationType: "hvm", EnaSupport: true, SourceInstanceId: vm.InstanceId, Tags: tags,
	}
	if len(i.BlockDeviceMappings) == 0 {
		for _, b := range vm.BlockDevices {
			if v := s.volumes.table.Get(c.Region, b.Ebs.VolumeId); v != nil {
				size, gone := v.Size, b.Ebs.DeleteOnTermination
				i.BlockDeviceMappings = append(i.BlockDeviceMappings, BlockDevice{DeviceName: b.DeviceName, Ebs: &EbsDevice{
					VolumeSize: &size, VolumeType: v.VolumeType, DeleteOnTermination: &gone, SnapshotId: s.newID("snap-"),
				}})
			}
		}
	}
	if err := s.makeImage(c, i); err != nil {
		return nil, err
	}
	return &imageIdOut{i.ImageId}, nil
}

func (s *Service) deregisterImage(c *wire.Call, in *struct {
	ImageId                   string `wire:"ImageId,required"`
	DeleteAssociatedSnapshots bool
}) (*done, error) {
	i, err := s.Image(c, in.ImageId)
	if err != nil {
		return nil, err
	}
	if i.ImageOwnerId != s.account {
		return nil, wire.Errorf("AuthFailure", "Not authorized for image:%s", i.ImageId)
	}
	s.images.remove(c, i)
	return ok()
}
