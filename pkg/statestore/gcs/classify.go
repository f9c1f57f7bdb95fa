// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cloud.google.com/go/auth"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// errBody marks an answer whose body did not arrive whole.
var errBody = errors.New("the answer broke off")

const signIn = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file"

// classify sorts an error into a driver's kind and says what to do.
func (s *Store) classify(ctx context.Context, r request, err error) error {
	name := s.name(r.key)
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", r.op, name, ctx.Err())
	}
	e := &driver.Error{Op: r.op, Name: name, Kind: driver.ErrUnavailable, Err: err}
	var answer *googleapi.Error
	switch {
	case errors.Is(err, errBody):
		e.Kind = driver.ErrDamaged
	case errors.Is(err, errNoCredentials):
		e.Kind, e.Hint = driver.ErrDenied, "no Google Cloud credentials were found; "+signIn
	case tokenRefused(err):
		e.Kind, e.Hint = driver.ErrDenied, "no token was given for the credentials, which may have expired; "+signIn
	case errors.As(err, &answer):
		s.answered(e, r, answer)
	default:
		e.Hint = "the store cannot be reached; check the network and the endpoint"
	}
	return e
}

// tokenRefused reports whether the credentials were refused before the store was asked;
// their kinds come through two libraries.
func tokenRefused(err error) bool {
	var answer *http.Response
	var now *auth.Error
	var old *oauth2.RetrieveError
	switch {
	case errors.As(err, &now):
		answer = now.Response
	case errors.As(err, &old):
		answer = old.Response
	}
	return answer != nil && answer.StatusCode < http.StatusInternalServerError
}

// answered sorts what the server said.
func (s *Store) answered(e *driver.Error, r request, answer *googleapi.Error) {
	answer = parsed(answer)
	e.Err = &brief{answer}
	switch {
	case answer.Code == http.StatusPreconditionFailed:
		e.Kind, e.Err = driver.ErrConflict, nil
	case noBucket(answer) || answer.Code == http.StatusNotFound && r.op != "read":
		e.Kind = driver.ErrNoStore
		e.Hint = fmt.Sprintf("there is no bucket %s; create it, with versioning on, or correct the store's URL", s.bucket)
	case answer.Code == http.StatusNotFound:
		e.Kind, e.Err = driver.ErrNotFound, nil
	case answer.Code == http.StatusUnauthorized:
		e.Kind, e.Hint = driver.ErrDenied, "the server does not accept these credentials; "+signIn
	case answer.Code == http.StatusForbidden && throttled(answer):
		// Older limits answer 403; the reason says that waiting helps.
	case answer.Code == http.StatusForbidden:
		e.Kind, e.Hint = driver.ErrDenied, s.remedy(r, answer)
	case answer.Code == http.StatusTooManyRequests, answer.Code == http.StatusRequestTimeout, answer.Code >= http.StatusInternalServerError:
		// unavailable: it passes
	case answer.Code == http.StatusBadRequest && strings.Contains(text(answer), "requester pays"):
		e.Kind, e.Hint = driver.ErrInvalid, "turn requester pays off for the bucket: a cluster's machines cannot choose who pays"
	case answer.Code >= http.StatusBadRequest:
		e.Kind = driver.ErrInvalid
	}
}

// remedy says what a refused call lacks.
func (s *Store) remedy(r request, answer *googleapi.Error) string {
	bucket := "the bucket gs://" + s.bucket
	switch words := strings.ToLower(text(answer)); {
	case strings.Contains(words, "kms"):
		return "the project's Cloud Storage service agent needs roles/cloudkms.cryptoKeyEncrypterDecrypter on the key that the objects are encrypted with"
	case strings.Contains(words, "billing"):
		return "the bucket's project needs an active billing account"
	case r.op == "read":
		return "needs " + r.permission + " on " + bucket + " (or there is no such object, and storage.objects.list, which would show that, is missing too)"
	}
	return "needs " + r.permission + " on " + bucket
}

// noBucket reports whether the answer says that it is the bucket that is absent: the
// status and the reason are those of an absent object.
func noBucket(answer *googleapi.Error) bool {
	return answer.Code == http.StatusNotFound && strings.Contains(text(answer), "bucket does not exist")
}

// isAbsent reports whether an object, and not its bucket, is absent.
func isAbsent(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusNotFound && !noBucket(parsed(answer))
}

func throttled(answer *googleapi.Error) bool {
	for _, item := range answer.Errors {
		if item.Reason == "rateLimitExceeded" || item.Reason == "userRateLimitExceeded" {
			return true
		}
	}
	return false
}

// parsed fills in what the library leaves unread in answers to reads of content.
func parsed(answer *googleapi.Error) *googleapi.Error {
	var body struct {
		Error struct {
			Message string                `json:"message"`
			Errors  []googleapi.ErrorItem `json:"errors"`
		} `json:"error"`
	}
	if answer.Message != "" || json.Unmarshal([]byte(answer.Body), &body) != nil {
		return answer
	}
	full := *answer
	full.Message, full.Errors = body.Error.Message, body.Error.Errors
	return &full
}

// text is what the server said: answers to reads of content may be plain.
func text(answer *googleapi.Error) string {
	if answer.Message != "" {
		return answer.Message
	}
	return strings.TrimSpace(answer.Body)
}

// brief is an error in the server's own words.
type brief struct{ answer *googleapi.Error }

func (b *brief) Error() string {
	words := text(b.answer)
	if words == "" {
		words = http.StatusText(b.answer.Code)
	}
	const enough = 500 // a proxy's answer may be a whole page
	if len(words) > enough {
		words = strings.ToValidUTF8(words[:enough], "") + "..."
	}
	return fmt.Sprintf("%d: %s", b.answer.Code, words)
}

func (b *brief) Unwrap() error { return b.answer }
