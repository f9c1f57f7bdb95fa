// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"path/filepath"
	"testing"
)

// A job without HOME must not take its config from, nor put its keys into, whatever
// folder it runs in; and no name of a home may lead to another folder's store.
func TestWhereThingsAreWithAnOddHome(t *testing.T) {
	t.Parallel()
	for _, home := range []string{"", "/srv/a b", "/srv/a#b", "/srv/a%41?x=y"} {
		a := newApp(Streams{}, func(key string) string { return map[string]string{"HOME": home}[key] })
		for _, path := range []string{a.stateDir(), a.configPath(), a.identityPath("")} {
			if !filepath.IsAbs(path) {
				t.Errorf("HOME %q: %s is not absolute", home, path)
			}
		}
		u, err := url.Parse(a.storeURL())
		if err != nil || u.Path != filepath.Join(a.stateDir(), "store") || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("HOME %q: the store is %s, %v", home, a.storeURL(), err)
		}
	}
}
