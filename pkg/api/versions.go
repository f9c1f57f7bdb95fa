// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strconv"
	"strings"
)

// patches are the supported minors of Kubernetes with the newest patch of each that
// this release knows, oldest first. Source: the tags of k8s.io/api on the Go module
// proxy (v0.36.6 is Kubernetes 1.36.6), read on 2026-12-01.
var patches = []string{"1.32.13", "1.33.12", "1.34.13", "1.35.10", "1.36.6"}

// maxNodeSkew is how many minors a kubelet may be older than the API server
// (Kubernetes' version skew policy, KEP-3935).
const maxNodeSkew = 3

// DefaultKubernetesVersion is the version of a new cluster that names none.
func DefaultKubernetesVersion() string { return patches[len(patches)-1] }

// KubernetesVersions returns the supported minors, each by its newest known patch,
// oldest first.
func KubernetesVersions() []string { return append([]string(nil), patches...) }

// VersionsHelp says in one phrase which versions are supported and which is the
// default, for help texts.
func VersionsHelp() string {
	return fmt.Sprintf("Kubernetes %s (%s to %s are supported)", DefaultKubernetesVersion(),
		minorOf(patches[0]), minorOf(DefaultKubernetesVersion()))
}

// semver is a release of Kubernetes.
type semver struct{ major, minor, patch int }

func (v semver) less(w semver) bool {
	if v.major != w.major {
		return v.major < w.major
	}
	if v.minor != w.minor {
		return v.minor < w.minor
	}
	return v.patch < w.patch
}

// parseVersion reads "1.36.1". A leading v and pre-releases are refused: images and
// packages are found by this exact text.
func parseVersion(s string) (semver, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return semver{}, fmt.Errorf("must be like %s", DefaultKubernetesVersion())
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || strconv.Itoa(v) != p {
			return semver{}, fmt.Errorf("must be like %s", DefaultKubernetesVersion())
		}
		n[i] = v
	}
	return semver{n[0], n[1], n[2]}, nil
}

func minorOf(version string) string {
	v, err := parseVersion(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%d.%d", v.major, v.minor)
}

// checkSupported says whether this release can run a version.
func checkSupported(v semver) error {
	first, _ := parseVersion(patches[0])
	last, _ := parseVersion(DefaultKubernetesVersion())
	if v.major != 1 || v.minor < first.minor || v.minor > last.minor {
		return fmt.Errorf("is not supported by this release, which runs %s to %s", minorOf(patches[0]), minorOf(DefaultKubernetesVersion()))
	}
	return nil
}

// checkSkew says whether a kubelet may run beside an API server.
func checkSkew(controlPlane, node semver) error {
	switch {
	case controlPlane.less(node):
		return fmt.Errorf("is newer than the control plane (%d.%d.%d); nodes are upgraded after it",
			controlPlane.major, controlPlane.minor, controlPlane.patch)
	case controlPlane.major != node.major || controlPlane.minor-node.minor > maxNodeSkew:
		return fmt.Errorf("is more than %d minors older than the control plane (%d.%d.%d)",
			maxNodeSkew, controlPlane.major, controlPlane.minor, controlPlane.patch)
	}
	return nil
}
