// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// S3's limits on multipart uploads.
const (
	minPart  = 5 << 20
	maxParts = 10000
)

type initiated struct {
	XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
	Bucket   string
	Key      string
	UploadID string `xml:"UploadId"`
}

func (c *call) createUpload() error {
	if err := c.refuseACL(false); err != nil {
		return err
	}
	u := upload{ID: randomID(32), Bucket: c.bucket, Key: c.key, Started: c.opts.Now().UTC(), Parts: map[int]part{},
		Algorithm: strings.ToUpper(c.r.Header.Get("X-Amz-Checksum-Algorithm")), Type: c.r.Header.Get("X-Amz-Checksum-Type")}
	var err error
	if u.Headers, err = c.newHeaders(); err != nil {
		return err
	}
	if u.Tags, err = headerTags(c.r.Header); err != nil {
		return err
	}
	if err := u.settleType(); err != nil {
		return err
	}
	err = c.store.update(func(t *tx) error {
		if _, err := t.bucket(c.bucket); err != nil {
			return err
		}
		return put(t.Bucket(tableUploads), u.ID, u)
	})
	if err != nil {
		return err
	}
	c.answerWritten(version{Headers: u.Headers})
	c.w.Header().Del("ETag")
	if u.Algorithm != "" {
		c.w.Header().Set("X-Amz-Checksum-Algorithm", u.Algorithm)
		c.w.Header().Set("X-Amz-Checksum-Type", u.Type)
	}
	return c.writeXML(http.StatusOK, initiated{Bucket: c.bucket, Key: c.key, UploadID: u.ID})
}

// settleType fills the checksum type that goes with an algorithm.
func (u *upload) settleType() error {
	if u.Algorithm == "" {
		if u.Type != "" {
			return refuse(http.StatusBadRequest, "InvalidRequest", "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.")
		}
		return nil
	}
	if newHash(u.Algorithm) == nil {
		return refuse(http.StatusBadRequest, "InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
	}
	composite := strings.HasPrefix(u.Algorithm, "SHA")
	switch {
	case u.Type == "" && u.Algorithm == "CRC64NVME":
		u.Type = "FULL_OBJECT"
	case u.Type == "":
		u.Type = "COMPOSITE"
	case u.Type == "FULL_OBJECT" && composite, u.Type == "COMPOSITE" && u.Algorithm == "CRC64NVME":
		return refuse(http.StatusBadRequest, "InvalidRequest", "The %s checksum type cannot be used with the %s checksum algorithm.", u.Type, strings.ToLower(u.Algorithm))
	}
	return nil
}

// partOf reads which upload and which part a request is about.
func (c *call) partOf() (upload, int, error) {
	n, err := strconv.Atoi(c.q("partNumber"))
	if err != nil || n < 1 || n > maxParts {
		return upload{}, 0, invalidArgument("partNumber", "Part number must be an integer between 1 and %d, inclusive", maxParts)
	}
	u, err := c.findUpload()
	return u, n, err
}

func (c *call) findUpload() (upload, error) {
	var u upload
	err := c.store.view(func(t *tx) error {
		var err error
		u, err = t.upload(c.bucket, c.key, c.q("uploadId"))
		return err
	})
	return u, err
}

func (c *call) uploadPart() error {
	u, n, err := c.partOf()
	if err != nil {
		return err
	}
	p, err := c.storePart(u, n, c.r)
	if err != nil {
		return err
	}
	v := version{ETag: p.ETag, Headers: u.Headers, Checksum: p.Checksum}
	c.answerWritten(v)
	c.w.Header().Del("X-Amz-Checksum-Type")
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// storePart reads a part's content and adds it to its upload, in place of an
// older one of that number.
func (c *call) storePart(u upload, n int, r *http.Request) (part, error) {
	b, err := newBody(r)
	if err != nil {
		return part{}, err
	}
	switch {
	case b.algorithm == "" && u.Algorithm != "":
		b.algorithm, b.sum = u.Algorithm, newHash(u.Algorithm)
	case u.Algorithm != "" && b.algorithm != u.Algorithm:
		return part{}, refuse(http.StatusBadRequest, "InvalidRequest", "Checksum Type mismatch occurred, expected checksum Type: %s, actual checksum Type: %s",
			strings.ToLower(u.Algorithm), strings.ToLower(b.algorithm))
	}
	p := part{Modified: c.opts.Now().UTC()}
	if p.Blob, p.Size, err = c.store.writeBlob(b); err != nil {
		return part{}, err
	}
	p.ETag, p.Checksum = b.etag(), b.checksum()
	err = c.store.update(func(t *tx) error {
		u, err := t.upload(u.Bucket, u.Key, u.ID)
		if err != nil {
			return err
		}
		if old, ok := u.Parts[n]; ok {
			t.dead = append(t.dead, old.Blob)
		}
		u.Parts[n] = p
		return put(t.Bucket(tableUploads), u.ID, u)
	})
	if err != nil {
		c.store.dropBlob(p.Blob)
	}
	return p, err
}

type completeRequest struct {
	XMLName xml.Name `xml:"CompleteMultipartUpload"`
	Part    []completePart
}

type completePart struct {
	ETag       string
	PartNumber int
	checksumFields
}

type completed struct {
	XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
	Location     string
	Bucket       string
	Key          string
	ETag         string
	ChecksumType string `xml:",omitempty"`
	checksumFields
}

// completeUpload joins the parts that the request lists, in order, into one
// object, if the conditions hold at that moment.
func (c *call) completeUpload() error {
	cond, err := writeConditions(c.r.Header)
	if err != nil {
		return err
	}
	raw, err := c.document(false)
	if err != nil {
		return err
	}
	var in completeRequest
	if err := strictXML(raw, &in, "CompleteMultipartUpload"); err != nil {
		return err
	}
	u, err := c.findUpload()
	if err != nil {
		return err
	}
	parts, err := u.chosen(in.Part)
	if err != nil {
		return err
	}
	if err := c.early(cond); err != nil {
		return err
	}
	v, err := c.join(u, parts)
	if err != nil {
		return err
	}
	err = c.store.update(func(t *tx) error {
		u, err := t.upload(c.bucket, c.key, u.ID)
		if err != nil {
			return err
		}
		if v, err = t.addVersion(c.bucket, c.key, v, cond, c.opts.Now()); err != nil {
			return err
		}
		return t.dropUpload(u, v.Blob)
	})
	if err != nil {
		c.store.dropBlob(v.Blob)
		return err
	}
	c.answerWritten(v)
	for _, name := range []string{"ETag", v.Checksum.header(), "X-Amz-Checksum-Type"} {
		c.w.Header().Del(name)
	}
	return c.writeXML(http.StatusOK, completed{Location: "http://" + c.r.Host + c.r.URL.Path, Bucket: c.bucket, Key: c.key,
		ETag: quote(v.ETag), ChecksumType: v.Checksum.Type, checksumFields: fieldsOf(v.Checksum)})
}

// chosen checks a list of parts against those uploaded.
func (u upload) chosen(list []completePart) ([]part, error) {
	if len(list) == 0 {
		return nil, malformedXML()
	}
	if !slices.IsSortedFunc(list, func(a, b completePart) int { return a.PartNumber - b.PartNumber }) {
		return nil, refuse(http.StatusBadRequest, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.")
	}
	var out []part
	for i, want := range list {
		p, ok := u.Parts[want.PartNumber]
		if !ok || strings.Trim(want.ETag, `"`) != p.ETag || want.checksumFields != (checksumFields{}) && want.checksumFields != fieldsOf(p.Checksum) {
			return nil, refuse(http.StatusBadRequest, "InvalidPart",
				"One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.")
		}
		if p.Size < minPart && i < len(list)-1 {
			return nil, refuse(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
		}
		out = append(out, p)
	}
	return out, nil
}

// join makes the object of the parts: one body, the ETag of ETags, and the
// checksum over the whole or over the parts' checksums.
func (c *call) join(u upload, parts []part) (version, error) {
	v := version{Headers: u.Headers, Tags: u.Tags, Parts: len(parts)}
	alg := u.Algorithm
	if alg == "" {
		alg = defaultAlgorithm
	}
	etags, whole, sums := md5.New(), newHash(alg), newHash(alg)
	var blobs []string
	for _, p := range parts {
		raw, err := hex.DecodeString(p.ETag)
		if err != nil {
			return v, err
		}
		etags.Write(raw)
		if raw, err = base64.StdEncoding.DecodeString(p.Checksum.Value); err != nil {
			return v, err
		}
		sums.Write(raw)
		blobs = append(blobs, p.Blob)
	}
	all, err := c.store.concat(blobs)
	if err != nil {
		return v, err
	}
	defer all.Close()
	if v.Blob, v.Size, err = c.store.writeBlob(io.TeeReader(all, whole)); err != nil {
		return v, err
	}
	count := "-" + strconv.Itoa(len(parts))
	v.ETag = hex.EncodeToString(etags.Sum(nil)) + count
	v.Checksum = checksum{Algorithm: alg, Value: encodeSum(whole), Type: "FULL_OBJECT"}
	if u.Type == "COMPOSITE" {
		v.Checksum = checksum{Algorithm: alg, Value: encodeSum(sums) + count, Type: u.Type}
	}
	return v, nil
}

// dropUpload forgets an upload and its bodies, except the one that became an object.
func (t *tx) dropUpload(u upload, keep string) error {
	for _, p := range u.Parts {
		if p.Blob != keep {
			t.dead = append(t.dead, p.Blob)
		}
	}
	return t.Bucket(tableUploads).Delete([]byte(u.ID))
}

func (c *call) abortUpload() error {
	err := c.store.update(func(t *tx) error {
		u, err := t.upload(c.bucket, c.key, c.q("uploadId"))
		if err != nil {
			return err
		}
		return t.dropUpload(u, "")
	})
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}
