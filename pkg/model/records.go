// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"

	"github.com/slipway-k8s/slipway/pkg/api"
)

// records names the DNS zone and the cluster's names in it. With DNS none there are
// none: machines find the API through their hosts files.
func records(in input, b *Blueprint) error {
	if !usesZone(in.spec) {
		return nil
	}
	b.Zone = zone(in)
	lb := b.Endpoint(EndpointAPI)

	public := Record{Name: publicName(in)}
	if lb != nil {
		public.Endpoint = lb.Name
	}
	b.addRecord(public)

	// A public load balancer's name has public addresses; machines need a private path,
	// so then the control planes keep the internal name with their own addresses.
	internal := Record{Name: internalName(in), Internal: true}
	if lb != nil && !lb.Public {
		internal.Endpoint = lb.Name
	}
	b.addRecord(internal)

	if b.Endpoint(EndpointBastion) != nil && in.spec.Bastion != nil && in.spec.Bastion.PublicName != "" {
		b.addRecord(Record{Name: noDot(in.spec.Bastion.PublicName), Endpoint: EndpointBastion})
	}
	return nil
}

func usesZone(s *api.ClusterSpec) bool {
	return s.Networking.DNS == api.DNSPublic || s.Networking.DNS == api.DNSPrivate
}

// zone reads spec.dnsZone: a zone's name has a dot in it, a cloud's id has none. When
// it is not given, the cluster lies in the zone of its parent domain.
func zone(in input) *Zone {
	z := &Zone{Private: in.spec.Networking.DNS == api.DNSPrivate}
	given := in.spec.DNSZone
	switch {
	case given == "":
		_, z.Name, _ = strings.Cut(in.Cluster.Metadata.Name, ".")
	case strings.Contains(given, "."):
		z.Name = noDot(given)
	default:
		z.ID = given
	}
	return z
}

// addRecord takes names inside the zone; a name elsewhere is the user's to keep.
func (b *Blueprint) addRecord(r Record) {
	if b.Zone.Name != "" && r.Name != b.Zone.Name && !strings.HasSuffix(r.Name, "."+b.Zone.Name) {
		return
	}
	for _, other := range b.Records {
		if other.Name == r.Name {
			return
		}
	}
	b.Records = append(b.Records, r)
}

// publicName is the API's name for people, or "" with DNS none and none given.
func publicName(in input) string {
	if in.spec.API.PublicName != "" {
		return noDot(in.spec.API.PublicName)
	}
	if !usesZone(in.spec) {
		return ""
	}
	return "api." + in.Cluster.Metadata.Name
}

// internalName is the API's name for machines; with DNS none it is in hosts files only.
func internalName(in input) string { return "api.internal." + in.Cluster.Metadata.Name }

func noDot(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
