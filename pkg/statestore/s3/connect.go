// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// defaultRegion is where a bucket is looked for when nothing names a region; the
// answer names the right one.
const defaultRegion = "us-east-1"

// The limits of a request; an unreachable store is reported within a minute.
const (
	dialLimit   = 5 * time.Second
	answerLimit = 30 * time.Second
)

// connect reads the configuration that all AWS tools share and makes a client.
func connect(ctx context.Context, p params, o Options) (*s3.Client, aws.CredentialsProvider, error) {
	var load []func(*config.LoadOptions) error
	if p.region != "" {
		load = append(load, config.WithRegion(p.region))
	}
	if p.profile != "" {
		load = append(load, config.WithSharedConfigProfile(p.profile))
	}
	if o.Credentials != nil {
		load = append(load, config.WithCredentialsProvider(o.Credentials))
	}
	if o.HTTPClient != nil {
		load = append(load, config.WithHTTPClient(o.HTTPClient))
	} else {
		load = append(load, config.WithHTTPClient(awshttp.NewBuildableClient().
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialLimit }).
			WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerLimit })))
	}
	load = append(load, config.WithLogger(logging.Nop{})) // what matters comes back as an error
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if p.endpoint != "" {
			o.BaseEndpoint = &p.endpoint
		}
		if o.BaseEndpoint != nil {
			// Other servers seldom have a name per bucket, nor know the newer checksums.
			o.UsePathStyle = true
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		// The SDK repeats neither an answer that breaks off nor, as it must not, a
		// conditional write whose answer was lost: repeating is the driver's.
		o.Retryer = aws.NopRetryer{}
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	return client, cfg.Credentials, nil
}

// request is what an error says of a call.
type request struct {
	op, key string
	action  string // the IAM action that it needs
}

// tries bounds how often a call is made that finds the server busy or the connection
// broken, the first time included.
const tries = 5

// call makes a call that may be repeated, with pauses while the server is busy.
func (s *Store) call(ctx context.Context, r request, do func(*s3.Client) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, r, do)
		if !errors.Is(err, driver.ErrUnavailable) {
			return err
		}
		if try == tries {
			return fmt.Errorf("%w (tried %d times)", err, tries)
		}
		if err := s.pause(ctx, r, try); err != nil {
			return err
		}
	}
}

func (s *Store) pause(ctx context.Context, r request, n int) error {
	timer := time.NewTimer(s.o.Backoff(n))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s %s: %w", r.op, s.name(r.key), ctx.Err())
	case <-timer.C:
		return nil
	}
}

// once makes one call, in the bucket's own region, and sorts its error.
func (s *Store) once(ctx context.Context, r request, do func(*s3.Client) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", r.op, s.name(r.key), err)
	}
	if s.creds != nil {
		if _, err := s.creds.Retrieve(ctx); err != nil && ctx.Err() == nil {
			return &driver.Error{Op: r.op, Name: s.name(r.key), Kind: driver.ErrDenied, Err: err,
				Hint: s.noCredentials()}
		}
	}
	client := s.current()
	err := do(client)
	if code, _ := codeOf(err); code == "RequestTimeTooSkewed" {
		err = do(client) // it has learned the server's clock from the answer
	}
	if err != nil && s.follow(ctx, client, err) {
		client = s.current()
		err = do(client)
	}
	if err != nil {
		return s.classify(ctx, r, client.Options().Region, err)
	}
	return nil
}

func (s *Store) current() *s3.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// follow moves to the region that an answer names and reports whether a repeat there
// makes sense. It needs no right to ask for the bucket's location.
func (s *Store) follow(ctx context.Context, client *s3.Client, err error) bool {
	region := regionOf(err)
	if region == "" && wrongRegion(err) {
		_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
		region = regionOf(err)
	}
	if region == "" || region == client.Options().Region {
		return false
	}
	s.o.Logger.Debug("the state store's bucket is in another region", "bucket", s.bucket, "region", region)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = s3.New(client.Options(), func(o *s3.Options) { o.Region = region })
	return true
}

// regionOf returns the region that an error's answer names, or "".
func regionOf(err error) string {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil {
		return ""
	}
	return answer.Response.Header.Get("X-Amz-Bucket-Region")
}

// Location implements driver.Located. Unless the URL names the region, the server is
// asked; where that is denied, the configured region stands.
func (s *Store) Location(ctx context.Context) (driver.Location, error) {
	if !s.explicitRegion {
		client := s.current()
		out, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
		switch {
		case ctx.Err() != nil:
			return driver.Location{}, fmt.Errorf("find the region of %s://%s: %w", s.scheme, s.bucket, ctx.Err())
		case err != nil:
			s.follow(ctx, client, err)
		case aws.ToString(out.BucketRegion) != "" && *out.BucketRegion != client.Options().Region:
			s.mu.Lock()
			s.client = s3.New(client.Options(), func(o *s3.Options) { o.Region = *out.BucketRegion })
			s.mu.Unlock()
		}
	}
	o := s.current().Options()
	return driver.Location{Scheme: s.scheme, Bucket: s.bucket, Prefix: s.prefix, Region: o.Region, Endpoint: aws.ToString(o.BaseEndpoint), KMSKey: s.kmsKey}, nil
}
