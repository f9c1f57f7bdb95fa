// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// paused is a command that a story has stopped with SIGSTOP, as a laptop's lid does.
type paused struct {
	cmd    *exec.Cmd
	stderr *watcher
	ended  chan error
}

// pausedOf finds the paused command of a story.
var pausedOf sync.Map // *testscript.TestScript -> *paused

// settle lets calls that a command has begun come to their ends: a call on its way when
// the process stops is carried out, whoever holds the lock by then.
const settle = 600 * time.Millisecond

// pauseCmd starts a command and stops it in the middle, a moment after its stderr first
// held a word that says it waits: `pause WORD command [args...]`. What follows runs while
// it stands still.
func pauseCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pause WORD command [args...]")
	}
	p := &paused{cmd: exec.Command(args[1], args[2:]...), ended: make(chan error, 1)}
	p.cmd.Dir = ts.MkAbs(".")
	for _, key := range storyKeys {
		if v := ts.Getenv(key); v != "" {
			p.cmd.Env = append(p.cmd.Env, key+"="+v)
		}
	}
	stopped := make(chan struct{})
	p.stderr = &watcher{word: args[0], then: func() {
		time.AfterFunc(settle, func() {
			if p.cmd.Process.Signal(syscall.SIGSTOP) == nil {
				close(stopped)
			}
		})
	}}
	p.cmd.Stderr = p.stderr
	ts.Check(p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	select {
	case <-stopped:
	case err := <-p.ended:
		ts.Fatalf("%s ended before it was paused: %v\n%s", args[1], err, p.stderr.text.String())
	}
	pausedOf.Store(ts, p)
	ts.Defer(func() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // gone already, unless the story failed
	})
}

// resumeCmd lets the paused command go on, and expects how it ends: `resume CODE TEXT`.
func resumeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resume CODE TEXT")
	}
	found, ok := pausedOf.LoadAndDelete(ts)
	if !ok {
		ts.Fatalf("nothing is paused")
	}
	p := found.(*paused)
	ts.Check(p.cmd.Process.Signal(syscall.SIGCONT))
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		ts.Fatalf("the command did not end within a minute of its resumption")
	}
	said := p.stderr.text.String()
	ts.Logf("[resumed]\n%s", said)
	if got := fmt.Sprint(p.cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	if !strings.Contains(said, args[1]) {
		ts.Fatalf("it does not say %q", args[1])
	}
}
