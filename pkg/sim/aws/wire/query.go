// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Handler decodes one operation's parameters, runs it and encodes the answer.
type Handler func(q *QueryService, c *Call) ([]byte, error)

// Op makes a handler of a function from parameters to answer. An answer of nil
// is an empty one.
func Op[In, Out any](fn func(c *Call, in *In) (*Out, error)) Handler {
	return func(q *QueryService, c *Call) ([]byte, error) {
		in := new(In)
		if err := Decode(q.Dialect, c.Params, in); err != nil {
			return nil, err
		}
		out, err := fn(c, in)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		if out != nil {
			Encode(q.Dialect, &body, out)
		}
		return q.envelope(c, body.Bytes()), nil
	}
}

// QueryService is a Service of the EC2 or the query protocol: a table of
// operations. Services embed it.
type QueryService struct {
	ServiceName string // signing name
	Version     string // the API's date
	Namespace   string // of the XML
	Dialect     Dialect
	Ops         map[string]Handler
}

// Name is the signing name.
func (q *QueryService) Name() string { return q.ServiceName }

// Operations lists the actions, sorted.
func (q *QueryService) Operations() []string { return sortedKeys(q.Ops) }

// Route reads the form, from the body or the query string.
func (q *QueryService) Route(c *Call) *Error {
	params := c.Request.URL.Query()
	if len(c.Body) > 0 {
		form, err := url.ParseQuery(string(c.Body))
		if err != nil {
			return Errorf("MalformedQueryString", "The query string is malformed: %v", err)
		}
		for k, v := range form {
			params[k] = v
		}
	}
	for k := range params {
		if strings.HasPrefix(k, "X-Amz-") {
			delete(params, k)
		}
	}
	c.Action = params.Get("Action")
	version := params.Get("Version")
	params.Del("Action")
	params.Del("Version")
	c.Params = params
	switch {
	case c.Action == "":
		return Errorf("MissingAction", "The request must contain the parameter Action")
	case version == "":
		return Errorf("MissingParameter", "The request must contain the parameter Version")
	case version != q.Version:
		return Errorf("NoSuchVersion", "The requested version (%s) of service %s does not exist", version, q.ServiceName)
	case q.Ops[c.Action] == nil:
		return Errorf("InvalidAction", "The action %s is not valid for this web service.", c.Action)
	}
	return nil
}

// Serve runs the operation that Route found.
func (q *QueryService) Serve(c *Call) *Response {
	body, err := q.Ops[c.Action](q, c)
	if err != nil {
		var refusal *Error
		if !errors.As(err, &refusal) {
			refusal = &Error{Code: "InternalError", Message: err.Error(), Status: http.StatusInternalServerError}
		}
		return q.Refuse(c, refusal)
	}
	return &Response{Status: http.StatusOK, Header: xmlHeader(), Body: body}
}

// Refuse writes an error in the dialect's form.
func (q *QueryService) Refuse(c *Call, e *Error) *Response {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if q.Dialect == EC2 {
		b.WriteString("<Response><Errors><Error>")
		element(&b, "Code", e.Code)
		element(&b, "Message", e.Message)
		b.WriteString("</Error></Errors>")
		element(&b, "RequestID", c.RequestID)
		b.WriteString("</Response>")
	} else {
		b.WriteString(`<ErrorResponse xmlns="` + q.Namespace + `"><Error>`)
		kind := "Sender"
		if e.HTTPStatus() >= 500 {
			kind = "Receiver"
		}
		element(&b, "Type", kind)
		element(&b, "Code", e.Code)
		element(&b, "Message", e.Message)
		b.WriteString("</Error>")
		element(&b, "RequestId", c.RequestID)
		b.WriteString("</ErrorResponse>")
	}
	return &Response{Status: e.HTTPStatus(), Header: xmlHeader(), Body: b.Bytes(), Code: e.Code}
}

func (q *QueryService) envelope(c *Call, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	b.WriteString("<" + c.Action + `Response xmlns="` + q.Namespace + `">`)
	if q.Dialect == EC2 {
		element(&b, "requestId", c.RequestID)
		b.Write(body)
	} else {
		b.WriteString("<" + c.Action + "Result>")
		b.Write(body)
		b.WriteString("</" + c.Action + "Result><ResponseMetadata>")
		element(&b, "RequestId", c.RequestID)
		b.WriteString("</ResponseMetadata>")
	}
	b.WriteString("</" + c.Action + "Response>")
	return b.Bytes()
}

func xmlHeader() http.Header {
	return http.Header{"Content-Type": {"text/xml;charset=UTF-8"}}
}
