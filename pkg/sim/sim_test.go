// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-k8s/slipway/pkg/sim"
	"github.com/slipway-k8s/slipway/pkg/sim/aws"
)

func client(s *sim.Server, key, secret string) *ec2.Client {
	return ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: awssdk.String(s.URL()), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	})
}

func operator(s *sim.Server) *ec2.Client {
	return client(s, aws.OperatorAccessKey, aws.OperatorSecret)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}

func makeVpc(t *testing.T, c *ec2.Client, cidr string) string {
	t.Helper()
	out, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: awssdk.String(cidr)})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Vpc.VpcId
}

func countVpcs(t *testing.T, c *ec2.Client) int {
	t.Helper()
	out, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Vpcs)
}

func TestWorldSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := sim.New(sim.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	id := makeVpc(t, operator(first), "10.0.0.0/16")
	if _, err := sim.New(sim.Options{Dir: dir}); err == nil {
		t.Error("a second simulator took the same folder")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, sim.Options{Dir: dir})
	out, err := operator(second).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if err != nil || len(out.Vpcs) != 1 || *out.Vpcs[0].CidrBlock != "10.0.0.0/16" {
		t.Errorf("after a restart: %v, %v", out, err)
	}
	if id2 := makeVpc(t, operator(second), "10.1.0.0/16"); id2 == id {
		t.Error("the same id twice")
	}
}

func TestSignaturesAreChecked(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	_, err := client(s, aws.OperatorAccessKey, "wrong").DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "AuthFailure")
	_, err = client(s, "AKIAUNKNOWN", "wrong").DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "AuthFailure")
}

func TestUnknownActionIsAnAWSError(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	_, err := operator(s).DescribeSpotFleetRequests(t.Context(), &ec2.DescribeSpotFleetRequestsInput{})
	wantCode(t, err, "InvalidAction")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	c := operator(s)
	control(t, s, "POST", "faults", []aws.Fault{{Service: "ec2", Action: "CreateVpc", Match: "10.9.", Code: "UnauthorizedOperation", HTTPStatus: 403, Times: 1}})
	makeVpc(t, c, "10.0.0.0/16") // does not match
	_, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.9.0.0/16")})
	wantCode(t, err, "UnauthorizedOperation")
	makeVpc(t, c, "10.9.0.0/16") // the one hit is spent
	if n := countVpcs(t, c); n != 2 {
		t.Errorf("%d VPCs, want 2", n)
	}

	control(t, s, "POST", "faults", []aws.Fault{{Action: "Create*", Mode: aws.FaultAfter, Times: 1}})
	if _, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.8.0.0/16")}); err == nil {
		t.Error("the answer came though the fault loses it")
	}
	if n := countVpcs(t, c); n != 3 {
		t.Errorf("%d VPCs after a lost answer, want 3: the change is made", n)
	}
}

func TestThrottling(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	c := operator(s)
	control(t, s, "POST", "options", aws.Tuning{Throttle: map[string]aws.Rate{"ec2:DescribeVpcs": {Rate: 0.0001, Burst: 2}}})
	countVpcs(t, c)
	countVpcs(t, c)
	_, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "RequestLimitExceeded")
	if _, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Errorf("another action: %v", err)
	}
}

// clock is a clock that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConsistencyDelay(t *testing.T) {
	t.Parallel()
	k := &clock{now: time.Now()}
	s := start(t, sim.Options{Dir: t.TempDir(), Clock: k.Now})
	c := operator(s)
	control(t, s, "POST", "options", aws.Tuning{ConsistencyDelayMS: 5000})
	id := makeVpc(t, c, "10.0.0.0/16")
	if n := countVpcs(t, c); n != 0 {
		t.Errorf("%d VPCs at once, want none yet", n)
	}
	_, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	wantCode(t, err, "InvalidVpcID.NotFound")
	k.advance(6 * time.Second)
	if n := countVpcs(t, c); n != 1 {
		t.Errorf("%d VPCs after the delay, want 1", n)
	}
}

func TestQuotasAndReset(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	c := operator(s)
	control(t, s, "POST", "options", aws.Tuning{Quotas: map[string]int{"vpcs": 1}})
	makeVpc(t, c, "10.0.0.0/16")
	_, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.1.0.0/16")})
	wantCode(t, err, "VpcLimitExceeded")
	control(t, s, "POST", "reset?cloud=aws", nil)
	if n := countVpcs(t, c); n != 0 {
		t.Errorf("%d VPCs after a reset", n)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	c := operator(s)
	vpc := makeVpc(t, c, "10.0.0.0/16")
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			_, err := c.CreateSecurityGroup(context.WithoutCancel(t.Context()), &ec2.CreateSecurityGroupInput{
				VpcId: &vpc, GroupName: awssdk.String(fmt.Sprintf("group-%d", i%16)), Description: awssdk.String("test"),
			})
			var api smithy.APIError
			if err != nil && (!errors.As(err, &api) || api.ErrorCode() != "InvalidGroup.Duplicate") {
				t.Errorf("create group: %v", err)
			}
		})
	}
	wg.Wait()
	out, err := c.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{{Name: awssdk.String("vpc-id"), Values: []string{vpc}}}})
	if err != nil || len(out.SecurityGroups) != 17 {
		t.Errorf("%d groups (%v), want 16 and the default one", len(out.SecurityGroups), err)
	}
}

func TestLogHidesSecrets(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Options{Dir: t.TempDir()})
	_, err := operator(s).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("logged"), LaunchTemplateData: &types.RequestLaunchTemplateData{UserData: awssdk.String("c2VjcmV0")},
	})
	if err != nil {
		t.Fatal(err)
	}
	log := control(t, s, "GET", "log", nil)
	if strings.Contains(log, "c2VjcmV0") || !strings.Contains(log, `"action":"CreateLaunchTemplate"`) {
		t.Errorf("log: %s", log)
	}
}

func control(t *testing.T, s *sim.Server, method, path string, body any) string {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/_slipway/"+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, res.Status, text, err)
	}
	return string(text)
}
