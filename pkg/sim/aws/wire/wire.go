// SPDX-License-Identifier: Apache-2.0

// Package wire speaks AWS's query protocols for the simulated services: strict parameters in, XML out, and the forms of errors; every service under pkg/sim/aws uses it.
package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Principal is who signed a request.
type Principal struct {
	ARN       string // arn:aws:iam::ACCOUNT:user/NAME, arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION
	UserID    string // AIDA... or AROA...:SESSION
	Account   string
	AccessKey string
}

// Call is one request on its way through a service.
type Call struct {
	Service   string // signing name: ec2, autoscaling, elasticloadbalancing, iam, sts, route53, s3
	Region    string // of the credential scope
	Account   string
	RequestID string
	Principal Principal
	Now       time.Time // the world's clock
	Request   *http.Request
	Body      []byte     // whole, empty for services that stream
	Action    string     // set by Route: the operation's name
	Params    url.Values // set by Route: what the log and fault rules see
	Settings  *Settings  // nil for work that the clock started
	Checks    []Check    // set by the authorizer: the rights that the call needs, judged
	Public    bool       // set by the authorizer: a resource's policy allows it to everybody
}

// Settings are the simulator's options that services look at.
type Settings struct {
	PageSize int            // upper bound of every page, 0 for the service's own
	Quotas   map[string]int // by quota name; a service has its own default where absent
}

// Quota returns the limit called name, def when it is not set.
func (c *Call) Quota(name string, def int) int {
	if c.Settings != nil {
		if n, ok := c.Settings.Quotas[name]; ok {
			return n
		}
	}
	return def
}

// Error is a refusal as AWS words it.
type Error struct {
	Code    string
	Message string
	Status  int // HTTP status, 400 when 0
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus is the status that the error travels with.
func (e *Error) HTTPStatus() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// Errorf makes a refusal with status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Response is a whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Code   string // error code for the log, "" when fine
}

// Service is one AWS service of the simulator. Route and Serve run inside the
// world's lock.
type Service interface {
	Name() string                         // signing name
	Operations() []string                 // what it implements
	Route(c *Call) *Error                 // names c.Action and c.Params
	Serve(c *Call) *Response              // runs the operation
	Refuse(c *Call, err *Error) *Response // an error in the service's own form
}

// Settler is a Service with state that moves with the clock; Settle is called
// inside the world's lock before each request to any service.
type Settler interface{ Settle(now time.Time) }

// Streamer is a Service that reads bodies and writes answers itself, outside
// the world's lock (S3). ServeStream returns the log's error code.
type Streamer interface {
	ServeStream(w http.ResponseWriter, c *Call) (code string)
}
