// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
)

// listSealingKeys finds the cluster's key by its alias, where one is wanted or was made.
func (s *survey) listSealingKeys(ctx context.Context) ([]owned[keyFacts], error) {
	made, err := s.book.has(ctx, bookKey, s.keyAlias())
	if err != nil || !made && !s.wantsKey {
		return nil, err
	}
	id := s.keyAlias()
	o, err := s.readKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if o == nil && made && !s.wantsKey {
		// A removal stopped between its calls: the key waits for its end already, or has met
		// it, and only the ledger does not know.
		if id, err = s.nameless(ctx, append(usable(), kmstypes.KeyStatePendingDeletion)); err != nil {
			return nil, err
		}
		if id == "" {
			return []owned[keyFacts]{{ID: s.keyAlias(), Key: keysetsKey}}, nil
		}
		if o, err = s.readKey(ctx, id); err != nil {
			return nil, err
		}
	}
	if o == nil {
		return nil, nil
	}
	if o.Tags[tagUID] != s.uid {
		return nil, fmt.Errorf("the alias %s is of KMS key %s, which is not this cluster's: delete that alias", s.keyAlias(), o.ID)
	}
	return []owned[keyFacts]{*o}, nil
}

// readKey reads a key by id or alias; nil when there is none.
func (s *survey) readKey(ctx context.Context, id string) (*owned[keyFacts], error) {
	out, err := s.kms.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
	if is(err, "NotFoundException") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read KMS key %s: %w", id, err)
	}
	m := out.KeyMetadata
	tags, err := s.keyTags(ctx, aws.ToString(m.Arn))
	if err != nil {
		return nil, err
	}
	return &owned[keyFacts]{
		ID: aws.ToString(m.Arn), Key: tags[tagKey], Tags: tags,
		Value: keyFacts{State: m.KeyState, Description: aws.ToString(m.Description)},
	}, nil
}

func (s *survey) keyTags(ctx context.Context, id string) (map[string]string, error) {
	tags := map[string]string{}
	err := pages(ctx, kms.NewListResourceTagsPaginator(s.kms, &kms.ListResourceTagsInput{KeyId: bareKey(id)}),
		func(page *kms.ListResourceTagsOutput) {
			for _, t := range page.Tags {
				tags[aws.ToString(t.TagKey)] = aws.ToString(t.TagValue)
			}
		})
	if err != nil {
		return nil, fmt.Errorf("read the tags of KMS key %s: %w", id, err)
	}
	return tags, nil
}

func (s *survey) readKeySettings(ctx context.Context, o *owned[keyFacts]) error {
	rotation, err := s.kms.GetKeyRotationStatus(ctx, &kms.GetKeyRotationStatusInput{KeyId: bareKey(o.ID)})
	if err != nil {
		return fmt.Errorf("read the rotation of KMS key %s: %w", o.ID, err)
	}
	policy, err := s.kms.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: bareKey(o.ID), PolicyName: aws.String("default")})
	if err != nil {
		return fmt.Errorf("read the policy of KMS key %s: %w", o.ID, err)
	}
	o.Value.Rotates, o.Value.Policy = rotation.KeyRotationEnabled, aws.ToString(policy.Policy)
	return nil
}

// usable are the states of a key that a creation may have left.
func usable() []kmstypes.KeyState {
	return []kmstypes.KeyState{kmstypes.KeyStateEnabled, kmstypes.KeyStateDisabled, kmstypes.KeyStateCreating}
}

// nameless finds a key of ours that has no alias, left by a run that died between the two
// calls: "" when there is none. It looks at every key of the region, so only creations and
// removals of what the ledger knows ask.
func (s *survey) nameless(ctx context.Context, states []kmstypes.KeyState) (string, error) {
	made, err := s.book.has(ctx, bookKey, s.keyAlias())
	if err != nil || !made {
		return "", err
	}
	var ids []string
	err = pages(ctx, kms.NewListKeysPaginator(s.kms, &kms.ListKeysInput{}), func(page *kms.ListKeysOutput) {
		for _, k := range page.Keys {
			ids = append(ids, aws.ToString(k.KeyId))
		}
	})
	if err != nil {
		return "", fmt.Errorf("list KMS keys: %w", err)
	}
	for _, id := range ids {
		tags, err := s.keyTags(ctx, id)
		if is(err, "AccessDeniedException") {
			continue // someone else's
		}
		if err != nil {
			return "", err
		}
		if tags[tagUID] != s.uid || tags[tagKey] != keysetsKey {
			continue
		}
		o, err := s.readKey(ctx, id)
		if err != nil {
			return "", err
		}
		if o != nil && slices.Contains(states, o.Value.State) {
			return o.ID, nil
		}
	}
	return "", nil
}

// bareKey is a key's id without what an ARN says besides: every endpoint takes that.
func bareKey(arn string) *string {
	_, id, found := strings.Cut(arn, ":key/")
	if !found {
		id = arn
	}
	return &id
}
