// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"strconv"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// VolumeModification is a change of a volume's size or type, done at once.
type VolumeModification struct {
	VolumeId           string
	ModificationState  string
	TargetSize         int
	TargetIops         int
	TargetVolumeType   string
	TargetThroughput   int `wire:"targetThroughput,omitempty"`
	OriginalSize       int
	OriginalIops       int
	OriginalVolumeType string
	OriginalThroughput int `wire:"originalThroughput,omitempty"`
	Progress           int
	StartTime          time.Time
	EndTime            time.Time
}

// modificationRest is how long a volume must be left alone between changes.
const modificationRest = 6 * time.Hour

func itoa(n int) string { return strconv.Itoa(n) }

type modifyVolumeIn struct {
	volumeIn
	Size, Iops, Throughput int
	VolumeType             string
}

type modifyVolumeOut struct{ VolumeModification VolumeModification }

func (s *Service) modifyVolume(c *wire.Call, in *modifyVolumeIn) (*modifyVolumeOut, error) {
	v, err := s.volumes.get(c, in.VolumeId)
	if err != nil {
		return nil, err
	}
	if n := len(v.Modifications); n > 0 && c.Now.Sub(v.Modifications[n-1].EndTime) < modificationRest {
		return nil, wire.Errorf("VolumeModificationRateExceeded", "You've reached the maximum modification rate per volume limit. Wait at least %d hours between modifications per EBS volume.", int(modificationRest.Hours()))
	}
	next := *v
	if in.VolumeType != "" && in.VolumeType != v.VolumeType {
		next.VolumeType, next.Iops, next.Throughput = in.VolumeType, 0, 0
	}
	if in.Size != 0 {
		next.Size = in.Size
	}
	if in.Iops != 0 {
		next.Iops = in.Iops
	}
	if in.Throughput != 0 {
		next.Throughput = in.Throughput
	}
	if next.VolumeType == "gp2" && in.Iops == 0 {
		next.Iops = 0
	}
	if next.Size < v.Size {
		return nil, wire.Errorf("InvalidParameterValue", "New size cannot be smaller than existing size")
	}
	if err := next.checkLimits(); err != nil {
		return nil, err
	}
	m := VolumeModification{
		VolumeId: v.VolumeId, ModificationState: "completed", Progress: 100, StartTime: c.Now.UTC(), EndTime: c.Now.UTC(),
		TargetSize: next.Size, TargetIops: next.Iops, TargetVolumeType: next.VolumeType, TargetThroughput: next.Throughput,
		OriginalSize: v.Size, OriginalIops: v.Iops, OriginalVolumeType: v.VolumeType, OriginalThroughput: v.Throughput,
	}
	next.Modifications = append(v.Modifications, m)
	*v = next
	s.volumes.put(c, v)
	m.ModificationState, m.Progress, m.EndTime = "modifying", 0, time.Time{}
	return &modifyVolumeOut{m}, nil
}

var modificationFilters = map[string]func(*VolumeModification) []string{
	"volume-id":          one(func(m *VolumeModification) string { return m.VolumeId }),
	"modification-state": one(func(m *VolumeModification) string { return m.ModificationState }),
}

type describeModificationsOut struct {
	NextToken     string
	Modifications []*VolumeModification `wire:"volumeModificationSet"`
}

func (s *Service) describeVolumesModifications(c *wire.Call, in *describeVolumesIn) (*describeModificationsOut, error) {
	volumes, err := s.volumes.pick(c, in.Ids)
	if err != nil {
		return nil, err
	}
	var rows []*VolumeModification
	for _, v := range volumes {
		if n := len(v.Modifications); n > 0 {
			rows = append(rows, &v.Modifications[n-1])
		} else if len(in.Ids) > 0 {
			return nil, wire.Errorf("InvalidVolumeModification.NotFound", "Modification for volume '%s' does not exist.", v.VolumeId)
		}
	}
	if rows, err = filter(rows, in.Filters, modificationFilters, nil); err != nil {
		return nil, err
	}
	page, next, err := wire.Page(c, rows, in.MaxResults, in.NextToken, wire.Bounds{Min: 1, Max: 500, Default: 500})
	if err != nil {
		return nil, err
	}
	return &describeModificationsOut{next, page}, nil
}

// accountSettings are a region's defaults.
type accountSettings struct{ Encrypt bool }

type encryptionOut struct {
	EbsEncryptionByDefault bool
}

type nothing struct{}

func (s *Service) encrypted(c *wire.Call) bool {
	a := s.settings.Get(c.Region, "ebs")
	return a != nil && a.Encrypt
}

func (s *Service) getEncryption(c *wire.Call, _ *nothing) (*encryptionOut, error) {
	return &encryptionOut{s.encrypted(c)}, nil
}

func (s *Service) enableEncryption(c *wire.Call, _ *nothing) (*encryptionOut, error) {
	s.settings.Put(c.Region, "ebs", &accountSettings{Encrypt: true})
	return &encryptionOut{true}, nil
}

func (s *Service) disableEncryption(c *wire.Call, _ *nothing) (*encryptionOut, error) {
	s.settings.Delete(c.Region, "ebs")
	return &encryptionOut{false}, nil
}
