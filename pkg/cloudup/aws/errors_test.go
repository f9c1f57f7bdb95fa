// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	code := func(c string) error {
		return &smithy.GenericAPIError{Code: c, Message: "You have reached the limit of 5 VPCs"}
	}
	status := func(n int) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: n}}, Err: errors.New("no XML")}
	}
	cases := []struct {
		call string
		err  error
		want tasks.Class
		text string
	}{
		{"EC2 CreateVpc", code("RequestLimitExceeded"), tasks.Retryable, ""},
		{"EC2 DescribeVpcs", code("Throttling"), tasks.Retryable, ""},
		{"Route 53 ChangeResourceRecordSets", code("PriorRequestNotComplete"), tasks.Retryable, ""},
		{"EC2 CreateSubnet", code("InvalidVpcID.NotFound"), tasks.Retryable, ""},
		{"EC2 DescribeSubnets", code("InvalidSubnetID.NotFound"), tasks.Permanent, ""},
		{"IAM AddRoleToInstanceProfile", code("NoSuchEntity"), tasks.Retryable, ""},
		{"EC2 CreateVpc", code("InternalError"), tasks.Retryable, ""},
		{"EC2 CreateVpc", status(503), tasks.Retryable, ""},
		{"EC2 CreateVpc", status(500), tasks.Permanent, "ec2:CreateVpc answered 500 with a page that is no answer of AWS"},
		{"EC2 CreateVpc", &net.OpError{Op: "dial", Err: errors.New("refused")}, tasks.Retryable, ""},
		{"EC2 DeleteVpc", code("DependencyViolation"), tasks.Waiting, ""},
		{"Auto Scaling DeleteAutoScalingGroup", code("ResourceInUse"), tasks.Waiting, ""},
		{"EC2 CreateVpc", code("UnauthorizedOperation"), tasks.Permanent, "arn:aws:iam::1:user/eve may not ec2:CreateVpc"},
		{"Elastic Load Balancing v2 CreateListener", code("AccessDenied"), tasks.Permanent, "may not elasticloadbalancing:CreateListener"},
		{"EC2 CreateVpc", code("AuthFailure"), tasks.Permanent, "refuses the credentials"},
		{"STS GetCallerIdentity", code("ExpiredToken"), tasks.Permanent, "refuses the credentials"},
		{"EC2 CreateVpc", code("VpcLimitExceeded"), tasks.Permanent, "ask for more in Service Quotas (EC2): api error VpcLimitExceeded: You have reached the limit of 5 VPCs"},
		{"Elastic Load Balancing v2 CreateLoadBalancer", code("TooManyLoadBalancers"), tasks.Permanent, "Service Quotas"},
		{"EC2 CreateSubnet", code("InvalidParameterValue"), tasks.Permanent, ""},
		{"EC2 CreateVpc", fmt.Errorf("%w: none", cloudup.ErrNoCredentials), tasks.Permanent, ""},
		{"EC2 CreateVpc", context.Canceled, tasks.Permanent, ""},
	}
	for _, tc := range cases {
		i := strings.LastIndex(tc.call, " ")
		err := classify(call{tc.call[:i], tc.call[i+1:]}, "arn:aws:iam::1:user/eve", tc.err)
		if got := tasks.Classify(err); got != tc.want || !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s, %v: class %v, %q; want %v, %q", tc.call, tc.err, got, err, tc.want, tc.text)
		}
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Options{
		Region: testRegion, Cluster: "demo", UID: "u", Endpoint: "http://127.0.0.1:1",
		Credentials: awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
			return awssdk.Credentials{}, errors.New("no EC2 IMDS role found")
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Whoami(t.Context()); !errors.Is(err, cloudup.ErrNoCredentials) || tasks.Classify(err) != tasks.Permanent {
		t.Errorf("without credentials: %v", err)
	}
}

// TestHTMLAnswer: what is no answer of AWS is given up soon.
func TestHTMLAnswer(t *testing.T) {
	t.Parallel()
	calls := 0
	w := &world{t: t, endpoint: "http://127.0.0.1:1", login: awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		return awssdk.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	}), calls: &callLog{answer: func(string, *http.Request) (*http.Response, error) {
		calls++
		return page(500, "<!doctype html>\n<html lang=en>NotImplementedError"), nil
	}}}
	_, err := w.open("demo", "u").Whoami(t.Context())
	if tasks.Classify(err) != tasks.Permanent || calls > sdkAttempts {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// A write that an endpoint stumbled over is tried again, twice and not for ever.
func TestPagesForWrites(t *testing.T) {
	t.Parallel()
	w := &world{t: t, endpoint: "http://127.0.0.1:1", login: awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		return awssdk.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	}), calls: &callLog{answer: func(string, *http.Request) (*http.Response, error) {
		return page(500, "<!doctype html>\n<html lang=en>RuntimeError"), nil
	}}}
	c := w.open("demo", "u")
	for n, want := range []tasks.Class{tasks.Retryable, tasks.Retryable, tasks.Permanent, tasks.Permanent} {
		_, err := c.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.0.0.0/16")})
		if tasks.Classify(err) != want {
			t.Errorf("try %d: %v", n+1, err)
		}
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ service, operation, want string }{
		{"EC2", "DescribeVpcs", "EC2/read"}, {"EC2", "CreateVpc", "EC2/write"}, {"EC2", "CreateTags", "EC2/tags"},
		{"EC2", "AuthorizeSecurityGroupIngress", "EC2/rules"}, {"Route 53", "ListHostedZones", "Route 53/read"},
		{"Elastic Load Balancing v2", "DescribeTags", "Elastic Load Balancing/read"}, {"Auto Scaling", "CreateOrUpdateTags", "Auto Scaling/write"},
		{"IAM", "GetRole", "IAM/read"},
	} {
		if got := bucketOf(tc.service, tc.operation); got != tc.want || (&pacer{}).limiter(got) == nil {
			t.Errorf("%s %s draws from %q, want %q", tc.service, tc.operation, got, tc.want)
		}
	}
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://localhost:1": true, "http://[::1]:1": true, "": false, "https://ec2.amazonaws.com": false,
	} {
		if loopback(endpoint) != want {
			t.Errorf("loopback(%q) is %v", endpoint, !want)
		}
	}
}
