// SPDX-License-Identifier: Apache-2.0

// Command slipway creates, changes and deletes Kubernetes clusters from a spec in a
// state store; people and CI jobs run it.
package main

import (
	"context"
	"io"
	"os"
)

func main() {
	ctx, caught := catchInterrupts(context.Background())
	code := Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, interrupts: caught}, os.Getenv)
	caught.stop()
	os.Exit(code)
}

// Streams are where a run reads and writes: plans and tables to Out, progress and
// messages to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	interrupts *interrupts // nil where none are caught
}

// Run runs one command line and returns its exit code (docs/errors.md).
func Run(ctx context.Context, args []string, streams Streams, env func(string) string) int {
	app := newApp(streams, env)
	root := newRoot(app)
	root.SetArgs(args)
	return app.exit(ctx, root.ExecuteContext(ctx))
}
