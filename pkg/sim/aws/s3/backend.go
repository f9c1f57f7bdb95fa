// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/johannesboyne/gofakes3"
)

// headerETag carries an ETag that is not an MD5 (a multipart object's) past
// gofakes3, which can only print hashes.
const headerETag = "X-Slipway-Etag"

// backend lets gofakes3 serve listings, reads and plain deletes out of a store.
type backend struct{ store *store }

var (
	_ gofakes3.Backend          = backend{}
	_ gofakes3.VersionedBackend = backend{}
)

// translate turns our refusals into those that gofakes3 answers rightly.
func translate(err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case "NoSuchBucket":
		return gofakes3.BucketNotFound(e.Bucket)
	case "NoSuchKey":
		return gofakes3.KeyNotFound(e.Key)
	}
	return gofakes3.ErrorMessage(gofakes3.ErrorCode(e.Code), e.Message)
}

func (b backend) ListBuckets() ([]gofakes3.BucketInfo, error) {
	all, err := b.store.allBuckets()
	out := make([]gofakes3.BucketInfo, 0, len(all))
	for _, r := range all {
		out = append(out, gofakes3.BucketInfo{Name: r.Name, CreationDate: gofakes3.NewContentTime(r.Created)})
	}
	return out, err
}

func (b backend) ListBucket(name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	p := pageOf{after: page.Marker, limit: int(page.MaxKeys)}
	if prefix != nil {
		p.prefix, p.delimiter = prefix.Prefix, prefix.Delimiter
	}
	got, err := b.store.list(name, p)
	if err != nil {
		return nil, translate(err)
	}
	out := gofakes3.NewObjectList()
	out.IsTruncated, out.NextMarker = got.truncated, got.next
	for _, e := range got.entries {
		if e.prefix {
			out.AddPrefix(e.key)
			continue
		}
		v := e.versions[0]
		out.Add(&gofakes3.Content{
			Key: e.key, LastModified: gofakes3.NewContentTime(v.Modified), ETag: quote(v.ETag), Size: v.Size,
			StorageClass: gofakes3.StorageStandard,
		})
	}
	return out, nil
}

func (b backend) CreateBucket(name string) error {
	return translate(b.store.createBucket(bucketRecord{Name: name}))
}

func (b backend) BucketExists(name string) (bool, error) {
	_, err := b.store.bucket(name)
	var e *apiError
	if errors.As(err, &e) {
		return false, nil
	}
	return err == nil, err
}

func (b backend) DeleteBucket(name string) error { return translate(b.store.deleteBucket(name)) }

// ForceDeleteBucket is what another server's header asks for; S3 has no such
// thing, so a bucket with objects stays.
func (b backend) ForceDeleteBucket(name string) error { return b.DeleteBucket(name) }

func (b backend) GetObject(bucket, key string, rnge *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	return b.read(bucket, key, "", rnge, true)
}

func (b backend) HeadObject(bucket, key string) (*gofakes3.Object, error) {
	return b.read(bucket, key, "", nil, false)
}

func (b backend) GetObjectVersion(bucket, key string, id gofakes3.VersionID, rnge *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	return b.read(bucket, key, string(id), rnge, true)
}

func (b backend) HeadObjectVersion(bucket, key string, id gofakes3.VersionID) (*gofakes3.Object, error) {
	return b.read(bucket, key, string(id), nil, false)
}

// read finds an object and opens its body. A body that an overwrite removed in
// between makes it look again.
func (b backend) read(bucket, key, id string, rnge *gofakes3.ObjectRangeRequest, body bool) (*gofakes3.Object, error) {
	if id == nullVersion {
		id = "null"
	}
	for {
		v, err := b.store.object(bucket, key, id)
		if err != nil {
			return nil, translate(err)
		}
		out, err := b.open(key, v, rnge, body)
		if errors.Is(err, fs.ErrNotExist) {
			if again, aerr := b.store.object(bucket, key, id); aerr != nil || again.Blob != v.Blob {
				continue
			}
		}
		return out, err
	}
}

func (b backend) open(key string, v version, rnge *gofakes3.ObjectRangeRequest, body bool) (*gofakes3.Object, error) {
	out := &gofakes3.Object{
		Name: key, Size: v.Size, Contents: io.NopCloser(strings.NewReader("")),
		Metadata: map[string]string{headerETag: v.ETag, "Last-Modified": v.Modified.UTC().Format(http.TimeFormat)},
	}
	for name, value := range v.Headers {
		out.Metadata[name] = value
	}
	if v.ID != "null" {
		out.VersionID = gofakes3.VersionID(v.ID)
	}
	if v.Checksum.Value != "" {
		out.Metadata[v.Checksum.header()] = v.Checksum.Value
		out.Metadata["X-Amz-Checksum-Type"] = v.Checksum.Type
	}
	if len(v.Tags) > 0 {
		out.Metadata["X-Amz-Tagging-Count"] = tagCount(v.Tags)
	}
	if v.Parts > 0 {
		out.Metadata["X-Amz-Mp-Parts-Count"] = strconv.Itoa(v.Parts)
	}
	out.Hash, _ = hex.DecodeString(v.ETag)
	var err error
	if out.Range, err = rnge.Range(v.Size); err != nil || !body || v.Blob == "" {
		return out, err
	}
	f, err := b.store.openBlob(v.Blob)
	if err != nil {
		return nil, err
	}
	out.Contents = f
	if out.Range != nil {
		if _, err := f.Seek(out.Range.Start, io.SeekStart); err != nil {
			f.Close()
			return nil, err
		}
		out.Contents = limited{io.LimitReader(f, out.Range.Length), f}
	}
	return out, nil
}

// limited is part of a file.
type limited struct {
	io.Reader
	file *os.File
}

func (l limited) Close() error { return l.file.Close() }

func (b backend) DeleteObject(bucket, key string) (gofakes3.ObjectDeleteResult, error) {
	return b.remove(bucket, key, "")
}

func (b backend) DeleteObjectVersion(bucket, key string, id gofakes3.VersionID) (gofakes3.ObjectDeleteResult, error) {
	return b.remove(bucket, key, string(id))
}

func (b backend) remove(bucket, key, id string) (gofakes3.ObjectDeleteResult, error) {
	d, err := b.store.deleteObject(bucket, key, id, conditions{})
	return gofakes3.ObjectDeleteResult{IsDeleteMarker: d.marker, VersionID: gofakes3.VersionID(d.version)}, translate(err)
}

// PutObject stores what a browser form uploads; all other writes are served in
// front of gofakes3.
func (b backend) PutObject(bucket, key string, meta map[string]string, body io.Reader, _ int64, cond *gofakes3.PutConditions) (gofakes3.PutObjectResult, error) {
	sum := md5.New()
	blob, size, err := b.store.writeBlob(io.TeeReader(body, sum))
	if err != nil {
		return gofakes3.PutObjectResult{}, err
	}
	v := version{Blob: blob, Size: size, ETag: hex.EncodeToString(sum.Sum(nil)), Headers: storedHeaders(meta)}
	var c conditions
	if cond != nil && cond.IfMatch != nil {
		c.ifMatch = *cond.IfMatch
	}
	if cond != nil && cond.IfNoneMatch != nil {
		c.ifNoneMatch = *cond.IfNoneMatch
	}
	v, err = b.store.putObject(bucket, key, v, c)
	if err != nil {
		b.store.dropBlob(blob)
		return gofakes3.PutObjectResult{}, translate(err)
	}
	return gofakes3.PutObjectResult{VersionID: gofakes3.VersionID(v.ID)}, nil
}

func (b backend) DeleteMulti(bucket string, keys ...string) (gofakes3.MultiDeleteResult, error) {
	ids := make([]gofakes3.ObjectID, len(keys))
	for i, key := range keys {
		ids[i].Key = key
	}
	return b.DeleteMultiVersions(bucket, ids...)
}

func (b backend) DeleteMultiVersions(bucket string, ids ...gofakes3.ObjectID) (gofakes3.MultiDeleteResult, error) {
	var out gofakes3.MultiDeleteResult
	for _, id := range ids {
		if _, err := b.remove(bucket, id.Key, id.VersionID); err != nil {
			return out, err
		}
		out.Deleted = append(out.Deleted, id)
	}
	return out, nil
}

func (b backend) CopyObject(srcBucket, srcKey, dstBucket, dstKey string, meta map[string]string) (gofakes3.CopyObjectResult, error) {
	return gofakes3.CopyObject(b, srcBucket, srcKey, dstBucket, dstKey, meta)
}

func (b backend) VersioningConfiguration(bucket string) (gofakes3.VersioningConfiguration, error) {
	r, err := b.store.bucket(bucket)
	return gofakes3.VersioningConfiguration{Status: gofakes3.VersioningStatus(r.Versioning)}, translate(err)
}

func (b backend) SetVersioningConfiguration(bucket string, v gofakes3.VersioningConfiguration) error {
	return translate(b.store.changeBucket(bucket, func(r *bucketRecord) error {
		r.Versioning = string(v.Status)
		return nil
	}))
}

// ListBucketVersions is served in front of gofakes3, whose document has
// another root than S3's.
func (b backend) ListBucketVersions(string, *gofakes3.Prefix, *gofakes3.ListBucketVersionsPage) (*gofakes3.ListBucketVersionsResult, error) {
	return nil, gofakes3.ErrNotImplemented
}

func quote(etag string) string { return `"` + etag + `"` }
