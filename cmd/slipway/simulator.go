// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// simulator is the slipway-sim process of this user: at most one.
type simulator struct{ dir string }

// simReady is the file that a running simulator keeps (docs/reference/sim.md).
type simReady struct {
	PID       int       `json:"pid"`
	Addr      string    `json:"addr"`
	URL       string    `json:"url"`
	StartTime time.Time `json:"startTime"`
}

var errSimStopped = errors.New("the simulated cloud does not run; start it with `slipway sim start`")

// Bounds of starting and stopping, and how often a change is looked for.
const (
	simWait = 15 * time.Second
	simPoll = 20 * time.Millisecond
)

func (a *app) simulator() simulator { return simulator{dir: filepath.Join(a.stateDir(), "sim")} }

func (s simulator) readyFile() string { return filepath.Join(s.dir, "ready.json") }

// running returns where the simulator is, if it answers there. A file left by a killed
// one does not count, not even when its process number and port are somebody else's now.
func (s simulator) running() (simReady, bool) {
	var r simReady
	data, err := os.ReadFile(s.readyFile())
	if err != nil || json.Unmarshal(data, &r) != nil || r.PID <= 0 || syscall.Kill(r.PID, 0) != nil {
		return r, false
	}
	conn, err := net.DialTimeout("tcp", r.Addr, time.Second)
	if err != nil || conn.Close() != nil {
		return r, false
	}
	return r, !s.foreign(r)
}

// foreign reports whether what answers is another program. One that takes long to answer
// may be a simulator that is busy.
func (s simulator) foreign(at simReady) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var status struct{ PID int }
	err := s.control(ctx, at, http.MethodGet, "status", func(r io.Reader) error { return json.NewDecoder(r).Decode(&status) })
	return ctx.Err() == nil && (err != nil || status.PID != at.PID)
}

// start runs slipway-sim in the background, unless it runs; already says which.
func (s simulator) start(ctx context.Context) (ready simReady, already bool, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return ready, false, fmt.Errorf("start the simulated cloud: %w", err)
	}
	unlock, err := s.flock()
	if err != nil {
		return ready, false, err
	}
	defer unlock()
	if ready, ok := s.running(); ok {
		return ready, true, nil
	}
	binary, err := s.binary()
	if err != nil {
		return ready, false, err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "sim.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return ready, false, fmt.Errorf("start the simulated cloud: %w", err)
	}
	defer log.Close()
	addr := s.address()
	if err := os.Remove(s.readyFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return ready, false, fmt.Errorf("start the simulated cloud: %w", err)
	}
	// Not CommandContext: the simulator outlives this command.
	cmd := exec.Command(binary, "serve", "--dir", s.dir, "--addr", addr, "--ready-file", s.readyFile())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return ready, false, fmt.Errorf("start %s: %w", binary, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if ready, err = s.await(ctx, ended); err != nil {
		return ready, false, err
	}
	if err := os.WriteFile(s.addressFile(), []byte(ready.Addr+"\n"), 0o600); err != nil {
		return ready, false, fmt.Errorf("start the simulated cloud: %w", err)
	}
	return ready, false, nil
}

// await waits until the simulator answers, or has ended, or the time is up.
func (s simulator) await(ctx context.Context, ended <-chan error) (simReady, error) {
	timeout := time.After(simWait)
	tick := time.NewTicker(simPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if ready, ok := s.running(); ok {
				return ready, nil
			}
		case err := <-ended:
			return simReady{}, fmt.Errorf("the simulated cloud ended at its start (%v): %s", err, s.lastLog())
		case <-timeout:
			return simReady{}, fmt.Errorf("the simulated cloud did not answer within %s: %s", simWait, s.lastLog())
		case <-ctx.Done():
			return simReady{}, ctx.Err()
		}
	}
}

// stop ends the simulator and reports whether it ran.
func (s simulator) stop(ctx context.Context) (bool, error) {
	ready, ok := s.running()
	if !ok {
		return false, nil
	}
	if err := syscall.Kill(ready.PID, syscall.SIGTERM); err != nil {
		return true, fmt.Errorf("stop process %d: %w", ready.PID, err)
	}
	timeout := time.After(simWait)
	tick := time.NewTicker(simPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if syscall.Kill(ready.PID, 0) != nil || !fileExists(s.readyFile()) {
				return true, nil
			}
		case <-timeout:
			return true, fmt.Errorf("process %d did not end within %s", ready.PID, simWait)
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// address returns the last address while that is free, so that an environment printed
// before a restart stays right; otherwise any free port.
func (s simulator) address() string {
	data, err := os.ReadFile(s.addressFile())
	if err != nil {
		return "127.0.0.1:0"
	}
	return freeAddress(strings.TrimSpace(string(data)))
}

func (s simulator) addressFile() string { return filepath.Join(s.dir, "address") }

// freeAddress returns addr if it can be listened on, otherwise any free port.
func freeAddress(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return addr
}

// binary finds slipway-sim beside this program, else on PATH.
func (s simulator) binary() (string, error) {
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), "slipway-sim"); fileExists(beside) {
			return beside, nil
		}
	}
	path, err := exec.LookPath("slipway-sim")
	if err != nil {
		return "", errors.New("slipway-sim is neither beside slipway nor on PATH; build it with `make build` or `go install ./cmd/slipway-sim`")
	}
	return path, nil
}

// flock makes starts take turns.
func (s simulator) flock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "start.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the simulated cloud: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return func() { f.Close() }, nil
}

func (s simulator) lastLog() string {
	data, err := os.ReadFile(filepath.Join(s.dir, "sim.log"))
	if err != nil {
		return "no log"
	}
	return string(data[max(0, len(data)-2000):])
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
