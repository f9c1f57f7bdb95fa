// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

const spacesScheme = "do"

// The variables of a Spaces store. Without an access key of its own the AWS ones are
// read, which is how Spaces are used with AWS's tools.
const (
	spacesKey      = "SPACES_ACCESS_KEY_ID"
	spacesSecret   = "SPACES_SECRET_ACCESS_KEY"
	spacesEndpoint = "DO_SPACES_ENDPOINT"
)

// spacesHost is a host of Spaces: [BUCKET.]REGION[.cdn].digitaloceanspaces.com.
var spacesHost = regexp.MustCompile(`^(?:([a-z0-9][a-z0-9.-]*)\.)?([a-z]{3}\d)(\.cdn)?\.digitaloceanspaces\.com$`)

// OpenSpaces opens the store of a URL such as do://bucket/prefix?region=nyc3. The region
// may also be in the bucket's address, as the control panel shows it
// (do://bucket.nyc3.digitaloceanspaces.com/prefix), or in the parameter endpoint, with
// or without "https://". It makes no request.
func OpenSpaces(ctx context.Context, u *url.URL, o Options) (*Store, error) {
	bucket, p, err := parseSpaces(u)
	if err != nil {
		return nil, &driver.Error{Op: "open", Name: "do://" + u.Host + u.Path, Kind: driver.ErrInvalid, Hint: err.Error()}
	}
	if id, secret := os.Getenv(spacesKey), os.Getenv(spacesSecret); o.Credentials == nil && id != "" && secret != "" {
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, "")
	}
	query := url.Values{"region": {p.region}}
	if given := u.Query().Get("endpoint"); given != "" {
		query.Set("endpoint", p.endpoint)
	}
	return connected(ctx, &Store{scheme: spacesScheme, bucket: bucket, query: query.Encode()}, p, o)
}

// parseSpaces returns the bucket and where it is. The errors say what to write.
func parseSpaces(u *url.URL) (string, params, error) {
	const form = "a Spaces store is written do://BUCKET/PREFIX?region=nyc3, without credentials"
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Scheme != spacesScheme || u.Host == "" || u.User != nil || u.Port() != "" {
		return "", params{}, fmt.Errorf("%s", form)
	}
	for name, values := range query {
		if name != "region" && name != "endpoint" || len(values) != 1 || values[0] == "" {
			return "", params{}, fmt.Errorf("parameter %q is unknown, empty or repeated; known are region and endpoint", name)
		}
	}
	bucket, path := u.Host, strings.Trim(u.Path, "/")
	p := params{region: query.Get("region"), endpoint: cmp.Or(query.Get("endpoint"), os.Getenv(spacesEndpoint))}
	if h := spacesHost.FindStringSubmatch(u.Host); h != nil {
		if bucket = h[1]; bucket == "" { // do://nyc3.digitaloceanspaces.com/bucket/prefix
			bucket, path, _ = strings.Cut(path, "/")
		}
		if h[3] != "" || bucket == "" || p.region != "" && p.region != h[2] {
			return "", params{}, fmt.Errorf("%s; %s names no bucket, another region, or a cache of it", form, u.Host)
		}
		p.region = h[2]
	}
	if p.endpoint != "" {
		if err := p.spacesEndpoint(bucket); err != nil {
			return "", params{}, err
		}
	}
	if p.region == "" {
		return "", params{}, fmt.Errorf("the region is missing; %s", form)
	}
	p.endpoint = cmp.Or(p.endpoint, "https://"+p.region+".digitaloceanspaces.com")
	if path = strings.Trim(path, "/"); path != "" {
		if err := driver.CheckKey(path); err != nil {
			return "", params{}, err
		}
		p.prefix = path + "/"
	}
	return bucket, p, nil
}

// spacesEndpoint brings an endpoint to the form https://HOST, from what people copy:
// without a scheme, or with the bucket in its name or path.
func (p *params) spacesEndpoint(bucket string) error {
	text := p.endpoint
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	e, err := url.Parse(text)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" {
		return fmt.Errorf("endpoint must be a host such as nyc3.digitaloceanspaces.com, without credentials")
	}
	if path := strings.Trim(e.Path, "/"); path != "" && path != bucket {
		return fmt.Errorf("endpoint must be a host without a path; the bucket and the prefix stand in do://BUCKET/PREFIX")
	}
	if h := spacesHost.FindStringSubmatch(e.Host); h != nil {
		switch {
		case h[3] != "":
			return fmt.Errorf("endpoint is a cache, which would show old objects; write %s.digitaloceanspaces.com", h[2])
		case h[1] != "" && h[1] != bucket:
			return fmt.Errorf("endpoint is of the bucket %s, and the URL of %s", h[1], bucket)
		case p.region != "" && p.region != h[2]:
			return fmt.Errorf("endpoint is in the region %s, and the URL says %s", h[2], p.region)
		}
		p.region, e.Host = h[2], h[2]+".digitaloceanspaces.com"
	}
	p.endpoint = e.Scheme + "://" + e.Host
	return nil
}
