// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// classifier gives every error of every client its class, in one place: no call can
// forget it.
type classifier struct {
	who   *caller
	pages *pages500
}

// pages500 counts, by operation, the answers of 500 with a page that is no answer of AWS.
// An endpoint that stumbled answers the next time; one that lacks the operation never
// does, and is not asked for minutes.
type pages500 struct {
	mu   sync.Mutex
	seen map[string]int
}

// again reports whether a write that was answered with a page is worth another try.
func (p *pages500) again(operation string) bool {
	const most = 2
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.seen[operation]++
	return p.seen[operation] <= most
}

func (c classifier) add(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("slipway.Classify", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, md, err := next.HandleInitialize(ctx, in)
		if err != nil {
			call := call{service: awsmiddleware.GetServiceID(ctx), operation: middleware.GetOperationName(ctx)}
			if isPage(err) && !reads(call.operation) && c.pages.again(call.action()) {
				err = tasks.Retry(err)
			} else {
				err = classify(call, c.who.String(), err)
			}
		}
		return out, md, err
	}), middleware.Before)
}

// call is one operation of one service.
type call struct{ service, operation string }

// action is the right that a call needs, as policies spell it.
func (c call) action() string {
	prefix, ok := map[string]string{
		"Auto Scaling": "autoscaling", "Elastic Load Balancing v2": "elasticloadbalancing", "Route 53": "route53",
	}[c.service]
	if !ok {
		prefix = strings.ToLower(strings.ReplaceAll(c.service, " ", ""))
	}
	return prefix + ":" + c.operation
}

var (
	throttledCodes = []string{
		"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "RequestThrottled",
		"RequestThrottledException", "TooManyRequestsException", "PriorRequestNotComplete", "SlowDown",
		"EC2ThrottledException", "BandwidthLimitExceeded",
	}
	passingCodes = []string{
		"InternalError", "InternalFailure", "InternalServiceError", "ServiceUnavailable", "Unavailable",
		"RequestTimeout", "RequestTimeoutException", "ConcurrentModification", "ConcurrentModificationException",
		"EntityTemporarilyUnmodifiable", "ScalingActivityInProgress", "ConflictException",
	}
	busyCodes = []string{
		"DependencyViolation", "IncorrectState", "IncorrectInstanceState", "InvalidGroup.InUse", "InvalidIPAddress.InUse",
		"ResourceInUse", "ResourceInUseFault", "DeleteConflict", "VolumeInUse", "Gateway.NotAttached",
	}
	deniedCodes = []string{
		"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "UnauthorizedAccess", "OptInRequired",
	}
	loginCodes = []string{
		"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch",
		"ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "RequestExpired",
	}
)

// classify says what the engine does with an error of a call: try again, wait for
// something else, or stop; and it adds what a person needs to know.
func classify(c call, who string, err error) error {
	if errors.Is(err, cloudup.ErrNoCredentials) || errors.Is(err, context.Canceled) {
		return err
	}
	code, status := codeOf(err), statusOf(err)
	switch {
	case slices.Contains(throttledCodes, code), slices.Contains(passingCodes, code):
		return tasks.Retry(err)
	case slices.Contains(busyCodes, code):
		return tasks.Wait(err)
	case slices.Contains(deniedCodes, code):
		return fmt.Errorf("%s may not %s: %w", who, c.action(), err)
	case slices.Contains(loginCodes, code):
		return fmt.Errorf("AWS refuses the credentials: %w", err)
	case strings.HasSuffix(code, "LimitExceeded"), strings.HasSuffix(code, "LimitExceededException"), strings.HasPrefix(code, "TooMany"):
		return fmt.Errorf("a limit of the account is reached; ask for more in Service Quotas (%s): %w", c.service, err)
	case missing(code) && !reads(c.operation):
		// A write that names an object made a moment ago: not every part of AWS has
		// heard of it yet.
		return tasks.Retry(err)
	case isPage(err):
		return fmt.Errorf("%s answered 500 with a page that is no answer of AWS: %w", c.action(), err)
	case status >= 500 || status == http.StatusTooManyRequests || network(err):
		return tasks.Retry(err)
	}
	return err
}

// isPage reports whether an endpoint answered 500 without an error of AWS's.
func isPage(err error) bool {
	return codeOf(err) == "" && statusOf(err) == http.StatusInternalServerError
}

// codeOf returns the error code that AWS gave, or "".
func codeOf(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() == "UnknownError" {
		return ""
	}
	return api.ErrorCode()
}

// statusOf returns the HTTP status of the answer, or 0 when there was none.
func statusOf(err error) int {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

// network reports whether no answer came at all.
func network(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, context.DeadlineExceeded)
}

// missing reports whether a code says that an object does not exist.
func missing(code string) bool {
	return strings.HasSuffix(code, ".NotFound") || strings.HasSuffix(code, "NotFound") ||
		strings.HasSuffix(code, "NotFoundException") || strings.HasPrefix(code, "NoSuch") ||
		strings.HasSuffix(code, ".Unknown")
}

// gone reports whether an error says that the object is not there (any more).
func gone(err error) bool { return err != nil && missing(codeOf(err)) }

// is reports whether AWS gave one of these codes.
func is(err error, codes ...string) bool { return err != nil && slices.Contains(codes, codeOf(err)) }

// ifThere turns "it is not there" into success, for deletions.
func ifThere(err error) error {
	if gone(err) {
		return nil
	}
	return err
}
