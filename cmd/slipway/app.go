// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/user"
	"path/filepath"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cloudup/all"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/open"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// app is what all commands share: streams, environment and the global flags.
type app struct {
	Streams
	env    func(string) string
	config config

	state   string // --state
	name    string // --name
	verbose bool   // --verbose
}

func newApp(s Streams, env func(string) string) *app { return &app{Streams: s, env: env} }

func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}

// storeURL returns the state store: flag, environment, config file, or the embedded
// default below the user's state folder.
func (a *app) storeURL() string {
	for _, url := range []string{a.state, a.env("SLIPWAY_STATE_STORE"), a.config.State} {
		if url != "" {
			return url
		}
	}
	return (&url.URL{Scheme: "file", Path: filepath.Join(a.stateDir(), "store")}).String()
}

// stateDir is where this user's embedded store and simulator live.
func (a *app) stateDir() string {
	if dir := a.env("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "slipway")
	}
	return filepath.Join(a.home(), ".local", "state", "slipway")
}

// home is the user's folder, also for a job that runs without HOME: whatever folder it
// happens to be in must not give it its config, nor get its keys.
func (a *app) home() string {
	if dir := a.env("HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return "/nonexistent" // as accounts without a folder have it
}

// deps opens the store and wires what the operations need.
func (a *app) deps(ctx context.Context) (cluster.Deps, error) {
	driver, err := open.Open(ctx, a.storeURL(), open.Options{Logger: a.logger()})
	if err != nil {
		return cluster.Deps{}, err
	}
	who, host := a.who()
	return cluster.Deps{
		Store:     statestore.New(driver, statestore.Options{Host: host, User: who, Tool: toolVersion()}),
		Sealing:   (&sealFlags{}).sealingOf(a),
		OpenCloud: a.openCloud, NewUID: newUID, Clock: tasks.SystemClock{},
		Logger: a.logger(), Tool: toolVersion(), Who: who, Host: host,
	}, nil
}

func (a *app) openCloud(ctx context.Context, m *api.Manifest, ledger cloudup.Ledger) (cloudup.Cloud, error) {
	return all.Open(ctx, m, all.Options{Ledger: ledger, Logger: a.logger()})
}

// who names the person or job: the CI's own variables say more than "root".
func (a *app) who() (name, host string) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	for _, key := range []string{"SLIPWAY_USER", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"} {
		if v := a.env(key); v != "" {
			return v, host
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username, host
	}
	return "unknown", host
}

// newUID returns 128 random bits, as a cluster's identity over names and time.
func newUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand stops the program instead
	return hex.EncodeToString(b[:])
}

// warnAll prints warnings to Err.
func (a *app) warnAll(faults api.Faults) {
	for _, f := range faults {
		fmt.Fprintf(a.Err, "warning: %s\n", f)
	}
}
