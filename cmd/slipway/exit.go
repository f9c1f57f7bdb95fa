// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
	"github.com/slipway-k8s/slipway/pkg/policy"
	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// The exit codes, as docs/errors.md lists them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitChanges     = 2
	exitInvalid     = 3
	exitLocked      = 4
	exitInterrupted = 130
)

// usageError is a command line or input that cannot be taken.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// errChanges ends a command that found changes under --detailed-exitcode.
var errChanges = errors.New("changes are pending")

// errSaid ends a command that has printed what went wrong itself.
var errSaid = errors.New("failed")

// exit prints an error with what to do about it, and returns its exit code.
func (a *app) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errChanges) {
		return exitChanges
	}
	code, remedy := outcome(ctx, err)
	if endpoint := a.env("AWS_ENDPOINT_URL"); remedy == "" && endpoint != "" && errors.Is(err, syscall.ECONNREFUSED) {
		remedy = "Nothing answers at AWS_ENDPOINT_URL, " + endpoint + ". If that is the simulated cloud: slipway sim start"
	}
	switch {
	case errors.Is(err, errSaid):
	case errors.Is(err, cloudup.ErrNoCredentials):
		fmt.Fprintf(a.Err, "Error: %s\n", cloudup.ErrNoCredentials) // the chain of look-ups says no more
		a.logger().Debug("no credentials", "error", err)
	default:
		fmt.Fprintf(a.Err, "Error: %s\n", err)
	}
	if remedy != "" {
		fmt.Fprintf(a.Err, "%s\n", remedy)
	}
	return code
}

// outcome is the one place that turns an error into an exit code and a remedy.
func outcome(ctx context.Context, err error) (code int, remedy string) {
	var (
		invalid  *api.InvalidError
		use      *usageError
		locked   *statestore.LockedError
		conflict *statestore.ConflictError
		exists   *cluster.ExistsError
		noGroup  *cluster.GroupNotFoundError
		moved    *cluster.MovedError
		secret   *cluster.SecretExistsError
		lost     *statestore.LostLockError
		denied   *policy.DeniedError
		group    *cluster.GroupExistsError
	)
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return exitInterrupted, "Interrupted. What was begun has been finished; run the same command again to go on."
	case errors.As(err, &locked):
		return exitLocked, "Wait for it to end. If it is certain that it no longer runs: slipway unlock " + locked.Cluster
	case errors.As(err, &lost):
		return exitLocked, "Another run may be at work. What was begun has been finished; look at `slipway get operations`, then run this again."
	case errors.As(err, &conflict):
		return exitLocked, "Nothing was written. Look at the newer revision, then make your change again."
	case errors.As(err, &moved):
		return exitLocked, "Make the plan again, review it, and apply that."
	case errors.As(err, &invalid), errors.Is(err, driver.ErrInvalid), errors.As(err, &use), errors.As(err, &noGroup), errors.As(err, &denied), strings.HasPrefix(err.Error(), "unknown command"):
		return exitInvalid, ""
	case errors.Is(err, pki.ErrInvalid), errors.Is(err, pki.ErrStage):
		return exitInvalid, ""
	case errors.As(err, &exists), errors.As(err, &secret), errors.As(err, &group):
		return exitLocked, ""
	case errors.Is(err, cloudup.ErrNoCredentials):
		return exitFailed, "To try without an account: slipway sim start; eval \"$(slipway sim env)\""
	default:
		return exitFailed, ""
	}
}
