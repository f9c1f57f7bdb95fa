// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-k8s/slipway/pkg/sim/aws"
)

// TestMain runs the command itself when the test starts this binary as a child.
func TestMain(m *testing.M) {
	if os.Getenv("SLIPWAY_SIM_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// child starts the simulator as a process and waits for its ready file.
func child(t *testing.T, dir string) (*exec.Cmd, ready) {
	t.Helper()
	file := filepath.Join(dir, "ready.json")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--dir", dir, "--ready-file", file)
	cmd.Env = append(os.Environ(), "SLIPWAY_SIM_CHILD=1")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // gone already in most cases
	if line, err := bufio.NewReader(log).ReadString('\n'); err != nil || !strings.Contains(line, "serving") {
		t.Fatalf("first line %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r ready
	if err := json.Unmarshal(data, &r); err != nil || r.PID != cmd.Process.Pid || r.URL != "http://"+r.Addr {
		t.Fatalf("ready file %s: %v", data, err)
	}
	return cmd, r
}

func connect(r ready) *ec2.Client {
	return ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: &r.URL, RetryMaxAttempts: 1, HTTPClient: &http.Client{Timeout: 10 * time.Second},
		Credentials: credentials.NewStaticCredentialsProvider(aws.OperatorAccessKey, aws.OperatorSecret, ""),
	})
}

func TestKilledAndStopped(t *testing.T) {
	t.Parallel()
	dir, ctx, cidr := t.TempDir(), t.Context(), "10.0.0.0/16"
	cmd, r := child(t, dir)
	made, err := connect(r).CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: &cidr})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed: an error is what it answers

	cmd, r = child(t, dir)
	if _, err := connect(r).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{*made.Vpc.VpcId}}); err != nil {
		t.Errorf("after kill -9: %v", err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a clean stop: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ready.json")); !os.IsNotExist(err) {
		t.Errorf("the ready file outlived a clean stop (%v)", err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"fly"}, {"serve"}, {"serve", "--dir", t.TempDir(), "more"}, {"serve", "--dir", t.TempDir(), "--addr", "0.0.0.0:0"}, {"env"}} {
		if err := run(context.Background(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	var out strings.Builder
	if err := run(context.Background(), []string{"env", "--addr", "127.0.0.1:1"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "export AWS_ENDPOINT_URL=http://127.0.0.1:1\n") {
		t.Errorf("env: %q, %v", out.String(), err)
	}
}
