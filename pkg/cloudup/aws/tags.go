// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// The tags that mark what is ours.
const (
	tagUID    = "slipway.dev/cluster-uid"
	tagKey    = "slipway.dev/id"     // what the object is for, unique within its kind
	tagLabels = "slipway.dev/labels" // the other keys that we put, so that their removal is seen
	tagOurs   = "slipway.dev/"
	tagElb    = "kubernetes.io/role/elb"
	tagIntElb = "kubernetes.io/role/internal-elb"
)

// retired stands behind the key of an object that a new one has replaced.
const retired = ".replaced"

// maxTags and maxTagValue are AWS's limits, the same for every service that we use.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// clusterTag is the key by which Kubernetes' own controllers know the cluster's objects.
func (c *Cloud) clusterTag() string { return "kubernetes.io/cluster/" + c.cluster }

// tagsFor returns all tags of an owned object: ours, then its roles, then the user's
// labels, which never take the place of another.
func (s *survey) tagsFor(key, name string, roles map[string]string) map[string]string {
	return s.tagsWith(key, name, roles, s.labels)
}

// tagsWith is tagsFor with labels of the object's own, such as an instance group's.
func (s *survey) tagsWith(key, name string, roles, labels map[string]string) map[string]string {
	base := map[string]string{
		tagUID:              s.uid,
		tagKey:              key,
		"Name":              name,
		"KubernetesCluster": s.cluster,
		s.clusterTag():      "owned",
	}
	out := map[string]string{}
	maps.Copy(out, labels)
	maps.Copy(out, roles)
	var more []string
	for k := range out {
		if _, ours := base[k]; !ours {
			more = append(more, k)
		}
	}
	maps.Copy(out, base)
	if len(more) > 0 {
		out[tagLabels] = joinKeys(more)
	}
	return out
}

// joinKeys writes a set of tag keys into one tag's value: as they are, or as short
// digests when they would not fit. 50 tags always fit.
func joinKeys(keys []string) string {
	slices.Sort(keys)
	text := strings.Join(keys, " ")
	if len(text) <= maxTagValue && !slices.ContainsFunc(keys, func(k string) bool { return strings.ContainsAny(k, " ") }) {
		return text
	}
	var short []string
	for _, k := range keys {
		short = append(short, keyDigest(k))
	}
	return digests + strings.Join(short, " ")
}

const digests = "sha: "

func keyDigest(k string) string {
	sum := sha256.Sum256([]byte(k))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:4])
}

// managed reports whether a tag on an object was put there by us.
func managed(have map[string]string, key string) bool {
	if strings.HasPrefix(key, "aws:") {
		return false
	}
	if strings.HasPrefix(key, tagOurs) {
		return true
	}
	list := have[tagLabels]
	if short, cut := strings.CutPrefix(list, digests); cut {
		return slices.Contains(strings.Fields(short), keyDigest(key))
	}
	return slices.Contains(strings.Fields(list), key)
}

// diffTags compares the tags that are ours: what we want, and what we put before. Tags
// of others, and those that AWS reserves, are no difference.
func diffTags(d *tasks.Diff, have, want map[string]string) {
	ours := map[string]string{}
	for k, v := range have {
		if _, wanted := want[k]; wanted || managed(have, k) {
			ours[k] = v
		}
	}
	d.Map("tags", ours, want)
}

// tagChanges returns what a change does to an object's tags.
func tagChanges(c tasks.Change) (set map[string]string, remove []string) {
	set = map[string]string{}
	for _, f := range c.Fields {
		key, ok := strings.CutPrefix(f.Path, "tags[")
		if !ok {
			continue
		}
		key = strings.TrimSuffix(key, "]")
		if f.New.State == tasks.Known {
			set[key] = f.New.Text
		} else {
			remove = append(remove, key)
		}
	}
	return set, remove
}

// applyTags makes the tag part of a change on an EC2 object.
func (s *survey) applyTags(ctx context.Context, id string, c tasks.Change) error {
	set, remove := tagChanges(c)
	if err := s.setTags(ctx, id, set); err != nil {
		return err
	}
	if len(remove) == 0 {
		return nil
	}
	var gone []ec2types.Tag
	for _, k := range remove {
		gone = append(gone, ec2types.Tag{Key: aws.String(k)})
	}
	if _, err := s.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: gone}); err != nil {
		return fmt.Errorf("remove tags %s from %s: %w", strings.Join(remove, ", "), id, err)
	}
	return nil
}

// setTags writes tags on an EC2 object; none is no call.
func (s *survey) setTags(ctx context.Context, id string, set map[string]string) error {
	if len(set) == 0 {
		return nil
	}
	if _, err := s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(set)}); err != nil {
		return fmt.Errorf("tag %s: %w", id, err)
	}
	return nil
}

// ensureTags writes the tags that a creation's answer does not show: some endpoints
// take tags with a creation and drop them.
func (s *survey) ensureTags(ctx context.Context, id string, answered []ec2types.Tag, want map[string]string) error {
	have, lacking := tagMap(answered), map[string]string{}
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			lacking[k] = v
		}
	}
	return s.setTags(ctx, id, lacking)
}

// retire gives an object that is about to be replaced another key, so that the next run
// takes only its successor for the wanted one, however this run ends.
func (s *survey) retire(ctx context.Context, id, key string) error {
	return s.setTags(ctx, id, map[string]string{tagKey: key + retired})
}

// tagSpec is the form in which EC2 takes tags with a creation.
func tagSpec(kind ec2types.ResourceType, tags map[string]string) []ec2types.TagSpecification {
	return []ec2types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

func ec2Tags(m map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, ec2types.Tag{Key: aws.String(k), Value: aws.String(m[k])})
	}
	return out
}

func tagMap(tags []ec2types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}
