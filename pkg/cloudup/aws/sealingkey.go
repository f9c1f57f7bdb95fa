// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// bookKey is the ledger's kind for the alias of a key of ours: KMS lists neither keys nor
// aliases by tag.
const bookKey = "aws/kms-key"

// keysetsKey is the key's own name among those of its kind.
const keysetsKey = "keysets"

// keyPendingDays is how long a key that is not wanted any more can still be got back.
// Backups of the cluster stay in the store, and it opens them.
const keyPendingDays = 30

// tagKeyPolicy holds the digest of the key policy and rotation that we set: they are read
// one key and one call each, so a plan reads them only where the digest differs.
const tagKeyPolicy = tagOurs + "key-policy"

// SealingKey is the KMS key that the cluster's keysets and secrets are sealed with.
// CloudID is its ARN.
type SealingKey struct {
	resource
	alias string
	name  tasks.Output[string]
}

// keyFacts is what was read of a key.
type keyFacts struct {
	State       kmstypes.KeyState
	Description string
	Rotates     bool
	Policy      string // the text, where it was read
}

// SealingKey adds the cluster's own key to a graph, where the blueprint wants one.
func (c *Cloud) SealingKey(b *model.Blueprint, g *tasks.Graph) (cloudup.SealingKey, error) {
	if b.Sealing == nil || b.Sealing.Key != "" {
		return nil, nil
	}
	s := c.begin(g)
	s.labels = b.Labels
	k := &SealingKey{resource: resource{s: s, kind: "kms-key", key: keysetsKey}, alias: c.keyAlias()}
	k.tags = s.tagsFor(k.key, keysetsKey+"."+s.cluster, map[string]string{tagKeyPolicy: k.settings()})
	s.wantsKey = true
	return k, g.Add(k)
}

// keyAlias is the name by which the key is found. It holds the cluster's UID: a cluster of
// the same name in another store has a key of its own.
func (c *Cloud) keyAlias() string {
	return "alias/slipway/" + strings.ReplaceAll(c.cluster, ".", "_") + "-" + cloudup.Hash(c.uid)
}

// Key is the name under which sealed objects know the key.
func (k *SealingKey) Key() *tasks.Output[string] { return &k.name }

// Describe says what the key is for.
func (k *SealingKey) Describe() string { return "seals keysets and secrets in the state store" }

func (k *SealingKey) description() string { return "Slipway: keysets and secrets of " + k.s.cluster }

// policy leaves the key to the account's own policies: without that nobody could ever
// change it, and who may decrypt is said where the cluster's roles are.
func (k *SealingKey) policy() string {
	root := "arn:" + k.s.partition() + ":iam::" + k.s.account() + ":root"
	return `{"Version":"` + policyVersion + `","Statement":[{"Sid":"Account","Effect":"Allow","Principal":{"AWS":"` + root + `"},"Action":"kms:*","Resource":"*"}]}`
}

// settings is the digest of policy and rotation.
func (k *SealingKey) settings() string { return exactly([]any{k.policy(), true}) }

// Observe finds the key by its alias. A deletion that somebody scheduled is a difference:
// it is cancelled.
func (k *SealingKey) Observe(ctx context.Context) (tasks.Change, error) {
	o, exists, err := k.s.sealingKeys.find(ctx, k.key)
	if err != nil {
		return tasks.Change{}, err
	}
	d := tasks.NewDiff(exists)
	d.Field("state", string(o.Value.State), string(kmstypes.KeyStateEnabled))
	d.Field("description", o.Value.Description, k.description())
	if exists && (tasks.Thorough(ctx) || o.Tags[tagKeyPolicy] != k.tags[tagKeyPolicy]) {
		if err := k.s.readKeySettings(ctx, &o); err != nil {
			return tasks.Change{}, err
		}
		d.Field("rotation", o.Value.Rotates, true)
		d.Map("policy", statements(o.Value.Policy), statements(k.policy()))
	}
	if !exists {
		d.Field("alias", "", k.alias)
		d.Field("rotation", false, true)
	}
	diffTags(d, o.Tags, k.tags)
	c := found(&k.resource, k.s.sealingKeys, o, exists, d)
	k.publish()
	return c, nil
}

func (k *SealingKey) publish() {
	if arn, known := k.CloudID.Get(); known {
		k.name.Set(KMSScheme + ":" + arn)
		return
	}
	k.name.Clear()
}

// Apply makes the key and its alias, or repairs what differs.
func (k *SealingKey) Apply(ctx context.Context, c tasks.Change) error {
	arn := c.Observed.(owned[keyFacts]).ID
	if c.Action == tasks.Create {
		if err := k.s.book.record(ctx, bookKey, k.alias, k.key); err != nil {
			return err
		}
		var err error
		if arn, err = k.s.sealingKeys.makeOnce(ctx, k.key, k.create); err != nil {
			return fmt.Errorf("create KMS key: %w", err)
		}
	}
	if c.Has("state") && c.Action == tasks.Update {
		if err := k.s.reviveKey(ctx, arn, c.Observed.(owned[keyFacts]).Value.State); err != nil {
			return err
		}
	}
	if c.Has("description") && c.Action == tasks.Update {
		if _, err := k.s.kms.UpdateKeyDescription(ctx, &kms.UpdateKeyDescriptionInput{KeyId: bareKey(arn), Description: aws.String(k.description())}); err != nil {
			return fmt.Errorf("describe KMS key %s: %w", arn, err)
		}
	}
	if c.Action == tasks.Create || c.Has("rotation") {
		if _, err := k.s.kms.EnableKeyRotation(ctx, &kms.EnableKeyRotationInput{KeyId: bareKey(arn)}); err != nil {
			return fmt.Errorf("rotate KMS key %s every year: %w", arn, err)
		}
	}
	if c.Has("policy") {
		if _, err := k.s.kms.PutKeyPolicy(ctx, &kms.PutKeyPolicyInput{KeyId: bareKey(arn), PolicyName: aws.String("default"), Policy: aws.String(k.policy())}); err != nil {
			return fmt.Errorf("set the policy of KMS key %s: %w", arn, err)
		}
	}
	if c.Action == tasks.Create { // now that all of it holds
		c = tasks.Change{Action: tasks.Update, Fields: []tasks.Field{{Path: "tags[" + tagKeyPolicy + "]", New: tasks.V(k.tags[tagKeyPolicy])}}}
	}
	if err := k.s.applyKeyTags(ctx, arn, c); err != nil {
		return err
	}
	k.CloudID.Set(arn)
	k.publish()
	return nil
}

// create makes the key, or takes over one that a run made which died before the alias.
func (k *SealingKey) create(ctx context.Context) (string, error) {
	arn, err := k.s.nameless(ctx, usable())
	if err != nil {
		return "", err
	}
	if arn == "" {
		tags := maps.Clone(k.tags)
		delete(tags, tagKeyPolicy) // says that the key rotates, which it does not yet
		out, err := k.s.kms.CreateKey(ctx, &kms.CreateKeyInput{
			Description: aws.String(k.description()), Policy: aws.String(k.policy()), Tags: kmsTags(tags),
		})
		if err != nil {
			return "", err
		}
		arn = aws.ToString(out.KeyMetadata.Arn)
	}
	_, err = k.s.kms.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: &k.alias, TargetKeyId: bareKey(arn)})
	if err != nil && !is(err, "AlreadyExistsException") {
		return "", fmt.Errorf("name it %s: %w", k.alias, err)
	}
	return arn, nil
}

// reviveKey cancels a deletion that is pending and enables the key.
func (s *survey) reviveKey(ctx context.Context, arn string, state kmstypes.KeyState) error {
	if state == kmstypes.KeyStatePendingDeletion {
		if _, err := s.kms.CancelKeyDeletion(ctx, &kms.CancelKeyDeletionInput{KeyId: bareKey(arn)}); err != nil {
			return fmt.Errorf("cancel the deletion of KMS key %s: %w", arn, err)
		}
	}
	if _, err := s.kms.EnableKey(ctx, &kms.EnableKeyInput{KeyId: bareKey(arn)}); err != nil {
		return fmt.Errorf("enable KMS key %s: %w", arn, err)
	}
	return nil
}

func (s *survey) applyKeyTags(ctx context.Context, arn string, c tasks.Change) error {
	if c.Action != tasks.Update {
		return nil
	}
	set, remove := tagChanges(c)
	if len(set) > 0 {
		if _, err := s.kms.TagResource(ctx, &kms.TagResourceInput{KeyId: bareKey(arn), Tags: kmsTags(set)}); err != nil {
			return fmt.Errorf("tag KMS key %s: %w", arn, err)
		}
	}
	if len(remove) > 0 {
		if _, err := s.kms.UntagResource(ctx, &kms.UntagResourceInput{KeyId: bareKey(arn), TagKeys: remove}); err != nil {
			return fmt.Errorf("remove tags from KMS key %s: %w", arn, err)
		}
	}
	return nil
}

func kmsTags(m map[string]string) []kmstypes.Tag {
	var out []kmstypes.Tag
	for _, k := range sortedKeys(m) {
		out = append(out, kmstypes.Tag{TagKey: aws.String(k), TagValue: aws.String(m[k])})
	}
	return out
}

// keyLeftovers returns the key when it is not wanted, and says what becomes of it.
func (s *survey) keyLeftovers(ctx context.Context) ([]leftover, error) {
	left, err := s.sealingKeys.leftovers(ctx)
	for i := range left {
		left[i].Leaves = fmt.Sprintf("kept by AWS until %s, %d days from now, and can be got back until then; after that nothing that is sealed with it, old backups included, can be opened",
			s.now().UTC().Add(keyPendingDays*24*time.Hour).Format("2006-01-02"), keyPendingDays)
	}
	return left, err
}

// removeSealingKey takes the alias from the key and schedules its deletion.
func (s *survey) removeSealingKey(ctx context.Context, l leftover) error {
	if _, err := s.kms.DeleteAlias(ctx, &kms.DeleteAliasInput{AliasName: aws.String(s.keyAlias())}); err != nil && !is(err, "NotFoundException") {
		return err
	}
	_, err := s.kms.ScheduleKeyDeletion(ctx, &kms.ScheduleKeyDeletionInput{KeyId: bareKey(l.ID), PendingWindowInDays: aws.Int32(keyPendingDays)})
	if err != nil && !is(err, "NotFoundException", "KMSInvalidStateException") {
		return err
	}
	return s.book.forget(ctx, bookKey, s.keyAlias())
}

// resolveKey writes a given key as its ARN, which policies name, and refuses one that
// cannot seal.
func (c *Cloud) resolveKey(ctx context.Context, m *api.Manifest) error {
	s := m.Cluster.Spec.Sealing
	if s == nil || s.Method != api.SealingKMS || s.KMSKey == "" {
		return nil
	}
	arn, err := sealsWith(ctx, c.kms, s.KMSKey)
	if is(err, "NotFoundException", "InvalidArnException") || errors.Is(err, pki.ErrInvalid) {
		return &api.InvalidError{Faults: api.Faults{{Path: "spec.sealing.kmsKey", Value: s.KMSKey, Message: err.Error()}}}
	}
	if err != nil {
		return err
	}
	s.KMSKey = arn
	return nil
}

// Export writes the key. One that is not there yet cannot be exported to be applied: keysets
// are sealed before Terraform runs.
func (k *SealingKey) Export(_ context.Context, m *terraform.Module) error {
	arn, there := k.CloudID.Get()
	if !there && !m.Review {
		return errors.New("the cluster's own KMS key is made by `slipway update cluster --yes` alone; for Terraform give a key of yours with --kms-key, or seal with age")
	}
	b := k.export(m, "aws_kms_key")
	b.SetText("description", k.description())
	b.Set("enable_key_rotation", terraform.Bool(true))
	b.Set("deletion_window_in_days", terraform.Number(keyPendingDays))
	b.SetText("policy", pretty(k.policy()))
	k.exportTags(b)
	b.Block("lifecycle").Set("prevent_destroy", terraform.Bool(true))
	if there {
		b.Import(*bareKey(arn))
	}
	k.publish()
	return nil
}
