// SPDX-License-Identifier: Apache-2.0

// Command slipway creates, changes and deletes Kubernetes clusters from a spec in a
// state store; people and CI jobs run it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Getenv)
	stop()
	os.Exit(code)
}

// Streams are where a run reads and writes: plans and tables to Out, progress and
// messages to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command line and returns its exit code (docs/errors.md).
func Run(ctx context.Context, args []string, streams Streams, env func(string) string) int {
	app := newApp(streams, env)
	root := newRoot(app)
	root.SetArgs(args)
	return app.exit(ctx, root.ExecuteContext(ctx))
}
