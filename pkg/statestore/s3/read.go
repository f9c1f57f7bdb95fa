// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// bodyTries is how often an object is asked for whose body breaks off.
const bodyTries = 3

// Get implements driver.Store. A connection that ends early is tried again before the
// object is called damaged.
func (s *Store) Get(ctx context.Context, key string) (driver.Object, error) {
	return s.get(ctx, key, "")
}

// GetHead implements driver.HeadGetter.
func (s *Store) GetHead(ctx context.Context, key string, n int) ([]byte, error) {
	o, err := s.get(ctx, key, fmt.Sprintf("bytes=0-%d", n-1))
	if _, status := codeOf(err); status == http.StatusRequestedRangeNotSatisfiable {
		return nil, nil // the object is empty
	}
	return o.Data[:min(n, len(o.Data))], err // some servers give all
}

// get reads the bytes of a range, or all when it is "".
func (s *Store) get(ctx context.Context, key, bytes string) (driver.Object, error) {
	if err := s.check(ctx, "read", key); err != nil {
		return driver.Object{}, err
	}
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)}
	if bytes != "" {
		in.Range = &bytes
	}
	var object driver.Object
	err := s.call(ctx, request{op: "read", key: key, action: "s3:GetObject"}, func(c *s3.Client) error {
		var err error
		for range bodyTries {
			var out *s3.GetObjectOutput
			if out, err = c.GetObject(ctx, in); err != nil {
				return err
			}
			object.Data, err = readBody(out)
			object.Version, object.Modified = aws.ToString(out.ETag), aws.ToTime(out.LastModified)
			if err == nil || ctx.Err() != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return driver.Object{}, err
	}
	return object, nil
}

func readBody(out *s3.GetObjectOutput) ([]byte, error) {
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, errors.Join(errBody, err)
	}
	if out.ContentLength != nil && int64(len(data)) != *out.ContentLength {
		return nil, fmt.Errorf("%w: %d of %d bytes arrived", errBody, len(data), *out.ContentLength)
	}
	return data, nil
}
