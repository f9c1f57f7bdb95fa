// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

var _ cloudup.Referencer = (*Cloud)(nil)

// InUse returns the store keys in the user data of every version of the cluster's launch
// templates, and of those machines whose version is no longer there.
func (c *Cloud) InUse(ctx context.Context) ([]string, error) {
	s := newSurvey(c, tasks.NewGraph())
	keys := map[string]bool{}
	known, err := s.keysOfTemplates(ctx, keys)
	if err != nil {
		return nil, err
	}
	machines, err := s.listMachines(ctx)
	if err != nil {
		return nil, fmt.Errorf("list every machine of the cluster: %w", err)
	}
	for _, m := range machines {
		if known[versionKey(m.Tags["aws:ec2launchtemplate:id"], m.Tags["aws:ec2launchtemplate:version"])] {
			continue
		}
		out, err := s.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{
			InstanceId: &m.ID, Attribute: ec2types.InstanceAttributeNameUserData,
		})
		if gone(err) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read the user data of machine %s: %w", m.ID, err)
		}
		var text string
		if out.UserData != nil {
			text = aws.ToString(out.UserData.Value)
		}
		if err := addKeys(keys, text, m.Tags[tagRole]); err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.ID, err)
		}
	}
	return sortedKeys(keys), nil
}

// keysOfTemplates adds what all template versions name, and returns which versions those
// are.
func (s *survey) keysOfTemplates(ctx context.Context, keys map[string]bool) (known map[string]bool, err error) {
	templates, err := s.templates.all(ctx)
	if err != nil {
		return nil, err
	}
	known = map[string]bool{}
	for _, t := range templates {
		var faults []error
		err := pages(ctx, ec2.NewDescribeLaunchTemplateVersionsPaginator(s.ec2, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &t.ID}),
			func(page *ec2.DescribeLaunchTemplateVersionsOutput) {
				for _, v := range page.LaunchTemplateVersions {
					number := fmt.Sprint(aws.ToInt64(v.VersionNumber))
					data := launchDataOf(v.LaunchTemplateData)
					if err := addKeys(keys, data.userData, data.InstanceTags[tagRole]); err != nil {
						faults = append(faults, fmt.Errorf("version %s of launch template %s: %w", number, t.ID, err))
						continue
					}
					known[versionKey(t.ID, number)] = true
				}
			})
		if err != nil {
			return nil, fmt.Errorf("list the versions of launch template %s: %w", t.ID, err)
		}
		if len(faults) > 0 {
			return nil, errors.Join(faults...)
		}
	}
	return known, nil
}

func versionKey(template, version string) string { return template + " " + version }

// addKeys adds the store keys that user data names. All machines but bastions have some.
func addKeys(keys map[string]bool, userData, role string) error {
	plain, err := base64.StdEncoding.DecodeString(userData)
	if err != nil {
		return fmt.Errorf("read user data: %w", err)
	}
	named, found, err := model.StoreKeys(plain)
	switch {
	case err != nil:
		return err
	case !found && role != roleKey(api.RoleBastion):
		return errors.New("its user data does not say what it reads from the store")
	}
	for _, k := range named {
		keys[k] = true
	}
	return nil
}

// listMachines reads the cluster's machines that run or can be started again.
func (s *survey) listMachines(ctx context.Context) ([]owned[ec2types.Instance], error) {
	filters := append(s.mine(), ec2types.Filter{
		Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"},
	})
	var out []owned[ec2types.Instance]
	err := pages(ctx, ec2.NewDescribeInstancesPaginator(s.ec2, &ec2.DescribeInstancesInput{Filters: filters}),
		func(page *ec2.DescribeInstancesOutput) {
			for _, r := range page.Reservations {
				for _, i := range r.Instances {
					if o, ours := ownedEC2(s, i.InstanceId, i.Tags, i); ours {
						out = append(out, o)
					}
				}
			}
		})
	return out, err
}
