// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// resolveZone fills in the hosted zone that holds a cluster's names: the longest one of
// the right kind that the cluster's name ends in.
func (c *Cloud) resolveZone(ctx context.Context, m *api.Manifest) error {
	spec := &m.Cluster.Spec
	if spec.DNSZone != "" || spec.Networking.DNS != api.DNSPublic && spec.Networking.DNS != api.DNSPrivate {
		return nil
	}
	private := spec.Networking.DNS == api.DNSPrivate
	name := m.Cluster.Metadata.Name
	pages := route53.NewListHostedZonesPaginator(c.route53, &route53.ListHostedZonesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list hosted zones: %w", err)
		}
		for _, h := range page.HostedZones {
			f := factsOf(h)
			fits := f.Name == name || strings.HasSuffix(name, "."+f.Name)
			if f.Private == private && fits && len(f.Name) > len(spec.DNSZone) {
				spec.DNSZone = f.Name
			}
		}
	}
	if spec.DNSZone == "" {
		return &api.InvalidError{Faults: api.Faults{{Path: "spec.dnsZone", Message: fmt.Sprintf(
			"no %s hosted zone holds the name %s: make one, or name one here, or set spec.networking.dns to none", publicity(private), name)}}}
	}
	return nil
}
