// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-k8s/slipway/internal/mototest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"slipway": main,
		"fakeed":  fakeEditor,
	})
}

// fakeEditor stands for a person: `fakeed SCRIPT FILE` runs the shell script with the
// file's name as $1. The script may keep state beside itself.
func fakeEditor() {
	cmd := exec.Command("sh", os.Args[1], os.Args[2])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Run() != nil {
		os.Exit(1)
	}
}

// simBinary builds slipway-sim once for all stories.
var simBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "slipway-story-*")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir, "github.com/slipway-k8s/slipway/cmd/slipway-sim")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build slipway-sim: %w\n%s", err, out)
	}
	return dir, nil
})

// TestStories runs every story on the simulated cloud. Each has a folder, a store and
// a simulator of its own; `cloud` in a story starts it and sets the SDK's variables.
func TestStories(t *testing.T) {
	for _, dir := range []string{"testdata/script", "testdata/script/both"} {
		t.Run(filepath.Base(dir), func(t *testing.T) { runStories(t, dir, onSim) })
	}
}

// onSim puts slipway-sim on the story's PATH.
func onSim(env *testscript.Env) error {
	dir, err := simBinary()
	if err != nil {
		return err
	}
	env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("CLOUD", "sim")
	env.Defer(func() { stopSim(env) })
	return nil
}

// TestStoriesOnMoto runs the stories of the main job a second time on moto's server,
// which no one here wrote: same binary, same flags.
func TestStoriesOnMoto(t *testing.T) {
	url := mototest.Start(t)
	var accounts struct {
		sync.Mutex
		n int
	}
	runStories(t, "testdata/script/both", func(env *testscript.Env) error {
		accounts.Lock()
		accounts.n++
		id := fmt.Sprintf("%012d", 210000000000+accounts.n)
		accounts.Unlock()
		env.Setenv("CLOUD", "moto")
		env.Setenv("AWS_ENDPOINT_URL", url)
		env.Setenv("AWS_ACCESS_KEY_ID", id) // moto takes twelve digits for the account
		env.Setenv("AWS_SECRET_ACCESS_KEY", "moto")
		env.Setenv("AWS_REGION", "us-east-1")
		return nil
	})
}

func runStories(t *testing.T, dir string, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			env.Setenv("SLIPWAY_USER", "story")
			env.Setenv("SLIPWAY_VENV", os.Getenv("SLIPWAY_VENV"))
			env.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			env.Setenv("AWS_DEFAULT_REGION", "us-east-1") // boto3 reads only this
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			return setup(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cloud":  cloudCmd,
			"code":   codeCmd,
			"python": pythonCmd,
			"cutoff": stopCmd,
			"let":    letCmd,
			"fault":  faultCmd,
			"pause":  pauseCmd,
			"resume": resumeCmd,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "venv":
				return os.Getenv("SLIPWAY_VENV") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// cloudCmd makes the cloud of the story usable: `cloud` starts the simulated one and
// sets the SDK's variables; on moto they are set already.
func cloudCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: cloud")
	}
	if ts.Getenv("CLOUD") == "moto" {
		return
	}
	ts.Check(ts.Exec("slipway", "sim", "start"))
	ts.Check(ts.Exec("slipway", "sim", "env"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok {
			ts.Setenv(key, strings.Trim(value, `"'`))
		}
	}
}

// codeCmd checks an exit code exactly: `code 3 slipway ...`.
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// pythonCmd runs a script of the story with the judges' Python: `python FILE args...`.
func pythonCmd(ts *testscript.TestScript, neg bool, args []string) {
	venv := ts.Getenv("SLIPWAY_VENV")
	if venv == "" {
		ts.Fatalf("SLIPWAY_VENV is not set")
	}
	err := ts.Exec(filepath.Join(venv, "bin", "python"), args...)
	if (err != nil) != neg {
		ts.Fatalf("python: %v", err)
	}
}

// stopCmd starts a command and sends it a signal when its stderr first holds a word:
// `cutoff KILL WORD command [args...]`. It expects the command not to succeed.
func stopCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: cutoff KILL|INT|HUP WORD command [args...]")
	}
	signals := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, args[2], args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range storyKeys {
		if v := ts.Getenv(key); v != "" {
			cmd.Env = append(cmd.Env, key+"="+v)
		}
	}
	watch := &watcher{word: args[1], then: func() { cmd.Process.Signal(signals[args[0]]) }}
	cmd.Stderr = watch
	err := cmd.Run()
	ts.Logf("[%s]\n%s", strings.Join(args, " "), watch.text.String())
	if err == nil {
		ts.Fatalf("%s ended well before it was stopped", args[2])
	}
}

// letCmd sets a variable to the last line of what the last command printed: `let VPC`.
func letCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: let NAME")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Setenv(args[0], lines[len(lines)-1])
}

// faultCmd makes the simulated cloud misbehave: `fault JSON`, or `fault` for no more.
func faultCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: fault [JSON]")
	}
	text := "[]"
	if len(args) == 1 {
		text = args[0]
	}
	resp, err := http.Post(ts.Getenv("AWS_ENDPOINT_URL")+"/_slipway/faults", "application/json", strings.NewReader(text))
	ts.Check(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("fault: %s", resp.Status)
	}
}

// storyKeys are the variables of a story that stopCmd hands on.
var storyKeys = []string{"PATH", "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "SLIPWAY_USER", "SLIPWAY_STATE_STORE", "SLIPWAY_CLUSTER",
	"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_EC2_METADATA_DISABLED", "TMPDIR"}

// watcher keeps what is written to it, and acts once, when a word has come.
type watcher struct {
	word string
	then func()
	text strings.Builder
	done bool
}

func (w *watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.word) {
		w.done = true
		w.then()
	}
	return len(p), nil
}

// stopSim ends the simulator that a story started.
func stopSim(env *testscript.Env) {
	data, err := os.ReadFile(filepath.Join(env.Getenv("XDG_STATE_HOME"), "slipway", "sim", "ready.json"))
	if err != nil {
		return
	}
	var ready simReady
	if json.Unmarshal(data, &ready) == nil && ready.PID > 0 {
		syscall.Kill(ready.PID, syscall.SIGTERM)
	}
}
