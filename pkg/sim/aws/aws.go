// SPDX-License-Identifier: Apache-2.0

// Package aws is the front door of the simulated AWS: it finds the service that a request is for, checks the signature, applies faults and throttling, logs the call and runs it; pkg/sim serves it.
package aws

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/sigv4"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

// The simulated account and its built-in operator, who may do everything. The
// secret is published on purpose: it opens nothing but a simulator.
const (
	Account           = "111122223333"
	OperatorAccessKey = "AKIDSLIPWAYSIM000000"
	OperatorSecret    = "slipway-simulator-published-secret-00000"
)

// Operator is the built-in principal.
var Operator = wire.Principal{
	ARN: "arn:aws:iam::" + Account + ":user/slipway-operator", UserID: "AIDASLIPWAYSIM0000000",
	Account: Account, AccessKey: OperatorAccessKey,
}

// maxBody bounds the body of a call to a service that does not stream.
const maxBody = 4 << 20

// Credentials knows access keys beyond the operator's (IAM users, STS sessions).
// Lookup runs inside the world's lock; token is the session token or "".
type Credentials interface {
	Lookup(accessKey string, now time.Time) (p wire.Principal, secret, token string, ok bool)
}

// Authorizer says whether a call is allowed; it runs inside the world's lock,
// after Route. nil means yes. The operator is above all: its calls are only looked
// at, for the log.
type Authorizer interface {
	Authorize(c *wire.Call, aboveAll bool) *wire.Error
}

// Options of a Cloud; zero values serve.
type Options struct {
	Logger *slog.Logger
	Clock  func() time.Time // of the world; time.Now when nil
	Wall   func() time.Time // against which signatures are checked; time.Now when nil
	Rand   io.Reader        // of request ids; crypto/rand when nil
	Log    io.Writer        // gets each call as a JSON line; may be nil
}

// Cloud is the simulated AWS, an http.Handler. Register services before it serves.
type Cloud struct {
	World    *world.World
	opts     Options
	services map[string]wire.Service
	order    []wire.Service
	creds    Credentials
	authz    Authorizer
	control
}

// New makes a cloud without services.
func New(w *world.World, opts Options) *Cloud {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Wall == nil {
		opts.Wall = time.Now
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cloud{World: w, opts: opts, services: map[string]wire.Service{}}
	c.control.init(opts.Log)
	return c
}

// Register adds services under their signing names.
func (c *Cloud) Register(services ...wire.Service) {
	for _, s := range services {
		c.services[s.Name()] = s
		c.order = append(c.order, s)
	}
}

// Resetter is a Service that keeps state outside the world's tables.
type Resetter interface{ Reset() error }

// Reset empties the world, with faults and options, and the log in memory.
func (c *Cloud) Reset() error {
	if err := c.World.Reset(); err != nil {
		return err
	}
	for _, s := range c.order {
		if r, ok := s.(Resetter); ok {
			if err := r.Reset(); err != nil {
				return fmt.Errorf("reset %s: %w", s.Name(), err)
			}
		}
	}
	c.SetFaults(nil)
	c.Tune(Tuning{})
	c.ClearLog()
	return nil
}

// SetCredentials plugs IAM's and STS's access keys in.
func (c *Cloud) SetCredentials(creds Credentials) { c.creds = creds }

// SetAuthorizer plugs policy evaluation in.
func (c *Cloud) SetAuthorizer(a Authorizer) { c.authz = a }

// Authorizer is what SetAuthorizer plugged in, for tests that listen to it.
func (c *Cloud) Authorizer() Authorizer { return c.authz }

// Operations lists what each service implements.
func (c *Cloud) Operations() map[string][]string {
	ops := map[string][]string{}
	for _, s := range c.order {
		ops[s.Name()] = s.Operations()
	}
	return ops
}

// ServeHTTP answers one AWS call.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := &wire.Call{Request: r, Account: Account, RequestID: c.requestID(), Now: c.opts.Clock(), Settings: c.settings()}
	sig, sigErr := sigv4.Parse(r)
	service := c.find(sig, r)
	if service == nil {
		name := ""
		if sig != nil {
			name = sig.Service
		}
		c.write(w, call, &wire.Response{Status: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/xml"}}, Code: "UnknownService",
			Body: fmt.Appendf(nil, "<Response><Errors><Error><Code>UnknownService</Code><Message>The simulator has no service %q</Message></Error></Errors><RequestID>%s</RequestID></Response>", name, call.RequestID)})
		return
	}
	call.Service = service.Name()
	if sig != nil {
		call.Region = sig.Region
	}
	streamer, streams := service.(wire.Streamer)
	if !streams {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			c.write(w, call, service.Refuse(call, wire.Errorf("RequestEntityTooLarge", "read body: %v", err)))
			return
		}
		call.Body = body
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	refusal := c.admit(call, service, sig, sigErr)
	fault := c.fault(call, refusal)
	if fault != nil {
		c.wait(r, fault.DelayMS)
		if refusal == nil && fault.before() {
			c.write(w, call, service.Refuse(call, fault.error()))
			return
		}
	}
	if refusal != nil {
		c.write(w, call, service.Refuse(call, refusal))
		return
	}
	if streams {
		c.stream(w, call, streamer, fault)
		return
	}
	answer := c.run(call, service)
	if fault != nil && fault.Mode == FaultAfter {
		c.record(call, answer.Status, "ConnectionLost")
		panic(http.ErrAbortHandler)
	}
	c.write(w, call, answer)
}

// find names the service of a request: by its credential scope, for the calls
// that go unsigned by what JSON protocols say, else STS, else S3, which serves
// anonymous readers.
func (c *Cloud) find(sig *sigv4.Signature, r *http.Request) wire.Service {
	if sig != nil && sig.Service != "" {
		return c.services[sig.Service]
	}
	if prefix, _, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		for _, s := range c.order {
			if t, ok := s.(interface{ Target() string }); ok && t.Target() == prefix {
				return s
			}
		}
	}
	if r.URL.Path == "/" && r.Method == http.MethodPost || r.URL.Query().Has("Action") {
		return c.services["sts"]
	}
	return c.services["s3"]
}

// admit routes the call and decides whether it may run.
func (c *Cloud) admit(call *wire.Call, s wire.Service, sig *sigv4.Signature, sigErr error) (refusal *wire.Error) {
	err := c.World.Do(func() {
		routeErr := s.Route(call)
		if refusal = c.authenticate(call, sig, sigErr); refusal != nil {
			return
		}
		if routeErr != nil {
			refusal = routeErr
			return
		}
		if refusal = c.throttled(call); refusal != nil {
			return
		}
		if c.authz != nil {
			refusal = c.authz.Authorize(call, call.Principal == Operator)
		}
	})
	if err != nil {
		return &wire.Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError}
	}
	return refusal
}

func (c *Cloud) authenticate(call *wire.Call, sig *sigv4.Signature, sigErr error) *wire.Error {
	codes := codesOf(call.Service)
	if sigErr != nil {
		return &wire.Error{Code: codes.malformed, Message: sigErr.Error(), Status: codes.status}
	}
	if sig == nil {
		return nil // services that need a principal refuse the empty one through the authorizer or themselves
	}
	p, secret, token, ok := Operator, OperatorSecret, "", sig.AccessKey == OperatorAccessKey
	if !ok && c.creds != nil {
		p, secret, token, ok = c.creds.Lookup(sig.AccessKey, call.Now)
	}
	if !ok || token != sig.Token {
		return &wire.Error{Code: codes.unknownKey, Message: codes.unknownText, Status: codes.unknownStatus}
	}
	if err := sig.Verify(call.Request, call.Body, secret, c.opts.Wall()); err != nil {
		code := codes.mismatch
		if errors.Is(err, sigv4.ErrExpired) {
			code = codes.expired
		}
		return &wire.Error{Code: code, Message: "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. (" + err.Error() + ")", Status: codes.status}
	}
	call.Principal = p
	return nil
}

// run executes the call, alone in the world.
func (c *Cloud) run(call *wire.Call, s wire.Service) (answer *wire.Response) {
	err := c.World.Do(func() {
		c.settle(call.Now)
		answer = s.Serve(call)
	})
	if err != nil {
		c.opts.Logger.Error("write the simulated world", "err", err)
		return s.Refuse(call, &wire.Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError})
	}
	return answer
}

func (c *Cloud) settle(now time.Time) {
	for _, s := range c.order {
		if settler, ok := s.(wire.Settler); ok {
			settler.Settle(now)
		}
	}
}

func (c *Cloud) stream(w http.ResponseWriter, call *wire.Call, s wire.Streamer, fault *Fault) {
	rec := &statusWriter{ResponseWriter: w}
	lost := fault != nil && fault.Mode == FaultAfter
	if lost {
		rec.ResponseWriter = discard{http.Header{}}
	}
	w.Header().Set("X-Amz-Request-Id", call.RequestID)
	code := s.ServeStream(rec, call)
	if lost {
		c.record(call, rec.status, "ConnectionLost")
		panic(http.ErrAbortHandler)
	}
	c.record(call, rec.status, code)
}

func (c *Cloud) write(w http.ResponseWriter, call *wire.Call, a *wire.Response) {
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.Header().Set("X-Amzn-Requestid", call.RequestID)
	w.Header().Set("X-Amz-Request-Id", call.RequestID)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that went away is no fault of ours
	c.record(call, a.Status, a.Code)
}

func (c *Cloud) requestID() string {
	var b [16]byte
	if _, err := io.ReadFull(c.opts.Rand, b[:]); err != nil {
		return "00000000-0000-0000-0000-000000000000"
	}
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// authCodes are a service's words for a bad signature.
type authCodes struct {
	unknownKey, unknownText      string
	unknownStatus                int
	mismatch, expired, malformed string
	status                       int
}

func codesOf(service string) authCodes {
	switch service {
	case "ec2":
		return authCodes{"AuthFailure", "AWS was not able to validate the provided access credentials", 401, "AuthFailure", "RequestExpired", "AuthFailure", 401}
	case "kms":
		return authCodes{"UnrecognizedClientException", "The security token included in the request is invalid.", 400, "InvalidSignatureException", "InvalidSignatureException", "IncompleteSignatureException", 400}
	case "s3":
		return authCodes{"InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", 403, "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed", 403}
	}
	return authCodes{"InvalidClientTokenId", "The security token included in the request is invalid.", 403, "SignatureDoesNotMatch", "SignatureDoesNotMatch", "IncompleteSignature", 403}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
