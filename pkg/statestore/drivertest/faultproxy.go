// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// HTTPFault is what happens to a request on its way; the zero value is nothing.
type HTTPFault struct {
	// Status answers instead of the server, with Type and Body.
	Status     int
	Type, Body string
	// Late hands the request to the server before anything else happens: only the answer
	// is lost.
	Late bool
	// CutRequest reads half of the request and breaks the connection.
	CutRequest bool
	// CutAnswer announces the server's answer whole, sends half of its body and breaks
	// the connection.
	CutAnswer bool
	// Skew moves the Date of the answer.
	Skew time.Duration
}

// FaultProxy is a handler before a real server that spoils requests on demand.
type FaultProxy struct {
	next http.Handler

	mu    sync.Mutex
	fault HTTPFault
	match func(*http.Request) bool
	left  int // how many more requests are spoilt
	hits  int // how many were
}

// NewFaultProxy returns a proxy before a server in this process.
func NewFaultProxy(next http.Handler) *FaultProxy { return &FaultProxy{next: next} }

// Forward returns a handler that asks the server at a URL. It keeps the Host that the
// client signed.
func Forward(endpoint string) (http.Handler, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
		},
		// A client that breaks off is part of the tests, not worth a line in the log.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}, nil
}

// Spoil makes the next n requests that match suffer a fault; a nil match is all of them.
// It replaces what was asked for before.
func (p *FaultProxy) Spoil(n int, match func(*http.Request) bool, f HTTPFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.match, p.fault, p.hits = n, match, f, 0
}

// Hits returns how many requests were spoilt since the last Spoil, and ends it.
func (p *FaultProxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = 0
	return p.hits
}

func (p *FaultProxy) take(r *http.Request) HTTPFault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || p.match != nil && !p.match(r) {
		return HTTPFault{}
	}
	p.left--
	p.hits++
	return p.fault
}

// ServeHTTP implements http.Handler.
func (p *FaultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.take(r)
	if f == (HTTPFault{}) {
		p.next.ServeHTTP(w, r)
		return
	}
	if f.CutRequest {
		io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		panic(http.ErrAbortHandler) // breaks the connection, as http.Server documents
	}
	recorded := httptest.NewRecorder()
	if f.Late || f.Status == 0 {
		p.next.ServeHTTP(recorded, r)
	}
	io.Copy(io.Discard, r.Body) // a client that still writes would see a broken pipe, and no answer
	if f.Status != 0 {
		w.Header().Set("Content-Type", f.Type)
		w.WriteHeader(f.Status)
		io.WriteString(w, f.Body)
		return
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	body := recorded.Body.Bytes()
	if f.Skew != 0 {
		w.Header().Set("Date", time.Now().Add(f.Skew).UTC().Format(http.TimeFormat))
	}
	if !f.CutAnswer {
		w.WriteHeader(recorded.Code)
		w.Write(body)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(recorded.Code)
	w.Write(body[:len(body)/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
