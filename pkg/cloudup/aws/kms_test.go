// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// TestKMS seals with a key of moto's KMS, which checks key and encryption context.
func TestKMS(t *testing.T) {
	w := motoWorld(t)
	client := kms.New(kms.Options{Region: testRegion, BaseEndpoint: &w.endpoint, Credentials: w.login})
	create := func(in *kms.CreateKeyInput) string {
		t.Helper()
		if in.KeyUsage == "" {
			in.KeyUsage = types.KeyUsageTypeEncryptDecrypt // moto forgets AWS's default
		}
		out, err := client.CreateKey(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return awssdk.ToString(out.KeyMetadata.Arn)
	}
	arn := create(&kms.CreateKeyInput{})
	if _, err := client.CreateAlias(t.Context(), &kms.CreateAliasInput{AliasName: ptr("alias/slipway"), TargetKeyId: &arn}); err != nil {
		t.Fatal(err)
	}
	service := OpenKMS(Options{Region: testRegion, Endpoint: w.endpoint, Credentials: w.login})
	for _, id := range []string{arn, "alias/slipway", arn[strings.LastIndex(arn, "/")+1:]} {
		if got, err := service.Key(t.Context(), id); err != nil || got != arn {
			t.Errorf("key %s: %s, %v", id, got, err)
		}
	}

	item, err := pki.New(pki.EtcdPeersCA, pki.KindCA, pki.MakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := pki.Keyset{Name: pki.EtcdPeersCA, Kind: pki.KindCA, ClusterUID: "uid-1"}.Add(item)
	if err != nil {
		t.Fatal(err)
	}
	wrapper := pki.KMSWrapper(KMSScheme, arn, service)
	sealed, err := pki.Seal(t.Context(), k, pki.SealOptions{To: []pki.Wrapper{wrapper}})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := sealed.Open(t.Context(), k.Ref(), pki.Ring(wrapper))
	if err != nil || !opened.Items[0].Private.Equal(item.Private) {
		t.Errorf("open: %v", err)
	}
	sealed.ClusterUID = "uid-2"
	if _, err := sealed.Open(t.Context(), sealed.Ref(), pki.Ring(wrapper)); !errors.Is(err, pki.ErrTampered) {
		t.Errorf("as another cluster's: %v", err)
	}

	signing := create(&kms.CreateKeyInput{KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify})
	off := create(&kms.CreateKeyInput{})
	offID := off[strings.LastIndex(off, "/")+1:] // moto answers 500 to an ARN here
	if _, err := client.DisableKey(t.Context(), &kms.DisableKeyInput{KeyId: &offID}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{signing, off, "arn:aws:s3:us-east-1:1:bucket/x"} {
		if _, err := service.Key(t.Context(), id); !errors.Is(err, pki.ErrInvalid) {
			t.Errorf("key %s: %v", id, err)
		}
	}
	began := time.Now()
	if _, err := service.Key(t.Context(), "alias/none"); err == nil || time.Since(began) > time.Minute {
		t.Errorf("no such key: %v", err)
	}
}
