// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
)

// controlPrefix is the path of the control API: no bucket can have this name.
const controlPrefix = "/_slipway/"

// Status is the answer of GET status.
type Status struct {
	PID       int                       `json:"pid"`
	URL       string                    `json:"url"`
	StartTime time.Time                 `json:"startTime"`
	Clouds    map[string]map[string]int `json:"clouds"` // rows by cloud and table
	Calls     int                       `json:"calls"`  // in the log
	Options   aws.Tuning                `json:"options"`
	Faults    []aws.Fault               `json:"faults"`
}

func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		// A web page that the operator happens to look at must not turn the simulator.
		http.Error(w, "calls from web pages are refused", http.StatusForbidden)
		return
	}
	switch r.Method + " " + r.URL.Path[len(controlPrefix):] {
	case "GET status":
		reply(w, s.status())
	case "GET operations":
		reply(w, s.aws.Operations())
	case "POST reset":
		s.reset(w, r)
	case "GET log":
		w.Header().Set("Content-Type", "application/x-ndjson")
		enc := json.NewEncoder(w)
		for _, e := range s.aws.Log() {
			if enc.Encode(e) != nil {
				return
			}
		}
	case "DELETE log":
		s.aws.ClearLog()
		reply(w, struct{}{})
	case "GET faults":
		reply(w, s.aws.Faults())
	case "POST faults":
		if faults, ok := body[[]aws.Fault](w, r); ok {
			s.aws.SetFaults(faults)
			reply(w, struct{}{})
		}
	case "DELETE faults":
		s.aws.SetFaults(nil)
		reply(w, struct{}{})
	case "GET options":
		reply(w, s.aws.Tuning())
	case "POST options":
		if t, ok := body[aws.Tuning](w, r); ok {
			s.aws.Tune(t)
			reply(w, struct{}{})
		}
	default:
		http.Error(w, "no such control call: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
	}
}

func (s *Server) status() Status {
	return Status{
		PID: os.Getpid(), URL: s.URL(), StartTime: s.started.UTC(), Calls: len(s.aws.Log()),
		Clouds: map[string]map[string]int{"aws": s.world.Counts()}, Options: s.aws.Tuning(), Faults: s.aws.Faults(),
	}
}

func (s *Server) reset(w http.ResponseWriter, r *http.Request) {
	cloud := r.URL.Query().Get("cloud")
	if cloud != "" && cloud != "aws" {
		http.Error(w, fmt.Sprintf("no cloud %q; there is aws", cloud), http.StatusBadRequest)
		return
	}
	if err := s.aws.Reset(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reply(w, struct{}{})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that went away is no fault of ours
}

func body[T any](w http.ResponseWriter, r *http.Request) (T, bool) {
	var v T
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		http.Error(w, "read the body: "+err.Error(), http.StatusBadRequest)
		return v, false
	}
	return v, true
}
