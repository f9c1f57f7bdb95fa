// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/restxml"
)

// body reads a request's content: chunks taken apart, hashes computed on the
// way, and at the end everything that the client declared compared.
type body struct {
	src       io.Reader
	want      int64 // declared length of the content
	size      int64
	md5       hash.Hash
	sha       hash.Hash // when the signature covers the content
	sum       hash.Hash
	algorithm string
	header    http.Header
	trailer   http.Header // filled by the chunk reader at the end
}

const maxPut = 5 << 30

// newBody judges the headers of a write. A checksum may be in a header or
// announced as a trailer; without one the server computes its own.
func newBody(r *http.Request) (*body, error) {
	b := &body{src: r.Body, md5: md5.New(), header: r.Header, want: r.ContentLength}
	payload := r.Header.Get("X-Amz-Content-Sha256")
	chunked := strings.HasPrefix(payload, "STREAMING-")
	if chunked {
		n, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil || n < 0 {
			return nil, refuse(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
		}
		b.want, b.trailer = n, http.Header{}
		b.src = &chunks{in: bufio.NewReader(r.Body), trailer: b.trailer}
	} else if len(payload) == 64 {
		b.sha = sha256.New()
	}
	if b.want < 0 {
		return nil, refuse(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	}
	if b.want > maxPut {
		return nil, refuse(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	}
	var err error
	if b.algorithm, _, err = checksumHeader(r.Header); err != nil {
		return nil, err
	}
	if name := r.Header.Get("X-Amz-Trailer"); name != "" && b.algorithm == "" {
		b.algorithm = strings.TrimPrefix(strings.ToUpper(name), "X-AMZ-CHECKSUM-")
	}
	if a := strings.ToUpper(r.Header.Get("X-Amz-Sdk-Checksum-Algorithm")); a != "" && b.algorithm != "" && a != b.algorithm {
		return nil, refuse(http.StatusBadRequest, "InvalidRequest", "Value for x-amz-sdk-checksum-algorithm header is invalid.")
	}
	if b.algorithm != "" && newHash(b.algorithm) == nil {
		return nil, refuse(http.StatusBadRequest, "InvalidRequest", "Value for x-amz-trailer header is invalid.")
	}
	b.sum = newHash(b.algorithm)
	if b.sum == nil {
		b.sum = newHash(defaultAlgorithm)
	}
	return b, nil
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.md5.Write(p[:n])
	b.sum.Write(p[:n])
	if b.sha != nil {
		b.sha.Write(p[:n])
	}
	b.size += int64(n)
	if b.size > b.want {
		return n, refuse(http.StatusBadRequest, "IncompleteBody", "The request body is longer than its declared length")
	}
	if errors.Is(err, io.EOF) {
		if verr := b.verify(); verr != nil {
			return n, verr
		}
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, incompleteBody()
	}
	return n, err
}

func incompleteBody() *apiError {
	return refuse(http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly")
}

func (b *body) verify() error {
	if b.size != b.want {
		return incompleteBody()
	}
	if b.sha != nil && hex.EncodeToString(b.sha.Sum(nil)) != b.header.Get("X-Amz-Content-Sha256") {
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	if values, ok := b.header["Content-Md5"]; ok {
		want, err := base64.StdEncoding.DecodeString(values[0])
		if err != nil || len(want) != md5.Size {
			return refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		if !bytes.Equal(want, b.md5.Sum(nil)) {
			return refuse(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")
		}
	}
	_, declared, err := checksumHeader(b.header)
	if err == nil && declared == "" && b.trailer != nil {
		_, declared, err = checksumHeader(b.trailer)
	}
	if err != nil {
		return err
	}
	if declared != "" && declared != encodeSum(b.sum) {
		return refuse(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", b.algorithm)
	}
	if declared == "" && b.header.Get("X-Amz-Trailer") != "" {
		return refuse(http.StatusBadRequest, "MalformedTrailerError", "The request contained trailing data that was not well-formed or did not conform to our published schema.")
	}
	return nil
}

// checksum is the content's checksum, after reading all of it.
func (b *body) checksum() checksum {
	c := checksum{Algorithm: b.algorithm, Value: encodeSum(b.sum), Type: "FULL_OBJECT"}
	if c.Algorithm == "" {
		c.Algorithm = defaultAlgorithm
	}
	return c
}

func (b *body) etag() string { return hex.EncodeToString(b.md5.Sum(nil)) }

// chunks takes the aws-chunked encoding apart:
// SIZE[;chunk-signature=...] CRLF DATA CRLF ... 0 CRLF [trailers] CRLF.
type chunks struct {
	in      *bufio.Reader
	trailer http.Header
	left    int64
	begun   bool
	ended   bool
}

func (c *chunks) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.in.Read(p)
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = incompleteBody()
	}
	return n, err
}

func (c *chunks) next() error {
	if c.begun {
		if line, err := c.line(); err != nil || line != "" {
			return incompleteBody()
		}
	}
	c.begun = true
	line, err := c.line()
	if err != nil {
		return incompleteBody()
	}
	size, _, _ := strings.Cut(line, ";")
	c.left, err = strconv.ParseInt(size, 16, 64)
	if err != nil || c.left < 0 {
		return incompleteBody()
	}
	if c.left > 0 {
		return nil
	}
	c.ended = true
	for {
		line, err := c.line()
		if line == "" || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return incompleteBody()
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			c.trailer.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
}

func (c *chunks) line() (string, error) {
	s, err := c.in.ReadString('\n')
	if len(s) > 4096 {
		return "", incompleteBody()
	}
	return strings.TrimRight(s, "\r\n"), err
}

const maxDocument = 2 << 20

// document reads a request's XML or JSON body, verified; must says that an
// integrity header has to be there.
func (c *call) document(must bool) ([]byte, error) {
	h := c.r.Header
	algorithm, _, err := checksumHeader(h)
	if err != nil {
		return nil, err
	}
	if must && algorithm == "" && h.Get("Content-Md5") == "" && h.Get("X-Amz-Trailer") == "" {
		return nil, refuse(http.StatusBadRequest, "InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	if c.r.ContentLength < 0 {
		raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxDocument))
		c.r.Body, c.r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		if err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	b, err := newBody(c.r)
	if err != nil {
		return nil, err
	}
	if b.want > maxDocument {
		return nil, malformedXML()
	}
	return io.ReadAll(b)
}

// strictXML reads a document into out, refusing what out has no field for.
func strictXML(raw []byte, out any, root string) error {
	if err := restxml.Decode(raw, out, root); err != nil {
		return malformedXML()
	}
	return nil
}
