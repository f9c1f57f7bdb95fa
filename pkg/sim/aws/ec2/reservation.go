// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// CapacityReservation keeps room for instances of one type in one zone.
type CapacityReservation struct {
	CapacityReservationId  string
	OwnerId                string
	CapacityReservationArn string
	AvailabilityZone       string
	AvailabilityZoneId     string
	InstanceType           string
	InstancePlatform       string
	Tenancy                string
	TotalInstanceCount     int
	AvailableInstanceCount int
	EbsOptimized           bool
	EphemeralStorage       bool
	State                  string
	StartDate              time.Time
	EndDateType            string
	InstanceMatchCriteria  string
	CreateDate             time.Time
	Tags                   []Tag `wire:"tagSet"`
}

func newReservationKind(s *Service, w *world.World) (*kind[CapacityReservation], error) {
	return newKind(s, w, kind[CapacityReservation]{
		resource: "capacity-reservation", prefix: "cr-", notFound: "InvalidCapacityReservationId.NotFound", word: "capacity reservation",
		id:   func(r *CapacityReservation) string { return r.CapacityReservationId },
		tags: func(r *CapacityReservation) *[]Tag { return &r.Tags },
		filters: map[string]func(*CapacityReservation) []string{
			"instance-type": one(func(r *CapacityReservation) string { return r.InstanceType }), "availability-zone": one(func(r *CapacityReservation) string { return r.AvailabilityZone }),
			"state": one(func(r *CapacityReservation) string { return r.State }), "owner-id": one(func(r *CapacityReservation) string { return r.OwnerId }),
		},
		bounds: wire.Bounds{Min: 1, Max: 1000, Default: 1000},
	})
}

func (s *Service) reservationOps() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateCapacityReservation": op(s.createReservation), "DescribeCapacityReservations": op(s.describeReservations), "CancelCapacityReservation": op(s.cancelReservation),
	}
}

type createReservationIn struct {
	InstanceType          string `wire:"InstanceType,required"`
	InstancePlatform      string `wire:"InstancePlatform,required"`
	InstanceCount         int    `wire:"InstanceCount,required"`
	AvailabilityZone      string
	AvailabilityZoneId    string
	Tenancy               string
	EbsOptimized          bool
	EphemeralStorage      bool
	EndDateType           string
	InstanceMatchCriteria string
	ClientToken           string
	TagSpecifications     []TagSpecification
}

type reservationOut struct{ CapacityReservation CapacityReservation }

func (s *Service) createReservation(c *wire.Call, in *createReservationIn) (*reservationOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "capacity-reservation")
	if tagErr != nil {
		return nil, tagErr
	}
	z := zoneByName(c.Region, in.AvailabilityZone+in.AvailabilityZoneId)
	if z == nil {
		return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", in.AvailabilityZone+in.AvailabilityZoneId)
	}
	if _, known := instanceTypes[in.InstanceType]; !known || in.InstanceCount < 1 {
		return nil, wire.Errorf("InvalidParameterValue", "The instance type %s does not exist, or the count %d is below 1", in.InstanceType, in.InstanceCount)
	}
	if !offered(c.Region, z.ZoneName, in.InstanceType) {
		return nil, wire.Errorf("Unsupported", "The requested instance type (%s) is not supported in %s.", in.InstanceType, z.ZoneName)
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) {
		r := &CapacityReservation{
			CapacityReservationId: s.newID("cr-"), OwnerId: s.account, AvailabilityZone: z.ZoneName, AvailabilityZoneId: z.ZoneId, InstanceType: in.InstanceType,
			InstancePlatform: in.InstancePlatform, Tenancy: in.Tenancy, TotalInstanceCount: in.InstanceCount, AvailableInstanceCount: in.InstanceCount,
			EbsOptimized: in.EbsOptimized, EphemeralStorage: in.EphemeralStorage, State: "active", StartDate: c.Now.UTC(), EndDateType: in.EndDateType,
			InstanceMatchCriteria: in.InstanceMatchCriteria, CreateDate: c.Now.UTC(), Tags: tags,
		}
		for _, p := range []struct {
			field *string
			def   string
		}{{&r.Tenancy, "default"}, {&r.EndDateType, "unlimited"}, {&r.InstanceMatchCriteria, "open"}} {
			if *p.field == "" {
				*p.field = p.def
			}
		}
		r.CapacityReservationArn = s.arn(c, "capacity-reservation", r.CapacityReservationId)
		s.reservations.put(c, r)
		return r.CapacityReservationId, nil
	})
	if err != nil {
		return nil, err
	}
	r, err := s.reservations.get(c, id)
	if err != nil {
		return nil, err
	}
	return &reservationOut{*r}, nil
}

type describeReservationsIn struct {
	Ids []string `wire:"CapacityReservationId"`
	describe
}

type describeReservationsOut struct {
	NextToken    string
	Reservations []*CapacityReservation `wire:"capacityReservationSet"`
}

func (s *Service) describeReservations(c *wire.Call, in *describeReservationsIn) (*describeReservationsOut, error) {
	rows, next, err := s.reservations.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeReservationsOut{next, rows}, nil
}

func (s *Service) cancelReservation(c *wire.Call, in *struct {
	Id string `wire:"CapacityReservationId,required"`
}) (*done, error) {
	r, err := s.reservations.get(c, in.Id)
	if err != nil {
		return nil, err
	}
	s.reservations.remove(c, r)
	return ok()
}
