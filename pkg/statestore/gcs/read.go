// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// bodyTries is how often an object is asked for whose content breaks off.
const bodyTries = 3

// Get implements driver.Store. A connection that ends early, and a content that is not
// of the announced checksum, are tried again before the object is called damaged.
func (s *Store) Get(ctx context.Context, key string) (driver.Object, error) {
	return s.get(ctx, key, "")
}

// GetHead implements driver.HeadGetter.
func (s *Store) GetHead(ctx context.Context, key string, n int) ([]byte, error) {
	o, err := s.get(ctx, key, fmt.Sprintf("bytes=0-%d", n-1))
	var answer *googleapi.Error
	if errors.As(err, &answer) && answer.Code == http.StatusRequestedRangeNotSatisfiable {
		return nil, nil // the object is empty
	}
	return o.Data[:min(n, len(o.Data))], err // some servers give all
}

// get reads the bytes of a range, or all when it is "".
func (s *Store) get(ctx context.Context, key, bytes string) (driver.Object, error) {
	if err := s.check(ctx, "read", key); err != nil {
		return driver.Object{}, err
	}
	var object driver.Object
	err := s.call(ctx, request{op: "read", key: key, permission: mayRead}, func(c *storage.Service) error {
		var err error
		for range bodyTries {
			call := c.Objects.Get(s.bucket, s.prefix+key).Context(ctx)
			if bytes != "" {
				call.Header().Set("Range", bytes)
			}
			var answer *http.Response
			if answer, err = call.Download(); err != nil {
				return err
			}
			object, err = readAnswer(answer)
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

func readAnswer(answer *http.Response) (driver.Object, error) {
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return driver.Object{}, errors.Join(errBody, err)
	}
	if answer.ContentLength >= 0 && int64(len(data)) != answer.ContentLength {
		return driver.Object{}, fmt.Errorf("%w: %d of %d bytes arrived", errBody, len(data), answer.ContentLength)
	}
	o := driver.Object{Data: data, Version: answer.Header.Get("X-Goog-Generation")}
	if _, ok := parseGeneration(o.Version); !ok {
		return driver.Object{}, fmt.Errorf("%w: it names no generation, but %q", errBody, o.Version)
	}
	if modified := answer.Header.Get("Last-Modified"); modified != "" {
		if o.Modified, err = http.ParseTime(modified); err != nil {
			if o.Modified, err = time.Parse(time.RFC3339Nano, modified); err != nil {
				return driver.Object{}, fmt.Errorf("%w: the time %q cannot be read", errBody, modified)
			}
		}
	}
	if answer.StatusCode == http.StatusOK { // a part has no checksum of its own
		if err := sumsOf(data).verify(answer.Header.Values("X-Goog-Hash")); err != nil {
			return driver.Object{}, err
		}
	}
	return o, nil
}

// sums are an object's checksums as the server writes them: base64, the CRC with the
// Castagnoli polynomial and big-endian.
type sums struct{ crc32c, md5 string }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumsOf(data []byte) sums {
	crc := binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, castagnoli))
	digest := md5.Sum(data)
	return sums{base64.StdEncoding.EncodeToString(crc), base64.StdEncoding.EncodeToString(digest[:])}
}

// verify compares with "crc32c=...,md5=...", in one header or several. Composed objects
// have no MD5.
func (s sums) verify(headers []string) error {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, want, _ := strings.Cut(strings.TrimSpace(part), "=")
			got := map[string]string{"crc32c": s.crc32c, "md5": s.md5}[name]
			if got != "" && want != "" && got != want {
				return fmt.Errorf("%w: its %s is %s, not the announced %s", errBody, name, got, want)
			}
		}
	}
	return nil
}
