// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sims3 "github.com/slipway-k8s/slipway/pkg/sim/aws/s3"
	"github.com/slipway-k8s/slipway/pkg/statestore/open"
)

// racingProcesses race for one lock and one revision in each round.
const racingProcesses = 16

// rounds is how many rounds the processes race: SLIPWAY_ROUNDS, or few.
func rounds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("SLIPWAY_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SLIPWAY_ROUNDS must be a number of rounds, not %q", text)
	}
	return n
}

// puppet is a process that does one step for each line it is given, and answers with
// one line.
type puppet struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func newPuppet(t *testing.T, role, where string) *puppet {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_ROLE="+role, "SLIPWAY_TEST_STORE="+where,
		"AWS_ACCESS_KEY_ID=AKIATESTKEY", "AWS_SECRET_ACCESS_KEY=hunter2secret", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Signal(syscall.SIGCONT)
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("process %d: %v", cmd.Process.Pid, err)
		}
	})
	return &puppet{cmd, in, bufio.NewReader(out)}
}

// ask gives the process a step and returns its answer.
func (p *puppet) ask(t *testing.T, step string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, step); err != nil {
		t.Fatalf("process %d: %v", p.cmd.Process.Pid, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("process %d: %s: %v", p.cmd.Process.Pid, step, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// obey is the process's side: it does steps until its input ends.
func obey(ctx context.Context, role, where string) error {
	d, err := open.Open(ctx, where, open.Options{})
	if err != nil {
		return err
	}
	s := New(d, Options{User: fmt.Sprint("process", os.Getpid())})
	var l *Lock
	steps := bufio.NewScanner(os.Stdin)
	for steps.Scan() {
		verb, argument, _ := strings.Cut(steps.Text(), " ")
		switch verb {
		case "lock":
			l, err = s.Lock(ctx, demo, LockInfo{Command: role})
		case "append":
			base, _ := strconv.Atoi(argument)
			_, err = s.Append(ctx, demo, base, fmt.Appendf(nil, "by %d\n", os.Getpid()), Meta{Reason: "race"})
		case "write":
			err = l.Store().Objects(demo).Put(ctx, "values/count", []byte(argument))
		case "release":
			err = nil
			if l != nil {
				err, l = l.Release(ctx), nil
			}
		}
		fmt.Println(outcome(err))
	}
	return steps.Err()
}

// outcome is the one word that a step ends with.
func outcome(err error) string {
	var locked *LockedError
	var lost *LostLockError
	var conflict *ConflictError
	switch {
	case err == nil:
		return "won"
	case errors.As(err, &locked):
		return "locked"
	case errors.As(err, &lost):
		return "lost"
	case errors.As(err, &conflict):
		return "conflict"
	}
	return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
}

// raceProcesses has many processes try for the lock at once, then, while one holds it,
// for the same revision; each time exactly one may have it.
func raceProcesses(t *testing.T, where string, n int) {
	t.Helper()
	racers := make([]*puppet, racingProcesses)
	for i := range racers {
		racers[i] = newPuppet(t, "racer", where)
	}
	won := map[string]int{}
	all := func(step, otherwise string) {
		t.Helper()
		answers := make([]string, len(racers))
		together(len(racers), func(i int) { answers[i] = racers[i].ask(t, step) })
		winners := 0
		for i, a := range answers {
			switch a {
			case "won":
				winners++
			case otherwise:
			default:
				t.Errorf("%s, process %d: %s", step, i, a)
			}
		}
		if otherwise != "" && winners != 1 {
			t.Fatalf("%s: %d processes won", step, winners)
		}
		won[strings.Fields(step)[0]] += winners
	}
	start := time.Now()
	for round := range n {
		all("lock", "locked")
		all(fmt.Sprint("append ", round), "conflict")
		all("release", "")
	}
	took := time.Since(start)
	if won["lock"] != n || won["append"] != n {
		t.Fatalf("%d locks and %d revisions in %d rounds", won["lock"], won["append"], n)
	}
	t.Logf("%d processes, %d rounds in %s: %d tries for a lock, %d had it; %d tries for a revision, %d wrote it",
		len(racers), n, took.Round(time.Millisecond), n*len(racers), won["lock"], n*len(racers), won["append"])
}

func TestProcessesRaceOnFiles(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), rounds(t, 20)
	raceProcesses(t, dir, n)
	history, err := fileStore(t, dir).History(t.Context(), demo)
	must(t, err)
	if len(history) != n {
		t.Fatalf("%d revisions after %d rounds", len(history), n)
	}
}

func TestProcessesRaceOnTheSimulatedS3(t *testing.T) {
	t.Parallel()
	sim, err := sims3.New(t.TempDir(), sims3.Options{})
	must(t, err)
	srv := httptest.NewServer(sim)
	t.Cleanup(func() {
		srv.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL+"/race", nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("make the bucket: %s", answer.Status)
	}
	raceProcesses(t, "s3://race/clusters?region=us-east-1&endpoint="+url.QueryEscape(srv.URL), max(3, rounds(t, 30)/10))
}

// TestAPausedHolderStops: a process holds the lock and is stopped; meanwhile somebody
// unlocks, and takes the lock. When it goes on, it must not write.
func TestAPausedHolderStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := fileStore(t, dir)
	for round := range max(5, rounds(t, 50)/10) {
		holder := newPuppet(t, "writer", dir)
		for _, step := range []string{"lock", "write of the holder"} {
			if got := holder.ask(t, step); got != "won" {
				t.Fatalf("round %d: %s: %s", round, step, got)
			}
		}
		must(t, holder.cmd.Process.Signal(syscall.SIGSTOP))
		if _, err := s.Lock(t.Context(), demo, LockInfo{}); outcome(err) != "locked" {
			t.Fatalf("round %d: a paused holder is no dead one: %v", round, err)
		}
		_, err := s.Unlock(t.Context(), demo)
		must(t, err)
		l, err := s.Lock(t.Context(), demo, LockInfo{Command: "meanwhile"})
		must(t, err)
		must(t, l.Store().Objects(demo).Put(t.Context(), "values/count", []byte("of the next")))
		must(t, holder.cmd.Process.Signal(syscall.SIGCONT))
		if got := holder.ask(t, "write of the holder again"); got != "lost" {
			t.Fatalf("round %d: it went on: %s", round, got)
		}
		data, err := s.Objects(demo).Get(t.Context(), "values/count")
		must(t, err)
		if string(data) != "of the next" {
			t.Fatalf("round %d: the store holds %q", round, data)
		}
		if got := holder.ask(t, "release"); got != "lost" {
			t.Fatalf("round %d: it released a lock that was not its own: %s", round, got)
		}
		must(t, l.Check(t.Context()))
		must(t, l.Release(t.Context()))
	}
}
