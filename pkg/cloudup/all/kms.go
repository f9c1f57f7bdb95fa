// SPDX-License-Identifier: Apache-2.0

package all

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/aws"
	"github.com/slipway-k8s/slipway/pkg/cloudup/gce"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// KMSKey returns what seals with a key of the key management service of a manifest's
// cloud. It looks the key up, and refuses one that cannot seal.
func KMSKey(ctx context.Context, m *api.Manifest, key string, o Options) (pki.Wrapper, error) {
	cloud := m.Cluster.Spec.CloudProvider
	switch {
	case gce.IsKey(key):
		return nil, fmt.Errorf("KMS key %s: %w: it is Google's, and the cluster's machines are not; as --recipient it may be one of those who open", key, pki.ErrInvalid)
	case cloud.AWS != nil:
		service := aws.OpenKMS(aws.Options{Region: cloud.AWS.Region, Logger: o.Logger, HTTPClient: o.HTTPClient})
		arn, err := service.Key(ctx, key)
		if err != nil {
			return nil, err
		}
		return pki.KMSWrapper(aws.KMSScheme, arn, service), nil
	}
	return nil, fmt.Errorf("KMS key %s: %w: the cluster's cloud has no key management service; seal with age", key, pki.ErrInvalid)
}

// Recipient returns what seals for a key of any cloud's service besides, such as an escrow
// key in another account; nil when the text names none.
func Recipient(ctx context.Context, key string, o Options) (pki.Wrapper, error) {
	switch {
	case gce.IsKey(key):
		service := gce.OpenKMS(gce.Options{Logger: o.Logger})
		if err := service.Key(ctx, key); err != nil {
			return nil, err
		}
		return pki.KMSWrapper(gce.KMSScheme, key, service), nil
	case strings.HasPrefix(key, "arn:"):
		service := aws.OpenKMS(aws.Options{Logger: o.Logger, HTTPClient: o.HTTPClient})
		arn, err := service.Key(ctx, key)
		if err != nil {
			return nil, err
		}
		return pki.KMSWrapper(aws.KMSScheme, arn, service), nil
	}
	return nil, nil
}

// KMSWrapper returns what opens the objects that carry a wrapper of that name, or nil
// when the name is not that of a cloud's key. It calls nothing.
func KMSWrapper(name string, o Options) pki.Wrapper {
	if arn, ok := strings.CutPrefix(name, aws.KMSScheme+":"); ok {
		return pki.KMSWrapper(aws.KMSScheme, arn, aws.OpenKMS(aws.Options{Logger: o.Logger, HTTPClient: o.HTTPClient}))
	}
	if key, ok := strings.CutPrefix(name, gce.KMSScheme+":"); ok {
		return pki.KMSWrapper(gce.KMSScheme, key, gce.OpenKMS(gce.Options{Logger: o.Logger}))
	}
	return nil
}
