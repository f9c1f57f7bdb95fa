// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// JSONHandler decodes one operation's document, runs it and encodes the answer.
type JSONHandler func(c *Call) ([]byte, error)

// JSONOp is Op for a JSONService. An answer of nil is an empty one.
func JSONOp[In, Out any](fn func(c *Call, in *In) (*Out, error)) JSONHandler {
	return func(c *Call) ([]byte, error) {
		in := new(In)
		if err := DecodeJSON(c.Body, in); err != nil {
			return nil, err
		}
		out, err := fn(c, in)
		if err != nil || out == nil {
			return nil, err
		}
		return EncodeJSON(out)
	}
}

// JSONService is a Service of the JSON 1.1 protocol: a table of operations.
// Services embed it.
type JSONService struct {
	ServiceName  string // signing name
	TargetPrefix string // what stands before the operation in X-Amz-Target
	Ops          map[string]JSONHandler
}

// Name is the signing name.
func (j *JSONService) Name() string { return j.ServiceName }

// Target is what stands before the operation in X-Amz-Target, by which a call
// that nobody signed is known.
func (j *JSONService) Target() string { return j.TargetPrefix }

// Operations lists the actions, sorted.
func (j *JSONService) Operations() []string { return sortedKeys(j.Ops) }

// Route reads the operation's name and the document's top level.
func (j *JSONService) Route(c *Call) *Error {
	target := c.Request.Header.Get("X-Amz-Target")
	action, ok := strings.CutPrefix(target, j.TargetPrefix+".")
	if !ok || j.Ops[action] == nil || c.Request.Method != http.MethodPost {
		c.Action = action
		return Errorf("UnknownOperationException", "The operation %s is not valid for this web service.", target)
	}
	c.Action, c.Params = action, url.Values{}
	if len(c.Body) == 0 {
		return nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(c.Body, &doc); err != nil {
		return Errorf("SerializationException", "The document is no JSON object: %v", err)
	}
	for name, raw := range doc {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		c.Params.Set(name, text)
	}
	return nil
}

// Serve runs the operation that Route found. Who signs nothing may do nothing.
func (j *JSONService) Serve(c *Call) *Response {
	if c.Principal.ARN == "" {
		return j.Refuse(c, Errorf("MissingAuthenticationTokenException", "Missing Authentication Token"))
	}
	body, err := j.Ops[c.Action](c)
	if err != nil {
		var refusal *Error
		if !errors.As(err, &refusal) {
			refusal = &Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError}
		}
		return j.Refuse(c, refusal)
	}
	return &Response{Status: http.StatusOK, Header: jsonHeader(), Body: body}
}

// Refuse writes an error as the protocol does.
func (j *JSONService) Refuse(_ *Call, e *Error) *Response {
	body, err := json.Marshal(map[string]string{"__type": e.Code, "message": e.Message})
	if err != nil {
		body = fmt.Appendf(nil, `{"__type":%q}`, e.Code)
	}
	return &Response{Status: e.HTTPStatus(), Header: jsonHeader(), Body: body, Code: e.Code}
}

func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/x-amz-json-1.1"}}
}
