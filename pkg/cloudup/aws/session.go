// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// sdkAttempts is small: the engine tries a task again, with its own deadline.
const sdkAttempts = 3

// session loads the SDK's configuration: environment, profiles, SSO and roles are its
// own business. Every client made of it is paced and has its errors classified.
func session(ctx context.Context, o Options, who *caller) (aws.Config, error) {
	opts := []func(*config.LoadOptions) error{
		config.WithRegion(o.Region),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts = sdkAttempts })
		}),
		config.WithAppID("slipway"),
		config.WithLogger(logging.Nop{}), // what matters comes back as an error
	}
	if o.Credentials != nil {
		opts = append(opts, config.WithCredentialsProvider(o.Credentials))
	}
	if o.Endpoint != "" {
		opts = append(opts, config.WithBaseEndpoint(o.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load the AWS configuration: %w", err)
	}
	if o.HTTPClient != nil { // not while loading: that fails where AWS_CA_BUNDLE is set
		cfg.HTTPClient = o.HTTPClient
	}
	if cfg.Credentials != nil {
		cfg.Credentials = aws.NewCredentialsCache(credentials{cfg.Credentials})
	}
	endpoint := aws.ToString(cfg.BaseEndpoint)
	if endpoint == "" {
		endpoint = os.Getenv("AWS_ENDPOINT_URL")
	}
	pace := &pacer{off: loopback(endpoint)}
	cfg.APIOptions = append(cfg.APIOptions, guarded, pace.add, onceOnly, classifier{who, &pages500{}}.add)
	return cfg, nil
}

// guarded asks, right before each call that changes something, whether the run still may:
// it may have been paused since its last look, while another one took its place.
func guarded(stack *middleware.Stack) error {
	return eachAttempt(stack, middleware.FinalizeMiddlewareFunc("slipway.Guard", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if !reads(middleware.GetOperationName(ctx)) {
			if err := tasks.MayWrite(ctx); err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
		}
		return next.HandleFinalize(ctx, in)
	}))
}

// credentials marks the failures of a provider, so that a missing login is told apart
// from a missing right.
type credentials struct{ aws.CredentialsProvider }

func (p credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := p.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		return c, fmt.Errorf("%w: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in: %w",
			cloudup.ErrNoCredentials, err)
	}
	return c, err
}

// loopback reports whether an endpoint is on this machine: a simulator, not paced.
func loopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bucket is a token bucket: calls per second, and calls at once from rest.
type bucket struct {
	perSecond rate.Limit
	burst     int
}

// buckets are kept below what AWS grants an account, which other tools share. EC2
// counts reads and writes apart, and a few kinds of calls by themselves.
var buckets = map[string]bucket{
	"EC2/read":                     {20, 50},
	"EC2/write":                    {5, 50},
	"EC2/tags":                     {10, 100},
	"EC2/rules":                    {20, 100},
	"Auto Scaling/read":            {10, 30},
	"Auto Scaling/write":           {5, 30},
	"Elastic Load Balancing/read":  {10, 30},
	"Elastic Load Balancing/write": {3, 15},
	"IAM/read":                     {10, 20},
	"IAM/write":                    {10, 20},
	"Route 53/read":                {5, 5}, // five a second for the whole account
	"Route 53/write":               {5, 5},
}

// pacer keeps the calls of one process below the services' limits.
type pacer struct {
	off  bool
	mu   sync.Mutex
	made map[string]*rate.Limiter
}

func (p *pacer) add(stack *middleware.Stack) error {
	if p.off {
		return nil
	}
	mw := middleware.FinalizeMiddlewareFunc("slipway.Pace", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if l := p.limiter(bucketOf(awsmiddleware.GetServiceID(ctx), middleware.GetOperationName(ctx))); l != nil {
			if err := l.Wait(ctx); err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("wait for a free slot: %w", err)
			}
		}
		return next.HandleFinalize(ctx, in)
	})
	return eachAttempt(stack, mw)
}

// eachAttempt puts a step inside the SDK's loop of attempts.
func eachAttempt(stack *middleware.Stack, mw middleware.FinalizeMiddleware) error {
	if _, ok := stack.Finalize.Get("Retry"); ok {
		return stack.Finalize.Insert(mw, "Retry", middleware.After)
	}
	return stack.Finalize.Add(mw, middleware.Before)
}

// onceOnly keeps the SDK from repeating a write whose answer may have been lost: it would
// make a second object, or be told that the first is in the way. The engine repeats it,
// and looks first. A throttled write was not begun and is repeated here.
func onceOnly(stack *middleware.Stack) error {
	return eachAttempt(stack, middleware.FinalizeMiddlewareFunc("slipway.Once", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, md, err := next.HandleFinalize(ctx, in)
		if err != nil && !reads(middleware.GetOperationName(ctx)) && !slices.Contains(throttledCodes, codeOf(err)) {
			err = perhapsDone{err}
		}
		return out, md, err
	}))
}

// perhapsDone is the failure of a call that AWS may have carried out.
type perhapsDone struct{ error }

func (p perhapsDone) Unwrap() error { return p.error }

// RetryableError tells the SDK not to try again.
func (perhapsDone) RetryableError() bool { return false }

func (p *pacer) limiter(name string) *rate.Limiter {
	b, ok := buckets[name]
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[string]*rate.Limiter{}
	}
	if p.made[name] == nil {
		p.made[name] = rate.NewLimiter(b.perSecond, b.burst)
	}
	return p.made[name]
}

// bucketOf names the bucket that a call draws from.
func bucketOf(service, operation string) string {
	service, _ = strings.CutSuffix(service, " v2")
	switch {
	case reads(operation):
		return service + "/read"
	case operation == "CreateTags" || operation == "DeleteTags":
		if service == "EC2" {
			return "EC2/tags"
		}
	case strings.Contains(operation, "SecurityGroupIngress"), strings.Contains(operation, "SecurityGroupEgress"):
		return "EC2/rules"
	}
	return service + "/write"
}

// reads reports whether a call changes nothing.
func reads(operation string) bool {
	for _, p := range []string{"Describe", "Get", "List", "Head"} {
		if strings.HasPrefix(operation, p) {
			return true
		}
	}
	return false
}
