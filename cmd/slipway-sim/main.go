// SPDX-License-Identifier: Apache-2.0

// Command slipway-sim serves the simulated clouds on loopback; `slipway sim start` runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim"
	"github.com/slipway-k8s/slipway/pkg/sim/aws"
)

const usage = `usage: slipway-sim serve --dir DIR [--addr 127.0.0.1:0] [--ready-file FILE]
       slipway-sim env --addr HOST:PORT
`

// ready is the file that tells others where the simulator is.
type ready struct {
	PID       int       `json:"pid"`
	Addr      string    `json:"addr"`
	URL       string    `json:"url"`
	StartTime time.Time `json:"startTime"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "slipway-sim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("give a verb\n%s", usage)
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:], stderr)
	case "env":
		return env(args[1:], stdout)
	case "-h", "--help", "help":
		return flag.ErrHelp
	}
	return fmt.Errorf("unknown verb %q\n%s", args[0], usage)
}

func serve(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "", "folder of the simulated worlds (required)")
	addr := flags.String("addr", "127.0.0.1:0", "loopback address to listen on")
	readyFile := flags.String("ready-file", "", "file to write when serving: {pid, addr, url, startTime}")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 {
		return fmt.Errorf("serve takes --dir and no arguments\n%s", usage)
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	server, err := sim.New(sim.Options{Dir: *dir, Addr: *addr, Logger: logger})
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return errors.Join(err, server.Close())
	}
	if *readyFile != "" {
		r := ready{PID: os.Getpid(), Addr: server.Addr(), URL: server.URL(), StartTime: time.Now().UTC()}
		if err := writeReady(*readyFile, r); err != nil {
			return errors.Join(err, server.Close())
		}
	}
	logger.Info("serving", "url", server.URL(), "dir", *dir)
	<-ctx.Done()
	if *readyFile != "" {
		err = os.Remove(*readyFile)
	}
	return errors.Join(err, server.Close())
}

// writeReady puts the whole file there in one step, so that nobody reads half.
func writeReady(path string, r ready) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode ready file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return errors.Join(fmt.Errorf("write ready file: %w", err), os.Remove(tmp.Name()))
	}
	return os.Rename(tmp.Name(), path)
}

func env(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("env", flag.ContinueOnError)
	addr := flags.String("addr", "", "host:port of the running simulator (required)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *addr == "" {
		return fmt.Errorf("env takes --addr\n%s", usage)
	}
	_, err := fmt.Fprintf(stdout, "export AWS_ENDPOINT_URL=http://%s\nexport AWS_ACCESS_KEY_ID=%s\nexport AWS_SECRET_ACCESS_KEY=%s\nexport AWS_REGION=us-east-1\nexport AWS_DEFAULT_REGION=us-east-1\nexport AWS_EC2_METADATA_DISABLED=true\n",
		*addr, aws.OperatorAccessKey, aws.OperatorSecret)
	return err
}
