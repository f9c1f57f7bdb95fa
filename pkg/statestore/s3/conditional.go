// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// nonceKey is the metadata by which a writer knows its own object again.
const nonceKey = "slipway-write"

// staleVersion is the version of no object.
const staleVersion = `"00000000000000000000000000000000"`

// PutIfAbsent implements driver.Store. The first call proves that the server honours
// conditions.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) (string, error) {
	if err := s.check(ctx, "create", key); err != nil {
		return "", err
	}
	if err := s.prove(ctx); err != nil {
		return "", err
	}
	return s.create(ctx, key, data)
}

func (s *Store) create(ctx context.Context, key string, data []byte) (string, error) {
	return s.conditional(ctx, "create", key, data, func(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") })
}

// PutIfMatch implements driver.Store. On a server that ignores conditional replaces it
// compares and then writes.
func (s *Store) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	if err := s.check(ctx, "replace", key); err != nil {
		return "", err
	}
	if err := s.prove(ctx); err != nil {
		return "", err
	}
	replaces, err := s.proveReplace(ctx)
	if err != nil {
		return "", err
	}
	if replaces == honoured {
		return s.replaceIf(ctx, key, data, version)
	}
	old, err := s.Get(ctx, key)
	if errors.Is(err, driver.ErrNotFound) || err == nil && old.Version != version {
		return "", &driver.Error{Op: "replace", Name: s.name(key), Kind: driver.ErrConflict}
	}
	if err != nil {
		return "", err
	}
	return s.Put(ctx, key, data)
}

func (s *Store) replaceIf(ctx context.Context, key string, data []byte, version string) (string, error) {
	v, err := s.conditional(ctx, "replace", key, data, func(in *s3.PutObjectInput) { in.IfMatch = &version })
	if errors.Is(err, driver.ErrNotFound) {
		return "", &driver.Error{Op: "replace", Name: s.name(key), Kind: driver.ErrConflict}
	}
	return v, err
}

// conditional writes under a condition. When an answer is lost, the repeat of a write
// that happened fails its own condition: the nonce tells that from a lost race.
func (s *Store) conditional(ctx context.Context, op, key string, data []byte, condition func(*s3.PutObjectInput)) (string, error) {
	nonce := newNonce()
	maybeWritten := false
	for try := 1; ; try++ {
		version, err := s.putOnce(ctx, op, key, data, nonce, condition)
		switch {
		case err == nil:
			return version, nil
		case errors.Is(err, driver.ErrConflict) && maybeWritten:
			version, ours, herr := s.written(ctx, key, nonce)
			if herr != nil || ours {
				return version, herr
			}
			return "", err
		case !errors.Is(err, driver.ErrUnavailable):
			return "", err
		case try == tries:
			return "", fmt.Errorf("%w (tried %d times)", err, tries)
		}
		maybeWritten = true
		if err := s.pause(ctx, request{op: op, key: key}, try); err != nil {
			return "", err
		}
	}
}

func (s *Store) putOnce(ctx context.Context, op, key string, data []byte, nonce string, condition func(*s3.PutObjectInput)) (string, error) {
	var version string
	err := s.once(ctx, request{op: op, key: key, action: "s3:PutObject"}, func(c *s3.Client) error {
		in := s.input(key, data)
		in.Metadata = map[string]string{nonceKey: nonce}
		condition(in)
		out, err := c.PutObject(ctx, in)
		if err == nil {
			version = aws.ToString(out.ETag)
		}
		return err
	})
	return version, err
}

// written reports whether the object is the one that was written with the nonce.
func (s *Store) written(ctx context.Context, key, nonce string) (version string, ours bool, err error) {
	err = s.call(ctx, request{op: "read", key: key, action: "s3:GetObject"}, func(c *s3.Client) error {
		out, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
		if err == nil {
			version, ours = aws.ToString(out.ETag), out.Metadata[nonceKey] == nonce
		}
		return err
	})
	if errors.Is(err, driver.ErrNotFound) {
		return "", false, nil
	}
	return version, ours, err
}

// prove shows once that the server honours conditional creates.
func (s *Store) prove(ctx context.Context) error {
	s.provers.Lock()
	defer s.provers.Unlock()
	if s.proved {
		return nil
	}
	err := driver.ProveCreate(ctx, s.URL(), func(ctx context.Context, key string, data []byte) error {
		_, err := s.create(ctx, key, data)
		return err
	})
	s.proved = err == nil
	return err
}

// proveReplace finds out once whether the server honours conditional replaces.
func (s *Store) proveReplace(ctx context.Context) (condition, error) {
	s.provers.Lock()
	defer s.provers.Unlock()
	if s.replace != unknown {
		return s.replace, nil
	}
	_, err := s.replaceIf(ctx, driver.ProbeKey, []byte("x"), staleVersion)
	switch {
	case errors.Is(err, driver.ErrConflict):
		s.replace = honoured
	case err == nil:
		s.replace = ignored
		s.o.Logger.Warn("the state store's server ignores conditional replaces; Slipway compares before it writes", "store", s.URL())
	default:
		return unknown, err
	}
	return s.replace, nil
}
