// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// Export writes the launch template. In a review its image, which AWS finds by name, is a
// placeholder.
func (t *LaunchTemplate) Export(ctx context.Context, m *terraform.Module) error {
	want, plain, err := t.exported(ctx, m)
	if err != nil {
		return err
	}
	b := t.export(m, "aws_launch_template")
	b.SetText("name", t.name)
	if m.Review && !isImageID(t.pool.Image) {
		b.Placeholder("image_id", terraform.Text("ami-00000000"), "the newest image "+t.pool.Image)
	} else {
		b.SetText("image_id", want.Image)
	}
	b.SetText("instance_type", want.Machine)
	b.SetText("key_name", want.Key)
	b.Set("update_default_version", terraform.Bool(true))
	if len(plain) > 0 {
		b.Set("user_data", terraform.Base64(string(plain)))
	}
	t.exportTags(b)
	if want.Profile != "" {
		b.Block("iam_instance_profile").SetText("name", want.Profile)
	}
	want.exportDisk(b, m.Review, t.pool.Image)
	want.exportInterface(b)
	want.exportOptions(b)
	for _, s := range []struct {
		kind string
		tags map[string]string
	}{{"instance", want.InstanceTags}, {"volume", want.VolumeTags}, {"network-interface", want.InterfaceTags}} {
		specification := b.Block("tag_specifications")
		specification.SetText("resource_type", s.kind)
		specification.Set("tags", terraform.Map(s.tags))
	}
	return nil
}

// exported returns the content and the user data, before its encoding.
func (t *LaunchTemplate) exported(ctx context.Context, m *terraform.Module) (launchData, []byte, error) {
	if t.trust != nil && m.Review {
		t.trust.TrustBundle().Set("placeholder: the certificate of kubernetes-ca, which the first apply makes\n")
	}
	plain, known, err := t.userData(ctx)
	if err != nil {
		return launchData{}, nil, err
	}
	if !known {
		return launchData{}, nil, fmt.Errorf("group %s: what its user data needs is not known", t.pool.Name)
	}
	if len(plain) > maxUserData {
		return launchData{}, nil, tooMuchUserData(t.pool, len(plain))
	}
	want := t.want
	if m.Review {
		want.Image, want.Groups = t.pool.Image, groupIDs(t.groups, t.given)
	} else if want, err = t.complete(ctx); err != nil {
		return launchData{}, nil, err
	}
	for _, d := range t.deps {
		switch d := d.(type) {
		case *InstanceProfile:
			want.Profile = d.CloudID.Value()
		case *KeyPair:
			if !d.shared {
				want.Key = d.CloudID.Value()
			}
		}
	}
	return want, plain, nil
}

func isImageID(image string) bool { return strings.HasPrefix(image, "ami-") }

// The provider takes these switches as text, to tell false from absent.
func (want launchData) exportDisk(b *terraform.Resource, review bool, image string) {
	disk := b.Block("block_device_mappings")
	if review {
		disk.Placeholder("device_name", terraform.Text("/dev/sda1"), "the root device of "+image)
	} else {
		disk.SetText("device_name", want.RootDevice)
	}
	ebs := disk.Block("ebs")
	ebs.SetNumber("volume_size", int64(want.RootGiB))
	ebs.SetText("volume_type", want.RootType)
	ebs.SetNumber("iops", int64(want.RootIOPS))
	ebs.SetNumber("throughput", int64(want.Throughput))
	ebs.SetText("encrypted", strconv.FormatBool(want.Encrypted))
	ebs.SetText("kms_key_id", want.EncryptionKey)
	ebs.SetText("delete_on_termination", strconv.FormatBool(true))
}

func (want launchData) exportInterface(b *terraform.Resource) {
	n := b.Block("network_interfaces")
	n.Set("device_index", terraform.Number(0))
	n.SetText("associate_public_ip_address", strconv.FormatBool(want.PublicIP))
	n.SetText("delete_on_termination", strconv.FormatBool(true))
	n.Set("security_groups", terraform.Texts(listOf(want.Groups)...))
}

func (want launchData) exportOptions(b *terraform.Resource) {
	o := b.Block("metadata_options")
	o.SetText("http_endpoint", "enabled")
	o.SetText("http_tokens", want.Tokens)
	o.SetNumber("http_put_response_hop_limit", int64(want.HopLimit))
	if want.MetadataTags {
		o.SetText("instance_metadata_tags", "enabled")
	}
	b.Block("monitoring").Set("enabled", terraform.Bool(want.Monitoring))
	if want.Tenancy != "" {
		b.Block("placement").SetText("tenancy", want.Tenancy)
	}
	if want.Credits != "" {
		b.Block("credit_specification").SetText("cpu_credits", want.Credits)
	}
	if want.Spot {
		market := b.Block("instance_market_options")
		market.SetText("market_type", "spot")
		market.Block("spot_options").SetText("max_price", want.MaxPrice)
	}
}
