// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

// Modes of a fault.
const (
	FaultBefore = "before" // the call is refused and nothing changes
	FaultAfter  = "after"  // the change is made and the connection closed without an answer
	FaultDelay  = "delay"  // the call is only slow
)

// Fault is a rule that makes calls fail.
type Fault struct {
	Service    string `json:"service"`    // signing name, "" for every one
	Action     string `json:"action"`     // operation, * and ? allowed, "" for every one
	Match      string `json:"match"`      // text that a "Name=value" of the parameters must hold, "" for any
	Code       string `json:"code"`       // error code, InternalError when ""
	Message    string `json:"message"`    // "" for a stock text
	HTTPStatus int    `json:"httpStatus"` // 400 when a code is given, else 500
	Times      int    `json:"times"`      // how often, 0 for always
	Mode       string `json:"mode"`       // before (default), after, delay
	DelayMS    int    `json:"delayMs"`    // wait before anything else
	hits       int
}

func (f *Fault) before() bool { return f.Mode == "" || f.Mode == FaultBefore }

func (f *Fault) error() *wire.Error {
	e := &wire.Error{Code: f.Code, Message: f.Message, Status: f.HTTPStatus}
	if e.Code == "" {
		e.Code, e.Status = "InternalError", max(e.Status, http.StatusInternalServerError)
	}
	if e.Message == "" {
		e.Message = "Injected fault."
	}
	return e
}

// Rate is a token bucket: Rate calls a second, Burst at once.
type Rate struct {
	Rate  float64 `json:"rate"`
	Burst int     `json:"burst"`
}

// Tuning are the options that can be set while the simulator runs.
type Tuning struct {
	Throttle           map[string]Rate `json:"throttle,omitempty"` // by "service" or "service:Action"
	ConsistencyDelayMS int             `json:"consistencyDelayMs,omitempty"`
	PageSize           int             `json:"pageSize,omitempty"`
	Quotas             map[string]int  `json:"quotas,omitempty"`
}

// Entry is a line of the call log.
type Entry struct {
	Time      time.Time         `json:"time"`
	Service   string            `json:"service"`
	Region    string            `json:"region,omitempty"`
	Action    string            `json:"action"`
	Params    map[string]string `json:"params,omitempty"` // secrets and long values cut
	Principal string            `json:"principal,omitempty"`
	Status    int               `json:"status"`
	Error     string            `json:"error,omitempty"`
	RequestID string            `json:"requestId"`
	Checks    []wire.Check      `json:"checks,omitempty"` // the rights that it needed
}

// maxLog bounds the log in memory; the file has everything.
const maxLog = 200_000

// control is the part of a cloud that its operator turns.
type control struct {
	mu      sync.Mutex
	faults  []*Fault
	tuning  Tuning
	buckets map[string]*rate.Limiter
	current *wire.Settings
	log     []Entry
	sink    io.Writer
}

func (c *control) init(sink io.Writer) {
	c.sink = sink
	c.current = &wire.Settings{Quotas: map[string]int{}}
}

// SetFaults replaces the fault rules.
func (c *control) SetFaults(faults []Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
	for _, f := range faults {
		c.faults = append(c.faults, &f)
	}
}

// Faults returns the rules that still have hits left.
func (c *control) Faults() []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []Fault{}
	for _, f := range c.faults {
		if f.Times == 0 || f.hits < f.Times {
			list = append(list, *f)
		}
	}
	return list
}

// Tune replaces the options.
func (c *Cloud) Tune(t Tuning) {
	c.World.SetDelay(time.Duration(t.ConsistencyDelayMS) * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tuning = t
	c.buckets = map[string]*rate.Limiter{}
	for name, r := range t.Throttle {
		c.buckets[name] = rate.NewLimiter(rate.Limit(r.Rate), r.Burst)
	}
	quotas := t.Quotas
	if quotas == nil {
		quotas = map[string]int{}
	}
	c.current = &wire.Settings{PageSize: t.PageSize, Quotas: quotas}
}

// Tuning returns the options in force.
func (c *control) Tuning() Tuning {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tuning
}

// Log returns the calls since the start or the last ClearLog, oldest first.
func (c *control) Log() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Entry(nil), c.log...)
}

// ClearLog forgets the calls in memory.
func (c *control) ClearLog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = nil
}

func (c *control) settings() *wire.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// fault returns the first rule that meets the call, and counts the hit. A call
// that is refused anyway spends none.
func (c *control) fault(call *wire.Call, refusal *wire.Error) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal != nil {
		return nil
	}
	for _, f := range c.faults {
		if f.Times > 0 && f.hits >= f.Times || !f.meets(call) {
			continue
		}
		f.hits++
		hit := *f
		return &hit
	}
	return nil
}

func (f *Fault) meets(call *wire.Call) bool {
	if f.Service != "" && f.Service != call.Service {
		return false
	}
	if f.Action != "" {
		if ok, err := path.Match(f.Action, call.Action); !ok || err != nil {
			return false
		}
	}
	if f.Match == "" {
		return true
	}
	for k, values := range call.Params {
		for _, v := range values {
			if strings.Contains(k+"="+v, f.Match) {
				return true
			}
		}
	}
	return false
}

func (c *control) throttled(call *wire.Call) *wire.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range []string{call.Service, call.Service + ":" + call.Action} {
		if b := c.buckets[name]; b != nil && !b.AllowN(call.Now, 1) {
			if call.Service == "ec2" {
				return &wire.Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded.", Status: http.StatusServiceUnavailable}
			}
			if call.Service == "s3" {
				return &wire.Error{Code: "SlowDown", Message: "Please reduce your request rate.", Status: http.StatusServiceUnavailable}
			}
			if call.Service == "kms" {
				return wire.Errorf("ThrottlingException", "Rate exceeded")
			}
			return wire.Errorf("Throttling", "Rate exceeded")
		}
	}
	return nil
}

func (c *control) wait(r *http.Request, ms int) {
	if ms <= 0 {
		return
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

func (c *control) record(call *wire.Call, status int, code string) {
	e := Entry{
		Time: call.Now.UTC(), Service: call.Service, Region: call.Region, Action: call.Action,
		Params: summary(call.Params), Principal: call.Principal.ARN, Status: status, Error: code, RequestID: call.RequestID, Checks: call.Checks,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.log) >= maxLog {
		c.log = append([]Entry(nil), c.log[maxLog/2:]...)
	}
	c.log = append(c.log, e)
	if c.sink == nil {
		return
	}
	if line, err := json.Marshal(e); err == nil {
		_, _ = c.sink.Write(append(line, '\n')) // the log in memory stands without the file
	}
}

// secretWords mark parameters that the log must not hold.
var secretWords = []string{"secret", "password", "userdata", "keymaterial", "token", "signature", "plaintext"}

func summary(params url.Values) map[string]string {
	out := make(map[string]string, len(params))
	for k, values := range params {
		v := strings.Join(values, ",")
		low := strings.ToLower(k)
		for _, word := range secretWords {
			if strings.Contains(low, word) && low != "nexttoken" && low != "clienttoken" {
				v = "(hidden)"
			}
		}
		if len(v) > 256 {
			v = v[:253] + "..."
		}
		out[k] = v
	}
	return out
}
