// SPDX-License-Identifier: Apache-2.0

// Package sigv4 reads and verifies AWS Signature Version 4, in headers or in a presigned URL, for the simulated AWS.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Faults of a signature, for errors.Is.
var (
	ErrMalformed = errors.New("malformed signature")
	ErrMismatch  = errors.New("the signature does not match")
	ErrExpired   = errors.New("signature expired or not yet valid")
)

// Skew is how far a signature's time may be from the clock.
const Skew = 15 * time.Minute

const algorithm = "AWS4-HMAC-SHA256"
const timeLayout = "20060102T150405Z"

// Signature is what a request says of its signer.
type Signature struct {
	AccessKey, Date, Region, Service string
	SignedHeaders                    []string
	Signature                        string
	Time                             time.Time
	Expires                          time.Duration // of a presigned URL
	Presigned                        bool
	Token                            string // session token, "" without
}

// Parse finds the signature of a request; nil without error means that the
// request carries none.
func Parse(r *http.Request) (*Signature, error) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		return parseHeader(r, auth)
	}
	if q := r.URL.Query(); q.Has("X-Amz-Algorithm") || q.Has("X-Amz-Signature") {
		return parseQuery(q)
	}
	return nil, nil
}

func parseHeader(r *http.Request, auth string) (*Signature, error) {
	rest, ok := strings.CutPrefix(auth, algorithm+" ")
	if !ok {
		return nil, fmt.Errorf("%w: the algorithm must be %s", ErrMalformed, algorithm)
	}
	parts := map[string]string{}
	for p := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		parts[k] = v
	}
	s := &Signature{Signature: parts["Signature"], Token: r.Header.Get("X-Amz-Security-Token")}
	date := r.Header.Get("X-Amz-Date")
	return s, s.fill(parts["Credential"], parts["SignedHeaders"], date)
}

func parseQuery(q url.Values) (*Signature, error) {
	if q.Get("X-Amz-Algorithm") != algorithm {
		return nil, fmt.Errorf("%w: the algorithm must be %s", ErrMalformed, algorithm)
	}
	s := &Signature{Signature: q.Get("X-Amz-Signature"), Token: q.Get("X-Amz-Security-Token"), Presigned: true}
	seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
	if err != nil || seconds < 0 || seconds > 7*24*3600 {
		if q.Has("X-Amz-Expires") {
			return nil, fmt.Errorf("%w: X-Amz-Expires must be between 0 and 604800 seconds", ErrMalformed)
		}
		seconds = int(Skew.Seconds())
	}
	s.Expires = time.Duration(seconds) * time.Second
	return s, s.fill(q.Get("X-Amz-Credential"), q.Get("X-Amz-SignedHeaders"), q.Get("X-Amz-Date"))
}

func (s *Signature) fill(credential, headers, date string) error {
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[4] != "aws4_request" {
		return fmt.Errorf("%w: Credential must be KEY/DATE/REGION/SERVICE/aws4_request", ErrMalformed)
	}
	s.AccessKey, s.Date, s.Region, s.Service = scope[0], scope[1], scope[2], scope[3]
	s.SignedHeaders = strings.Split(headers, ";")
	if !slices.Contains(s.SignedHeaders, "host") {
		return fmt.Errorf("%w: host must be among the signed headers", ErrMalformed)
	}
	t, err := time.Parse(timeLayout, date)
	if err != nil {
		return fmt.Errorf("%w: X-Amz-Date must have the form %s", ErrMalformed, timeLayout)
	}
	if !strings.HasPrefix(date, s.Date) {
		return fmt.Errorf("%w: the credential's date is not the request's", ErrMalformed)
	}
	s.Time = t
	return nil
}

// Verify checks the signature of r against the secret, at the time now. For a
// service other than S3 body is the whole body; for S3 it is nil and the hash
// that the request declares is taken, which the service must check itself.
func (s *Signature) Verify(r *http.Request, body []byte, secret string, now time.Time) error {
	if d := now.Sub(s.Time); d < -Skew || (!s.Presigned && d > Skew) || (s.Presigned && d > s.Expires) {
		return fmt.Errorf("%w: signed at %s, it is %s", ErrExpired, s.Time.Format(timeLayout), now.UTC().Format(timeLayout))
	}
	hash, err := s.payloadHash(r, body)
	if err != nil {
		return err
	}
	canonical := strings.Join([]string{
		r.Method, s.canonicalPath(r.URL), canonicalQuery(r.URL), s.canonicalHeaders(r),
		strings.Join(s.SignedHeaders, ";"), hash,
	}, "\n")
	digest := sha256.Sum256([]byte(canonical))
	scope := strings.Join([]string{s.Date, s.Region, s.Service, "aws4_request"}, "/")
	toSign := strings.Join([]string{algorithm, s.Time.Format(timeLayout), scope, hex.EncodeToString(digest[:])}, "\n")
	key := mac([]byte("AWS4"+secret), s.Date)
	for _, part := range []string{s.Region, s.Service, "aws4_request"} {
		key = mac(key, part)
	}
	want := hex.EncodeToString(mac(key, toSign))
	if subtle.ConstantTimeCompare([]byte(want), []byte(s.Signature)) != 1 {
		return ErrMismatch
	}
	return nil
}

func (s *Signature) payloadHash(r *http.Request, body []byte) (string, error) {
	declared := r.Header.Get("X-Amz-Content-Sha256")
	if s.Service == "s3" {
		if s.Presigned && declared == "" {
			return "UNSIGNED-PAYLOAD", nil
		}
		if declared == "" {
			return "", fmt.Errorf("%w: X-Amz-Content-Sha256 is missing", ErrMalformed)
		}
		return declared, nil
	}
	sum := sha256.Sum256(body)
	actual := hex.EncodeToString(sum[:])
	if declared != "" && declared != actual {
		return "", fmt.Errorf("%w: X-Amz-Content-Sha256 is not the body's hash", ErrMismatch)
	}
	return actual, nil
}

// canonicalPath is the path as sent, encoded once more except for S3.
func (s *Signature) canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if s.Service == "s3" {
		return escape(u.Path, true)
	}
	return escape(path, true)
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for k, values := range u.Query() {
		if k == "X-Amz-Signature" {
			continue
		}
		for _, v := range values {
			pairs = append(pairs, escape(k, false)+"="+escape(v, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func (s *Signature) canonicalHeaders(r *http.Request) string {
	var b strings.Builder
	for _, h := range s.SignedHeaders {
		value := strings.Join(r.Header.Values(h), ",")
		switch h {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		b.WriteString(h + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return b.String()
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

func escape(s string, path bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(unreserved, c) >= 0 || (path && c == '/') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if path && s == "" {
		return "/"
	}
	return b.String()
}

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}
