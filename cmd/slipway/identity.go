// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-k8s/slipway/pkg/pki"
)

// identityPath is where the operator's age identity lies: flag, SLIPWAY_IDENTITY, or
// identity.txt beside the config file.
func (a *app) identityPath(flag string) string {
	for _, path := range []string{flag, a.env("SLIPWAY_IDENTITY")} {
		if path != "" {
			return path
		}
	}
	return filepath.Join(filepath.Dir(a.configPath()), "identity.txt")
}

// ownIdentity returns the operator's identity, made at first use.
func (a *app) ownIdentity(flag string) (pki.Wrapper, error) {
	path := a.identityPath(flag)
	identities, err := readIdentities(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := a.makeIdentity(path); err != nil {
			return nil, err
		}
		identities, err = readIdentities(path)
	}
	if err != nil {
		return nil, err
	}
	return identities[0], nil
}

// makeIdentity writes a fresh identity. It never replaces a file, and of two runs only
// one writes.
func (a *app) makeIdentity(path string) error {
	file, recipient, err := pki.NewAgeIdentity()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the age identity: %w", err)
	}
	// Written beside and linked, so that nobody ever reads a half-written identity.
	temp, err := os.CreateTemp(filepath.Dir(path), ".identity-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write the age identity: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(file)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("write the age identity %s: %w", path, err)
	}
	if err := os.Link(temp.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("write the age identity %s: %w", path, err)
	}
	fmt.Fprintf(a.Err, "Made the age identity %s (%s). It opens the clusters' private keys: keep a copy of it in a safe place.\n", path, recipient)
	return nil
}

// readIdentities reads an identity file that nobody else can read.
func readIdentities(path string) ([]pki.Wrapper, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no age identity %s; give the file with --identity or SLIPWAY_IDENTITY: %w", pki.ErrNoKey, path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read the age identity: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("age identity %s: %w: others can read it (mode %04o); run chmod 600 on it", path, pki.ErrInvalid, mode)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the age identity: %w", err)
	}
	identities, err := pki.AgeIdentities(data)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	return identities, nil
}
