// SPDX-License-Identifier: Apache-2.0

// Package mototest starts moto's server, an independent model of the AWS APIs, for
// the tests that are judged from outside. Only tests import it.
package mototest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// server runs moto and ends with its standard input, so that a killed test binary
// leaves no server behind.
const server = `
import os, sys, threading
def end():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=end, daemon=True).start()
from moto.server import main
main(sys.argv[1:])
`

const startLimit = 90 * time.Second

var running = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// Venv returns the folder of the Python environment that holds moto and boto3, from
// SLIPWAY_VENV. Without one it skips the test, or fails it when the list in
// SLIPWAY_REQUIRE names "moto".
func Venv(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("SLIPWAY_VENV")
	if dir != "" {
		return dir
	}
	if slices.Contains(strings.FieldsFunc(os.Getenv("SLIPWAY_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), "moto") {
		tb.Fatal("SLIPWAY_REQUIRE names moto, but SLIPWAY_VENV is not set")
	}
	tb.Skip("SLIPWAY_VENV is not set: no moto server to test against")
	return ""
}

// Start starts a moto server with an empty world on a free port of loopback and
// returns its URL, such as "http://127.0.0.1:40193". It ends with the test. env holds
// more variables for the server ("NAME=value"). It skips or fails as Venv does.
func Start(tb testing.TB, env ...string) string {
	tb.Helper()
	python := filepath.Join(Venv(tb), "bin", "python")
	cmd := exec.Command(python, "-c", server, "-H", "127.0.0.1", "-p", "0")
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1")
	if images := imagesFile(); images != "" {
		cmd.Env = append(cmd.Env, "MOTO_AMIS_PATH="+images)
	}
	cmd.Env = append(cmd.Env, env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatalf("start moto: %v", err)
	}
	logs, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatalf("start moto: %v", err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start moto from SLIPWAY_VENV: %v", err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	url := make(chan string, 1)
	go func() { url <- findURL(logs) }()
	select {
	case got := <-url:
		if !strings.HasPrefix(got, "http://") {
			tb.Fatalf("moto ended before it listened:\n%s", got)
		}
		return got
	case <-time.After(startLimit):
		tb.Fatalf("moto did not listen within %s", startLimit)
	}
	return ""
}

// findURL reads the server's log up to its address and drains the rest, which would
// otherwise block the server. Without an address it returns the log itself.
func findURL(logs io.Reader) string {
	var seen strings.Builder
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		if m := running.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, logs)
			return m[1]
		}
		fmt.Fprintln(&seen, lines.Text())
	}
	return seen.String()
}

// imagesFile returns the machine images that moto should know, beside the module's
// root, or "" when there are none.
func imagesFile() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			file := filepath.Join(filepath.Dir(dir), "shared", "moto-images.json")
			if _, err := os.Stat(file); err == nil {
				return file
			}
			return ""
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
