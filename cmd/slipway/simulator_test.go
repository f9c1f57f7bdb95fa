// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// A ready file that a killed simulator left may name a process and a port that are
// somebody else's by now: nobody may stop that.
func TestAForeignProcessIsNoSimulator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   bool
	}{
		"the simulator":     {200, fmt.Sprintf(`{"pid": %d}`, os.Getpid()), true},
		"another simulator": {200, `{"pid": 1}`, false},
		"another service":   {404, "<html>", false},
		"another language":  {200, "<html>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			s := simulator{dir: t.TempDir()}
			data, err := json.Marshal(simReady{PID: os.Getpid(), Addr: server.Listener.Addr().String(), URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.readyFile(), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, got := s.running(); got != c.want {
				t.Errorf("running: %t", got)
			}
		})
	}
}
