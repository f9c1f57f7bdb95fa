// SPDX-License-Identifier: Apache-2.0

package nodeconfig

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Config {
	return &Config{
		Version: Version, Cluster: "demo.example.com", UID: "u-1", Group: "control-plane-a", Role: "ControlPlane",
		KubernetesVersion: "1.36.1",
		Networking: Networking{
			NetworkCIDR: "172.20.0.0/16", PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
			DNSDomain: "cluster.local", CNI: "routes",
		},
		NodeLabels: map[string]string{"b": "2", "a": "true"},
		Taints:     []string{"dedicated=x:NoSchedule"},
		Etcd:       []EtcdMember{{Cluster: "main", Member: "a", Members: []string{"a", "b", "c"}}},
		APIServer:  &APIServer{InternalName: "api.internal.demo.example.com", SANs: []string{"203.0.113.9"}},
	}
}

func samplePointer() *Pointer {
	digest := Digest([]byte("x"))
	return &Pointer{
		Version: Version, Cluster: "demo.example.com", UID: "u-1", Group: "nodes-a", Role: "Node",
		Bootstrap: []string{"10.0.0.1:3988"}, Config: Key("nodes-a", digest), ConfigSHA256: digest,
		Agent: map[string]Asset{"amd64": {URL: "https://example.com/nodeup", SHA256: digest}},
		CA:    "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b, err := Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Decode(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if d := cmp.Diff(sample(), c); d != "" {
		t.Error(d)
	}
	p, err := MarshalPointer(samplePointer())
	if err != nil {
		t.Fatal(err)
	}
	q, err := DecodePointer(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if d := cmp.Diff(samplePointer(), q); d != "" {
		t.Error(d)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good, err := Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, with string) string {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("sample lacks %q:\n%s", old, good)
		}
		return strings.Replace(string(good), old, with, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":        {string(good) + "kubelets: x\n", `unknown field "kubelets"`},
		"unknown nested field": {replace("  cni: routes", "  cni: routes\n  mtu: 9001"), `unknown field "mtu"`},
		"name in another case": {replace("group:", "Group:"), `unknown field "Group"`},
		"doubled field":        {string(good) + "group: other\n", "already set"},
		"number for a string":  {replace("kubernetesVersion: 1.36.1", "kubernetesVersion: 1.30"), "has to be quoted"},
		"list for a string":    {replace("kubernetesVersion: 1.36.1", "kubernetesVersion: [a]"), "cannot unmarshal"},
		"second document":      {string(good) + "---\nversion: x\n", "document marker"},
		"empty":                {"", "version is \"\""},
		"truncated":            {string(good[:40]), "not slipway.dev/node/v1"},
		"not a map":            {"[1, 2]", "cannot unmarshal"},
		"other family":         {replace(Version, "example.com/v1"), "not " + Version},
		"no group":             {replace("group: control-plane-a\n", ""), "group is missing"},
		"etcd without member":  {replace("  member: a\n", ""), "etcd[0]"},
		"too large":            {string(good) + "#" + strings.Repeat("x", MaxSize), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestNewerFormIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte("version: slipway.dev/node/v2\nshiny: true\n"))
	if !errors.Is(err, ErrNewer) {
		t.Errorf("config: got %v, want ErrNewer", err)
	}
	_, err = DecodePointer([]byte("version: slipway.dev/node/v12\n"))
	if !errors.Is(err, ErrNewer) {
		t.Errorf("pointer: got %v, want ErrNewer", err)
	}
}

func TestPointerRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Pointer)
		want   string
	}{
		"short digest":       {func(p *Pointer) { p.ConfigSHA256 = "abc" }, "64"},
		"digest not in name": {func(p *Pointer) { p.Config = "nodes/nodes-a/other.yaml" }, "part of the name"},
		"agent by file":      {func(p *Pointer) { p.Agent["arm64"] = Asset{URL: "file:///x"} }, "https://"},
		"agent's bad digest": {func(p *Pointer) { p.Agent["arm64"] = Asset{URL: "https://x/y", SHA256: "ABC"} }, "agent.arm64"},
		"no role":            {func(p *Pointer) { p.Role = "" }, "role is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := samplePointer()
			c.change(p)
			if _, err := MarshalPointer(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	p := samplePointer()
	p.Agent["amd64"] = Asset{URL: "https://x/y"}
	if _, err := MarshalPointer(p); err != nil {
		t.Errorf("an unresolved digest is allowed in a pointer: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	pointer, err := MarshalPointer(samplePointer())
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{string(good), string(pointer), "", "version: slipway.dev/node/v2", "a: &a [*a]", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := Decode(b); err == nil {
			again(t, c, Marshal, Decode)
		}
		if p, err := DecodePointer(b); err == nil {
			again(t, p, MarshalPointer, DecodePointer)
		}
	})
}

// again checks that what was read is written in a form that reads the same.
func again[T any](t *testing.T, x *T, write func(*T) ([]byte, error), read func([]byte) (*T, error)) {
	t.Helper()
	b, err := write(x)
	if err != nil {
		t.Fatalf("write what was read: %v", err)
	}
	y, err := read(b)
	if err != nil {
		t.Fatalf("read what was written: %v\n%s", err, b)
	}
	c, err := write(y)
	if err != nil || !bytes.Equal(b, c) {
		t.Fatalf("not stable (%v):\n%s\n%s", err, b, c)
	}
}
