// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"context"
	"crypto/md5" //nolint:gosec // the fingerprint that EC2 shows for RSA keys
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/crypto/ssh"

	"github.com/slipway-k8s/slipway/pkg/cloudup"
	"github.com/slipway-k8s/slipway/pkg/model"
	"github.com/slipway-k8s/slipway/pkg/tasks"
	"github.com/slipway-k8s/slipway/pkg/terraform"
)

// tagKeyDigest holds the digest of the key that we imported.
const tagKeyDigest = tagOurs + "public-key"

// KeyPair is a public key that machines let in, or an existing key pair by its name.
type KeyPair struct {
	resource
	name   string
	line   string // authorized_keys form, as it is imported
	public ssh.PublicKey
	shared bool
}

func newKeyPair(s *survey, m model.SSHKey) (*KeyPair, error) {
	k := &KeyPair{resource: resource{s: s, kind: "keypair", key: m.Name}, name: m.Existing, shared: m.Existing != ""}
	if k.shared {
		return k, nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(m.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("SSH key %s: %w", m.Name, err)
	}
	k.public, k.line = public, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	// Key pairs cannot change: another key has another name, and both may stand for the
	// time of a replacement.
	k.name = cloudup.ShortenBefore(m.Name+"."+s.cluster, "-"+cloudup.Hash(k.line), limitKeyPair)
	k.tags = s.tagsFor(m.Name, k.name, map[string]string{tagKeyDigest: k.digest()})
	return k, nil
}

// Describe says which key it is.
func (k *KeyPair) Describe() string {
	if k.shared {
		return "existing key pair " + k.name
	}
	return "SSH key " + ssh.FingerprintSHA256(k.public)
}

// digest is the key's fingerprint as ssh-keygen shows it.
func (k *KeyPair) digest() string { return ssh.FingerprintSHA256(k.public) }

// fingerprint is what EC2 shows of an imported key: MD5 of an RSA key's DER form, SHA-256
// of an ED25519 key.
func (k *KeyPair) fingerprint() string {
	if k.public.Type() != ssh.KeyAlgoRSA {
		sum := sha256.Sum256(k.public.Marshal())
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	c, ok := k.public.(ssh.CryptoPublicKey)
	if !ok {
		return ""
	}
	der, err := x509.MarshalPKIXPublicKey(c.CryptoPublicKey())
	if err != nil {
		return ""
	}
	sum := md5.Sum(der)
	var pairs []string
	for _, b := range sum {
		pairs = append(pairs, hex.EncodeToString([]byte{b}))
	}
	return strings.Join(pairs, ":")
}

// Observe finds the key pair. The fingerprint that EC2 shows counts when it has the form
// of one: then a key that was imported again by hand under our name is found out.
func (k *KeyPair) Observe(ctx context.Context) (tasks.Change, error) {
	if k.shared {
		return k.verify(ctx)
	}
	o, exists, err := k.s.keys.find(ctx, k.key)
	if err != nil {
		return tasks.Change{}, err
	}
	have, want := o.Tags[tagKeyDigest], k.digest()
	if shown := aws.ToString(o.Value.KeyFingerprint); exists && have == want && sameForm(shown, k.fingerprint()) && shown != k.fingerprint() {
		have = shown
	}
	d := tasks.NewDiff(exists)
	d.Fixed("name", aws.ToString(o.Value.KeyName), k.name)
	d.Fixed("publicKey", have, want)
	diffTags(d, o.Tags, k.tags)
	return found(&k.resource, k.s.keys, o, exists, d), nil
}

func sameForm(a, b string) bool {
	return a != "" && len(strings.TrimRight(a, "=")) == len(strings.TrimRight(b, "=")) && strings.Contains(a, ":") == strings.Contains(b, ":")
}

func (k *KeyPair) verify(ctx context.Context) (tasks.Change, error) {
	out, err := k.s.ec2.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{KeyNames: []string{k.name}})
	if gone(err) || err == nil && len(out.KeyPairs) == 0 {
		return tasks.Change{}, fmt.Errorf("there is no key pair %s in %s: correct spec.sshKeyName", k.name, k.s.region)
	}
	if err != nil {
		return tasks.Change{}, fmt.Errorf("read key pair %s: %w", k.name, err)
	}
	return kept(&k.resource, k.name, out.KeyPairs[0]), nil
}

// Apply imports the key, or changes the tags.
func (k *KeyPair) Apply(ctx context.Context, c tasks.Change) error {
	if k.shared {
		return nil
	}
	o := c.Observed.(owned[ec2types.KeyPairInfo])
	if c.Action == tasks.Update {
		return k.s.applyTags(ctx, o.ID, c)
	}
	if c.Action == tasks.Replace {
		if err := k.s.retire(ctx, o.ID, k.key); err != nil {
			return err
		}
		if aws.ToString(o.Value.KeyName) == k.name { // someone imported another key by our name
			if err := k.s.removeKey(ctx, leftover{ID: o.ID, Value: o.Value}); err != nil {
				return err
			}
		}
	}
	id, err := k.s.keys.makeOnce(ctx, k.key, k.create)
	if err != nil {
		return fmt.Errorf("import SSH key %s as %s: %w", k.key, k.name, err)
	}
	k.CloudID.Set(id)
	return nil
}

func (k *KeyPair) create(ctx context.Context) (string, error) {
	out, err := k.s.ec2.ImportKeyPair(ctx, &ec2.ImportKeyPairInput{
		KeyName: &k.name, PublicKeyMaterial: []byte(k.line),
		TagSpecifications: tagSpec(ec2types.ResourceTypeKeyPair, k.tags),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.KeyPairId), nil
}

// listKeys reads the key pairs that the cluster owns; EC2 gives them in one page.
func (s *survey) listKeys(ctx context.Context) ([]owned[ec2types.KeyPairInfo], error) {
	out, err := s.ec2.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{Filters: s.mine()})
	if err != nil {
		return nil, err
	}
	var mine []owned[ec2types.KeyPairInfo]
	for _, k := range out.KeyPairs {
		if o, ours := ownedEC2(s, k.KeyPairId, k.Tags, k); ours {
			mine = append(mine, o)
		}
	}
	return mine, nil
}

func (s *survey) removeKey(ctx context.Context, l leftover) error {
	k, _ := l.Value.(ec2types.KeyPairInfo)
	_, err := s.ec2.DeleteKeyPair(ctx, &ec2.DeleteKeyPairInput{KeyName: k.KeyName})
	return ifThere(err)
}

// Export writes the key pair, but for an existing one.
func (k *KeyPair) Export(_ context.Context, m *terraform.Module) error {
	if k.shared {
		return nil
	}
	_, there := k.CloudID.Get()
	b := k.export(m, "aws_key_pair")
	k.CloudID.Set(b.Mark("key_name"))
	b.SetText("key_name", k.name)
	b.SetText("public_key", k.line)
	k.exportTags(b)
	if there {
		b.Import(k.name)
	}
	return nil
}
