// SPDX-License-Identifier: Apache-2.0

// Command bench measures whole runs of slipway (calls, wall, CPU, peak memory) on the
// simulated cloud and on moto; `make bench` runs it. It judges nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of slipway and slipway-sim")
	groups := flag.String("groups", "4,20,200", "numbers of instance groups, of which three are control planes")
	clouds := flag.String("clouds", "sim,moto", "clouds to run on")
	flag.Parse()
	if err := run(*bin, strings.Split(*groups, ","), strings.Split(*clouds, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin string, groups, clouds []string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	fmt.Printf("%-5s %7s  %-14s %6s %8s %8s %9s\n", "cloud", "groups", "run", "calls", "wall", "cpu", "peak")
	for _, cloud := range clouds {
		if cloud == "moto" && os.Getenv("SLIPWAY_VENV") == "" {
			fmt.Println("moto  left out: SLIPWAY_VENV is not set")
			continue
		}
		for _, n := range groups {
			count, err := strconv.Atoi(n)
			if err != nil {
				return fmt.Errorf("--groups: %w", err)
			}
			if err := measure(bin, cloud, count); err != nil {
				return fmt.Errorf("%s with %s groups: %w", cloud, n, err)
			}
		}
	}
	return nil
}

// controlPlanes are the groups of every cluster here that are no nodes.
const controlPlanes = 3

// world is one cloud behind a proxy that counts calls, with a store of its own.
type world struct {
	bin, dir, cloud string
	groups          int
	address         string
	env             []string
	calls           atomic.Int64 // by the proxy
}

func measure(bin, cloud string, groups int) error {
	dir, err := os.MkdirTemp("", "slipway-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &world{bin: bin, dir: dir, cloud: cloud, groups: groups}
	stop, err := w.start()
	if err != nil {
		return err
	}
	defer stop()
	spec := filepath.Join(dir, "cluster.yaml")
	if err := w.prepare(spec); err != nil {
		return err
	}
	const name = "bench.example.com"
	for _, step := range []struct {
		label string
		args  []string
	}{
		{"create", []string{"create", "-f", spec}},
		{"first plan", []string{"update", "cluster", name}},
		{"first apply", []string{"update", "cluster", name, "--yes"}},
		{"no-op plan", []string{"update", "cluster", name, "--detailed-exitcode"}},
		{"get clusters", []string{"get", "clusters"}},
		{"delete", []string{"delete", "cluster", name, "--yes"}},
	} {
		if err := w.step(step.label, step.args); err != nil {
			return err
		}
	}
	return nil
}

// prepare writes the manifest of a cluster with that many node groups.
func (w *world) prepare(path string) error {
	cmd := w.command("create", "cluster", "bench.example.com", "--zones", "us-east-1a,us-east-1b,us-east-1c", "--node-count", "3", "--dry-run", "-o", "yaml")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("make the manifest: %w", err)
	}
	var kept []string
	var group string
	for doc := range strings.SplitSeq(string(out), "\n---\n") {
		if strings.Contains(doc, "name: nodes-") {
			group = doc
			continue
		}
		kept = append(kept, strings.TrimSpace(doc))
	}
	name := regexp.MustCompile(`name: nodes-\S+`)
	for i := range max(w.groups-controlPlanes, 1) {
		kept = append(kept, strings.TrimSpace(name.ReplaceAllString(group, fmt.Sprintf("name: nodes-%03d", i))))
	}
	return os.WriteFile(path, []byte(strings.Join(kept, "\n---\n")+"\n"), 0o600)
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, "slipway"), args...)
	cmd.Env = append([]string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "AWS_EC2_METADATA_DISABLED=true"}, w.env...)
	return cmd
}

// step runs one command and prints what it took, by the operating system's account.
func (w *world) step(label string, args []string) error {
	before, err := w.count()
	if err != nil {
		return err
	}
	cmd := w.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	begin := time.Now()
	err = cmd.Run()
	wall := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 2) {
		text := stderr.String()
		return fmt.Errorf("%s: %w\n%s", label, err, text[max(0, len(text)-2000):])
	}
	if exit != nil && label == "no-op plan" {
		label += " (!)"
	}
	after, err := w.count()
	if err != nil {
		return err
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("%-5s %7d  %-14s %6d %7.2fs %7.2fs %6.1f MB\n", w.cloud, w.groups, label, after-before,
		wall.Seconds(), cpu.Seconds(), float64(use.Maxrss)/1024)
	return nil
}

// start starts the cloud; moto stands behind a proxy that counts, the simulator counts
// itself.
func (w *world) start() (stop func(), err error) {
	address, end, err := w.backend()
	if err != nil {
		return nil, err
	}
	w.address = address
	if w.cloud == "moto" {
		proxy, stopProxy, err := w.proxy(address)
		if err != nil {
			end()
			return nil, err
		}
		moto := end
		address, end = proxy, func() { stopProxy(); moto() }
	}
	w.env = append(w.env, "AWS_ENDPOINT_URL="+address, "AWS_REGION=us-east-1")
	return end, nil
}

func (w *world) proxy(backend string) (string, func(), error) {
	target, err := url.Parse(backend)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		w.calls.Add(1)
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(listener)
	return "http://" + listener.Addr().String(), func() { server.Close() }, nil
}

// count returns the calls that the cloud has had so far.
func (w *world) count() (int64, error) {
	if w.cloud == "moto" {
		return w.calls.Load(), nil
	}
	resp, err := http.Get(w.address + "/_slipway/status")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var status struct{ Calls int64 }
	err = json.NewDecoder(resp.Body).Decode(&status)
	return status.Calls, err
}

func (w *world) backend() (string, func(), error) {
	if w.cloud == "moto" {
		w.env = append(w.env, "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench")
		python := filepath.Join(os.Getenv("SLIPWAY_VENV"), "bin", "python")
		cmd := exec.Command(python, "-c", "from moto.server import main; main(['-H','127.0.0.1','-p','0'])")
		images, err := filepath.Abs(filepath.Join("..", "shared", "moto-images.json"))
		if err != nil {
			return "", nil, err
		}
		cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "MOTO_AMIS_PATH="+images)
		return launch(cmd, regexp.MustCompile(`Running on (http://\S+)`))
	}
	sim := filepath.Join(w.bin, "slipway-sim")
	address, end, err := launch(exec.Command(sim, "serve", "--dir", filepath.Join(w.dir, "sim")), regexp.MustCompile(`url=(http://\S+)`))
	if err != nil {
		return "", nil, err
	}
	out, err := exec.Command(sim, "env", "--addr", strings.TrimPrefix(address, "http://")).Output()
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if key != "AWS_ENDPOINT_URL" && key != "" {
			w.env = append(w.env, key+"="+strings.Trim(value, `"'`))
		}
	}
	return address, end, err
}

// launch starts a server and waits for the address in its log.
func launch(cmd *exec.Cmd, address *regexp.Regexp) (string, func(), error) {
	logs, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end := func() { cmd.Process.Kill(); cmd.Wait() }
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() {
		if ctx.Err() == context.DeadlineExceeded {
			cmd.Process.Kill()
		}
	})
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, logs)
			return m[1], end, nil
		}
	}
	end()
	return "", nil, fmt.Errorf("%s ended before it listened", cmd.Path)
}
