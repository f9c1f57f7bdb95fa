// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/model"
)

// configKey is the key of the node config that machines of a pool are told to read.
func configKey(t *testing.T, b *model.Blueprint, pool string) string {
	t.Helper()
	for _, p := range b.Pools {
		if p.Name == pool {
			return p.Pointer.Config
		}
	}
	t.Fatalf("there is no pool %s", pool)
	return ""
}

func (w *world) inUse(c *Cloud) []string {
	w.t.Helper()
	keys, err := c.InUse(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return keys
}

// TestInUse: what any version of a template names is in use, and what a machine names
// whose version is gone.
func TestInUse(t *testing.T) { judged(t, testInUse) }

func testInUse(t *testing.T, w *world) {
	c := w.open("demo.example.com", "uid-1")
	if keys := w.inUse(c); len(keys) > 0 {
		t.Errorf("nothing is there, and uses %v", keys)
	}
	m := testManifest("demo.example.com", "uid-1")
	m.Groups = append(m.Groups, testGroup("bastions", api.RoleBastion, testZones[0]))
	first := build(t, m)
	w.apply(w.plan(c, first))
	old := configKey(t, first, "nodes-us-east-1a")
	keys := w.inUse(c)
	if len(first.Objects) == 0 || !slices.Contains(keys, old) {
		t.Fatalf("%s is not in use: %v", old, keys)
	}
	for _, o := range first.Objects {
		if strings.HasPrefix(o.Key, "nodes/") && !slices.Contains(keys, o.Key) {
			t.Errorf("%s is not in use", o.Key)
		}
	}
	if w.moto {
		return // starts no machines from a later version with user data
	}

	// The spec moves on: the machines still run the old config, and so does the template's
	// first version.
	m.Group("nodes-us-east-1a").Spec.NodeLabels = map[string]string{"example.com/pool": "new"}
	second := build(t, m)
	w.apply(w.plan(c, second))
	next := configKey(t, second, "nodes-us-east-1a")
	if keys := w.inUse(c); !slices.Contains(keys, old) || !slices.Contains(keys, next) || old == next {
		t.Errorf("%s and %s are not both in use: %v", old, next, keys)
	}

	// The old version is deleted while its machine runs.
	templates, err := newSurvey(c, nil).templates.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range templates {
		if o.Key == "nodes-us-east-1a" {
			if _, err := c.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &o.ID, Versions: []string{"1"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if keys := w.inUse(c); !slices.Contains(keys, old) {
		t.Errorf("a machine runs with %s, which is not in use: %v", old, keys)
	}
}

// TestInUseCannotBeTold: a machine or template that does not say what it reads, and a
// call that is refused, are errors and not an empty answer.
func TestInUseCannotBeTold(t *testing.T) {
	w := simWorld(t)
	c := w.open("demo.example.com", "uid-1")
	m := testManifest("demo.example.com", "uid-1")
	w.apply(w.plan(c, build(t, m)))
	for _, op := range []string{"DescribeLaunchTemplates", "DescribeLaunchTemplateVersions", "DescribeInstances"} {
		w.calls.answer = func(made string, r *http.Request) (*http.Response, error) {
			if made != op {
				return nil, nil
			}
			const body = `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>`
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}
		if keys, err := c.InUse(t.Context()); err == nil {
			t.Errorf("without %s: got %v", op, keys)
		}
	}
	w.calls.answer = nil
	templates, err := newSurvey(c, nil).templates.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := &ec2types.RequestLaunchTemplateData{UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\necho ours no more\n")))}
	if _, err := c.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &templates[0].ID, LaunchTemplateData: data}); err != nil {
		t.Fatal(err)
	}
	if keys, err := c.InUse(t.Context()); err == nil || !strings.Contains(err.Error(), "version 2 of launch template "+templates[0].ID) {
		t.Errorf("got %v, %v", keys, err)
	}
}
