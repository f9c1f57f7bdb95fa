// SPDX-License-Identifier: Apache-2.0

package mototest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestStartAnswers(t *testing.T) {
	url := Start(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		strings.NewReader("Action=GetCallerIdentity&Version=2011-06-15"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// moto finds the service by the scope of the signature and checks no more of it.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=00")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "GetCallerIdentityResult") {
		t.Fatalf("GetCallerIdentity answered %d: %s", resp.StatusCode, body)
	}
}

func TestFindURLGivesTheLogWhenThereIsNone(t *testing.T) {
	t.Parallel()
	if got := findURL(strings.NewReader("ModuleNotFoundError: moto\n")); got != "ModuleNotFoundError: moto\n" {
		t.Fatalf("got %q", got)
	}
	if got := findURL(strings.NewReader("x\n * Running on http://127.0.0.1:81\n")); got != "http://127.0.0.1:81" {
		t.Fatalf("got %q", got)
	}
}
