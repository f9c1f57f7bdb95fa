// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

// pointerMark opens the pointer in the boot script; its name closes it.
var pointerMark = regexp.MustCompile(`<<'(POINTER-[0-9a-f]{16})'\n`)

// StoreKeys returns the keys, relative to the cluster, of the store objects that a
// machine with this user data is told to read: its node config, and the agents, in case
// they lie in the store. It reads what UserData wrote, by any version of it; found is
// false for user data without our boot script.
func StoreKeys(userData []byte) (keys []string, found bool, err error) {
	script, err := scriptOf(userData)
	if err != nil {
		return nil, false, fmt.Errorf("read user data: %w", err)
	}
	at := pointerMark.FindSubmatchIndex(script)
	if at == nil {
		return nil, false, nil
	}
	doc, _, closed := bytes.Cut(script[at[1]:], append([]byte("\n"), append(script[at[2]:at[3]], '\n')...))
	if !closed {
		return nil, false, errors.New("read user data: its pointer has no end")
	}
	p, err := nodeconfig.DecodePointer(append(doc, '\n'))
	if err != nil {
		return nil, false, fmt.Errorf("read user data: %w", err)
	}
	keys = append(keys, p.Config)
	for _, a := range p.Agent {
		if a.SHA256 != "" {
			keys = append(keys, "assets/"+a.SHA256)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), true, nil
}

// scriptOf returns the boot script of user data: all of it, or its part of that name.
func scriptOf(userData []byte) ([]byte, error) {
	if !bytes.HasPrefix(userData, []byte("Content-Type: multipart/")) {
		return userData, nil
	}
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		return nil, err
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case part.FileName() != scriptName:
			continue
		}
		var body io.Reader = part
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			body = base64.NewDecoder(base64.StdEncoding, part)
		}
		return io.ReadAll(body)
	}
}
