// SPDX-License-Identifier: Apache-2.0

package model

import (
	_ "embed"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/nodeconfig"
)

//go:embed bootscript.sh
var bootTemplate string

// bootScript returns the script that brings the agent to a machine. The pointer stands
// in it literally, between quoted marks that its own digest makes unique: so no value
// can end it, and the shell expands nothing in it. What only an apply can tell is not in
// the digest: an export writes the script before that.
func bootScript(p nodeconfig.Pointer) (string, error) {
	doc, err := nodeconfig.MarshalPointer(&p)
	if err != nil {
		return "", err
	}
	early := p
	early.Bootstrap, early.CA = nil, ""
	known, err := nodeconfig.MarshalPointer(&early)
	if err != nil {
		return "", err
	}
	amd64, arm64 := p.Agent["amd64"], p.Agent["arm64"]
	return strings.NewReplacer(
		"@POINTER@\n", string(doc),
		"@MARK@", "POINTER-"+nodeconfig.Digest(known)[:16],
		"@AMD64_URL@", quoted(amd64.URL), "@AMD64_SUM@", quoted(amd64.SHA256),
		"@ARM64_URL@", quoted(arm64.URL), "@ARM64_SUM@", quoted(arm64.SHA256),
	).Replace(bootTemplate), nil
}

// quoted makes one shell word of any text.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
