// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// TestStoreKeys: what UserData writes is found again, whatever stands around it.
func TestStoreKeys(t *testing.T) {
	t.Parallel()
	digest := nodeconfig.Digest([]byte("x"))
	agent := strings.Repeat("ab", 32)
	pointer := func(group string) *nodeconfig.Pointer {
		return &nodeconfig.Pointer{
			Version: nodeconfig.Version, Cluster: "demo.example.com", UID: "u", Group: group, Role: string(api.RoleNode),
			Store: "s3://b/p", Config: nodeconfig.Key("nodes", digest), ConfigSHA256: digest,
			Agent: map[string]nodeconfig.Asset{"amd64": {URL: "https://example.com/nodeup", SHA256: agent}, "arm64": {URL: "https://example.com/arm"}},
		}
	}
	want := []string{"assets/" + agent, nodeconfig.Key("nodes", digest)}
	extra := []nodeconfig.UserDataPart{{Name: "z.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\ncat <<'POINTER-0123456789abcdef'\nx\nPOINTER-0123456789abcdef\n"}}
	odd := pointer("nodes")
	odd.UID = "ü" // not ASCII, so the script goes as base64
	for name, p := range map[string]Pool{
		"plain":           {Name: "nodes", Pointer: pointer("nodes")},
		"multipart":       {Name: "nodes", Pointer: pointer("nodes"), Extra: extra},
		"base64 in parts": {Name: "nodes", Pointer: odd, Extra: extra},
	} {
		data, err := UserData(p, Late{})
		if err != nil {
			t.Fatal(err)
		}
		keys, found, err := StoreKeys(data)
		if err != nil || !found || !slices.Equal(keys, want) {
			t.Errorf("%s: got %v, %t, %v", name, keys, found, err)
		}
	}
	for name, data := range map[string]string{"nothing": "", "another script": "#!/bin/sh\necho hello\n"} {
		if keys, found, err := StoreKeys([]byte(data)); found || err != nil || keys != nil {
			t.Errorf("%s: got %v, %t, %v", name, keys, found, err)
		}
	}
	bastion, err := UserData(Pool{Name: "bastion", Extra: extra}, Late{})
	if err != nil {
		t.Fatal(err)
	}
	if keys, found, err := StoreKeys(bastion); found || err != nil {
		t.Errorf("a bastion reads %v (%v)", keys, err)
	}
	whole, err := UserData(Pool{Name: "nodes", Pointer: pointer("nodes")}, Late{})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"cut off":     string(whole[:strings.Index(string(whole), "config:")]),
		"newer":       strings.Replace(string(whole), nodeconfig.Version, "slipway.dev/node/v9", 1),
		"broken MIME": "Content-Type: multipart/mixed\n\nx",
	} {
		if keys, _, err := StoreKeys([]byte(data)); err == nil {
			t.Errorf("%s: got %v", name, keys)
		}
	}
}

// FuzzStoreKeys: no user data makes the reader panic.
func FuzzStoreKeys(f *testing.F) {
	f.Add([]byte("#!/bin/sh\ncat <<'POINTER-0123456789abcdef'\nversion: x\nPOINTER-0123456789abcdef\n"))
	f.Add([]byte("Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\n\nx\n--b--\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { StoreKeys(data) })
}
