// SPDX-License-Identifier: Apache-2.0

package ec2

import "github.com/slipway-k8s/slipway/pkg/sim/aws/wire"

func (s *Service) defaultDhcp(c *wire.Call) string            { return "dopt-00000000000000000" }
func (s *Service) addVpcDefaults(c *wire.Call, v *Vpc)        {}
func (s *Service) dropVpcDefaults(c *wire.Call, id string)    {}
func (s *Service) vpcInUse(c *wire.Call, id string) bool      { return false }
func (s *Service) rangeInUse(c *wire.Call, id, r string) bool { return false }
