// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// apiError is a refusal as S3 words it.
type apiError struct {
	XMLName   xml.Name `xml:"Error"`
	Code      string
	Message   string
	Bucket    string `xml:"BucketName,omitempty"`
	Key       string `xml:",omitempty"`
	Condition string `xml:",omitempty"`
	Argument  string `xml:"ArgumentName,omitempty"`
	Region    string `xml:",omitempty"`
	Endpoint  string `xml:",omitempty"`
	RequestID string `xml:"RequestId"`
	HostID    string `xml:"HostId"`

	status int
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

func refuse(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func noSuchBucket(name string) *apiError {
	e := refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	e.Bucket = name
	return e
}

func noSuchKey(key string) *apiError {
	e := refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	e.Key = key
	return e
}

func noSuchVersion(key string) *apiError {
	e := refuse(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist.")
	e.Key = key
	return e
}

func noSuchUpload() *apiError {
	return refuse(http.StatusNotFound, "NoSuchUpload",
		"The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.")
}

func preconditionFailed(condition string) *apiError {
	e := refuse(http.StatusPreconditionFailed, "PreconditionFailed",
		"At least one of the pre-conditions you specified did not hold")
	e.Condition = condition
	return e
}

func invalidArgument(name, format string, args ...any) *apiError {
	e := refuse(http.StatusBadRequest, "InvalidArgument", format, args...)
	e.Argument = name
	return e
}

func malformedXML() *apiError {
	return refuse(http.StatusBadRequest, "MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema")
}

// fail writes an error answer, without a body on HEAD, and returns its code.
func (c *call) fail(err error) string {
	var e *apiError
	if !errors.As(err, &e) {
		c.opts.Log.Error("s3 request failed", "method", c.r.Method, "path", c.r.URL.Path, "err", err)
		e = refuse(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again.")
	}
	out := *e
	out.RequestID, out.HostID = c.id, c.id+c.id
	if out.Bucket == "" && out.Key == "" {
		out.Bucket = c.bucket
	}
	if e.status == http.StatusNotModified {
		c.w.WriteHeader(e.status)
		return e.Code
	}
	if err := c.writeXML(e.status, &out); err != nil {
		c.opts.Log.Error("s3 error answer", "err", err)
	}
	return e.Code
}

// writeXML answers with a document; a HEAD answer has none.
func (c *call) writeXML(status int, doc any) error {
	body, err := xml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	c.w.Header().Set("Content-Type", "application/xml")
	if c.r.Method == http.MethodHead {
		c.w.WriteHeader(status)
		return nil
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(len(xml.Header)+len(body)))
	c.w.WriteHeader(status)
	if _, err = c.w.Write(append([]byte(xml.Header), body...)); err != nil {
		c.opts.Log.Debug("s3 answer not delivered", "err", err)
	}
	return nil
}
