// SPDX-License-Identifier: Apache-2.0

package nodeconfig

import (
	"errors"
	"fmt"
	"strings"
)

func (c *Config) check() error {
	if err := checkIdentity(c.Version, c.Cluster, c.UID, c.Group, c.Role); err != nil {
		return err
	}
	if c.KubernetesVersion == "" {
		return errors.New("kubernetesVersion is missing")
	}
	for i, m := range c.Etcd {
		if m.Cluster == "" || m.Member == "" || len(m.Members) == 0 {
			return fmt.Errorf("etcd[%d]: cluster, member and members are needed", i)
		}
	}
	return nil
}

func (p *Pointer) check() error {
	if err := checkIdentity(p.Version, p.Cluster, p.UID, p.Group, p.Role); err != nil {
		return err
	}
	if !isDigest(p.ConfigSHA256) {
		return fmt.Errorf("configSHA256 is %q, not 64 lower-case hexadecimal digits", p.ConfigSHA256)
	}
	if want := Key(p.Group, p.ConfigSHA256); p.Config != want {
		return fmt.Errorf("config is %q, not %q: the digest is part of the name", p.Config, want)
	}
	for arch, a := range p.Agent {
		if err := a.Check(); err != nil {
			return fmt.Errorf("agent.%s: %w", arch, err)
		}
	}
	return nil
}

// Check reports an address or a digest that no machine could use. An empty digest is
// no fault here: it is an unresolved asset, and the machine refuses it.
func (a Asset) Check() error {
	if !strings.HasPrefix(a.URL, "https://") && !strings.HasPrefix(a.URL, "http://") {
		return fmt.Errorf("url is %q: machines fetch from https:// and http:// only", a.URL)
	}
	if a.SHA256 != "" && !isDigest(a.SHA256) {
		return fmt.Errorf("sha256 is %q, not 64 lower-case hexadecimal digits", a.SHA256)
	}
	return nil
}

func checkIdentity(version, cluster, uid, group, role string) error {
	if version != Version {
		return fmt.Errorf("version is %q, not %s", version, Version)
	}
	for _, f := range []struct{ name, value string }{
		{"cluster", cluster}, {"uid", uid}, {"group", group}, {"role", role},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	return nil
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
