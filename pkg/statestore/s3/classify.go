// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// errBody marks an answer whose body did not arrive whole.
var errBody = errors.New("the answer broke off")

// classify sorts an error of the SDK into a driver's kind and says what to do.
func (s *Store) classify(ctx context.Context, r request, region string, err error) error {
	name := s.name(r.key)
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", r.op, name, ctx.Err())
	}
	e := &driver.Error{Op: r.op, Name: name, Kind: driver.ErrUnavailable, Err: cause(err)}
	code, status := codeOf(err)
	switch {
	case errors.Is(err, errBody):
		e.Kind = driver.ErrDamaged
	case code == "NoSuchBucket":
		e.Kind, e.Hint = driver.ErrNoStore, s.noBucket()
	case code == "InvalidBucketName", code == "InvalidRequest", code == "KeyTooLongError", code == "NotImplemented":
		e.Kind = driver.ErrInvalid
	case status == http.StatusPreconditionFailed:
		e.Kind, e.Err = driver.ErrConflict, nil
	case status == http.StatusNotFound && r.op != "list":
		e.Kind, e.Err = driver.ErrNotFound, nil
	case status == http.StatusNotFound:
		e.Kind, e.Hint = driver.ErrNoStore, s.noBucket()
	case wrongRegion(err):
		e.Kind, e.Hint = driver.ErrInvalid, "the bucket is in another region, which the server does not name; add ?region= to the store's URL"
	case status == http.StatusForbidden, status == http.StatusUnauthorized, expired(code):
		e.Kind, e.Hint = driver.ErrDenied, s.remedy(r, region, code, err)
	case status == 0:
		e.Hint = "the store cannot be reached; check the network, the endpoint and the region"
	}
	return e
}

// remedy says what a refused call lacks.
func (s *Store) remedy(r request, region, code string, err error) string {
	arn := "arn:" + partition(region) + ":s3:::" + s.bucket
	object := arn + "/" + s.prefix + r.key
	switch {
	case code == "RequestTimeTooSkewed":
		return "the clock of this machine is wrong"
	case expired(code):
		return "the credentials have expired; sign in again"
	case code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch":
		return "the server does not know these credentials"
	case strings.Contains(err.Error(), "kms:"):
		return "needs kms:GenerateDataKey and kms:Decrypt on the key that the bucket encrypts with"
	case s.scheme == spacesScheme:
		return "the Spaces access key needs to read, write and delete in the bucket " + s.bucket
	case r.action == "s3:ListBucket":
		return "needs s3:ListBucket on " + arn
	case r.op == "read":
		return "needs " + r.action + " on " + object + " (or there is no such object, and s3:ListBucket on " + arn + ", which would show that, is missing too)"
	}
	return "needs " + r.action + " on " + object
}

func (s *Store) noBucket() string {
	return fmt.Sprintf("there is no bucket %s; create it, with versioning on, or correct the store's URL", s.bucket)
}

func (s *Store) noCredentials() string {
	if s.scheme == spacesScheme {
		return "no Spaces access key was found; set " + spacesKey + " and " + spacesSecret
	}
	return "no AWS credentials were found; set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with `aws sso login`"
}

func expired(code string) bool {
	return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired"
}

// wrongRegion reports whether the server says that the bucket is elsewhere.
func wrongRegion(err error) bool {
	code, status := codeOf(err)
	return status == http.StatusMovedPermanently || code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException"
}

func codeOf(err error) (code string, status int) {
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	return code, status
}

// cause keeps the server's own words and drops the layers round them, which repeat the
// operation.
func cause(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		return &brief{api, err}
	}
	return err
}

// brief is an error in the server's own words.
type brief struct {
	api  smithy.APIError
	full error
}

func (b *brief) Error() string { return b.api.ErrorCode() + ": " + b.api.ErrorMessage() }

func (b *brief) Unwrap() error { return b.full }

// partition is the part of the cloud that ARNs of a region name.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}
