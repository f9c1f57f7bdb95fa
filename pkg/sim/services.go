// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"path/filepath"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/authz"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/autoscaling"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/ec2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/elbv2"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/iam"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/kms"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/route53"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/s3"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/sts"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// addServices is the one list of the simulated AWS services. It returns the
// one that keeps files of its own, to be closed with the server.
func addServices(cloud *aws.Cloud, opts Options) (*s3.Server, error) {
	compute, err := ec2.New(cloud.World, ec2.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	people, err := iam.New(cloud.World, iam.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	compute.SetProfiles(people)
	tokens, err := sts.New(cloud.World, people, sts.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	cloud.SetCredentials(tokens)
	balancers, err := elbv2.New(cloud.World, compute, elbv2.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	groups, err := autoscaling.New(cloud.World, compute, balancers, autoscaling.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	names, err := route53.New(cloud.World, compute, route53.Options{Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	keys, err := kms.New(cloud.World, kms.Options{Account: aws.Account, Rand: opts.Rand})
	if err != nil {
		return nil, err
	}
	objects, err := s3.New(filepath.Join(opts.Dir, "s3"), s3.Options{Account: aws.Account, Now: opts.Clock, Log: opts.Logger})
	if err != nil {
		return nil, err
	}
	all := []wire.Service{compute, groups, people, tokens, balancers, names, keys, objects}
	cloud.Register(all...)
	judged := map[string]wire.Authorised{}
	for _, s := range all {
		if a, ok := s.(wire.Authorised); ok {
			judged[s.Name()] = a
		}
	}
	cloud.SetAuthorizer(authz.New(tokens, judged))
	return objects, nil
}
