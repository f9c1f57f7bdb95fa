// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// VpcEndpoint is a private way to an AWS service.
type VpcEndpoint struct {
	VpcEndpointId       string
	VpcEndpointType     string
	VpcId               string
	ServiceName         string
	State               string
	PolicyDocument      string
	RouteTableIds       []string          `wire:"routeTableIdSet"`
	SubnetIds           []string          `wire:"subnetIdSet"`
	Groups              []GroupIdentifier `wire:"groupSet"`
	IpAddressType       string
	PrivateDnsEnabled   bool
	RequesterManaged    bool
	NetworkInterfaceIds []string   `wire:"networkInterfaceIdSet"`
	DnsEntries          []DNSEntry `wire:"dnsEntrySet"`
	CreationTimestamp   time.Time
	Tags                []Tag `wire:"tagSet"`
	OwnerId             string
}

// DNSEntry is a name of an interface endpoint.
type DNSEntry struct{ DnsName, HostedZoneId string }

const openPolicy = `{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}`

func newEndpointKind(s *Service, w *world.World) (*kind[VpcEndpoint], error) {
	return newKind(s, w, kind[VpcEndpoint]{
		resource: "vpc-endpoint", prefix: "vpce-", notFound: "InvalidVpcEndpointId.NotFound", word: "Vpc Endpoint Id",
		id:   func(e *VpcEndpoint) string { return e.VpcEndpointId },
		tags: func(e *VpcEndpoint) *[]Tag { return &e.Tags },
		filters: map[string]func(*VpcEndpoint) []string{
			"vpc-endpoint-id": one(func(e *VpcEndpoint) string { return e.VpcEndpointId }), "vpc-id": one(func(e *VpcEndpoint) string { return e.VpcId }),
			"service-name": one(func(e *VpcEndpoint) string { return e.ServiceName }), "vpc-endpoint-state": one(func(e *VpcEndpoint) string { return e.State }),
			"vpc-endpoint-type": one(func(e *VpcEndpoint) string { return e.VpcEndpointType }),
		},
		bounds: wire.Bounds{Min: 5, Max: 1000, Default: 1000},
	})
}

func (s *Service) endpointOps() map[string]wire.Handler {
	return map[string]wire.Handler{"CreateVpcEndpoint": op(s.createEndpoint), "DescribeVpcEndpoints": op(s.describeEndpoints), "DeleteVpcEndpoints": op(s.deleteEndpoints)}
}

type createEndpointIn struct {
	VpcId             string `wire:"VpcId,required"`
	ServiceName       string `wire:"ServiceName,required"`
	VpcEndpointType   string
	PolicyDocument    string
	RouteTableIds     []string `wire:"RouteTableId"`
	SubnetIds         []string `wire:"SubnetId"`
	SecurityGroupIds  []string `wire:"SecurityGroupId"`
	IpAddressType     string
	PrivateDnsEnabled bool
	ClientToken       string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

type endpointOut struct {
	VpcEndpoint VpcEndpoint
	ClientToken string
}

func (s *Service) createEndpoint(c *wire.Call, in *createEndpointIn) (*endpointOut, error) {
	tags, tagErr := tagsFor(in.TagSpecifications, "vpc-endpoint")
	if tagErr != nil {
		return nil, tagErr
	}
	id, err := s.once(c, in.ClientToken, func() (string, *wire.Error) { return s.makeEndpoint(c, in, tags) })
	if err != nil {
		return nil, err
	}
	e, err := s.endpoints.get(c, id)
	if err != nil {
		return nil, err
	}
	return &endpointOut{*e, in.ClientToken}, nil
}

func (s *Service) makeEndpoint(c *wire.Call, in *createEndpointIn, tags []Tag) (string, *wire.Error) {
	v, err := s.vpcs.get(c, in.VpcId)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(in.ServiceName, "com.amazonaws."+c.Region+".") {
		return "", wire.Errorf("InvalidServiceName", "The Vpc Endpoint Service '%s' does not exist", in.ServiceName)
	}
	e := &VpcEndpoint{
		VpcEndpointId: s.newID("vpce-"), VpcEndpointType: in.VpcEndpointType, VpcId: v.VpcId, ServiceName: in.ServiceName, State: "available", PolicyDocument: in.PolicyDocument,
		RouteTableIds: in.RouteTableIds, IpAddressType: in.IpAddressType, CreationTimestamp: c.Now.UTC(), Tags: tags, OwnerId: s.account,
	}
	if e.PolicyDocument == "" {
		e.PolicyDocument = openPolicy
	}
	switch e.VpcEndpointType {
	case "", "Gateway":
		e.VpcEndpointType = "Gateway"
		for _, id := range in.RouteTableIds {
			t, err := s.routeTables.get(c, id)
			if err != nil {
				return "", err
			}
			if t.VpcId != v.VpcId {
				return "", wire.Errorf("InvalidParameter", "route table %s does not belong to VPC %s", id, v.VpcId)
			}
		}
		if len(in.SubnetIds)+len(in.SecurityGroupIds) > 0 {
			return "", wire.Errorf("InvalidParameter", "Subnets and security groups are not supported for Gateway endpoints")
		}
	case "Interface":
		if err := s.endpointCards(c, e, in); err != nil {
			return "", err
		}
	default:
		return "", wire.Errorf("InvalidParameter", "The endpoint type '%s' is not valid", e.VpcEndpointType)
	}
	s.endpoints.put(c, e)
	return e.VpcEndpointId, nil
}

func (s *Service) endpointCards(c *wire.Call, e *VpcEndpoint, in *createEndpointIn) *wire.Error {
	groups, err := s.groupsFor(c, e.VpcId, in.SecurityGroupIds, "interface")
	if err != nil {
		return err
	}
	for _, id := range in.SubnetIds {
		n, err := s.subnets.get(c, id)
		if err != nil {
			return err
		}
		if n.VpcId != e.VpcId {
			return wire.Errorf("InvalidParameter", "subnet %s does not belong to VPC %s", id, e.VpcId)
		}
	}
	e.Groups, e.SubnetIds, e.PrivateDnsEnabled = groups, in.SubnetIds, in.PrivateDnsEnabled
	for _, id := range in.SubnetIds {
		card, err := s.CreateInterface(c, InterfaceSpec{
			SubnetId: id, GroupIds: in.SecurityGroupIds, InterfaceType: "vpc_endpoint", RequesterId: "amazon-vpce", Description: "VPC Endpoint Interface " + e.VpcEndpointId,
		})
		if err != nil {
			return err
		}
		card.Status = "in-use"
		s.interfaces.put(c, card)
		e.NetworkInterfaceIds = append(e.NetworkInterfaceIds, card.NetworkInterfaceId)
	}
	name := e.ServiceName[strings.LastIndex(e.ServiceName, ".")+1:]
	e.DnsEntries = []DNSEntry{{e.VpcEndpointId + "." + name + "." + c.Region + ".vpce.amazonaws.com", "Z7HUB22UULQXV"}}
	return nil
}

type describeEndpointsIn struct {
	Ids []string `wire:"VpcEndpointId"`
	describe
}

type describeEndpointsOut struct {
	NextToken string
	Endpoints []*VpcEndpoint `wire:"vpcEndpointSet"`
}

func (s *Service) describeEndpoints(c *wire.Call, in *describeEndpointsIn) (*describeEndpointsOut, error) {
	rows, next, err := s.endpoints.list(c, in.Ids, in.describe)
	if err != nil {
		return nil, err
	}
	return &describeEndpointsOut{next, rows}, nil
}

type unsuccessful struct {
	ResourceId string
	Error      responseError
}

type deleteEndpointsOut struct {
	Unsuccessful []unsuccessful
}

func (s *Service) deleteEndpoints(c *wire.Call, in *struct {
	Ids []string `wire:"VpcEndpointId,required"`
}) (*deleteEndpointsOut, error) {
	out := &deleteEndpointsOut{}
	for _, id := range slices.Compact(in.Ids) {
		e, err := s.endpoints.get(c, id)
		if err != nil {
			out.Unsuccessful = append(out.Unsuccessful, unsuccessful{id, responseError{err.Code, err.Message}})
			continue
		}
		for _, card := range e.NetworkInterfaceIds {
			s.DeleteInterface(c, card)
		}
		s.endpoints.remove(c, e)
	}
	return out, nil
}
