// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/pkg/api"
	"github.com/slipway-k8s/slipway/pkg/cloudup/all"
	"github.com/slipway-k8s/slipway/pkg/cluster"
	"github.com/slipway-k8s/slipway/pkg/pki"
)

// sealFlags say to whom private parts are sealed.
type sealFlags struct {
	sealing    string // age, kms, none or ""
	kmsKey     string
	recipients []string
	identity   string
}

// bind adds the flags of a verb that seals.
func (f *sealFlags) bind(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.sealing, "sealing", "", "seal private keys by kms, age or none (default: as the cluster's others are; else as spec.sealing says; else age)")
	fl.StringVar(&f.kmsKey, "kms-key", "", "`KEY` of the cloud's key management service: ARN, id or alias (default with kms: a key of the cluster's own)")
	fl.StringArrayVar(&f.recipients, "recipient", nil, "`RECIPIENT` that may open them too, such as an escrow key: age, or a KMS key by its ARN or Google's name (repeatable)")
	f.bindOpen(cmd)
}

// bindOpen adds the flags of a verb that only opens.
func (f *sealFlags) bindOpen(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.identity, "identity", "", "age identity `FILE` (SLIPWAY_IDENTITY; default: identity.txt beside the config file)")
}

// check refuses flags that contradict each other.
func (f *sealFlags) check() error {
	switch {
	case f.sealing != "" && f.sealing != "age" && f.sealing != "kms" && f.sealing != "none":
		return &usageError{fmt.Errorf("--sealing is %q; it takes age, kms or none", f.sealing)}
	case f.sealing != "" && f.sealing != "kms" && f.kmsKey != "":
		return &usageError{fmt.Errorf("--kms-key does not go with --sealing %s", f.sealing)}
	case f.sealing == "none" && len(f.recipients) > 0:
		return &usageError{errors.New("--recipient does not go with --sealing none: nothing would be sealed to it")}
	}
	return nil
}

// keyDeps opens the store for a verb that seals or opens.
func (a *app) keyDeps(ctx context.Context, f *sealFlags) (cluster.Deps, error) {
	if err := f.check(); err != nil {
		return cluster.Deps{}, err
	}
	d, err := a.deps(ctx)
	d.Sealing = f.sealingOf(a)
	return d, err
}

// sealingOf wires the flags to what the operations need. Nothing is read, made or
// called before something is sealed or opened.
func (f *sealFlags) sealingOf(a *app) func(m *api.Manifest) cluster.Sealing {
	return func(m *api.Manifest) cluster.Sealing {
		return cluster.Sealing{
			To: func(ctx context.Context, own cluster.OwnKey) ([]pki.Wrapper, error) {
				return f.to(ctx, a, m, own)
			},
			Chosen: f.sealing != "" || f.kmsKey != "" || len(f.recipients) > 0,
			Ring:   f.ring(a),
		}
	}
}

// spec is what the flags say of a cluster's sealing; nil when they say nothing.
func (f *sealFlags) spec() *api.Sealing {
	switch {
	case f.kmsKey != "":
		return &api.Sealing{Method: api.SealingKMS, KMSKey: f.kmsKey}
	case f.sealing != "":
		return &api.Sealing{Method: api.SealingMethod(f.sealing)}
	}
	return nil
}

// to returns whom the flags name, or else the spec.
func (f *sealFlags) to(ctx context.Context, a *app, m *api.Manifest, own cluster.OwnKey) ([]pki.Wrapper, error) {
	want := f.spec()
	if want == nil {
		want = m.Cluster.Spec.Sealing
	}
	if want == nil {
		want = &api.Sealing{Method: api.SealingAge}
	}
	var to []pki.Wrapper
	switch want.Method {
	case api.SealingNone:
		return []pki.Wrapper{pki.None()}, nil
	case api.SealingKMS:
		w, err := f.kmsWrapper(ctx, a, m, want.KMSKey, own)
		if err != nil {
			return nil, err
		}
		to = append(to, w)
	default:
		own, err := a.ownIdentity(f.identity)
		if err != nil {
			return nil, err
		}
		to = append(to, own)
	}
	for _, recipient := range f.recipients {
		w, err := all.Recipient(ctx, recipient, a.cloudOptions())
		if w == nil && err == nil {
			w, err = pki.AgeRecipient(recipient)
		}
		if err != nil {
			return nil, err
		}
		to = append(to, w)
	}
	return to, nil
}

// kmsWrapper seals with a key that is given, or with the cluster's own.
func (f *sealFlags) kmsWrapper(ctx context.Context, a *app, m *api.Manifest, key string, own cluster.OwnKey) (pki.Wrapper, error) {
	if key != "" {
		return all.KMSKey(ctx, m, key, a.cloudOptions())
	}
	name, err := own(ctx)
	if err != nil {
		return nil, err
	}
	return f.ring(a)(name), nil
}

// ring finds the wrapper that a sealed object names.
func (f *sealFlags) ring(a *app) pki.Keyring {
	return func(name string) pki.Wrapper {
		if name == pki.None().Name() {
			return pki.None()
		}
		if recipient, ok := pki.AgeRecipientOf(name); ok {
			return &ageKey{app: a, file: f.identity, name: name, recipient: recipient}
		}
		return all.KMSWrapper(name, a.cloudOptions())
	}
}

func (a *app) cloudOptions() all.Options {
	return all.Options{Logger: a.logger(), HTTPClient: http.DefaultClient}
}

// ageKey is an age recipient whose identity is read when it is needed.
type ageKey struct {
	app                   *app
	file, name, recipient string
}

func (k *ageKey) Name() string { return k.name }

func (k *ageKey) Wrap(ctx context.Context, key pki.Secret, context map[string]string) ([]byte, error) {
	w, err := pki.AgeRecipient(k.recipient)
	if err != nil {
		return nil, err
	}
	return w.Wrap(ctx, key, context)
}

func (k *ageKey) Unwrap(ctx context.Context, wrapped []byte, context map[string]string) (pki.Secret, error) {
	path := k.app.identityPath(k.file)
	identities, err := readIdentities(path)
	if err != nil {
		return nil, err
	}
	for _, w := range identities {
		if w.Name() == k.name {
			return w.Unwrap(ctx, wrapped, context)
		}
	}
	return nil, fmt.Errorf("%w: %s holds no identity of %s", pki.ErrNoKey, path, shortName(k.recipient))
}

// shortName keeps post-quantum recipients, which are very long, out of tables.
func shortName(name string) string {
	const most = 76
	if len(name) > most {
		return name[:most-3] + "..."
	}
	return name
}

// sealedTo names those who may open an object, for tables.
func sealedTo(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, shortName(n))
	}
	return strings.Join(out, ", ")
}
