// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// Late is what user data holds and only an apply can tell.
type Late struct {
	// Bootstrap (host:port) takes the place of the pointer's bootstrap addresses when it
	// is not empty; roles that read the store ignore it.
	Bootstrap []string
	// CA is the bundle (PEM) that the bootstrap server is trusted by.
	CA string
}

// TrustTaskID is the ID of the task that knows Late.CA; it is a TrustTask.
const TrustTaskID tasks.ID = "store/keyset/kubernetes-ca"

// TrustTask is the task that keeps the cluster's authority.
type TrustTask interface {
	tasks.Task
	// TrustBundle is the PEM of all certificates that machines must trust.
	TrustBundle() *tasks.Output[string]
}

// UserData returns what a pool's machines start with, before any encoding that a cloud
// adds: the script that fetches, verifies and starts the node agent, and after it the
// group's extra parts as MIME multipart. Without either it is empty. It is a pure
// function: equal arguments give equal bytes.
//
// Without any address of the bootstrap server it is an error for roles that need one.
func UserData(p Pool, late Late) ([]byte, error) {
	parts, err := userDataParts(p, late)
	if err != nil {
		return nil, fmt.Errorf("user data of group %s: %w", p.Name, err)
	}
	switch {
	case len(parts) == 0:
		return nil, nil
	case len(p.Extra) == 0:
		return []byte(parts[0].Content), nil
	}
	out, err := joinParts(parts)
	if err != nil {
		return nil, fmt.Errorf("user data of group %s: %w", p.Name, err)
	}
	return out, nil
}

// UserDataSize is one contributor to the size of user data.
type UserDataSize struct {
	Name  string
	Bytes int
}

// UserDataSizes returns what each part takes of a pool's user data, the largest first,
// for the message that it is over a cloud's limit. The agent's script is counted without
// bootstrap addresses.
func UserDataSizes(p Pool) []UserDataSize {
	var out []UserDataSize
	if p.Pointer != nil {
		if script, err := bootScript(*p.Pointer); err == nil {
			out = append(out, UserDataSize{Name: scriptName, Bytes: len(script)})
		}
	}
	for i, e := range p.Extra {
		out = append(out, UserDataSize{Name: partName(i, e), Bytes: len(encodePart(e.Content).body)})
	}
	slices.SortStableFunc(out, func(x, y UserDataSize) int { return y.Bytes - x.Bytes })
	return out
}

const scriptName = "00-slipway.sh"

func userDataParts(p Pool, late Late) ([]nodeconfig.UserDataPart, error) {
	var parts []nodeconfig.UserDataPart
	if p.Pointer != nil {
		pointer := *p.Pointer
		if late.CA != "" {
			pointer.CA = late.CA
		}
		if pointer.Store == "" {
			if len(late.Bootstrap) > 0 {
				pointer.Bootstrap = late.Bootstrap
			}
			if len(pointer.Bootstrap) == 0 {
				return nil, errors.New("no address of the bootstrap server is known: give the API a load balancer or use DNS")
			}
		}
		script, err := bootScript(pointer)
		if err != nil {
			return nil, err
		}
		parts = append(parts, nodeconfig.UserDataPart{Name: scriptName, Type: "text/x-shellscript", Content: script})
	}
	for i, e := range p.Extra {
		e.Name = partName(i, e)
		parts = append(parts, e)
	}
	return parts, nil
}

func partName(i int, e nodeconfig.UserDataPart) string {
	if e.Name == "" {
		return fmt.Sprintf("part-%d", i+1)
	}
	return e.Name
}

// joinParts joins the parts. The boundary is a digest of those that the user wrote, so
// it stands in none of them and does not hang on what only an apply can tell.
func joinParts(parts []nodeconfig.UserDataPart) ([]byte, error) {
	var all strings.Builder
	for _, p := range parts {
		if p.Name != scriptName {
			fmt.Fprintf(&all, "%q %q %q\n", p.Name, p.Type, p.Content)
		}
	}
	boundary := "slipway-" + nodeconfig.Digest([]byte(all.String()))[:32]

	var out bytes.Buffer
	fmt.Fprintf(&out, "Content-Type: multipart/mixed; boundary=\"%s\"\nMIME-Version: 1.0\n", boundary)
	for _, p := range parts {
		kind, params, err := mime.ParseMediaType(p.Type)
		if err != nil {
			return nil, fmt.Errorf("part %q: type %q: %w", p.Name, p.Type, err)
		}
		file := mime.FormatMediaType("attachment", map[string]string{"filename": p.Name})
		e := encodePart(p.Content)
		fmt.Fprintf(&out, "\n--%s\nContent-Type: %s\nContent-Disposition: %s\n", boundary, mime.FormatMediaType(kind, params), file)
		fmt.Fprintf(&out, "Content-Transfer-Encoding: %s\n\n%s", e.name, e.body)
	}
	fmt.Fprintf(&out, "\n--%s--\n", boundary)
	return out.Bytes(), nil
}

type encoded struct{ name, body string }

// encodePart leaves plain text as it is; anything else, a carriage return included, goes
// as base64, which no reader alters.
func encodePart(content string) encoded {
	plain := func(r rune) bool { return r == '\n' || r == '\t' || ' ' <= r && r <= '~' }
	if strings.IndexFunc(content, func(r rune) bool { return !plain(r) }) < 0 {
		return encoded{"7bit", content}
	}
	text := base64.StdEncoding.EncodeToString([]byte(content))
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	b.WriteString(text)
	return encoded{"base64", b.String()}
}
