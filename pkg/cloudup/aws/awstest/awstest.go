// SPDX-License-Identifier: Apache-2.0

// Package awstest gives tests empty AWS accounts, simulated or moto's, as the worlds of
// cloudtest: the conformance suite of pkg/cloudup/aws and the kill test of pkg/cluster
// use it.
package awstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/slipway-k8s/slipway/internal/mototest"
	"github.com/slipway-k8s/slipway/pkg/cloudup/cloudtest"
	"github.com/slipway-k8s/slipway/pkg/sim"
	simaws "github.com/slipway-k8s/slipway/pkg/sim/aws"
)

// Region is where the worlds are.
const Region = "us-east-1"

// World is an empty account.
type World struct {
	serve func(*http.Request) (*http.Response, error)
	clock *cloudtest.Clock
	clients

	// Sim is the simulated cloud behind it, nil with moto.
	Sim *simaws.Cloud
}

var _ cloudtest.World = (*World)(nil)

// clients are how tests act behind the product's back.
type clients struct {
	EC2     *ec2.Client
	Scaling *autoscaling.Client
	ELB     *elb.Client
	IAM     *iam.Client
	Route53 *route53.Client
	KMS     *kms.Client
}

// environment makes the SDK's own search for credentials and endpoints end in the test.
// The endpoint is on loopback, so that calls are not paced; nothing listens there, since
// every world carries its calls itself.
var environment = sync.OnceFunc(func() {
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": Region,
		"AWS_ACCESS_KEY_ID": simaws.OperatorAccessKey, "AWS_SECRET_ACCESS_KEY": simaws.OperatorSecret,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		os.Setenv(key, value)
	}
})

// Simulated is a world of the simulated cloud, which is called in this process.
func Simulated(t testing.TB, clock *cloudtest.Clock) *World {
	t.Helper()
	server, err := sim.New(sim.Options{Dir: t.TempDir(), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return newWorld(inProcess(server), clock, server.AWS())
}

// inProcess calls a handler as a server would.
func inProcess(h http.Handler) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (resp *http.Response, err error) {
		in := r.Clone(r.Context())
		in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
		if in.Host == "" {
			in.Host = r.URL.Host
		}
		if in.Body == nil {
			in.Body = http.NoBody
		}
		rec := httptest.NewRecorder()
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				resp, err = nil, io.ErrUnexpectedEOF
			} else if p != nil {
				panic(p)
			}
		}()
		h.ServeHTTP(rec, in)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return rec.Result(), nil
	}
}

// server is one moto server for a whole test program; each world is an account in it.
var server struct {
	sync.Mutex
	url      *url.URL
	accounts atomic.Int64
}

// lasting lets the server live as long as the program: it ends with its input.
type lasting struct{ testing.TB }

func (lasting) Cleanup(func()) {}

// Moto is a world of moto's server. It skips or fails as mototest.Venv does.
func Moto(t testing.TB, clock *cloudtest.Clock) *World {
	t.Helper()
	mototest.Venv(t)
	server.Lock()
	defer server.Unlock()
	if server.url == nil {
		u, err := url.Parse(mototest.Start(lasting{t}))
		if err != nil {
			t.Fatal(err)
		}
		server.url = u
	}
	account := fmt.Sprintf("%012d", 300000000000+server.accounts.Add(1))
	return newWorld(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = server.url.Scheme, server.url.Host
		// moto reads the account from the access key, and checks no signature.
		sign := out.Header.Get("Authorization")
		out.Header.Set("Authorization", strings.Replace(sign, simaws.OperatorAccessKey, account, 1))
		return http.DefaultTransport.RoundTrip(out)
	}, clock, nil)
}

func newWorld(serve func(*http.Request) (*http.Response, error), clock *cloudtest.Clock, simulated *simaws.Cloud) *World {
	environment()
	w := &World{serve: serve, clock: clock, Sim: simulated}
	cfg := aws.Config{
		Region: Region, HTTPClient: &http.Client{Transport: w}, BaseEndpoint: aws.String("http://127.0.0.1:9"),
		Credentials: sdkcredentials.NewStaticCredentialsProvider(simaws.OperatorAccessKey, simaws.OperatorSecret, ""),
	}
	w.clients = clients{
		EC2: ec2.NewFromConfig(cfg), Scaling: autoscaling.NewFromConfig(cfg), ELB: elb.NewFromConfig(cfg),
		IAM: iam.NewFromConfig(cfg), Route53: route53.NewFromConfig(cfg), KMS: kms.NewFromConfig(cfg),
	}
	return w
}

// RoundTrip carries a call to the world.
func (w *World) RoundTrip(r *http.Request) (*http.Response, error) { return w.serve(r) }

var (
	scope     = regexp.MustCompile(`Credential=[^/]+/[^/]+/[^/]+/([^/]+)/`)
	actionArg = regexp.MustCompile(`(?:^|&)Action=([A-Za-z0-9]+)`)
)

// zoneCalls are the calls of Route 53, which have paths instead of names.
var zoneCalls = []struct {
	method string
	path   *regexp.Regexp
	name   string
}{
	{"POST", regexp.MustCompile(`/hostedzone/[^/]+/rrset/?$`), "ChangeResourceRecordSets"},
	{"GET", regexp.MustCompile(`/hostedzone/[^/]+/rrset/?$`), "ListResourceRecordSets"},
	{"POST", regexp.MustCompile(`/hostedzone/[^/]+/associatevpc$`), "AssociateVPCWithHostedZone"},
	{"POST", regexp.MustCompile(`/hostedzone/[^/]+/disassociatevpc$`), "DisassociateVPCFromHostedZone"},
	{"GET", regexp.MustCompile(`/hostedzonesbyname`), "ListHostedZonesByName"},
	{"GET", regexp.MustCompile(`/hostedzonesbyvpc`), "ListHostedZonesByVPC"},
	{"GET", regexp.MustCompile(`/hostedzone/[^/]+$`), "GetHostedZone"},
	{"GET", regexp.MustCompile(`/hostedzone/?$`), "ListHostedZones"},
	{"POST", regexp.MustCompile(`/hostedzone/?$`), "CreateHostedZone"},
	{"DELETE", regexp.MustCompile(`/hostedzone/[^/]+$`), "DeleteHostedZone"},
}

// Call returns the action that a request asks for, as policies spell it, and whether it
// may change something. It leaves the body as it was.
func (w *World) Call(r *http.Request) (string, bool) {
	service := "unknown"
	if m := scope.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		service = m[1]
	}
	name := r.Method + r.URL.Path
	if m := actionArg.FindStringSubmatch(bodyOf(r)); m != nil {
		name = m[1]
	}
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		name = target
	}
	if service == "route53" {
		for _, c := range zoneCalls {
			if c.method == r.Method && c.path.MatchString(r.URL.Path) {
				name = c.name
			}
		}
	}
	for _, read := range []string{"Describe", "Get", "List", "Head", "GET"} {
		if strings.HasPrefix(name, read) {
			return service + ":" + name, false
		}
	}
	return service + ":" + name, true
}

func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	text, err := io.ReadAll(r.Body)
	err = errors.Join(err, r.Body.Close())
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return ""
	}
	return string(text)
}

// Refuse answers a call as AWS does when the right to it is missing, or when too many
// were made.
func (w *World) Refuse(r *http.Request, why cloudtest.Refusal) *http.Response {
	action, _ := w.Call(r)
	service, _, _ := strings.Cut(action, ":")
	code, status, message := "AccessDenied", http.StatusForbidden, "not authorized to perform: "+action
	switch {
	case why == cloudtest.Throttled && service == "ec2":
		code, status, message = "RequestLimitExceeded", http.StatusServiceUnavailable, "Request limit exceeded."
	case why == cloudtest.Throttled:
		code, status, message = "Throttling", http.StatusBadRequest, "Rate exceeded"
	case service == "ec2":
		code, message = "UnauthorizedOperation", "You are not authorized to perform this operation."
	}
	if service == "kms" {
		return refuseJSON(r, code, message)
	}
	body := fmt.Sprintf("<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>", code, message)
	if service == "ec2" {
		body = fmt.Sprintf("<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", code, message)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/xml"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// refuseJSON is Refuse for services that speak JSON.
func refuseJSON(r *http.Request, code, message string) *http.Response {
	if code == "AccessDenied" {
		code = "AccessDeniedException"
	} else {
		code = "ThrottlingException"
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Status: http.StatusText(http.StatusBadRequest), Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
		Body:   io.NopCloser(strings.NewReader(fmt.Sprintf(`{"__type":%q,"message":%q}`, code, message))),
	}
}
