// SPDX-License-Identifier: Apache-2.0

// Package route53 is the simulated Route 53: hosted zones, their records and changes, with Route 53's refusals and limits; pkg/sim registers it.
package route53

import (
	"crypto/rand"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/restxml"
	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
	"github.com/slipway-k8s/slipway/pkg/sim/world"
)

const (
	namespace = "https://route53.amazonaws.com/doc/2013-04-01/"
	prefix    = "/2013-04-01/"
)

// Networks is what Route 53 asks EC2.
type Networks interface {
	HasVPC(region, id string) bool
}

// Options of the service.
type Options struct {
	Rand io.Reader // of ids; crypto/rand when nil
	// Delay is how long a change is PENDING; 300 ms when 0, none when negative.
	Delay time.Duration
}

// Service is the simulated Route 53. It is global: its zones have no region.
type Service struct {
	rand     io.Reader
	delay    time.Duration
	networks Networks
	zones    *world.Table[zone]
	records  *world.Table[record] // scope: zone id
	changes  *world.Table[change]
}

var _ wire.Service = (*Service)(nil)

// New makes the service with its tables in w.
func New(w *world.World, networks Networks, opts Options) (s *Service, err error) {
	s = &Service{rand: opts.Rand, delay: opts.Delay, networks: networks}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.delay == 0 {
		s.delay = 300 * time.Millisecond
	}
	if s.zones, err = world.NewTable[zone](w, "route53/hosted-zone"); err != nil {
		return nil, err
	}
	if s.records, err = world.NewTable[record](w, "route53/record-set"); err != nil {
		return nil, err
	}
	s.changes, err = world.NewTable[change](w, "route53/change")
	return s, err
}

// request is a call on its way, its path taken apart.
type request struct {
	*wire.Call
	id   string // of the zone or change in the path
	kind string // of the tagged resource in the path
}

func (r *request) query() url.Values { return r.Request.URL.Query() }

// route says how an operation is addressed: a method, a path in which {id} and
// {kind} stand for one part each, and the query parameters that it takes.
type route struct {
	method, path string
	query        []string
	status       int
	serve        func(s *Service, r *request) (any, error)
}

const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete

var routes = map[string]route{
	"CreateHostedZone":              {post, "hostedzone", nil, 201, (*Service).createZone},
	"ListHostedZones":               {get, "hostedzone", []string{"marker", "maxitems", "delegationsetid", "hostedzonetype"}, 200, (*Service).listZones},
	"ListHostedZonesByName":         {get, "hostedzonesbyname", []string{"dnsname", "hostedzoneid", "maxitems"}, 200, (*Service).listZonesByName},
	"ListHostedZonesByVPC":          {get, "hostedzonesbyvpc", []string{"vpcid", "vpcregion", "maxitems", "nexttoken"}, 200, (*Service).listZonesByVPC},
	"GetHostedZoneCount":            {get, "hostedzonecount", nil, 200, (*Service).countZones},
	"GetHostedZone":                 {get, "hostedzone/{id}", nil, 200, (*Service).getZone},
	"UpdateHostedZoneComment":       {post, "hostedzone/{id}", nil, 200, (*Service).updateComment},
	"DeleteHostedZone":              {del, "hostedzone/{id}", nil, 200, (*Service).deleteZone},
	"AssociateVPCWithHostedZone":    {post, "hostedzone/{id}/associatevpc", nil, 200, (*Service).associate},
	"DisassociateVPCFromHostedZone": {post, "hostedzone/{id}/disassociatevpc", nil, 200, (*Service).disassociate},
	"ChangeResourceRecordSets":      {post, "hostedzone/{id}/rrset", nil, 200, (*Service).changeRecords},
	"ListResourceRecordSets":        {get, "hostedzone/{id}/rrset", []string{"name", "type", "identifier", "maxitems"}, 200, (*Service).listRecords},
	"GetChange":                     {get, "change/{id}", nil, 200, (*Service).getChange},
	"ChangeTagsForResource":         {post, "tags/{kind}/{id}", nil, 200, (*Service).changeTags},
	"ListTagsForResource":           {get, "tags/{kind}/{id}", nil, 200, (*Service).listTags},
	"ListTagsForResources":          {post, "tags/{kind}", nil, 200, (*Service).listTagsOfMany},
}

// Name is the signing name.
func (s *Service) Name() string { return "route53" }

// Operations lists what is implemented, sorted.
func (s *Service) Operations() []string { return slices.Sorted(maps.Keys(routes)) }

// Route finds the operation by method and path.
func (s *Service) Route(c *wire.Call) *wire.Error {
	name, r, params := find(c.Request)
	if name == "" {
		return refuse(http.StatusNotFound, "UnknownOperationException", "There is no operation %s %s", c.Request.Method, c.Request.URL.Path)
	}
	c.Action = name
	c.Params = params
	for k, v := range c.Request.URL.Query() {
		if strings.HasPrefix(k, "X-Amz-") {
			continue
		}
		if !slices.Contains(r.query, k) {
			return wire.Errorf("InvalidInput", "Unknown query parameter %s", k)
		}
		params[k] = v
	}
	if len(c.Body) > 0 {
		params.Set("Body", string(c.Body))
	}
	return nil
}

func find(req *http.Request) (string, route, url.Values) {
	path, ok := strings.CutPrefix(req.URL.Path, prefix)
	if !ok {
		return "", route{}, nil
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for name, r := range routes {
		if params, ok := match(strings.Split(r.path, "/"), parts); ok && r.method == req.Method {
			return name, r, params
		}
	}
	return "", route{}, nil
}

func match(pattern, parts []string) (url.Values, bool) {
	params := url.Values{}
	if len(pattern) != len(parts) {
		return nil, false
	}
	for i, p := range pattern {
		switch {
		case p == "{id}":
			params.Set("Id", parts[i])
		case p == "{kind}":
			params.Set("ResourceType", parts[i])
		case p != parts[i]:
			return nil, false
		}
	}
	return params, true
}

// Serve runs the operation that Route found.
func (s *Service) Serve(c *wire.Call) *wire.Response {
	op := routes[c.Action]
	r := &request{Call: c, id: c.Params.Get("Id"), kind: c.Params.Get("ResourceType")}
	out, err := op.serve(s, r)
	if err != nil {
		e, ok := err.(*wire.Error)
		if !ok {
			e = refuse(http.StatusInternalServerError, "InternalFailure", "%v", err)
		}
		return s.Refuse(c, e)
	}
	body, err := xml.Marshal(out)
	if err != nil {
		return s.Refuse(c, refuse(http.StatusInternalServerError, "InternalFailure", "%v", err))
	}
	header := http.Header{"Content-Type": {"text/xml"}}
	if l, ok := out.(interface{ location() string }); ok {
		header.Set("Location", "https://route53.amazonaws.com"+prefix+l.location())
	}
	return &wire.Response{Status: op.status, Header: header, Body: append([]byte(xml.Header), body...)}
}

type errorDocument struct {
	XMLName   xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ErrorResponse"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

// Refuse words an error as Route 53 does.
func (s *Service) Refuse(c *wire.Call, e *wire.Error) *wire.Response {
	doc := errorDocument{Type: "Sender", Code: e.Code, Message: e.Message, RequestID: c.RequestID}
	if e.HTTPStatus() >= 500 {
		doc.Type = "Receiver"
	}
	out := &wire.Response{Status: e.HTTPStatus(), Header: http.Header{"Content-Type": {"text/xml"}}, Code: e.Code}
	if body, err := xml.Marshal(doc); err == nil {
		out.Body = append([]byte(xml.Header), body...)
	}
	return out
}

func refuse(status int, code, format string, args ...any) *wire.Error {
	e := wire.Errorf(code, format, args...)
	e.Status = status
	return e
}

func invalidInput(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidInput", format, args...)
}

// decode reads the request's document.
func (r *request) decode(out any, root string) *wire.Error {
	if err := restxml.Decode(r.Body, out, root); err != nil {
		return invalidInput("Invalid XML ; %v", err)
	}
	return nil
}

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

func (s *Service) newID(first string) string {
	b := make([]byte, 20)
	_, _ = io.ReadFull(s.rand, b) // a short read leaves zeros: still an id
	for i := range b {
		b[i] = idAlphabet[int(b[i])%len(idAlphabet)]
	}
	return first + string(b)
}
