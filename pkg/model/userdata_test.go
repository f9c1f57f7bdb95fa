// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// nodePool is a pool whose agent, for this machine's architecture, is the content given.
func nodePool(agent string) Pool {
	digest := nodeconfig.Digest([]byte("config"))
	asset := nodeconfig.Asset{URL: "https://example.com/nodeup", SHA256: nodeconfig.Digest([]byte(agent))}
	return Pool{Name: "nodes-a", Pointer: &nodeconfig.Pointer{
		Version: nodeconfig.Version, Cluster: "demo.example.com", UID: testUID, Group: "nodes-a", Role: "Node",
		Config: nodeconfig.Key("nodes-a", digest), ConfigSHA256: digest,
		Agent: map[string]nodeconfig.Asset{runtime.GOARCH: asset},
	}}
}

func userData(t *testing.T, p Pool, bootstrap ...string) []byte {
	t.Helper()
	out, err := UserData(p, Late{Bootstrap: bootstrap})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parts reads user data as a machine does.
func parts(t rapid.TB, data []byte) (names, types []string, bodies []string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(m.Body, params["boundary"])
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			return names, types, bodies
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, data)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if p.Header.Get("Content-Transfer-Encoding") == "base64" {
			if body, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(string(body), "\n", "")); err != nil {
				t.Fatal(err)
			}
		}
		_, disposition, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, disposition["filename"])
		types = append(types, p.Header.Get("Content-Type"))
		bodies = append(bodies, string(body))
	}
}

func TestUserDataForms(t *testing.T) {
	t.Parallel()
	p := nodePool("agent")
	plain := userData(t, p, "10.0.0.1:3988")
	if !bytes.HasPrefix(plain, []byte("#!/bin/sh\n")) || len(plain) > 4096 {
		t.Errorf("not a small script, %d bytes:\n%s", len(plain), plain)
	}
	if got := userData(t, Pool{Name: "bastions"}); got != nil {
		t.Errorf("a bastion without parts has user data: %s", got)
	}

	p.Extra = []nodeconfig.UserDataPart{
		{Name: "b.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\necho ${HOSTNAME} %{if} \"'\\\n"},
		{Name: `a "name" ü.bin`, Type: `text/cloud-config; charset="utf-8"`, Content: "\x00\xff\r\nend"},
		{Type: "text/plain", Content: ""},
	}
	names, types, bodies := parts(t, userData(t, p, "10.0.0.1:3988"))
	want := []string{string(plain), p.Extra[0].Content, p.Extra[1].Content, ""}
	if d := cmp.Diff(want, bodies); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"00-slipway.sh", "b.sh", `a "name" ü.bin`, "part-3"}, names); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"text/x-shellscript", "text/x-shellscript", "text/cloud-config; charset=utf-8", "text/plain"}, types); d != "" {
		t.Error(d)
	}
	sizes := UserDataSizes(p)
	if len(sizes) != 4 || sizes[0].Name != "00-slipway.sh" || sizes[3].Bytes != 0 {
		t.Errorf("sizes: %v", sizes)
	}
}

func TestUserDataRefuses(t *testing.T) {
	t.Parallel()
	bad := nodePool("agent")
	bad.Extra = []nodeconfig.UserDataPart{{Name: "x", Type: "text/x\r\nX-Evil: 1", Content: "y"}}
	file := nodePool("agent")
	file.Pointer.Agent["amd64"] = nodeconfig.Asset{URL: "file:///nodeup"}
	for name, c := range map[string]struct {
		pool      Pool
		bootstrap []string
		want      string
	}{
		"no bootstrap address": {nodePool("agent"), nil, "no address of the bootstrap server"},
		"type with a newline":  {bad, []string{"x:1"}, `part "x": type`},
		"agent by file":        {file, []string{"x:1"}, "https://"},
	} {
		_, err := UserData(c.pool, Late{Bootstrap: c.bootstrap})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nodes-a") {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

func TestUserDataAddresses(t *testing.T) {
	t.Parallel()
	pointerOf := func(p Pool, bootstrap ...string) *nodeconfig.Pointer {
		_, rest, _ := strings.Cut(string(userData(t, p, bootstrap...)), "<<'POINTER-")
		_, rest, _ = strings.Cut(rest, "\n")
		doc, _, found := strings.Cut(rest, "POINTER-")
		q, err := nodeconfig.DecodePointer([]byte(doc))
		if err != nil || !found {
			t.Fatalf("%v:\n%s", err, doc)
		}
		return q
	}
	b := built(t, haPrivate())
	node, control := *b.Pool("nodes-us-east-1a"), *b.Pool("control-plane-us-east-1a")
	if got := pointerOf(node).Bootstrap; len(got) != 1 || got[0] != "api.internal.inner.example.com:3988" {
		t.Errorf("by DNS: %v", got)
	}
	if got := pointerOf(node, "10.0.0.1:3988").Bootstrap; len(got) != 1 || got[0] != "10.0.0.1:3988" {
		t.Errorf("given addresses come first: %v", got)
	}
	if got := pointerOf(control, "10.0.0.1:3988"); got.Bootstrap != nil || got.Store != b.Store {
		t.Errorf("a control plane reads the store: %+v", got)
	}
	if node.Pointer.Bootstrap[0] != "api.internal.inner.example.com:3988" {
		t.Error("UserData changed the pool")
	}
}

func TestUserDataIsPureAndWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := nodePool("agent")
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			content := rapid.OneOf(
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
				rapid.StringMatching(`[ -~\n\t]{0,200}`),
			).Draw(t, "content")
			p.Extra = append(p.Extra, nodeconfig.UserDataPart{
				Name: rapid.StringMatching(`[a-z]{1,8}(\.sh)?`).Draw(t, "name"), Type: "text/x-shellscript", Content: content,
			})
		}
		first, err := UserData(p, Late{Bootstrap: []string{"10.0.0.1:3988"}})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := UserData(p, Late{Bootstrap: []string{"10.0.0.1:3988"}})
		if !bytes.Equal(first, again) {
			t.Fatal("not pure")
		}
		_, _, bodies := parts(t, first)
		for i, e := range p.Extra {
			if bodies[i+1] != e.Content {
				t.Fatalf("part %d: got %q, want %q", i, bodies[i+1], e.Content)
			}
		}
	})
}

// machine is a folder that stands for a machine: the script's paths lead into it and
// its commands are stubs that log their calls.
type machine struct {
	dir string
	env []string
}

func newMachine(t *testing.T, stubs map[string]string) machine {
	t.Helper()
	m := machine{dir: t.TempDir()}
	bin := filepath.Join(m.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"systemctl": "exit 0", "sleep": "exit 0", "wget": "exit 4", "curl": "exit 22",
	}
	for name, body := range stubs {
		all[name] = body
	}
	for name, body := range all {
		script := "#!/bin/sh\necho " + name + " \"$@\" >>" + m.dir + "/calls\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	return m
}

// run boots the machine once and returns what it says, its calls and whether it succeeded.
func (m machine) run(t *testing.T, script []byte) (said, calls string, ok bool) {
	t.Helper()
	text := string(script)
	for _, path := range []string{"=/etc/slipway", "=/opt/slipway", "=/etc/systemd"} {
		text = strings.Replace(text, path, "="+m.dir+path[1:], 1)
	}
	cmd := exec.Command("sh")
	cmd.Stdin, cmd.Env = strings.NewReader(text), m.env
	out, err := cmd.CombinedOutput()
	return string(out), m.read("calls"), err == nil
}

func (m machine) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(m.dir, name))
	return string(b)
}

// give answers a download with a text: the file's name follows -o (curl) or -O (wget).
func give(text string) string {
	return `while [ $# -gt 1 ]; do case "$1" in -o | -O) printf '` + text + `' >"$2"; exit 0 ;; esac; shift; done; exit 1`
}

func TestBootScriptRuns(t *testing.T) {
	t.Parallel()
	const agent = "the agent"
	for name, c := range map[string]struct {
		stubs map[string]string
		pool  Pool
		ok    bool
		said  string
		calls string
	}{
		"curl":                        {map[string]string{"curl": give(agent)}, nodePool(agent), true, "", "systemctl start --no-block nodeup.service"},
		"wget when curl is at a loss": {map[string]string{"wget": give(agent)}, nodePool(agent), true, "", "wget -q"},
		"something else is served":    {map[string]string{"curl": give("an error page")}, nodePool(agent), false, "gave up after 20 tries", "curl"},
		"nothing is served":           {nil, nodePool(agent), false, "gave up after 20 tries", "wget"},
		"another architecture":        {map[string]string{"uname": "echo riscv64"}, nodePool(agent), false, "no verified agent for riscv64", "uname"},
		"unresolved agent":            {map[string]string{"curl": give(agent)}, unresolved(), false, "no verified agent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.stubs)
			said, calls, ok := m.run(t, userData(t, c.pool, "10.0.0.1:3988"))
			if ok != c.ok || !strings.Contains(said, c.said) || !strings.Contains(calls, c.calls) {
				t.Fatalf("succeeded %v, want %v; said:\n%s\ncalls:\n%s", ok, c.ok, said, calls)
			}
			if !ok {
				if strings.Contains(calls, "systemctl") || m.read("opt/slipway/bin/nodeup") != "" {
					t.Error("something was started that is not verified")
				}
				if n := strings.Count(calls, "curl "); n > 20 {
					t.Errorf("%d downloads are not bounded", n)
				}
				return
			}
			if m.read("opt/slipway/bin/nodeup") != agent {
				t.Error("the agent is not in its place")
			}
			q, err := nodeconfig.DecodePointer([]byte(m.read("etc/slipway/pointer.yaml")))
			if err != nil || q.Bootstrap[0] != "10.0.0.1:3988" {
				t.Errorf("pointer %+v: %v", q, err)
			}
			if unit := m.read("etc/systemd/system/nodeup.service"); !strings.Contains(unit, "/opt/slipway/bin/nodeup --pointer") {
				t.Errorf("unit:\n%s", unit)
			}
			// A second boot finds the agent and downloads nothing.
			before := strings.Count(calls, "curl ")
			if _, calls, ok = m.run(t, userData(t, c.pool, "10.0.0.1:3988")); !ok || strings.Count(calls, "curl ") != before {
				t.Errorf("second run: succeeded %v, calls:\n%s", ok, calls)
			}
		})
	}
}

func unresolved() Pool {
	p := nodePool("agent")
	p.Pointer.Agent[runtime.GOARCH] = nodeconfig.Asset{URL: "https://example.com/nodeup"}
	return p
}

func TestBootScriptIsQuoteSafe(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`'; touch OWNED; '`, "$(touch OWNED)", "`touch OWNED`", "${HOME}", "\nPOINTER\ntouch OWNED\n", `\`, `"`, "ü\t", "@MARK@", "%{x}",
	}
	for _, text := range hostile {
		p := nodePool("the agent")
		p.Pointer.Cluster, p.Pointer.CA = text, text
		a := p.Pointer.Agent[runtime.GOARCH]
		a.URL += "?" + text
		p.Pointer.Agent[runtime.GOARCH] = a
		script := userData(t, p, text)
		check := exec.Command("bash", "-n")
		check.Stdin = bytes.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s\n%s", text, err, out, script)
		}
		m := newMachine(t, map[string]string{"curl": give("the agent")})
		said, _, ok := m.run(t, script)
		q, err := nodeconfig.DecodePointer([]byte(m.read("etc/slipway/pointer.yaml")))
		if !ok || err != nil {
			t.Fatalf("%q: %v: %s", text, err, said)
		}
		if q.Cluster != text || q.CA != text || q.Bootstrap[0] != text {
			t.Errorf("%q arrived as %q", text, q.Cluster)
		}
		if _, err := os.Stat("OWNED"); err == nil {
			t.Fatalf("%q ran", text)
		}
	}
}
