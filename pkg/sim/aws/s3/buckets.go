// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"net"
	"net/http"
	"regexp"
	"strings"

	bolterrors "go.etcd.io/bbolt/errors"
)

func (s *store) allBuckets() ([]bucketRecord, error) {
	var out []bucketRecord
	err := s.view(func(t *tx) error {
		return t.Bucket(tableBuckets).ForEach(func(name, _ []byte) error {
			b, err := t.bucket(string(name))
			out = append(out, b)
			return err
		})
	})
	return out, err
}

func (s *store) bucket(name string) (bucketRecord, error) {
	var out bucketRecord
	err := s.view(func(t *tx) error {
		var err error
		out, err = t.bucket(name)
		return err
	})
	return out, err
}

func (s *store) changeBucket(name string, fn func(*bucketRecord) error) error {
	return s.update(func(t *tx) error {
		b, err := t.bucket(name)
		if err != nil {
			return err
		}
		if err := fn(&b); err != nil {
			return err
		}
		return t.putBucket(b)
	})
}

func (s *store) createBucket(b bucketRecord) error {
	return s.update(func(t *tx) error {
		if now, ok, err := get[bucketRecord](t, tableBuckets, b.Name); err != nil || ok {
			if err == nil && (now.Region != "us-east-1" || b.Region != "us-east-1") {
				err = refuse(http.StatusConflict, "BucketAlreadyOwnedByYou",
					"Your previous request to create the named bucket succeeded and you already own it.")
			}
			return err // in us-east-1 a second creation succeeds and changes nothing
		}
		b.Created = s.now().UTC().Truncate(1e6)
		if _, err := t.Bucket(tableObjects).CreateBucketIfNotExists([]byte(b.Name)); err != nil {
			return err
		}
		return t.putBucket(b)
	})
}

func (s *store) deleteBucket(name string) error {
	return s.update(func(t *tx) error {
		if _, err := t.bucket(name); err != nil {
			return err
		}
		if k, _ := t.objects(name).Cursor().First(); k != nil {
			return refuse(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty.")
		}
		err := t.Bucket(tableUploads).ForEach(func(id, _ []byte) error {
			u, ok, err := get[upload](t, tableUploads, string(id))
			if err != nil || !ok || u.Bucket != name {
				return err
			}
			return t.dropUpload(u, "")
		})
		if err != nil {
			return err
		}
		if err := t.Bucket(tableObjects).DeleteBucket([]byte(name)); err != nil && err != bolterrors.ErrBucketNotFound {
			return err
		}
		return t.Bucket(tableBuckets).Delete([]byte(name))
	})
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// validBucketName follows the naming rules of the S3 user guide. Labels may be
// short, which gofakes3 does not allow.
func validBucketName(name string) bool {
	if !bucketName.MatchString(name) || strings.Contains(name, "..") || net.ParseIP(name) != nil {
		return false
	}
	for _, reserved := range []string{"xn--", "sthree-", "amzn-s3-demo-"} {
		if strings.HasPrefix(name, reserved) {
			return false
		}
	}
	return !strings.HasSuffix(name, "-s3alias") && !strings.HasSuffix(name, "--ol-s3") && !strings.HasSuffix(name, "--x-s3")
}

type createBucketConfiguration struct {
	XMLName            xml.Name `xml:"CreateBucketConfiguration"`
	LocationConstraint string
	Tags               []tag `xml:"Tags>Tag"`
}

// createBucket makes a bucket where the constraint says; the constraint must
// be the endpoint's region, which only us-east-1 leaves out.
func (c *call) createBucket() error {
	if !validBucketName(c.bucket) {
		return refuse(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
	}
	if err := c.refuseACL(true); err != nil {
		return err
	}
	var cfg createBucketConfiguration
	body, err := c.document(false)
	if err != nil {
		return err
	}
	if len(body) > 0 {
		if err := strictXML(body, &cfg, "CreateBucketConfiguration"); err != nil {
			return err
		}
	}
	region, err := placement(c.opts.Region(c.r), cfg.LocationConstraint)
	if err != nil {
		return err
	}
	if err := checkTags(cfg.Tags, maxBucketTags); err != nil {
		return err
	}
	own := c.r.Header.Get("x-amz-object-ownership")
	if own == "" {
		own = "BucketOwnerEnforced"
	}
	if err := checkOwnership(own); err != nil {
		return err
	}
	rec := bucketRecord{Name: c.bucket, Region: region, Tags: cfg.Tags, Config: map[string]string{
		"ownershipControls": "<OwnershipControls><Rule><ObjectOwnership>" + own + "</ObjectOwnership></Rule></OwnershipControls>",
		"publicAccessBlock": "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true</IgnorePublicAcls>" +
			"<BlockPublicPolicy>true</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets></PublicAccessBlockConfiguration>",
		"encryption": "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>" +
			"</ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>",
	}}
	if err := c.store.createBucket(rec); err != nil {
		return err
	}
	c.w.Header().Set("Location", "/"+c.bucket)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// placement is the region of a new bucket: the endpoint's. The endpoint of
// us-east-1 alone makes buckets elsewhere, and is not named in a constraint.
func placement(endpoint, constraint string) (string, error) {
	if endpoint == "" {
		endpoint = "us-east-1"
	}
	switch {
	case constraint == "us-east-1":
		return "", refuse(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid")
	case endpoint == "us-east-1" && constraint != "":
		return constraint, nil
	case constraint == "" && endpoint != "us-east-1":
		return "", refuse(http.StatusBadRequest, "IllegalLocationConstraintException",
			"The unspecified location constraint is incompatible for the region specific endpoint this request was sent to.")
	case constraint != "" && constraint != endpoint:
		return "", refuse(http.StatusBadRequest, "IllegalLocationConstraintException",
			"The %s location constraint is incompatible for the region specific endpoint this request was sent to.", constraint)
	}
	return endpoint, nil
}

type locationConstraint struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
	Region  string   `xml:",chardata"`
}

// bucketLocation answers with no text for us-east-1.
func (c *call) bucketLocation() error {
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	if b.Region == "us-east-1" {
		b.Region = ""
	}
	return c.writeXML(http.StatusOK, locationConstraint{Region: b.Region})
}
