// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// blocked adds to a refused deletion what holds the object: the network interfaces that
// a filter finds, with their maker, and in a VPC or round a group the security groups.
func (s *survey) blocked(ctx context.Context, err error, filter, id string) error {
	if err == nil || tasks.Classify(err) != tasks.Waiting {
		return err
	}
	holders := s.interfaces(ctx, filter, id)
	switch filter {
	case "vpc-id":
		holders = append(holders, s.groupsBy(ctx, filter, id)...)
	case "group-id":
		holders = append(holders, s.groupsBy(ctx, "ip-permission.group-id", id)...)
	}
	if len(holders) == 0 {
		return err
	}
	const most = 5
	if more := len(holders) - most; more > 0 {
		holders = append(holders[:most], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s is held by %s: %w", id, strings.Join(holders, "; "), err)
}

// interfaces describes the network interfaces that a filter finds. It is part of telling
// about another error, so its own are not told.
func (s *survey) interfaces(ctx context.Context, filter, id string) []string {
	out, err := s.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{
		Filters: []ec2types.Filter{{Name: &filter, Values: []string{id}}},
	})
	if err != nil {
		return nil
	}
	var held []string
	for _, n := range out.NetworkInterfaces {
		text := "network interface " + aws.ToString(n.NetworkInterfaceId)
		if d := aws.ToString(n.Description); d != "" {
			text += fmt.Sprintf(" (%q)", d)
		}
		if by := aws.ToString(n.RequesterId); by != "" {
			text += " made by " + by
		} else if n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) != "" {
			text += " of instance " + aws.ToString(n.Attachment.InstanceId)
		}
		held = append(held, text)
	}
	return held
}

func (s *survey) groupsBy(ctx context.Context, filter, id string) []string {
	out, err := s.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: &filter, Values: []string{id}}},
	})
	if err != nil {
		return nil
	}
	var held []string
	for _, g := range out.SecurityGroups {
		if name := aws.ToString(g.GroupName); name != "default" && aws.ToString(g.GroupId) != id {
			held = append(held, fmt.Sprintf("security group %s (%q)", aws.ToString(g.GroupId), name))
		}
	}
	return held
}
