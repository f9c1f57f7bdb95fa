// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// nonceKey is the metadata by which a writer knows its own object again.
const nonceKey = "slipway-write"

// chunk is the size up to which an object goes in one request; larger ones are
// uploaded in resumable parts.
const chunk = 8 << 20

// anyGeneration is the condition of no condition; noGeneration that of a create, since
// absent objects count as generation 0.
const (
	anyGeneration int64 = -1
	noGeneration  int64 = 0
)

// What the server wants to be allowed: an overwrite is a delete and a create to it.
const (
	mayCreate  = "storage.objects.create"
	mayReplace = "storage.objects.create and storage.objects.delete"
	mayRead    = "storage.objects.get"
)

// Put implements driver.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := s.check(ctx, "write", key); err != nil {
		return "", err
	}
	var version string
	err := s.call(ctx, request{op: "write", key: key, permission: mayReplace}, func(c *storage.Service) error {
		var err error
		version, err = s.insert(ctx, c, key, data, newNonce(), anyGeneration)
		return err
	})
	return version, err
}

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
	return s.conditional(ctx, request{op: "create", key: key, permission: mayCreate}, data, noGeneration)
}

// PutIfMatch implements driver.Store.
func (s *Store) PutIfMatch(ctx context.Context, key string, data []byte, version string) (string, error) {
	if err := s.check(ctx, "replace", key); err != nil {
		return "", err
	}
	if err := s.prove(ctx); err != nil {
		return "", err
	}
	generation, ok := parseGeneration(version)
	if !ok {
		return "", &driver.Error{Op: "replace", Name: s.name(key), Kind: driver.ErrConflict}
	}
	return s.conditional(ctx, request{op: "replace", key: key, permission: mayReplace}, data, generation)
}

// parseGeneration returns the generation of a version; false for what no object has.
func parseGeneration(version string) (int64, bool) {
	generation, err := strconv.ParseInt(version, 10, 64)
	return generation, err == nil && generation > 0
}

// conditional writes under a condition. When an answer is lost, the repeat of a write
// that happened fails its own condition: the nonce tells that from a lost race.
func (s *Store) conditional(ctx context.Context, r request, data []byte, generation int64) (string, error) {
	nonce := newNonce()
	maybeWritten := false
	for try := 1; ; try++ {
		var version string
		err := s.once(ctx, r, func(c *storage.Service) error {
			var err error
			version, err = s.insert(ctx, c, r.key, data, nonce, generation)
			return err
		})
		switch {
		case err == nil:
			return version, nil
		case errors.Is(err, driver.ErrConflict) && maybeWritten:
			version, ours, rerr := s.written(ctx, r.key, nonce)
			if rerr != nil || ours {
				return version, rerr
			}
			return "", err
		case !errors.Is(err, driver.ErrUnavailable):
			return "", err
		case try == tries:
			return "", fmt.Errorf("%w (tried %d times)", err, tries)
		}
		maybeWritten = true
		if err := s.pause(ctx, r, try); err != nil {
			return "", err
		}
	}
}

// insert uploads an object once; the server compares both checksums before the object
// exists. Its repeats are the callers', who know what a lost answer means.
func (s *Store) insert(ctx context.Context, c *storage.Service, key string, data []byte, nonce string, generation int64) (string, error) {
	sums := sumsOf(data)
	object := &storage.Object{
		Name: s.prefix + key, ContentType: "application/octet-stream",
		// A public bucket would else serve an old object for an hour.
		CacheControl: "no-store",
		Crc32c:       sums.crc32c, Md5Hash: sums.md5,
		Metadata: map[string]string{nonceKey: nonce},
	}
	call := c.Objects.Insert(s.bucket, object).Context(ctx).
		Media(bytes.NewReader(data), googleapi.ContentType(object.ContentType), googleapi.ChunkSize(chunk)).
		WithRetry(nil, func(error) bool { return false })
	if s.kmsKey != "" {
		call.KmsKeyName(s.kmsKey)
	}
	if generation != anyGeneration {
		call.IfGenerationMatch(generation)
	}
	made, err := call.Do()
	if err != nil {
		return "", err
	}
	if made.Size != uint64(len(data)) || made.Crc32c != "" && made.Crc32c != sums.crc32c || made.Generation <= 0 {
		return "", fmt.Errorf("%w: %d bytes were sent, the server says that it has %d of checksum %q and generation %d", errBody, len(data), made.Size, made.Crc32c, made.Generation)
	}
	return strconv.FormatInt(made.Generation, 10), nil
}

// written reports whether the object is the one that was written with the nonce.
func (s *Store) written(ctx context.Context, key, nonce string) (version string, ours bool, err error) {
	object, err := s.stat(ctx, key)
	if errors.Is(err, driver.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return strconv.FormatInt(object.Generation, 10), object.Metadata[nonceKey] == nonce, nil
}

func (s *Store) stat(ctx context.Context, key string) (*storage.Object, error) {
	var object *storage.Object
	err := s.call(ctx, request{op: "read", key: key, permission: mayRead}, func(c *storage.Service) error {
		var err error
		object, err = c.Objects.Get(s.bucket, s.prefix+key).Fields("generation", "metadata").Context(ctx).Do()
		return err
	})
	return object, err
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

// DeleteIfMatch implements driver.ConditionalDeleter. On a server that ignores
// conditional deletes it compares and then deletes.
func (s *Store) DeleteIfMatch(ctx context.Context, key, version string) error {
	if err := s.check(ctx, "delete", key); err != nil {
		return err
	}
	deletes, err := s.proveDelete(ctx)
	if err != nil {
		return err
	}
	conflict := &driver.Error{Op: "delete", Name: s.name(key), Kind: driver.ErrConflict}
	generation, ok := parseGeneration(version)
	if !ok || deletes == ignored {
		object, err := s.stat(ctx, key)
		switch {
		case errors.Is(err, driver.ErrNotFound):
			return nil
		case err != nil:
			return err
		case !ok || object.Generation != generation:
			return conflict
		}
	}
	return s.deleteIf(ctx, key, generation)
}

func (s *Store) deleteIf(ctx context.Context, key string, generation int64) error {
	return s.call(ctx, request{op: "delete", key: key, permission: "storage.objects.delete"}, func(c *storage.Service) error {
		err := c.Objects.Delete(s.bucket, s.prefix+key).IfGenerationMatch(generation).Context(ctx).Do()
		if isAbsent(err) {
			return nil
		}
		return err
	})
}

// proveDelete finds out once whether the server honours conditional deletes, on the
// object that proves creates and that may be deleted.
func (s *Store) proveDelete(ctx context.Context) (condition, error) {
	s.provers.Lock()
	defer s.provers.Unlock()
	if s.deletes != unknown {
		return s.deletes, nil
	}
	if _, err := s.create(ctx, driver.ProbeKey, []byte("x")); err != nil && !errors.Is(err, driver.ErrConflict) {
		return unknown, fmt.Errorf("prove that conditional deletes work: %w", err)
	}
	err := s.deleteIf(ctx, driver.ProbeKey, math.MaxInt64)
	switch {
	case errors.Is(err, driver.ErrConflict):
		s.deletes = honoured
	case err == nil:
		s.deletes = ignored
		s.o.Logger.Warn("the state store's server ignores conditional deletes; Slipway compares before it deletes", "store", s.URL())
	default:
		return unknown, err
	}
	return s.deletes, nil
}
