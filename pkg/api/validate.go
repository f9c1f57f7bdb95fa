// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// agingChecks are the checks that rest on data which changes between releases, or that
// came after the first release. In a stored spec, which an earlier release accepted,
// they warn: a newer tool must not lock anyone out of an old cluster.
var agingChecks = map[string]string{
	"version-range": "the Kubernetes versions that this release runs",
	"image-form":    "how images are named",
	"volume-limits": "the types and limits of volumes",
	"label-rules":   "the cloud's rules for labels",
	"id-form":       "how the cloud's ids look",
	"cloud-values":  "what the cloud takes for tenancy, strategies and the like",
}

// Validate returns everything that is wrong with a completed manifest, in the order of
// the spec, warnings marked as such. It asks nobody: what only the cloud knows is
// checked there.
func Validate(m *Manifest) Faults {
	if m.Cluster == nil {
		return Faults{{Path: "kind", Message: "a Cluster is needed; this holds none"}}
	}
	v := &validator{m: m, c: m.Cluster, facts: factsOf(m.Cluster)}
	v.identity()
	v.version()
	v.cloud()
	v.labels("spec.cloudLabels", v.c.Spec.CloudLabels)
	v.network()
	v.subnets()
	v.api()
	v.etcd()
	v.access("spec.sshAccess", v.c.Spec.SSHAccess)
	v.access("spec.nodePortAccess", v.c.Spec.NodePortAccess)
	v.dns()
	v.rights()
	v.sealing()
	v.rolling("spec.rollingUpdate", v.c.Spec.RollingUpdate)
	v.groups()
	v.keys()
	return v.faults
}

// ValidateStored is Validate for a spec that was accepted before: checks whose data
// ages only warn.
func ValidateStored(m *Manifest) Faults {
	faults := Validate(m)
	for i, f := range faults {
		if _, ages := agingChecks[f.Check]; ages {
			faults[i].Warning = true
		}
	}
	return faults
}

// validator gathers faults. object stands before the path of each.
type validator struct {
	m      *Manifest
	c      *Cluster
	facts  *cloudFacts // nil when no cloud is chosen
	object string
	faults Faults
}

func (v *validator) add(f Fault) {
	f.Path = v.object + f.Path
	v.faults = append(v.faults, f)
}

func (v *validator) fault(path, value, format string, args ...any) {
	v.add(Fault{Path: path, Value: value, Message: fmt.Sprintf(format, args...)})
}

func (v *validator) warn(path, value, format string, args ...any) {
	v.add(Fault{Path: path, Value: value, Message: fmt.Sprintf(format, args...), Warning: true})
}

// aging is a fault of one of the agingChecks.
func (v *validator) aging(check, path, value, format string, args ...any) {
	v.add(Fault{Path: path, Value: value, Message: fmt.Sprintf(format, args...), Check: check})
}

// oneOf faults a value that is not among those allowed; empty is not given.
func oneOf[T ~string](v *validator, path string, value T, allowed ...T) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	v.fault(path, string(value), "must be one of %s", strings.Join(names, ", "))
}

// cloudValue is oneOf for values that the cloud may add to.
func (v *validator) cloudValue(path, value string, allowed []string) {
	if value != "" && v.facts != nil && !slices.Contains(allowed, value) {
		v.aging("cloud-values", path, value, "must be one of %s", strings.Join(allowed, ", "))
	}
}

// id faults an id that has not the cloud's form; empty is not given.
func (v *validator) id(path, kind, value string) {
	if value == "" || v.facts == nil {
		return
	}
	if f := v.facts.ids[kind]; !f.form.MatchString(value) {
		v.aging("id-form", path, value, "must be like %s", f.example)
	}
}

var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

// dnsName says what is wrong with a DNS name, or "".
func dnsName(name string, longest int) string {
	if len(name) > longest {
		return fmt.Sprintf("is longer than %d characters", longest)
	}
	for _, part := range strings.Split(name, ".") {
		if !dnsLabel.MatchString(part) {
			return "must be a DNS name: parts of at most 63 small letters, digits and inner hyphens, with dots between"
		}
	}
	return ""
}

// ValidateUpdate is everything that is wrong with storing new in place of old: new
// itself and the way there. What rests on data that ages and stood in old already only
// warns, so that an old cluster can still be edited.
func ValidateUpdate(old, new *Manifest) Faults {
	before := map[Fault]bool{}
	for _, f := range Validate(old) {
		before[f] = true
	}
	faults := Validate(new)
	for i, f := range faults {
		if _, ages := agingChecks[f.Check]; ages && before[f] {
			faults[i].Warning = true
		}
	}
	return append(faults, ValidateChange(old, new)...)
}
