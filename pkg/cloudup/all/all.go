// SPDX-License-Identifier: Apache-2.0

// Package all is the one list of clouds. The commands open a cluster's cloud with it.
package all

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cloudup/aws"
)

// Options is what every cloud may be given; the zero value is usable.
type Options struct {
	Ledger     cloudup.Ledger // nil: a dry run that marks nothing shared
	Logger     *slog.Logger
	Now        func() time.Time
	HTTPClient *http.Client
}

// Open opens the cloud that a manifest's cluster is in. It calls nothing yet.
func Open(ctx context.Context, m *api.Manifest, o Options) (cloudup.Cloud, error) {
	meta, cloud := m.Cluster.Metadata, m.Cluster.Spec.CloudProvider
	switch {
	case cloud.AWS != nil:
		return aws.Open(ctx, aws.Options{
			Region: cloud.AWS.Region, Cluster: meta.Name, UID: meta.UID,
			Ledger: o.Ledger, Logger: o.Logger, Now: o.Now, HTTPClient: o.HTTPClient,
		})
	}
	return nil, errors.New("spec.cloudProvider names no cloud: set aws")
}
