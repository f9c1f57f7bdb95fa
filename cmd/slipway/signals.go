// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// forceAfter is how long after the first interrupt a second one is let through: some
// terminals and wrappers send the first one twice.
const forceAfter = time.Second

// interrupts ends a run in order when it is told to stop: Ctrl-C, a job's end, a
// terminal that is closed. A second signal ends it at once.
type interrupts struct {
	cancel context.CancelFunc
	caught chan os.Signal
	held   atomic.Int32
}

// catchInterrupts returns a context that ends with the first signal.
func catchInterrupts(ctx context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(ctx)
	i := &interrupts{cancel: cancel, caught: make(chan os.Signal, 4)}
	signal.Notify(i.caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup asks to go on
		signal.Notify(i.caught, syscall.SIGHUP)
	}
	go func() {
		for s := range i.caught {
			if s == os.Interrupt && i.held.Load() > 0 {
				continue
			}
			cancel()
			time.AfterFunc(forceAfter, func() { signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) })
		}
	}()
	return ctx, i
}

// hold leaves Ctrl-C to a program in the foreground, such as an editor, until release.
func (i *interrupts) hold() (release func()) {
	if i == nil {
		return func() {}
	}
	i.held.Add(1)
	return func() { i.held.Add(-1) }
}

// stop ends the catching.
func (i *interrupts) stop() {
	signal.Stop(i.caught)
	i.cancel()
}

// outliveOutput keeps a run that changes things from being killed by the end of its
// output's reader (`| head`, a closed terminal): writes fail instead.
func outliveOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
