// SPDX-License-Identifier: Apache-2.0

package all

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/aws"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// KMSKey returns what seals with a key of the key management service of a manifest's
// cloud. It looks the key up, and refuses one that cannot seal.
func KMSKey(ctx context.Context, m *api.Manifest, key string, o Options) (pki.Wrapper, error) {
	cloud := m.Cluster.Spec.CloudProvider
	switch {
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

// KMSWrapper returns what opens the objects that carry a wrapper of that name, or nil
// when the name is not that of a cloud's key. It calls nothing.
func KMSWrapper(name string, o Options) pki.Wrapper {
	if arn, ok := strings.CutPrefix(name, aws.KMSScheme+":"); ok {
		return pki.KMSWrapper(aws.KMSScheme, arn, aws.OpenKMS(aws.Options{Logger: o.Logger, HTTPClient: o.HTTPClient}))
	}
	return nil
}
