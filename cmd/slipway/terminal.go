// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"golang.org/x/term"

	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// defaultWidth is used where the output is no terminal.
const defaultWidth = 100

// isTerminal reports whether a stream is a terminal that wants colour and motion.
func (a *app) isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}

// width returns the columns of the terminal.
func (a *app) width() int {
	if f, ok := a.Err.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return defaultWidth
}

// reporter shows an apply live on a terminal, and in plain lines elsewhere.
func (a *app) reporter() tasks.Reporter {
	if a.isTerminal(a.Err) {
		return tasks.TerminalReporter(a.Err, a.width, tasks.SystemClock{})
	}
	return tasks.PlainReporter(a.Err)
}
