// SPDX-License-Identifier: Apache-2.0

package aws

// cloudControl is what the cloud controller needs: pod routes, node addresses, and load
// balancers of services with their security groups. It makes only what it tags for the
// cluster, and changes only what is tagged so.
func (m policyMaker) cloudControl() []statement {
	var (
		group     = m.arn("ec2", "security-group/*")
		network   = m.arn("ec2", "vpc/*")
		table     = m.arn("ec2", "route-table/*")
		machine   = m.arn("ec2", "instance/*")
		balancer  = m.arn("elasticloadbalancing", "loadbalancer/*")
		listener  = m.arn("elasticloadbalancing", "listener/*")
		target    = m.arn("elasticloadbalancing", "targetgroup/*")
		balancing = []string{balancer, listener, target}
	)
	return []statement{
		m.in(allow("ControlDescribe", []string{
			"ec2:DescribeAvailabilityZones", "ec2:DescribeInstances", "ec2:DescribeInstanceTopology", "ec2:DescribeRegions",
			"ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
		}, "*")),
		allow("ControlDescribeBalancing", []string{
			"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeTags",
			"elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes",
			"elasticloadbalancing:DescribeLoadBalancerPolicies", "elasticloadbalancing:DescribeLoadBalancers",
			"elasticloadbalancing:DescribeTags", "elasticloadbalancing:DescribeTargetGroupAttributes",
			"elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
		}, "*"),
		m.tagged(allow("Routes", []string{"ec2:CreateRoute", "ec2:DeleteRoute"}, table)),
		m.tagged(allow("Machines", []string{"ec2:ModifyInstanceAttribute"}, machine)),

		allow("MakeGroupInNetwork", []string{"ec2:CreateSecurityGroup"}, network),
		m.tagging(allow("MakeGroup", []string{"ec2:CreateSecurityGroup"}, group)),
		m.tagging(allow("TagNewGroup", []string{"ec2:CreateTags"}, group)).where("ec2:CreateAction", "CreateSecurityGroup"),
		m.tagged(allow("Groups", []string{
			"ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup", "ec2:RevokeSecurityGroupIngress",
		}, group)),

		m.tagging(allow("MakeBalancer", []string{
			"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup",
		}, balancer, target)),
		m.tagging(allow("TagNewBalancer", []string{"elasticloadbalancing:AddTags"}, balancing...)).
			where("elasticloadbalancing:CreateAction", "CreateLoadBalancer", "CreateTargetGroup", "CreateListener"),
		m.tagged(allow("Balancers", balancerActions(), balancing...)),
	}
}

// balancerActions change network and classic load balancers that exist.
func balancerActions() []string {
	names := []string{
		"CreateListener", "DeleteListener", "DeleteLoadBalancer", "DeleteTargetGroup", "DeregisterTargets",
		"ModifyListener", "ModifyLoadBalancerAttributes", "ModifyTargetGroup", "ModifyTargetGroupAttributes",
		"RegisterTargets", "SetSecurityGroups", "SetSubnets",
		// classic
		"ApplySecurityGroupsToLoadBalancer", "AttachLoadBalancerToSubnets", "ConfigureHealthCheck",
		"CreateLoadBalancerListeners", "CreateLoadBalancerPolicy", "DeleteLoadBalancerListeners",
		"DeregisterInstancesFromLoadBalancer", "DetachLoadBalancerFromSubnets", "RegisterInstancesWithLoadBalancer",
		"SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesOfListener",
	}
	for i, n := range names {
		names[i] = "elasticloadbalancing:" + n
	}
	return names
}
