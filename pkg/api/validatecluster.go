// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// longestName leaves room for the longest name below a cluster's (bootstrap.internal.)
// within the 253 characters of a DNS name.
const longestName = 253 - len("bootstrap.internal.")

func (v *validator) identity() {
	name := v.c.Metadata.Name
	if name == "" {
		v.fault("metadata.name", "", "is missing")
	} else if wrong := dnsName(name, longestName); wrong != "" {
		v.fault("metadata.name", name, "%s", wrong)
	} else if v.c.Spec.Networking.DNS != DNSNone && !strings.Contains(name, ".") {
		v.fault("metadata.name", name, "must end in the name of a DNS zone, such as .example.com, unless spec.networking.dns is none")
	}
	if d := v.c.Spec.ClusterDNSDomain; d != "" {
		if wrong := dnsName(d, 200); wrong != "" {
			v.fault("spec.clusterDNSDomain", d, "%s", wrong)
		}
	}
}

func (v *validator) sealing() {
	s := v.c.Spec.Sealing
	switch {
	case s == nil:
	case s.Method != SealingKMS && s.Method != SealingAge && s.Method != SealingNone:
		v.fault("spec.sealing.method", string(s.Method), "is one of kms, age, none")
	case s.Method != SealingKMS && s.KMSKey != "":
		v.fault("spec.sealing.kmsKey", s.KMSKey, "is for the method kms")
	}
}

func (v *validator) version() {
	text := v.c.Spec.KubernetesVersion
	if text == "" {
		v.fault("spec.kubernetesVersion", "", "is missing")
		return
	}
	got, err := parseVersion(text)
	if err != nil {
		v.fault("spec.kubernetesVersion", text, "%v", err)
		return
	}
	if err := checkSupported(got); err != nil {
		v.aging("version-range", "spec.kubernetesVersion", text, "%v", err)
	}
}

func (v *validator) cloud() {
	if v.facts == nil {
		v.fault("spec.cloudProvider", "", "choose a cloud: one of %s", strings.Join(cloudNames(), ", "))
		return
	}
	path := "spec.cloudProvider." + v.facts.name + ".region"
	switch region := *v.facts.specRegion(&v.c.Spec.CloudProvider); {
	case region == "":
		v.fault(path, "", "is missing and no subnet has a zone to tell it from")
	case !v.facts.region.MatchString(region):
		v.fault(path, region, "is not the name of a region")
	}
}

// labels checks labels of cloud objects against the cloud's rules.
func (v *validator) labels(path string, labels map[string]string) {
	if v.facts == nil {
		return
	}
	f := v.facts
	if len(labels) > f.labelMax {
		v.aging("label-rules", path, "", "has %d labels; with our own at most %d fit", len(labels), f.labelMax)
	}
	for _, key := range sortedKeys(labels) {
		at, value := join(path, key), labels[key]
		switch {
		case slices.ContainsFunc(f.labelReserved, func(p string) bool { return strings.HasPrefix(strings.ToLower(key), p) }):
			v.fault(at, "", "keys that start with %s belong to the cloud", strings.Join(f.labelReserved, ", "))
		case f.isOurs(key):
			v.fault(at, "", "is a mark that Slipway sets itself")
		case len([]rune(key)) > f.labelKeyLen || !f.labelKey.MatchString(key):
			v.aging("label-rules", at, "", "a key is 1 to %d letters, digits, spaces and _.:/=+-@", f.labelKeyLen)
		}
		if len([]rune(value)) > f.labelValueLen || !f.labelValue.MatchString(value) {
			v.aging("label-rules", at, value, "a value is up to %d letters, digits, spaces and _.:/=+-@", f.labelValueLen)
		}
	}
}

// dns checks that names have a zone to live in.
func (v *validator) dns() {
	s := &v.c.Spec
	dns := s.Networking.DNS
	switch {
	case dns == DNSNone && s.DNSZone != "":
		v.fault("spec.dnsZone", s.DNSZone, "is of no use with spec.networking.dns none; set that to public or private")
	case strings.Contains(s.DNSZone, "."):
		zone := strings.TrimSuffix(s.DNSZone, ".")
		if wrong := dnsName(zone, 253); wrong != "" {
			v.fault("spec.dnsZone", s.DNSZone, "%s", wrong)
		} else if name := v.c.Metadata.Name; name != zone && !strings.HasSuffix(name, "."+zone) {
			v.fault("spec.dnsZone", s.DNSZone, "does not hold the cluster's name %s", name)
		}
	}
	if b := s.Bastion; b != nil && b.PublicName != "" {
		if wrong := dnsName(b.PublicName, 253); wrong != "" {
			v.fault("spec.bastion.publicName", b.PublicName, "%s", wrong)
		} else if dns == DNSNone {
			v.fault("spec.bastion.publicName", b.PublicName, "needs spec.networking.dns public or private")
		}
	}
}

// policyRoles are the keys of additionalPolicies and externalPolicies.
var policyRoles = []string{"controlPlane", "node", "bastion"}

// rights checks the policies that a user adds to the roles of machines.
func (v *validator) rights() {
	s := &v.c.Spec
	if s.IAM != nil {
		v.id("spec.iam.permissionsBoundary", "policy", s.IAM.PermissionsBoundary)
	}
	for _, role := range sortedKeys(s.AdditionalPolicies) {
		path := join("spec.additionalPolicies", role)
		v.policyRole(path, role)
		if wrong := policyText(s.AdditionalPolicies[role]); wrong != "" {
			v.fault(path, "", "%s", wrong)
		}
	}
	for _, role := range sortedKeys(s.ExternalPolicies) {
		path := join("spec.externalPolicies", role)
		v.policyRole(path, role)
		for i, p := range s.ExternalPolicies[role] {
			at := fmt.Sprintf("%s[%d]", path, i)
			if p == "" {
				v.fault(at, "", "is empty")
			}
			v.id(at, "policy", p)
			if slices.Contains(s.ExternalPolicies[role][:i], p) {
				v.fault(at, p, "stands twice")
			}
		}
	}
}

func (v *validator) policyRole(path, role string) {
	if !slices.Contains(policyRoles, role) {
		v.fault(path, "", "is not a role%s", didYouMean(role, policyRoles))
	}
}

// policyText says what is wrong with a list of statements in JSON, or "".
func policyText(text string) string {
	var statements []map[string]any
	if err := json.Unmarshal([]byte(text), &statements); err != nil {
		return fmt.Sprintf("must be a JSON list of statements: %v", err)
	}
	if len(statements) == 0 {
		return "holds no statement; leave the role out"
	}
	for i, s := range statements {
		effect := s["Effect"]
		if effect != "Allow" && effect != "Deny" {
			return fmt.Sprintf(`statement %d: "Effect" must be "Allow" or "Deny"`, i)
		}
		for _, pair := range [][2]string{{"Action", "NotAction"}, {"Resource", "NotResource"}} {
			if (s[pair[0]] == nil) == (s[pair[1]] == nil) {
				return fmt.Sprintf("statement %d: needs either %q or %q", i, pair[0], pair[1])
			}
		}
	}
	return ""
}

// keys checks the SSH keys.
func (v *validator) keys() {
	for _, k := range v.m.SSHKeys {
		v.object = objectPath(KindSSHPublicKey, k.Metadata.Name)
		if wrong := dnsName(k.Metadata.Name, 63); wrong != "" {
			v.fault("metadata.name", k.Metadata.Name, "%s", wrong)
		}
		v.clusterLabel(k.Metadata)
		kind, err := sshKeyType(k.Spec.PublicKey)
		switch {
		case err != nil:
			v.fault("spec.publicKey", "", "%v", err)
		case v.facts != nil && !slices.Contains(v.facts.sshTypes, kind):
			v.aging("cloud-values", "spec.publicKey", kind, "the cloud takes keys of type %s", strings.Join(v.facts.sshTypes, ", "))
		}
	}
	v.object = ""
	if n := len(v.m.SSHKeys); n > 1 {
		v.fault("kind", "", "there are %d SSH keys; machines take one", n)
	}
	if v.c.Spec.SSHKeyName != "" && len(v.m.SSHKeys) > 0 {
		v.fault("spec.sshKeyName", v.c.Spec.SSHKeyName, "stands beside a key of the cluster's own (%s); keep one of them", v.m.SSHKeys[0].Metadata.Name)
	}
}

// clusterLabel checks that an object's label, if it has one, names this cluster.
func (v *validator) clusterLabel(meta ObjectMeta) {
	if of := meta.Labels[ClusterLabel]; of != "" && of != v.c.Metadata.Name {
		v.fault(join("metadata.labels", ClusterLabel), of, "is another cluster than %s", v.c.Metadata.Name)
	}
}

// sshKeyType returns the type of a public key in authorized_keys form (RFC 4253,
// section 6.6: the blob starts with the type's name).
func sshKeyType(line string) (string, error) {
	line = strings.TrimSpace(line)
	fields := strings.Fields(line)
	switch {
	case line == "":
		return "", fmt.Errorf("is missing")
	case strings.Contains(line, "PRIVATE KEY"):
		return "", fmt.Errorf("is a private key; give the public one (the file that ends in .pub)")
	case strings.Contains(line, "\n"):
		return "", fmt.Errorf("has several lines; give one key")
	case len(fields) < 2:
		return "", fmt.Errorf("must be like: ssh-ed25519 AAAA... comment")
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4 {
		return "", fmt.Errorf("must be like: ssh-ed25519 AAAA... comment; its second word is not base64")
	}
	n := binary.BigEndian.Uint32(blob)
	if uint64(n)+4 >= uint64(len(blob)) || string(blob[4:4+n]) != fields[0] {
		return "", fmt.Errorf("is not a key of type %s: it is cut or altered", fields[0])
	}
	return fields[0], nil
}
