// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// TestMain lets this binary be the writer that a test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SLIPWAY_TEST_SCRIBBLE"); dir != "" {
		if err := scribble(dir); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const scribbled = 1 << 20

// scribble overwrites one object and creates others until it is killed.
func scribble(dir string) error {
	s, err := New(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := 0; ; i++ {
		content := bytes.Repeat([]byte{byte('a' + i%26)}, scribbled)
		if _, err := s.Put(ctx, "demo/k", content); err != nil {
			return err
		}
		if _, err := s.PutIfAbsent(ctx, fmt.Sprintf("demo/new/%d-%d", os.Getpid(), i), content); err != nil {
			return err
		}
		fmt.Println("written")
	}
}

func TestAKilledWriterLeavesWholeObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	for kill := range 12 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "SLIPWAY_TEST_SCRIBBLE="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
			t.Fatalf("the writer says %q, %v", line, err)
		}
		time.AfterFunc(time.Duration(kill)*700*time.Microsecond, func() { cmd.Process.Kill() })
		cmd.Wait()
	}
	p, err := s.List(t.Context(), "", driver.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range p.Objects {
		o, err := s.Get(t.Context(), info.Key)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Data) != scribbled || bytes.Count(o.Data, o.Data[:1]) != scribbled {
			t.Errorf("%s is half written: %d bytes", info.Key, len(o.Data))
		}
		if strings.Contains(info.Key, tempPrefix) {
			t.Errorf("the listing shows %s", info.Key)
		}
	}
	n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour))
	t.Logf("%d objects, %d leftovers swept", len(p.Objects), n)
	if err != nil {
		t.Fatal(err)
	}
	// The lock of a killed writer is not in the way.
	if _, err := s.Put(t.Context(), "demo/k", []byte("x")); err != nil {
		t.Fatal(err)
	}
}
