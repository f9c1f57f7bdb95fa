// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"errors"
	"maps"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// tables are the kinds of resource that the service keeps.
type tables struct {
	vpcs         *kind[Vpc]
	subnets      *kind[Subnet]
	gateways     *kind[InternetGateway]
	egressOnly   *kind[EgressOnlyGateway]
	addresses    *kind[Address]
	nats         *kind[NatGateway]
	routeTables  *kind[RouteTable]
	dhcp         *kind[DhcpOptions]
	acls         *kind[NetworkACL]
	groups       *kind[SecurityGroup]
	rules        *kind[Rule]
	interfaces   *kind[NetworkInterface]
	keys         *kind[KeyPair]
	templates    *kind[LaunchTemplate]
	volumes      *kind[Volume]
	images       *kind[Image]
	instances    *kind[Instance]
	endpoints    *kind[VpcEndpoint]
	prefixLists  *kind[PrefixList]
	placements   *kind[PlacementGroup]
	reservations *kind[CapacityReservation]
	transits     *kind[TransitGateway]
	settings     *world.Table[accountSettings]
}

func (s *Service) open(w *world.World) error {
	var errs []error
	keep := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	s.tokens, err = world.NewTable[token](w, "ec2/client-token")
	keep(err)
	s.settings, err = world.NewTable[accountSettings](w, "ec2/settings")
	keep(err)
	s.vpcs, err = newVpcKind(s, w)
	keep(err)
	s.subnets, err = newSubnetKind(s, w)
	keep(err)
	s.gateways, err = newGatewayKind(s, w)
	keep(err)
	s.egressOnly, err = newEgressOnlyKind(s, w)
	keep(err)
	s.addresses, err = newAddressKind(s, w)
	keep(err)
	s.nats, err = newNatKind(s, w)
	keep(err)
	s.routeTables, err = newRouteTableKind(s, w)
	keep(err)
	s.dhcp, err = newDhcpKind(s, w)
	keep(err)
	s.acls, err = newACLKind(s, w)
	keep(err)
	s.groups, err = newGroupKind(s, w)
	keep(err)
	s.rules, err = newRuleKind(s, w)
	keep(err)
	s.interfaces, err = newInterfaceKind(s, w)
	keep(err)
	s.keys, err = newKeyPairKind(s, w)
	keep(err)
	s.templates, err = newTemplateKind(s, w)
	keep(err)
	s.volumes, err = newVolumeKind(s, w)
	keep(err)
	s.images, err = newImageKind(s, w)
	keep(err)
	s.instances, err = newInstanceKind(s, w)
	keep(err)
	s.endpoints, err = newEndpointKind(s, w)
	keep(err)
	s.prefixLists, err = newPrefixListKind(s, w)
	keep(err)
	s.placements, err = newPlacementKind(s, w)
	keep(err)
	s.reservations, err = newReservationKind(s, w)
	keep(err)
	s.transits, err = newTransitKind(s, w)
	keep(err)
	return errors.Join(errs...)
}

// operations is the table of everything that the service does.
func (s *Service) operations() map[string]wire.Handler {
	all := map[string]wire.Handler{}
	for _, ops := range []map[string]wire.Handler{
		zoneOps(), s.vpcOps(), s.subnetOps(), s.gatewayOps(), s.addressOps(), s.natOps(), s.routeTableOps(), s.dhcpOps(), s.groupOps(),
		s.interfaceOps(), s.keyPairOps(), s.templateOps(), s.volumeOps(), s.imageOps(), typeOps(), s.instanceOps(), s.endpointOps(),
		s.prefixListOps(), s.placementOps(), s.reservationOps(), s.otherOps(), s.tagOps(),
	} {
		maps.Copy(all, ops)
	}
	return all
}
