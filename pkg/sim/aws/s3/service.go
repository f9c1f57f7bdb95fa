// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"slices"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

var (
	_ wire.Service  = (*Server)(nil)
	_ wire.Streamer = (*Server)(nil)
)

// Name is the signing name.
func (s *Server) Name() string { return "s3" }

// Operations lists what is implemented, sorted.
func (s *Server) Operations() []string { return slices.Sorted(maps.Keys(operations)) }

// Route names the operation; an unknown one is refused when it is served.
func (s *Server) Route(c *wire.Call) *wire.Error {
	one := s.newCall(nil, c.Request, c.RequestID)
	c.Action = one.operation()
	c.Params = url.Values{}
	if one.bucket != "" {
		c.Params.Set("Bucket", one.bucket)
	}
	if one.key != "" {
		c.Params.Set("Key", one.key)
	}
	for name, values := range one.query {
		c.Params[name] = values
	}
	for _, name := range []string{"If-Match", "If-None-Match", "X-Amz-Copy-Source"} {
		if v := c.Request.Header.Get(name); v != "" {
			c.Params.Set(name, v)
		}
	}
	return nil
}

// Serve is never called: S3 streams.
func (s *Server) Serve(c *wire.Call) *wire.Response {
	return s.Refuse(c, &wire.Error{Code: "NotImplemented", Message: "S3 answers as a stream", Status: http.StatusNotImplemented})
}

// Refuse words an error as S3 does.
func (s *Server) Refuse(c *wire.Call, e *wire.Error) *wire.Response {
	out := &wire.Response{Status: e.HTTPStatus(), Header: http.Header{"Content-Type": {"application/xml"}}, Code: e.Code}
	if c.Request.Method == http.MethodHead {
		return out
	}
	doc := apiError{Code: e.Code, Message: e.Message, RequestID: c.RequestID, HostID: c.RequestID}
	if body, err := xml.Marshal(&doc); err == nil {
		out.Body = append([]byte(xml.Header), body...)
	}
	return out
}

// ServeStream answers a call that the front door let in, under its request id.
// Who signs nothing may learn a bucket's region, and read what its policy opens to
// everybody.
func (s *Server) ServeStream(w http.ResponseWriter, c *wire.Call) string {
	one := s.newCall(w, c.Request, c.RequestID)
	one.begin()
	var err error
	if c.Principal.ARN == "" && !one.public(c) {
		if err = one.region(one.operation()); err == nil {
			err = refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
		}
	} else {
		err = one.serve()
	}
	if err == nil {
		return one.code
	}
	return one.fail(err)
}

// Reset removes all buckets.
func (s *Server) Reset() error {
	err := s.store.update(func(t *tx) error {
		for _, table := range [][]byte{tableBuckets, tableObjects, tableUploads} {
			if err := t.DeleteBucket(table); err != nil && err != bolterrors.ErrBucketNotFound {
				return err
			}
			if _, err := t.CreateBucket(table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.store.sweep()
}
