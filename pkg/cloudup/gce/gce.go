// SPDX-License-Identifier: Apache-2.0

// Package gce is Google Cloud for a cluster: of it, the key management service, with
// which keysets in a store can be sealed. Only pkg/cloudup/all imports it.
package gce

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"
)

// Options is what a client is made of.
type Options struct {
	// Endpoint is the URL of the service, for tests and emulators; then no credentials are
	// asked for. CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS is honoured when it is empty, as
	// gcloud does.
	Endpoint   string
	HTTPClient *http.Client // nil: the library's, with the application default credentials
	Logger     *slog.Logger
}

const endpointVariable = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS"

// service makes the client.
func service(ctx context.Context, o Options) (*cloudkms.Service, error) {
	options := []option.ClientOption{option.WithUserAgent("slipway")}
	endpoint := o.Endpoint
	if endpoint == "" {
		endpoint = os.Getenv(endpointVariable)
	}
	if endpoint != "" {
		client := o.HTTPClient
		if client == nil {
			client = http.DefaultClient
		}
		options = append(options, option.WithEndpoint(strings.TrimSuffix(endpoint, "/")+"/"), option.WithHTTPClient(client))
	}
	s, err := cloudkms.NewService(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to Cloud KMS: %w: set GOOGLE_APPLICATION_CREDENTIALS, or log in with `gcloud auth application-default login`", err)
	}
	return s, nil
}
