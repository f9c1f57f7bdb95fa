// SPDX-License-Identifier: Apache-2.0

// Package open is the one list of the kinds of state store; programs use it to turn a
// URL into a driver.
package open

import (
	"context"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
	"github.com/slipway-k8s/slipway/pkg/statestore/file"
	"github.com/slipway-k8s/slipway/pkg/statestore/gcs"
	"github.com/slipway-k8s/slipway/pkg/statestore/mem"
	"github.com/slipway-k8s/slipway/pkg/statestore/s3"
)

// Schemes are the supported kinds of store, with an example of each.
var Schemes = []string{"s3://bucket/prefix", "gs://bucket/prefix", "do://bucket/prefix?region=nyc3", "file:///path", "mem://name"}

// Options are what drivers share.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Open returns the driver for a URL such as "s3://bucket/prefix" or "file:///path"; a
// path without a scheme is a folder. It opens for reading: nothing is written before
// the first write. A scheme or URL that is not supported is driver.ErrInvalid.
func Open(ctx context.Context, raw string, o Options) (driver.Store, error) {
	if filepath.IsAbs(raw) || strings.HasPrefix(raw, "./") || strings.HasPrefix(raw, "../") {
		return file.New(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The cause repeats the URL, and a URL may hold a password.
		return nil, &driver.Error{Op: "open", Name: "state store", Kind: driver.ErrInvalid, Hint: "the URL cannot be parsed; " + supported()}
	}
	if u.User != nil {
		return nil, &driver.Error{Op: "open", Name: u.Scheme + "://" + u.Host, Kind: driver.ErrInvalid,
			Hint: "the URL holds credentials; give them in the environment or a profile instead"}
	}
	if u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return nil, &driver.Error{Op: "open", Name: "state store " + raw, Kind: driver.ErrInvalid,
			Hint: "what stands behind # would be left out; write that character as %23, or name another store"}
	}
	switch u.Scheme {
	case "s3":
		return s3.Open(ctx, u, s3.Options{Logger: o.Logger})
	case "gs":
		return gcs.Open(u, gcs.Options{Logger: o.Logger})
	case "do":
		return s3.OpenSpaces(ctx, u, s3.Options{Logger: o.Logger})
	case "file":
		return file.Open(u)
	case "mem":
		return mem.Open(u)
	}
	return nil, &driver.Error{Op: "open", Name: "state store " + raw, Kind: driver.ErrInvalid, Hint: supported()}
}

func supported() string { return "a state store is one of " + strings.Join(Schemes, ", ") }
