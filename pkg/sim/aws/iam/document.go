// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/policy"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// documentKind says which elements a policy must and must not have.
type documentKind int

const (
	identityPolicy documentKind = iota // resources, no principal
	trustPolicy                        // a principal, no resource, sts actions
)

func malformed(format string, args ...any) *wire.Error {
	return wire.Errorf("MalformedPolicyDocument", format, args...)
}

// weight is a document's size as IAM counts it: without white space.
func weight(text string) int {
	n := 0
	for _, r := range text {
		if !unicode.IsSpace(r) {
			n += len(string(r))
		}
	}
	return n
}

// checkDocument checks a policy's grammar.
func checkDocument(text string, kind documentKind) *wire.Error {
	if text == "" {
		return invalid("1 validation error detected: Value at 'policyDocument' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	doc, err := policy.Parse(text)
	if err != nil {
		return malformed("Syntax errors in policy.")
	}
	if doc.Version != "" && doc.Version != "2012-10-17" && doc.Version != "2008-10-17" {
		return malformed("The policy must contain a valid version string")
	}
	if len(doc.Statement) == 0 {
		return malformed("Policy document must have at least one statement.")
	}
	seen := map[string]bool{}
	for _, st := range doc.Statement {
		if st.Sid != "" && seen[st.Sid] {
			return malformed("Statement IDs (SID) in a single policy must be unique.")
		}
		seen[st.Sid] = true
		if err := checkStatement(st, kind); err != nil {
			return err
		}
	}
	return nil
}

var sidPattern = regexp.MustCompile(`^[A-Za-z0-9]*$`)

func checkStatement(st policy.Statement, kind documentKind) *wire.Error {
	if !sidPattern.MatchString(st.Sid) {
		return malformed("Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the regular expression [0-9A-Za-z]*")
	}
	if st.Effect != "Allow" && st.Effect != "Deny" {
		return malformed("Syntax errors in policy.")
	}
	if (st.Action == nil) == (st.NotAction == nil) || len(st.Action)+len(st.NotAction) == 0 {
		return malformed("Policy statement must contain actions.")
	}
	for _, a := range slices.Concat(st.Action, st.NotAction) {
		if err := checkAction(a, kind); err != nil {
			return err
		}
	}
	if err := checkTargets(st, kind); err != nil {
		return err
	}
	return checkConditions(st)
}

func checkTargets(st policy.Statement, kind documentKind) *wire.Error {
	hasPrincipal := st.Principal != nil || st.NotPrincipal != nil
	hasResource := len(st.Resource)+len(st.NotResource) > 0
	switch {
	case kind == identityPolicy && hasPrincipal:
		return malformed("Policy document should not specify a principal.")
	case kind == identityPolicy && (!hasResource || (st.Resource != nil) == (st.NotResource != nil)):
		return malformed("Policy statement must contain resources.")
	case kind == trustPolicy && hasResource:
		return malformed("Has prohibited field Resource")
	case kind == trustPolicy && len(st.Principal) == 0:
		return malformed("AssumeRolePolicy must specify a principal: Missing required field Principal")
	}
	for _, r := range slices.Concat(st.Resource, st.NotResource) {
		if r != "*" && !strings.HasPrefix(r, "arn:") {
			return malformed("Resource %s must be in ARN format or \"*\".", r)
		}
		parts := strings.SplitN(r, ":", 6)
		if r != "*" && len(parts) < 6 {
			return malformed("The policy failed legacy parsing")
		}
		if r != "*" && !slices.Contains([]string{"aws", "aws-cn", "aws-us-gov", "*"}, parts[1]) {
			return malformed("Partition \"%s\" is not valid for resource \"%s\".", parts[1], r)
		}
	}
	return nil
}

var actionPattern = regexp.MustCompile(`^([A-Za-z0-9-]+):([A-Za-z0-9*?]+)$`)

func checkAction(action string, kind documentKind) *wire.Error {
	if action == "*" && kind == identityPolicy {
		return nil
	}
	m := actionPattern.FindStringSubmatch(action)
	if m == nil {
		if !strings.Contains(action, ":") {
			return malformed("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
		}
		return malformed("The policy failed legacy parsing")
	}
	vendor := strings.ToLower(m[1])
	if kind == trustPolicy && vendor != "sts" {
		return malformed("AssumeRole policy may only specify STS AssumeRole actions.")
	}
	if !slices.Contains(vendors, vendor) {
		return malformed("Vendor %s is not valid", m[1])
	}
	return nil
}

// vendors are the action prefixes that the simulator takes; a prefix outside
// this list is far more often a mistake than a service that it does not know.
var vendors = strings.Fields(`
	access-analyzer acm acm-pca application-autoscaling autoscaling autoscaling-plans backup batch budgets ce cloudformation
	cloudfront cloudtrail cloudwatch codebuild cognito-idp compute-optimizer config dlm dynamodb ebs ec2 ec2-instance-connect
	ec2messages ecr ecr-public ecs eks elasticache elasticfilesystem elasticloadbalancing es events execute-api fis firehose
	fsx glue guardduty health iam imagebuilder inspector2 internetmonitor kafka kinesis kms lambda license-manager logs
	network-firewall organizations outposts pricing ram rds resource-groups rolesanywhere route53 route53domains
	route53resolver s3 s3express s3-object-lambda savingsplans schemas scheduler secretsmanager securityhub servicediscovery
	servicequotas shield sns sqs ssm ssmmessages sso states storagegateway sts support tag trustedadvisor vpc-lattice waf
	waf-regional wafv2 xray
`)

// operators are the condition operators; IfExists and set prefixes are taken off first.
var operators = strings.Fields(`
	stringequals stringnotequals stringequalsignorecase stringnotequalsignorecase stringlike stringnotlike
	numericequals numericnotequals numericlessthan numericlessthanequals numericgreaterthan numericgreaterthanequals
	dateequals datenotequals datelessthan datelessthanequals dategreaterthan dategreaterthanequals
	bool binaryequals ipaddress notipaddress arnequals arnlike arnnotequals arnnotlike null
`)

func checkConditions(st policy.Statement) *wire.Error {
	for op, keys := range st.Condition {
		name := strings.ToLower(op)
		if set, rest, ok := strings.Cut(name, ":"); ok && (set == "forallvalues" || set == "foranyvalue") {
			name = rest
		}
		if !slices.Contains(operators, strings.TrimSuffix(name, "ifexists")) {
			return malformed("Invalid Condition type : %s.", op)
		}
		for k, values := range keys {
			if !strings.Contains(k, ":") {
				return malformed("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
			}
			if len(values) == 0 {
				return malformed("The policy failed legacy parsing")
			}
		}
	}
	return nil
}

var accountPattern = regexp.MustCompile(`^\d{12}$`)

// checkPrincipals refuses a trust policy that names a role, user or OIDC
// provider of this account that does not exist.
func (s *Service) checkPrincipals(text string) *wire.Error {
	doc, err := policy.Parse(text)
	if err != nil {
		return malformed("Syntax errors in policy.")
	}
	for _, st := range doc.Statement {
		for kind, names := range st.Principal {
			if !slices.Contains([]string{"AWS", "Service", "Federated", "CanonicalUser"}, kind) {
				return malformed("Invalid principal in policy: %s", kind)
			}
			for _, name := range names {
				if !s.validPrincipal(kind, name) {
					return malformed("Invalid principal in policy: \"%s\":\"%s\"", strings.ToUpper(kind), name)
				}
			}
		}
	}
	return nil
}

func (s *Service) validPrincipal(kind, name string) bool {
	switch kind {
	case "Service":
		return strings.HasSuffix(name, ".amazonaws.com") || strings.HasSuffix(name, ".amazonaws.com.cn")
	case "AWS":
		if name == "*" || accountPattern.MatchString(name) {
			return true
		}
		parts := strings.SplitN(name, ":", 6)
		if len(parts) != 6 || parts[0] != "arn" || (parts[2] != "iam" && parts[2] != "sts") || !accountPattern.MatchString(parts[4]) {
			return false
		}
		what, path, _ := strings.Cut(parts[5], "/")
		last := path[strings.LastIndex(path, "/")+1:]
		switch {
		case parts[4] != s.account:
			return true
		case what == "role":
			return s.roles.Get("", key(last)) != nil
		case what == "user":
			return s.users.Get("", key(last)) != nil || last == "slipway-operator"
		}
		return what == "root" || what == "assumed-role"
	}
	return name != ""
}
