// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type partList struct {
	XMLName              xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
	Bucket, Key          string
	UploadID             string `xml:"UploadId"`
	PartNumberMarker     int
	NextPartNumberMarker int
	MaxParts             int
	IsTruncated          bool
	StorageClass         string
	ChecksumAlgorithm    string `xml:",omitempty"`
	ChecksumType         string `xml:",omitempty"`
	Part                 []listedPart
}

type listedPart struct {
	PartNumber   int
	LastModified string
	ETag         string
	Size         int64
	checksumFields
}

// pageSize reads a max-... parameter: 1,000 at most and by default.
func (c *call) pageSize(name string) (int, error) {
	raw := c.q(name)
	if raw == "" {
		return 1000, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 0 {
		return 0, invalidArgument(name, "Provided %s not an integer or within integer range", name)
	}
	return min(n, 1000), nil
}

func (c *call) listParts() error {
	u, err := c.findUpload()
	if err != nil {
		return err
	}
	limit, err := c.pageSize("max-parts")
	if err != nil {
		return err
	}
	after, _ := strconv.Atoi(c.q("part-number-marker"))
	out := partList{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, PartNumberMarker: after, MaxParts: limit,
		StorageClass: "STANDARD", ChecksumAlgorithm: u.Algorithm, ChecksumType: u.Type}
	for _, n := range slices.Sorted(maps.Keys(u.Parts)) {
		if n <= after {
			continue
		}
		if len(out.Part) == limit {
			out.IsTruncated = true
			break
		}
		p := u.Parts[n]
		row := listedPart{PartNumber: n, LastModified: stamp(p.Modified), ETag: quote(p.ETag), Size: p.Size}
		if u.Algorithm != "" {
			row.checksumFields = fieldsOf(p.Checksum)
		}
		out.Part, out.NextPartNumberMarker = append(out.Part, row), n
	}
	return c.writeXML(http.StatusOK, out)
}

type uploadList struct {
	XMLName            xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
	Bucket             string
	KeyMarker          string
	UploadIDMarker     string `xml:"UploadIdMarker"`
	NextKeyMarker      string `xml:",omitempty"`
	NextUploadIDMarker string `xml:"NextUploadIdMarker,omitempty"`
	Prefix             string `xml:",omitempty"`
	MaxUploads         int
	IsTruncated        bool
	Upload             []listedUpload
}

type listedUpload struct {
	Key               string
	UploadID          string `xml:"UploadId"`
	StorageClass      string
	Initiated         string
	ChecksumAlgorithm string `xml:",omitempty"`
	ChecksumType      string `xml:",omitempty"`
}

func (c *call) listUploads() error {
	limit, err := c.pageSize("max-uploads")
	if err != nil {
		return err
	}
	if c.q("delimiter") != "" {
		return refuse(http.StatusNotImplemented, "NotImplemented", "Listing uploads with a delimiter is not implemented")
	}
	all, err := c.store.uploads(c.bucket)
	if err != nil {
		return err
	}
	out := uploadList{Bucket: c.bucket, KeyMarker: c.q("key-marker"), UploadIDMarker: c.q("upload-id-marker"), Prefix: c.q("prefix"), MaxUploads: limit}
	for _, u := range all {
		after := u.Key > out.KeyMarker || u.Key == out.KeyMarker && out.UploadIDMarker != "" && u.ID > out.UploadIDMarker
		if !strings.HasPrefix(u.Key, out.Prefix) || !after {
			continue
		}
		if len(out.Upload) == limit {
			out.IsTruncated = true
			break
		}
		out.NextKeyMarker, out.NextUploadIDMarker = u.Key, u.ID
		out.Upload = append(out.Upload, listedUpload{Key: u.Key, UploadID: u.ID, StorageClass: "STANDARD",
			Initiated: stamp(u.Started), ChecksumAlgorithm: u.Algorithm, ChecksumType: u.Type})
	}
	if !out.IsTruncated {
		out.NextKeyMarker, out.NextUploadIDMarker = "", ""
	}
	return c.writeXML(http.StatusOK, out)
}

// uploads are a bucket's uploads in progress, by key and id.
func (s *store) uploads(bucket string) ([]upload, error) {
	var out []upload
	err := s.view(func(t *tx) error {
		if _, err := t.bucket(bucket); err != nil {
			return err
		}
		return t.Bucket(tableUploads).ForEach(func(id, _ []byte) error {
			u, _, err := get[upload](t, tableUploads, string(id))
			if u.Bucket == bucket {
				out = append(out, u)
			}
			return err
		})
	})
	slices.SortFunc(out, func(a, b upload) int {
		if a.Key != b.Key {
			return strings.Compare(a.Key, b.Key)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, err
}
