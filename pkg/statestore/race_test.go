// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMain runs this binary as one of several processes when a test asks for it.
func TestMain(m *testing.M) {
	if role := os.Getenv("SLIPWAY_TEST_ROLE"); role != "" {
		if err := child(role, os.Getenv("SLIPWAY_TEST_STORE")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	goroutines = 16
	processes  = 8
)

// eachStore runs a test on a store in memory and on one of files.
func eachStore(t *testing.T, run func(t *testing.T, s *Store, rounds int)) {
	t.Parallel()
	t.Run("mem", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		run(t, s, 200)
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		run(t, fileStore(t, t.TempDir()), 10)
	})
}

// together runs f in many goroutines at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func TestOneAppendWins(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store, rounds int) {
		for base := range rounds {
			var won, conflicts atomic.Int64
			var winner atomic.Value
			together(goroutines, func(i int) {
				content := fmt.Sprintf("round %d of %d", base, i)
				_, err := s.Append(t.Context(), demo, base, []byte(content), Meta{Who: fmt.Sprint("racer", i)})
				var conflict *ConflictError
				switch {
				case err == nil:
					won.Add(1)
					winner.Store(content)
				case errors.As(err, &conflict) && conflict.Base == base && conflict.Latest == base+1 && strings.HasPrefix(conflict.Who, "racer"):
					conflicts.Add(1)
				default:
					t.Errorf("round %d: %v", base, err)
				}
			})
			rev, err := s.Latest(t.Context(), demo)
			must(t, err)
			if won.Load() != 1 || conflicts.Load() != goroutines-1 || string(rev.Content) != winner.Load() || rev.Number != base+1 {
				t.Fatalf("round %d: %d won, %d conflicts, revision %d is %q", base, won.Load(), conflicts.Load(), rev.Number, rev.Content)
			}
		}
	})
}

// TestOneHoldsTheLock: takers that fail try again until all had it; whoever holds it
// checks that nobody else does.
func TestOneHoldsTheLock(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store, rounds int) {
		var inside, taken atomic.Int64
		var last atomic.Int64
		together(goroutines, func(int) {
			for range max(1, rounds/goroutines) {
				l, err := insist(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				if err := l.Check(t.Context()); err != nil {
					t.Error(err)
				}
				if before := last.Swap(int64(l.Info().Fence)); before >= int64(l.Info().Fence) {
					t.Errorf("fence %d after %d", l.Info().Fence, before)
				}
				taken.Add(1)
				inside.Add(-1)
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		if want := int64(goroutines * max(1, rounds/goroutines)); taken.Load() != want {
			t.Fatalf("taken %d times, want %d", taken.Load(), want)
		}
	})
}

// insist takes the lock as soon as its holder lets it go.
func insist(ctx context.Context, s *Store) (*Lock, error) {
	for {
		l, err := s.Lock(ctx, demo, LockInfo{Command: "race"})
		var locked *LockedError
		if !errors.As(err, &locked) && !errors.Is(err, ErrConflict) {
			return l, err
		}
	}
}

// TestUnlockersAndTakers: one goroutine ends locks at random moments; no two holders
// may pass their check at one time, between two unlocks.
func TestUnlockersAndTakers(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store, rounds int) {
		var lost, kept atomic.Int64
		together(goroutines, func(i int) {
			for range max(1, rounds/4) {
				if i%4 == 0 {
					if _, err := s.Unlock(t.Context(), demo); err != nil {
						t.Error(err)
					}
					continue
				}
				l, err := s.Lock(t.Context(), demo, LockInfo{})
				var locked *LockedError
				if errors.As(err, &locked) || errors.Is(err, ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				var gone *LostLockError
				switch err := l.Release(t.Context()); {
				case errors.As(err, &gone):
					lost.Add(1)
					if err := l.Check(t.Context()); !errors.As(err, &gone) {
						t.Errorf("a lost lock passes its check: %v", err)
					}
				case err != nil:
					t.Error(err)
				default:
					kept.Add(1)
				}
			}
		})
		if holder, err := s.LockHolder(t.Context(), demo); err != nil || holder != nil {
			t.Fatalf("in the end: %v, %v", holder, err)
		}
	})
}

func TestLedgerLosesNoEntry(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store, rounds int) {
		each := max(1, rounds/goroutines)
		together(goroutines, func(i int) {
			for j := range each {
				err := s.UpdateLedger(t.Context(), demo, func(l *Ledger) error {
					l.Entries = append(l.Entries, LedgerEntry{Kind: "iam-role", ID: fmt.Sprintf("%d/%d", i, j)})
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		l, err := s.Ledger(t.Context(), demo)
		must(t, err)
		ids := map[string]bool{}
		for _, e := range l.Entries {
			ids[e.ID] = true
		}
		if len(ids) != goroutines*each || len(l.Entries) != len(ids) {
			t.Fatalf("%d entries of %d", len(ids), goroutines*each)
		}
	})
}

// child is one of several processes on one store.
func child(role, where string) error {
	ctx := context.Background()
	if role == "racer" || role == "writer" {
		return obey(ctx, role, where)
	}
	s, err := openFile(where)
	if err != nil {
		return err
	}
	bufio.NewReader(os.Stdin).ReadString('\n') // the start
	switch role {
	case "append":
		for base := range processRounds {
			_, err := s.Append(ctx, demo, base, fmt.Appendf(nil, "by %d", os.Getpid()), Meta{})
			if err == nil {
				fmt.Println("won", base)
			} else if !errors.Is(err, ErrConflict) {
				return err
			}
			for n := 0; n <= base; { // wait for the round's end: somebody has won it
				if n, err = s.LastNumber(ctx, demo); err != nil {
					return err
				}
			}
		}
	case "lock":
		for range processRounds {
			l, err := insist(ctx, s)
			if err != nil {
				return err
			}
			// Two holders at once would lose one of the two counts.
			count := 0
			if data, err := s.Objects(demo).Get(ctx, "values/count"); err == nil {
				count, _ = strconv.Atoi(string(data))
			}
			if err := l.Store().Objects(demo).Put(ctx, "values/count", fmt.Append(nil, count+1)); err != nil {
				return err
			}
			if err := l.Release(ctx); err != nil {
				return err
			}
		}
	case "hold":
		if _, err := s.Lock(ctx, demo, LockInfo{Command: "hold"}); err != nil {
			return err
		}
		fmt.Println("held")
		select {}
	}
	return nil
}

const processRounds = 10

// start runs children and returns their output.
func runChildren(t *testing.T, role, dir string, n int) []string {
	t.Helper()
	outputs := make([]string, n)
	together(n, func(i int) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "SLIPWAY_TEST_ROLE="+role, "SLIPWAY_TEST_STORE="+dir)
		cmd.Stdin = strings.NewReader("\n")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("child %d: %v\n%s", i, err, out)
		}
		outputs[i] = string(out)
	})
	return outputs
}

func TestOneProcessWinsEachRevision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outputs := runChildren(t, "append", dir, processes)
	for base := range processRounds {
		winners := 0
		for _, out := range outputs {
			winners += strings.Count(out, fmt.Sprintf("won %d\n", base))
		}
		if winners != 1 {
			t.Errorf("revision %d was written by %d processes", base+1, winners)
		}
	}
	history, err := fileStore(t, dir).History(t.Context(), demo)
	must(t, err)
	if len(history) != processRounds {
		t.Fatalf("%d revisions", len(history))
	}
}

func TestOneProcessHoldsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runChildren(t, "lock", dir, processes)
	data, err := fileStore(t, dir).Objects(demo).Get(t.Context(), "values/count")
	must(t, err)
	if string(data) != fmt.Sprint(processes*processRounds) {
		t.Fatalf("counted %s of %d", data, processes*processRounds)
	}
}

func TestTheLockOfAKilledProcessIsCleared(t *testing.T) {
	t.Parallel()
	if me := self(); me.boot == "" || me.space == "" || me.start == "" {
		t.Skip("this system does not identify processes")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_ROLE=hold", "SLIPWAY_TEST_STORE="+dir)
	cmd.Stdin = strings.NewReader("\n")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	s := fileStore(t, dir)
	_, err = s.Lock(t.Context(), demo, LockInfo{})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != cmd.Process.Pid {
		t.Fatalf("while it runs: %v", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	l, err := s.Lock(t.Context(), demo, LockInfo{})
	must(t, err)
	if l.Info().Fence != 2 {
		t.Fatalf("got fence %d", l.Info().Fence)
	}
}
