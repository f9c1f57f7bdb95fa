// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// The tags by which a machine finds the volume of its etcd member.
const (
	tagEtcd   = tagOurs + "etcd"   // the etcd cluster's name
	tagMember = tagOurs + "member" // the member's name
	tagGroup  = tagOurs + "group"  // the instance group
	tagRole   = tagOurs + "role"   // the role's key
)

// defaultVolumeType is the type of every disk whose type is not given.
const defaultVolumeType = "gp3"

// EBSVolume is the disk of an etcd member. It outlives its machines.
type EBSVolume struct {
	resource
	volume model.Volume
}

func newEBSVolume(s *survey, m model.Volume) *EBSVolume {
	key := m.Etcd + "/" + m.Member
	v := &EBSVolume{resource: resource{s: s, kind: "volume", key: key}, volume: m}
	if v.volume.Type == "" {
		v.volume.Type = defaultVolumeType
	}
	v.tags = s.tagsFor(key, m.Member+".etcd-"+m.Etcd+"."+s.cluster, map[string]string{
		tagEtcd: m.Etcd, tagMember: m.Member, tagGroup: m.Pool,
	})
	return v
}

// Describe says whose data it holds.
func (v *EBSVolume) Describe() string {
	return fmt.Sprintf("data of etcd %s, member %s, in %s", v.volume.Etcd, v.volume.Member, v.volume.Zone)
}

// speeds returns what a volume type gives and takes of IOPS and throughput (MiB/s): the
// wanted value, or what AWS gives when none is asked for; 0 where the type takes none.
func speeds(kind string, iops, throughput int32) (int32, int32) {
	switch kind {
	case "gp3":
		if iops == 0 {
			iops = 3000
		}
		if throughput == 0 {
			throughput = 125
		}
		return iops, throughput
	case "io1", "io2":
		return iops, 0
	default:
		return 0, 0
	}
}

// Observe finds the volume. What AWS cannot change without losing the data is reported
// and left as it is.
func (v *EBSVolume) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := v.s.volumes.find(ctx, v.key)
	if err != nil {
		return tasks.Change{}, err
	}
	want, have := v.volume, o.Value
	size := want.SizeGiB
	if now := aws.ToInt32(have.Size); exists && size < now {
		size = now
	}
	haveIOPS, haveThroughput := speeds(string(have.VolumeType), aws.ToInt32(have.Iops), aws.ToInt32(have.Throughput))
	wantIOPS, wantThroughput := speeds(want.Type, want.IOPS, want.Throughput)
	d := tasks.NewDiff(exists)
	d.HoldsData()
	d.Fixed("zone", aws.ToString(have.AvailabilityZone), want.Zone)
	if !exists {
		d.Field("encrypted", "", want.Encrypted)
		d.Field("kmsKey", "", want.Key)
	}
	d.Field("size", set(exists, aws.ToInt32(have.Size)), size)
	d.Field("type", string(have.VolumeType), want.Type)
	d.Field("iops", some(haveIOPS), some(wantIOPS))
	d.Field("throughput", some(haveThroughput), some(wantThroughput))
	diffTags(d, o.Tags, v.tags)
	if drift := v.drift(o.Value); exists && drift != "" {
		d.Because(drift)
	}
	c := found(&v.resource, v.s.volumes, o, exists, d)
	if c.Action == tasks.None && c.Reason != "" {
		c.Action = tasks.Keep
	}
	c.Data = c.Action == tasks.Replace
	return c, nil
}

// some is a number in a plan, 0 as unset; set is one of an object that may not exist.
func some(n int32) any { return set(n != 0, n) }

func set(known bool, n int32) any {
	if !known {
		return nil
	}
	return n
}

// drift says what of the volume differs and stays so.
func (v *EBSVolume) drift(have ec2types.Volume) string {
	var out []string
	if aws.ToBool(have.Encrypted) != v.volume.Encrypted {
		out = append(out, fmt.Sprintf("encrypted is %t, the spec says %t", aws.ToBool(have.Encrypted), v.volume.Encrypted))
	}
	// EC2 shows the key's ARN; an alias stands for a key that it does not name.
	alias := strings.Contains(v.volume.Key, "alias/")
	if key := aws.ToString(have.KmsKeyId); v.volume.Key != "" && !alias && key != v.volume.Key && !strings.HasSuffix(key, "/"+v.volume.Key) {
		out = append(out, fmt.Sprintf("the key is %s, the spec says %s", key, v.volume.Key))
	}
	if now := aws.ToInt32(have.Size); v.volume.SizeGiB < now {
		out = append(out, fmt.Sprintf("the size is %d GiB, the spec says %d", now, v.volume.SizeGiB))
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "; ") + ": a volume with data cannot change so; replace the member to change it"
}

// Apply makes the volume, or changes what can be changed under a running machine.
func (v *EBSVolume) Apply(ctx context.Context, c tasks.Change) error {
	o := c.Observed.(owned[ec2types.Volume])
	if c.Action == tasks.Update {
		if c.Has("size") || c.Has("type") || c.Has("iops") || c.Has("throughput") {
			if err := v.modify(ctx, o); err != nil {
				return err
			}
		}
		return v.s.applyTags(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := v.s.retire(ctx, o.ID, v.key); err != nil {
			return err
		}
	}
	id, err := v.s.volumes.makeOnce(ctx, v.key, v.create)
	if err != nil {
		return fmt.Errorf("create volume %s: %w", v.key, err)
	}
	v.CloudID.Set(id)
	return nil
}

func (v *EBSVolume) create(ctx context.Context) (string, error) {
	m := v.volume
	in := &ec2.CreateVolumeInput{
		AvailabilityZone: &m.Zone, Size: &m.SizeGiB, VolumeType: ec2types.VolumeType(m.Type), Encrypted: &m.Encrypted,
		ClientToken:       aws.String(v.s.token(&v.resource)),
		TagSpecifications: tagSpec(ec2types.ResourceTypeVolume, v.tags),
	}
	if m.Key != "" {
		in.KmsKeyId = &m.Key
	}
	if m.IOPS != 0 {
		in.Iops = &m.IOPS
	}
	if m.Throughput != 0 {
		in.Throughput = &m.Throughput
	}
	out, err := v.s.ec2.CreateVolume(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.VolumeId), nil
}

func (v *EBSVolume) modify(ctx context.Context, o owned[ec2types.Volume]) error {
	in := &ec2.ModifyVolumeInput{
		VolumeId: &o.ID, VolumeType: ec2types.VolumeType(v.volume.Type),
		Size: aws.Int32(max(v.volume.SizeGiB, aws.ToInt32(o.Value.Size))),
	}
	iops, throughput := speeds(v.volume.Type, v.volume.IOPS, v.volume.Throughput)
	if iops != 0 {
		in.Iops = &iops
	}
	if throughput != 0 {
		in.Throughput = &throughput
	}
	if _, err := v.s.ec2.ModifyVolume(ctx, in); err != nil {
		return fmt.Errorf("modify volume %s (AWS takes one change every six hours): %w", o.ID, err)
	}
	return nil
}

// listVolumes reads the etcd volumes that the cluster owns: machines' boot disks carry
// the cluster's UID too and go with their machines.
func (s *survey) listVolumes(ctx context.Context) ([]owned[ec2types.Volume], error) {
	filters := append(s.mine(), ec2types.Filter{Name: aws.String("tag-key"), Values: []string{tagMember}})
	var out []owned[ec2types.Volume]
	err := pages(ctx, ec2.NewDescribeVolumesPaginator(s.ec2, &ec2.DescribeVolumesInput{Filters: filters}),
		func(page *ec2.DescribeVolumesOutput) {
			for _, v := range page.Volumes {
				o, ours := ownedEC2(s, v.VolumeId, v.Tags, v)
				if ours && o.Tags[tagMember] != "" && v.State != ec2types.VolumeStateDeleting && v.State != ec2types.VolumeStateDeleted {
					out = append(out, o)
				}
			}
		})
	return out, err
}

func (s *survey) removeVolume(ctx context.Context, l leftover) error {
	_, err := s.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &l.ID})
	return ifThere(err)
}

// Export writes the volume. Nothing that a plan of Terraform's may think of deletes it.
func (v *EBSVolume) Export(_ context.Context, m *terraform.Module) error {
	b, w := v.export(m, "aws_ebs_volume"), v.volume
	b.SetText("availability_zone", w.Zone)
	b.SetNumber("size", int64(w.SizeGiB))
	b.SetText("type", w.Type)
	b.SetNumber("iops", int64(w.IOPS))
	b.SetNumber("throughput", int64(w.Throughput))
	b.Set("encrypted", terraform.Bool(w.Encrypted))
	b.SetText("kms_key_id", w.Key)
	v.exportTags(b)
	b.Block("lifecycle").Set("prevent_destroy", terraform.Bool(true))
	return nil
}
