// SPDX-License-Identifier: Apache-2.0

// Package s3 is the state-store driver for Amazon S3 and servers that speak its
// protocol and honour conditional writes: s3://bucket/prefix, and do://bucket/prefix for
// DigitalOcean's Spaces. Package statestore/open opens it; credentials, profile, region
// and endpoint come from the environment and files that every AWS tool reads.
package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// Options replace what the environment says; the zero value is usable.
type Options struct {
	Logger      *slog.Logger
	HTTPClient  *http.Client            // nil means one with time limits
	Credentials aws.CredentialsProvider // nil means the environment's
	// Backoff returns how long to wait before repeat n, from 1, of a call that found the
	// server busy; nil means growing, jittered pauses.
	Backoff func(n int) time.Duration
}

// Store is a store in a bucket.
type Store struct {
	scheme         string // "s3" or "do"
	bucket, prefix string // prefix is "" or ends in "/"
	query          string // of the URL, as it was given
	kmsKey         string
	explicitRegion bool
	o              Options

	mu     sync.Mutex // guards client, which following a bucket to its region replaces
	client *s3.Client
	creds  aws.CredentialsProvider

	provers sync.Mutex // one proof at a time; guards proved and replaces
	proved  bool       // conditional creates are honoured
	replace condition
}

// condition is what is known of the server's conditional replaces.
type condition int

const (
	unknown condition = iota
	honoured
	ignored
)

var (
	_ driver.Store      = (*Store)(nil)
	_ driver.HeadGetter = (*Store)(nil)
	_ driver.Located    = (*Store)(nil)
)

// Open opens the store of a URL such as
// s3://bucket/prefix?region=eu-west-1&endpoint=https://s3.example.com&profile=ops&kms_key=ARN,
// where all parameters are optional. It makes no request.
func Open(ctx context.Context, u *url.URL, o Options) (*Store, error) {
	p, err := parse(u)
	if err != nil {
		return nil, err
	}
	return connected(ctx, &Store{scheme: "s3", bucket: u.Host, query: u.RawQuery}, p, o)
}

// connected completes a store, of either scheme.
func connected(ctx context.Context, s *Store, p params, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Backoff == nil {
		o.Backoff = backoff
	}
	s.prefix, s.kmsKey, s.explicitRegion, s.o = p.prefix, p.kmsKey, p.region != "", o
	var err error
	if s.client, s.creds, err = connect(ctx, p, o); err != nil {
		return nil, &driver.Error{Op: "open", Name: s.URL(), Kind: driver.ErrInvalid, Err: err}
	}
	return s, nil
}

type params struct {
	prefix, region, endpoint, profile, kmsKey string
}

func parse(u *url.URL) (params, error) {
	bad := func(hint string) (params, error) {
		return params{}, &driver.Error{Op: "open", Name: "s3://" + u.Host + u.Path, Kind: driver.ErrInvalid, Hint: hint}
	}
	if u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Port() != "" {
		return bad("an S3 store is written s3://BUCKET/PREFIX, without credentials")
	}
	p := params{prefix: strings.Trim(u.Path, "/")}
	if p.prefix != "" {
		if err := driver.CheckKey(p.prefix); err != nil {
			return bad(err.Error())
		}
		p.prefix += "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("the parameters cannot be parsed")
	}
	known := map[string]*string{"region": &p.region, "endpoint": &p.endpoint, "profile": &p.profile, "kms_key": &p.kmsKey}
	for name, values := range query {
		field, ok := known[name]
		if !ok || len(values) != 1 || values[0] == "" {
			return bad(fmt.Sprintf("parameter %q is unknown, empty or repeated; known are region, endpoint, profile and kms_key", name))
		}
		*field = values[0]
	}
	if p.endpoint != "" {
		e, err := url.Parse(p.endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil {
			return bad("endpoint must be an http or https URL without credentials")
		}
	}
	return p, nil
}

// backoff returns 50-100 ms before the first repeat, doubling up to two seconds.
func backoff(n int) time.Duration {
	limit := min(2*time.Second, 100*time.Millisecond<<min(n-1, 10))
	return limit/2 + mrand.N(limit/2)
}

// URL returns the URL that the store was opened with.
func (s *Store) URL() string {
	u := s.scheme + "://" + s.bucket
	if s.prefix != "" {
		u += "/" + (&url.URL{Path: strings.TrimSuffix(s.prefix, "/")}).EscapedPath()
	}
	if s.query != "" {
		u += "?" + s.query
	}
	return u
}

// Put implements driver.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := s.check(ctx, "write", key); err != nil {
		return "", err
	}
	var version string
	err := s.call(ctx, request{op: "write", key: key, action: "s3:PutObject"}, func(c *s3.Client) error {
		out, err := c.PutObject(ctx, s.input(key, data))
		if err == nil {
			version = aws.ToString(out.ETag)
		}
		return err
	})
	return version, err
}

func (s *Store) input(key string, data []byte) *s3.PutObjectInput {
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key), Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data)))}
	if s.kmsKey != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &s.kmsKey
	}
	return in
}

// Delete implements driver.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.check(ctx, "delete", key); err != nil {
		return err
	}
	err := s.call(ctx, request{op: "delete", key: key, action: "s3:DeleteObject"}, func(c *s3.Client) error {
		_, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
		return err
	})
	if errors.Is(err, driver.ErrNotFound) {
		return nil
	}
	return err
}

// List implements driver.Store.
func (s *Store) List(ctx context.Context, prefix string, o driver.ListOptions) (driver.Page, error) {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
	if o.Limit > 0 && o.Limit < driver.MaxPage {
		in.MaxKeys = aws.Int32(int32(min(o.Limit, math.MaxInt32)))
	}
	if o.Shallow {
		in.Delimiter = aws.String("/")
	}
	if o.Token != "" {
		in.ContinuationToken = &o.Token
	}
	var p driver.Page
	err := s.call(ctx, request{op: "list", key: prefix, action: "s3:ListBucket"}, func(c *s3.Client) error {
		out, err := c.ListObjectsV2(ctx, in)
		if err != nil {
			return err
		}
		p = driver.Page{}
		for _, object := range out.Contents {
			key := strings.TrimPrefix(aws.ToString(object.Key), s.prefix)
			if driver.CheckKey(key) != nil {
				continue // made by somebody else, such as a console's folder marker
			}
			p.Objects = append(p.Objects, driver.Info{Key: key, Size: aws.ToInt64(object.Size), Modified: aws.ToTime(object.LastModified)})
		}
		for _, folder := range out.CommonPrefixes {
			p.Prefixes = append(p.Prefixes, strings.TrimPrefix(aws.ToString(folder.Prefix), s.prefix))
		}
		if aws.ToBool(out.IsTruncated) {
			p.Next = aws.ToString(out.NextContinuationToken)
		}
		return nil
	})
	slices.Sort(p.Prefixes)
	return p, err
}

func (s *Store) check(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, s.name(key), err)
	}
	return driver.CheckKey(key)
}

func (s *Store) name(key string) string { return s.scheme + "://" + s.bucket + "/" + s.prefix + key }

func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand stops the program instead
	return hex.EncodeToString(b[:])
}
